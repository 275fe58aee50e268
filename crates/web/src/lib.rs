#![doc = include_str!("../README.md")]

mod approval;
mod delivery_form;
mod documentation;
mod error_page;
mod form;
mod home;
mod order_page;
mod payment;
mod picture;
mod policy_view;
mod product_page;
mod public_page;
mod purchase_page;
mod stock_view;
mod store_directory;
mod store_page;
mod terms_view;
mod trust_chart;
mod trust_page;

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};
use checkout::PaymentGateway;
use database::Database;
use identity::OrderLinks;
use limits::AdmissionControl;
use merchants::StoreCache;

pub use error_page::{ErrorForm, with_error_page};

/// Allows only our own stylesheets and an empty icon: the page has no script, no form and no frame.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
                           frame-ancestors 'none'";

/// The state of static pages.
#[derive(Clone)]
pub struct Site {
    /// The public base URL, without a trailing slash.
    pub site_url: Arc<str>,
}

/// The dependencies of all pages.
#[derive(Clone)]
pub struct Web {
    /// The public base URL, without a trailing slash.
    pub site_url: Arc<str>,
    pub database: Database,
    pub stores: StoreCache,
    pub admission: AdmissionControl,
    /// Accepts payments on the payment page.
    pub payment_gateway: PaymentGateway,
    /// Links to the pages of orders.
    pub order_links: OrderLinks,
}

/// Returns the router of all pages.
pub fn router(web: Web) -> Router {
    let site = Site { site_url: Arc::clone(&web.site_url) };
    Router::new()
        .merge(approval::routes())
        .merge(payment::routes())
        .merge(order_page::routes())
        .merge(store_directory::routes())
        .merge(store_page::routes())
        .merge(trust_page::routes())
        .merge(product_page::routes())
        .with_state(web)
        .merge(pages(site))
}

/// Returns the router of static pages: landing page, API documentation, `llms.txt`, `robots.txt` and demo images.
pub fn pages(site: Site) -> Router {
    Router::new()
        .merge(home::routes())
        .merge(documentation::routes())
        .merge(picture::routes())
        .with_state(site)
}

/// How long a cache may keep a response.
#[derive(Debug, Clone, Copy)]
enum CacheFor {
    /// For content that changes with products and stores.
    Minute,
    /// For content that changes with a release.
    Minutes,
    /// For content that never changes under its URL.
    Day,
}

/// Returns the headers for content type, caching and content security policy.
fn headers(
    content_type: &'static str,
    cache_for: CacheFor,
    policy: &'static str,
) -> [(HeaderName, &'static str); 4] {
    let cache_control = match cache_for {
        CacheFor::Minute => "public, max-age=60",
        CacheFor::Minutes => "public, max-age=300",
        CacheFor::Day => "public, max-age=86400",
    };
    [
        (CONTENT_TYPE, content_type),
        (CACHE_CONTROL, cache_control),
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ]
}

/// Renders a template as a response.
fn render(headers: [(HeaderName, &'static str); 4], template: &impl Template) -> Response {
    match template.render() {
        Ok(text) => (headers, text).into_response(),
        // Rendering only writes to memory, which cannot fail.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
