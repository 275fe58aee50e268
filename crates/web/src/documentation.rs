//! Interactive documentation of the API: Swagger UI, served from this binary.

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use swagger_ui_dist::{ApiDefinition, OpenApiSource, generate_routes};
use tower::ServiceExt;

use crate::{CacheFor, Site, headers};

/// Allows scripts, styles and requests of our own origin only. Swagger UI embeds its icons as data.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) fn routes() -> Router<Site> {
    // The crate's own page starts with an inline script and repeats the request URL in its markup, so only two of its
    // files are served, with a page of our own.
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
    (headers("text/html; charset=utf-8", CacheFor::Minutes, POLICY), html)
}

async fn start() -> impl IntoResponse {
    let script = include_str!("../assets/docs.js");
    (headers("text/javascript; charset=utf-8", CacheFor::Minutes, POLICY), script)
}

/// Serves a file of the crate with our own headers.
fn file(files: &Router, content_type: &'static str) -> MethodRouter<Site> {
    let files = files.clone();
    get(async move |request: Request| -> Response {
        let Ok(response) = files.oneshot(request).await;
        (headers(content_type, CacheFor::Day, POLICY), response.into_body()).into_response()
    })
}
