//! Interactive documentation of the API: Swagger UI, served from this binary.

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use swagger_ui_dist::{ApiDefinition, OpenApiSource, generate_routes};
use tower::ServiceExt;

use crate::{Keep, Site, headers};

/// Scripts, styles and calls only to ourselves. Swagger UI brings its icons along as data.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) fn routes() -> Router<Site> {
    // The crate's own page starts with an inline script and repeats the request's address in its
    // markup, so only these two of its files can be reached, beside a page of ours.
    let files = generate_routes(ApiDefinition {
        uri_prefix: "/api/docs",
        api_definition: OpenApiSource::Uri("/api/v1/openapi.json"),
        title: None,
    });
    Router::new()
        .route("/api/docs", get(page))
        .route("/api/docs/", get(page))
        .route("/api/docs/start.js", get(start))
        .route("/api/docs/swagger-ui.css", file(&files, "text/css; charset=utf-8"))
        .route("/api/docs/swagger-ui-bundle.js", file(&files, "text/javascript; charset=utf-8"))
}

async fn page() -> impl IntoResponse {
    let html = include_str!("../assets/docs.html");
    (headers("text/html; charset=utf-8", Keep::Minutes, POLICY), html)
}

async fn start() -> impl IntoResponse {
    let script = include_str!("../assets/docs.js");
    (headers("text/javascript; charset=utf-8", Keep::Minutes, POLICY), script)
}

/// A file of the crate, under the address it has there, with headers of ours.
fn file(files: &Router, content_type: &'static str) -> MethodRouter<Site> {
    let files = files.clone();
    get(async move |request: Request| -> Response {
        let Ok(response) = files.oneshot(request).await;
        (headers(content_type, Keep::Day, POLICY), response.into_body()).into_response()
    })
}
