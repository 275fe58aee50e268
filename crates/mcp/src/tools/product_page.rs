//! The envelope of tools that return a list of products (docs/contract/envelopes.md#mcp-results).

use primitives::PageMeta;
use schemars::JsonSchema;
use serde::Serialize;

/// A page of products.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{Record}Page")]
pub(super) struct ProductPage<Record> {
    /// Always true.
    #[schemars(extend("enum" = [true]))]
    success: bool,
    /// Products, in the order that the tool states.
    data: Vec<Record>,
    /// Paging information.
    meta: PageMeta,
}

impl<Record> ProductPage<Record> {
    /// Wraps the products of one page.
    pub(super) fn new(data: Vec<Record>, meta: PageMeta) -> Self {
        Self { success: true, data, meta }
    }
}
