//! The envelopes of what went well (spec §2.1).

use axum::response::{IntoResponse, Response};
use primitives::PageMeta;
use schemars::JsonSchema;
use serde::Serialize;

/// One thing: `{"success": true, "data": {…}}`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Answer")]
pub struct One<T> {
    /// Always true.
    #[schemars(extend("enum" = [true]))]
    success: bool,
    /// The thing.
    data: T,
}

impl<T> One<T> {
    /// The answer that holds this.
    pub fn new(data: T) -> Self {
        Self { success: true, data }
    }
}

impl<T: Serialize> IntoResponse for One<T> {
    fn into_response(self) -> Response {
        axum::Json(self).into_response()
    }
}

/// A page of things: `{"success": true, "data": […], "meta": {total, page, limit}}`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}ListAnswer")]
pub struct Many<T> {
    /// Always true.
    #[schemars(extend("enum" = [true]))]
    success: bool,
    /// The things.
    data: Vec<T>,
    /// Which page this is, and how many things there are.
    meta: PageMeta,
}

impl<T> Many<T> {
    /// The answer that holds these.
    #[must_use]
    pub fn new(data: Vec<T>, meta: PageMeta) -> Self {
        Self { success: true, data, meta }
    }
}

impl<T: Serialize> IntoResponse for Many<T> {
    fn into_response(self) -> Response {
        axum::Json(self).into_response()
    }
}
