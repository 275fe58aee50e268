//! Spec §5 and decisions §9: what needs a store's key is refused without one, whatever it is.

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::Value;

use crate::app::TestApp;

/// Every operation that the description says needs a store's key: method and address.
fn operations() -> Vec<(Method, String)> {
    let document = rest::openapi("http://souk.test");
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if operation["x-souk-access"] == "public" {
                continue;
            }
            assert_ne!(operation["security"], serde_json::json!([]), "{path}");
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            found.push((method, address(path, &operation["parameters"])));
        }
    }
    found
}

/// The address with the example of each of its parts.
fn address(path: &str, parameters: &Value) -> String {
    let parts = parameters.as_array().unwrap().iter().filter(|it| it["in"] == "path");
    let path = parts.fold(path.to_owned(), |path, part| {
        let name = format!("{{{}}}", part["name"].as_str().unwrap());
        path.replace(&name, part["example"].as_str().unwrap())
    });
    format!("/api/v1{path}")
}

#[tokio::test]
async fn without_a_credential_every_operation_that_needs_one_is_refused() {
    let app = TestApp::start().await;
    let operations = operations();
    assert!(operations.len() >= 2, "the description names no operation that needs a credential");
    let unknown = format!("Bearer mrch_{}", "7".repeat(64));
    let agent = format!("Bearer agnt_{}", "7".repeat(64));
    for (method, address) in &operations {
        for authorization in [None, Some("Bearer"), Some(&*unknown), Some(&*agent)] {
            let mut request = Request::builder().method(method).uri(address);
            if let Some(authorization) = authorization {
                request = request.header("authorization", authorization);
            }
            let answer = app.send(request.body(Body::empty()).unwrap()).await;
            let told = format!("{method} {address} {authorization:?}: {}", answer.text);
            assert_eq!(
                (answer.status.as_u16(), answer.code().as_str()),
                (401, "unauthorized"),
                "{told}"
            );
            assert_eq!(answer.headers["www-authenticate"], "Bearer", "{told}");
        }
    }
}
