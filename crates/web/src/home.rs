//! The landing page, `llms.txt` and `robots.txt`.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::{CacheFor, PAGE_POLICY, Site, headers, render};

const PLAIN: &str = "text/plain; charset=utf-8";

pub(crate) fn routes() -> Router<Site> {
    Router::new()
        .route("/", get(home))
        .route("/assets/site.css", get(stylesheet))
        .route("/assets/purchase.css", get(purchase_stylesheet))
        .route("/assets/public.css", get(public_stylesheet))
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
    render(headers("text/html; charset=utf-8", CacheFor::Minutes, PAGE_POLICY), &Home { site_url })
}

async fn llms_txt(State(site): State<Site>) -> Response {
    let site_url = &site.site_url;
    render(headers(PLAIN, CacheFor::Minutes, PAGE_POLICY), &LlmsTxt { site_url })
}

async fn robots_txt() -> impl IntoResponse {
    (headers(PLAIN, CacheFor::Minutes, PAGE_POLICY), "User-agent: *\nAllow: /\n")
}

async fn purchase_stylesheet() -> impl IntoResponse {
    let css = include_str!("../assets/purchase.css");
    (headers("text/css; charset=utf-8", CacheFor::Minutes, PAGE_POLICY), css)
}

async fn public_stylesheet() -> impl IntoResponse {
    let css = include_str!("../assets/public.css");
    (headers("text/css; charset=utf-8", CacheFor::Minutes, PAGE_POLICY), css)
}

async fn stylesheet() -> impl IntoResponse {
    let css = include_str!("../assets/site.css");
    (headers("text/css; charset=utf-8", CacheFor::Minutes, PAGE_POLICY), css)
}
