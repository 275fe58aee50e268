//! Pages of stores and products (docs/contract/stores.md#pages), and errors as pages (docs/contract/errors.md#error-pages).

use axum::body::Body;
use axum::http::Request;
use database::Work;
use merchants::{Administration, StoreStatus};

use crate::app::{TestApp, TestResponse};

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

async fn send(app: &TestApp, method: &str, path: &str, headers: &[(&str, &str)]) -> TestResponse {
    let mut request = Request::builder().method(method).uri(path).header("host", "souk.test");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    app.send(request.body(Body::empty()).unwrap()).await
}

async fn open(app: &TestApp, path: &str) -> TestResponse {
    send(app, "GET", path, &[("accept", BROWSER)]).await
}

/// Returns the values of the links of a page that start with a path.
fn links<'page>(page: &'page str, start: &str) -> Vec<&'page str> {
    let hrefs = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    hrefs.filter(|href| href.starts_with(start)).collect()
}

#[tokio::test]
async fn stores_and_products_are_found_by_links() {
    let app = TestApp::start().await;
    let directory = open(&app, "/stores").await;
    assert_eq!(directory.status, 200);
    assert_eq!(directory.headers["cache-control"], "public, max-age=60");
    let stores = links(&directory.text, "/stores/");
    assert_eq!(stores.first(), Some(&"/stores/olaria-salgueira"), "highest trust score first");
    let demo = open(&app, "/stores/demo-store").await;
    assert_eq!(demo.status, 200);
    for expected in ["Demo store.", "http://souk.test/demo-store/mcp", "/stores/demo-store/trust"] {
        assert!(demo.text.contains(expected), "{expected} is missing: {}", demo.text);
    }
    let products = links(&demo.text, "/stores/demo-store/products/");
    assert_eq!(products.len(), 24);
    let product = open(&app, products[0]).await;
    assert_eq!(product.status, 200);
    assert!(product.text.contains("class=\"price big\"") && product.text.contains("prod_"));
    let second = open(&app, "/stores/demo-store?page=2").await;
    let next = links(&second.text, "/stores/demo-store/products/");
    assert!(!next.is_empty() && next.iter().all(|link| !products.contains(link)));
    for odd in ["?page=0", "?page=x", "?page=-1", "?page=99999999999999999999", "?page=1&page=2"] {
        assert_eq!(open(&app, &format!("/stores/demo-store{odd}")).await.status, 200, "{odd}");
    }
    for beyond in ["/stores/demo-store?page=99", "/stores?page=99"] {
        let page = open(&app, beyond).await;
        assert_eq!(page.status, 404, "{beyond}");
        assert!(page.text.contains("Page not found"), "{}", page.text);
    }
}

#[tokio::test]
async fn every_page_of_a_store_is_self_contained() {
    let app = TestApp::start().await;
    let product = open(&app, "/stores/demo-store").await.text;
    let product = links(&product, "/stores/demo-store/products/")[0].to_owned();
    let trust = "/stores/demo-store/trust";
    for path in ["/stores", "/stores/demo-store", trust, &product, "/stores/nobody"] {
        let page = open(&app, path).await;
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'self'"), "{path}: {policy}");
        assert!(!policy.contains("http") && !policy.contains("script-src"), "{path}: {policy}");
        assert!(!page.text.contains("<script") && !page.text.contains("style=\""), "{path}");
        let loaded = page.text.split("src=\"").skip(1);
        for file in loaded.filter_map(|rest| rest.split('"').next()) {
            assert!(file.starts_with("/demo/images/"), "{path} loads {file}");
            assert_eq!(open(&app, file).await.status, 200, "{path} loads {file}");
        }
    }
}

#[tokio::test]
async fn a_store_that_is_not_open_has_no_page() {
    let app = TestApp::start().await;
    let slug = "kivikiri".parse().unwrap();
    let merchant = merchants::merchant_of(app.test.database(), &slug).await.unwrap();
    let reason = "holidays".parse().unwrap();
    let by = Administration { actor: identity::Actor::Operator, reason: &reason };
    assert_eq!(open(&app, "/stores/kivikiri").await.status, 200);
    for status in [StoreStatus::Paused, StoreStatus::Suspended, StoreStatus::Closed] {
        let mut work = Work::for_platform(app.test.database()).await.unwrap();
        merchants::set_status(&mut work, by, merchant, status).await.unwrap();
        work.commit().await.unwrap();
        let page = open(&app, "/stores/kivikiri").await;
        assert_eq!(page.status, 403, "{status}");
        assert!(page.text.contains("This store is not available"), "{}", page.text);
        assert!(!open(&app, "/stores").await.text.contains("/stores/kivikiri"), "{status}");
    }
}

#[tokio::test]
async fn a_browser_gets_errors_as_pages_and_a_program_as_json() {
    let app = TestApp::start().await;
    for (method, path, status) in
        [("GET", "/nowhere", 404), ("POST", "/stores", 405), ("GET", "/stores/a/b/c", 404)]
    {
        let page = send(&app, method, path, &[("accept", BROWSER)]).await;
        assert_eq!(page.status.as_u16(), status, "{path}");
        assert_eq!(page.headers["content-type"], "text/html; charset=utf-8", "{path}");
        assert!(page.text.contains("<h1>") && page.text.contains("req_"), "{}", page.text);
        assert_eq!(page.headers.get_all("content-security-policy").iter().count(), 1);
    }
    let allowed = send(&app, "POST", "/stores", &[("accept", BROWSER)]).await;
    assert_eq!(allowed.headers["allow"], "GET,HEAD");
    let refused = send(&app, "POST", "/stores", &[("accept", "*/*")]).await;
    assert_eq!(
        (refused.status.as_u16(), refused.code()),
        (405, String::from("method_not_allowed"))
    );
    for path in ["/nowhere", "/api/v1/nowhere", "/nobody/mcp"] {
        for accept in ["*/*", "application/json", "text/html, application/json"] {
            let answer = send(&app, "GET", path, &[("accept", accept)]).await;
            assert_eq!(answer.headers["content-type"], "application/json", "{path} {accept}");
        }
    }
    let opened = [("accept", BROWSER), ("sec-fetch-dest", "document")];
    for path in ["/api/v1/nowhere", "/demo-store/mcp"] {
        let answer = send(&app, "GET", path, &opened[..1]).await;
        assert_eq!(answer.headers["content-type"], "application/json", "{path}");
        let page = send(&app, "GET", path, &opened).await;
        assert_eq!(page.headers["content-type"], "text/html; charset=utf-8", "{path}");
    }
}
