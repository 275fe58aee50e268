//! The envelopes of successful responses (docs/contract/envelopes.md#list-envelope).

use axum::response::{IntoResponse, Response};
use primitives::PageMeta;
use schemars::JsonSchema;
use serde::Serialize;

/// A successful response with one object: `{"success": true, "data": {…}}`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Response")]
pub struct Envelope<T> {
    /// Always true.
    #[schemars(extend("enum" = [true]))]
    success: bool,
    /// The result.
    data: T,
}

impl<T> Envelope<T> {
    /// Wraps the result.
    pub fn new(data: T) -> Self {
        Self { success: true, data }
    }
}

impl<T: Serialize> IntoResponse for Envelope<T> {
    fn into_response(self) -> Response {
        axum::Json(self).into_response()
    }
}

/// A successful response with one page of a list: `{"success": true, "data": […], "meta": {total, page, limit}}`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}ListResponse")]
pub struct PageEnvelope<T> {
    /// Always true.
    #[schemars(extend("enum" = [true]))]
    success: bool,
    /// The items of the page.
    data: Vec<T>,
    /// The page and the total number of items.
    meta: PageMeta,
}

impl<T> PageEnvelope<T> {
    /// Wraps the items of one page.
    #[must_use]
    pub fn new(data: Vec<T>, meta: PageMeta) -> Self {
        Self { success: true, data, meta }
    }
}

impl<T: Serialize> IntoResponse for PageEnvelope<T> {
    fn into_response(self) -> Response {
        axum::Json(self).into_response()
    }
}
