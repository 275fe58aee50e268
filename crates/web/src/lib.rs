#![doc = include_str!("../README.md")]

mod approval;
mod counter;
mod documentation;
mod form;
mod home;
mod hosted;
mod picture;
mod terms_view;

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use checkout::Till;
use database::Database;
use limits::Gate;
use merchants::StoreCache;

/// What pages that are the same for everybody know.
#[derive(Clone)]
pub struct Site {
    /// Where this service is reached, without a slash at the end.
    pub site_url: Arc<str>,
}

/// What the pages of a purchase know.
#[derive(Clone)]
pub struct Web {
    /// Where this service is reached, without a slash at the end.
    pub site_url: Arc<str>,
    /// The database.
    pub database: Database,
    /// Stores by slug.
    pub stores: StoreCache,
    /// How often callers may call.
    pub gate: Gate,
    /// Who takes payments on our own page.
    pub till: Till,
}

/// All pages.
pub fn router(web: Web) -> Router {
    let site = Site { site_url: Arc::clone(&web.site_url) };
    Router::new()
        .merge(approval::routes())
        .merge(hosted::routes())
        .with_state(web)
        .merge(pages(site))
}

/// The landing page, the API documentation, texts for machines, and pictures of the demo stores.
pub fn pages(site: Site) -> Router {
    Router::new()
        .merge(home::routes())
        .merge(documentation::routes())
        .merge(picture::routes())
        .with_state(site)
}

/// How long a cache may keep something.
#[derive(Debug, Clone, Copy)]
enum Keep {
    /// It changes with a release.
    Minutes,
    /// It never changes under this name.
    Day,
}

/// What it is, for how long a cache may keep it, and what a browser may load on its behalf.
fn headers(
    content_type: &'static str,
    keep: Keep,
    policy: &'static str,
) -> [(HeaderName, &'static str); 4] {
    let keep = match keep {
        Keep::Minutes => "public, max-age=300",
        Keep::Day => "public, max-age=86400",
    };
    [
        (CONTENT_TYPE, content_type),
        (CACHE_CONTROL, keep),
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ]
}

/// A filled-in template as a response.
fn fill(headers: [(HeaderName, &'static str); 4], template: &impl Template) -> Response {
    match template.render() {
        Ok(text) => (headers, text).into_response(),
        // Our templates only write to memory, which cannot fail.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
