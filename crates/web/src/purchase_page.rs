//! What both pages of a purchase share: which store, whether there is a share left, and how a page leaves.

use std::sync::Arc;

use askama::Template;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use checkout::Counter;
use limits::{Caller, Charge, Class, Entered, Places};
use merchants::Store;
use primitives::{ClientAddress, Failure, Plan, StoreSlug};

use crate::Web;

/// Calls a minute of one address on pages of purchases.
const PER_MINUTE: u32 = 60;

/// Our stylesheet and our own forms, nothing else: no script, no frame, nobody else's picture.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'";

/// A store's counter, open for one request.
pub(crate) struct Open {
    store: Arc<Store>,
    _entered: Entered,
}

impl Open {
    pub(crate) async fn at(web: &Web, slug: &str, from: ClientAddress) -> Result<Self, Failure> {
        let charge = Charge::tier(Class::Read, "page", PER_MINUTE);
        let caller = Caller::address(from);
        let entered = web.gate.enter(&caller, Places::of_plan(Plan::Free), &charge).await?;
        let slug: StoreSlug = slug.parse()?;
        let store = web.stores.admit(&slug).await?;
        Ok(Self { store, _entered: entered })
    }

    pub(crate) fn counter<'open>(&'open self, web: &'open Web) -> Counter<'open> {
        Counter { database: &web.database, store: &self.store, site_url: &web.site_url }
    }
}

/// Something went wrong, said to a person.
#[derive(Template)]
#[template(path = "sorry.html")]
struct Sorry<'said> {
    title: &'said str,
    sentence: &'said str,
}

/// A page of a purchase. No cache keeps it, nobody frames it, and its address, which is a secret, goes nowhere.
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
        // Our templates only write to memory, which cannot fail.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// What a person reads when it cannot be done. Nothing of the inside is told.
pub(crate) fn sorry(failure: &Failure) -> Response {
    let code = failure.code();
    if code.status() >= 500 {
        tracing::error!(cause = failure.cause(), "a page failed");
    }
    let (title, sentence) = match code.status() {
        404 => {
            ("There is nothing here", "The address is incomplete, or what it was for is long over.")
        }
        403 => {
            ("This was not sent from our page", "Open the address again and use the buttons there.")
        }
        409 => ("This cannot be done any more", "Open the address again to see how it stands."),
        429 => ("Too many tries", "Wait a minute and try again."),
        500.. => ("Something went wrong here", "Nothing was bought. Try again in a moment."),
        _ => ("This cannot be done", "Open the address again and use the buttons there."),
    };
    let status = StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    page(status, &Sorry { title, sentence })
}
