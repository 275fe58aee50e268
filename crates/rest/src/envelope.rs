//! The envelopes of successful responses (docs/contract/envelopes.md#list-envelope).

use axum::response::{IntoResponse, Response};
use primitives::{PageMeta, PageRequest};
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

/// A successful response with a part of a list that is read from a position on: a page whose `meta` has `next_cursor`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}CursorListResponse")]
pub(crate) struct CursorEnvelope<T> {
    /// Always true.
    #[schemars(extend("enum" = [true]))]
    success: bool,
    /// The items of the page.
    data: Vec<T>,
    /// The total number of items, and where the next page begins.
    meta: CursorMeta,
}

/// The page of a list that is read from a position on.
#[derive(Debug, Serialize, JsonSchema)]
struct CursorMeta {
    /// Page and total.
    #[serde(flatten)]
    page: PageMeta,
    /// Send it as `cursor` to get the next page; omitted on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl<T> CursorEnvelope<T> {
    /// Wraps the items of one page.
    pub(crate) fn new(data: Vec<T>, page: PageMeta, next: Option<impl ToString>) -> Self {
        let next_cursor = next.map(|cursor| cursor.to_string());
        Self { success: true, data, meta: CursorMeta { page, next_cursor } }
    }

    /// Wraps the items of a page of a list that is not counted: the total is the number of items here, and an estimate
    /// unless these are all. `is_first` is false for a page after another one.
    pub(crate) fn uncounted(
        data: Vec<T>,
        request: PageRequest,
        is_first: bool,
        next: Option<impl ToString>,
    ) -> Self {
        let total = i64::try_from(data.len()).unwrap_or(i64::MAX);
        let meta = request.meta(total).estimated(!is_first || next.is_some());
        Self::new(data, meta, next)
    }
}

impl<T: Serialize> IntoResponse for CursorEnvelope<T> {
    fn into_response(self) -> Response {
        axum::Json(self).into_response()
    }
}

impl<T: Serialize> IntoResponse for PageEnvelope<T> {
    fn into_response(self) -> Response {
        axum::Json(self).into_response()
    }
}
