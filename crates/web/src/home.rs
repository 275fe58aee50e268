//! The landing page, and what it says in plain text for machines.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::{Keep, Site, fill, headers};

/// Our stylesheet and an empty icon, nothing else: the page has no script, no form and no frame.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";
const PLAIN: &str = "text/plain; charset=utf-8";

pub(crate) fn routes() -> Router<Site> {
    Router::new()
        .route("/", get(home))
        .route("/assets/site.css", get(stylesheet))
        .route("/assets/purchase.css", get(purchase_stylesheet))
        .route("/llms.txt", get(for_agents))
        .route("/robots.txt", get(for_crawlers))
}

#[derive(Template)]
#[template(path = "home.html")]
struct Home<'a> {
    site_url: &'a str,
}

#[derive(Template)]
#[template(path = "llms.txt")]
struct ForAgents<'a> {
    site_url: &'a str,
}

async fn home(State(site): State<Site>) -> Response {
    let site_url = &site.site_url;
    fill(headers("text/html; charset=utf-8", Keep::Minutes, POLICY), &Home { site_url })
}

async fn for_agents(State(site): State<Site>) -> Response {
    let site_url = &site.site_url;
    fill(headers(PLAIN, Keep::Minutes, POLICY), &ForAgents { site_url })
}

async fn for_crawlers() -> impl IntoResponse {
    (headers(PLAIN, Keep::Minutes, POLICY), "User-agent: *\nAllow: /\n")
}

async fn purchase_stylesheet() -> impl IntoResponse {
    let css = include_str!("../assets/purchase.css");
    (headers("text/css; charset=utf-8", Keep::Minutes, POLICY), css)
}

async fn stylesheet() -> impl IntoResponse {
    let css = include_str!("../assets/site.css");
    (headers("text/css; charset=utf-8", Keep::Minutes, POLICY), css)
}
