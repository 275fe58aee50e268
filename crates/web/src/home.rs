//! The landing page, `llms.txt` and `robots.txt`.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::{CacheFor, Site, headers, render};

/// Allows only our own stylesheet and an empty icon: the page has no script, no form and no frame.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";
const PLAIN: &str = "text/plain; charset=utf-8";

pub(crate) fn routes() -> Router<Site> {
    Router::new()
        .route("/", get(home))
        .route("/assets/site.css", get(stylesheet))
        .route("/assets/purchase.css", get(purchase_stylesheet))
        .route("/llms.txt", get(llms_txt))
        .route("/robots.txt", get(robots_txt))
}

#[derive(Template)]
#[template(path = "home.html")]
struct Home<'a> {
    site_url: &'a str,
}

#[derive(Template)]
#[template(path = "llms.txt")]
struct LlmsTxt<'a> {
    site_url: &'a str,
}

async fn home(State(site): State<Site>) -> Response {
    let site_url = &site.site_url;
    render(headers("text/html; charset=utf-8", CacheFor::Minutes, POLICY), &Home { site_url })
}

async fn llms_txt(State(site): State<Site>) -> Response {
    let site_url = &site.site_url;
    render(headers(PLAIN, CacheFor::Minutes, POLICY), &LlmsTxt { site_url })
}

async fn robots_txt() -> impl IntoResponse {
    (headers(PLAIN, CacheFor::Minutes, POLICY), "User-agent: *\nAllow: /\n")
}

async fn purchase_stylesheet() -> impl IntoResponse {
    let css = include_str!("../assets/purchase.css");
    (headers("text/css; charset=utf-8", CacheFor::Minutes, POLICY), css)
}

async fn stylesheet() -> impl IntoResponse {
    let css = include_str!("../assets/site.css");
    (headers("text/css; charset=utf-8", CacheFor::Minutes, POLICY), css)
}
