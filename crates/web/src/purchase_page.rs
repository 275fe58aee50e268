//! What the pages of a purchase share: admission, the checkout context, and the page's headers.

use std::sync::Arc;

use askama::Template;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, USER_AGENT,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use checkout::{CheckoutCaller, CheckoutContext, Visitor};
use limits::{
    AdmissionPermit, Caller, Class, ConcurrencyLimit, PURCHASE_PAGE_PER_MINUTE, QuotaRequest,
};
use merchants::Store;
use primitives::{ClientAddress, ErrorCode, Failure, Plan, StoreSlug};

use crate::Web;

/// Allows only our own stylesheet and forms: no script, no frame, no external image.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'";

/// An admitted request for a purchase page of a store.
pub(crate) struct AdmittedRequest {
    store: Arc<Store>,
    _permit: AdmissionPermit,
}

impl AdmittedRequest {
    pub(crate) async fn admit(web: &Web, slug: &str, from: ClientAddress) -> Result<Self, Failure> {
        let quota = QuotaRequest::tier(Class::Read, "page", PURCHASE_PAGE_PER_MINUTE);
        let caller = Caller::address(from);
        let permit =
            web.admission.admit(&caller, ConcurrencyLimit::for_plan(Plan::Free), &quota).await?;
        let slug: StoreSlug = slug.parse()?;
        // Pages of a suspended or closed store stay available; paying checks the store again.
        let store = web.stores.find(&slug).await?;
        Ok(Self { store, _permit: permit })
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn context<'page>(&'page self, web: &'page Web) -> CheckoutContext<'page> {
        CheckoutContext {
            database: &web.database,
            store: &self.store,
            site_url: &web.site_url,
            gateway: &web.payment_gateway,
            caller: CheckoutCaller::default(),
        }
    }
}

/// Returns the person who submits a form.
pub(crate) fn visitor(from: ClientAddress, headers: &HeaderMap) -> Visitor {
    let browser = headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
    Visitor::new(from, browser.unwrap_or_default())
}

/// An error, explained to a person.
#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'text> {
    title: &'text str,
    message: &'text str,
}

/// Renders a purchase page. It is never cached or framed, and its URL, which is a secret, is sent to no other site.
pub(crate) fn page(status: StatusCode, template: &impl Template) -> Response {
    let headers: [(HeaderName, HeaderValue); 6] = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    match template.render() {
        Ok(text) => (status, headers, text).into_response(),
        // Rendering only writes to memory, which cannot fail.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Renders an error for a person. Internal causes are logged, not shown.
pub(crate) fn error_page(failure: &Failure) -> Response {
    let code = failure.code();
    if code.status() >= 500 {
        tracing::error!(cause = failure.cause(), "purchase page failed");
    }
    let (title, message) = match code.status() {
        _ if code == ErrorCode::StoreSuspended => (
            "This store does not accept payments at the moment",
            "Nothing was bought. Open the link again later.",
        ),
        404 => (
            "Page not found",
            "The link is incomplete, or the purchase it belongs to no longer exists.",
        ),
        403 => (
            "This form was not sent from this page",
            "Open the link again and use the buttons on the page.",
        ),
        409 => ("This is no longer possible", "Open the link again to see the current status."),
        429 => ("Too many requests", "Wait a minute and try again."),
        500.. => {
            ("Something went wrong", "Open the link again in a moment to see the current status.")
        }
        _ => ("This is not possible", "Open the link again and use the buttons on the page."),
    };
    let status = StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = page(status, &ErrorPage { title, message });
    // For the log line of the request.
    response.extensions_mut().insert(code);
    response
}
