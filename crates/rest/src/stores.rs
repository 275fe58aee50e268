//! The store directory and store profiles.

use std::sync::Arc;

use axum::extract::State;
use merchants::{DirectoryQuery, StoreRecord, StoreSummary};
use primitives::{PageRequest, StoreSlug};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::store_access::STORE_ERRORS;
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, InvalidInput, PageEnvelope, Path, Query, Rest,
    RestState, Routes,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let directory = Endpoint::get("/stores/directory", Access::Public, directory)
        .operation_id("listStores")
        .tag("stores")
        .summary("List stores")
        .description(
            "Active stores that are not suspended, highest trust score first (a provisional score counts as 0.84 at most), stores without a score last.",
        )
        .query::<DirectoryParameters>()
        .response::<PageEnvelope<StoreSummary>>(200);
    let store = Endpoint::get("/stores/{slug}", Access::Public, store)
        .operation_id("getStore")
        .tag("stores")
        .summary("Get the profile of a store")
        .description("Returns the merchant's identity, trust score, policies and MCP endpoint.")
        .path::<StoreSlug>()
        .response::<Envelope<StoreRecord>>(200)
        .errors(STORE_ERRORS);
    Routes::new().with(directory).with(store)
}

async fn store(
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
) -> Result<Envelope<StoreRecord>, ErrorResponse> {
    let store = rest.stores.admit(&slug).await?;
    Ok(Envelope::new(store.record(&rest.site_url)))
}

async fn directory(
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<DirectoryParameters>,
) -> Result<PageEnvelope<StoreSummary>, ErrorResponse> {
    let found = merchants::directory(&rest.database, &parameters.into_query()?).await?;
    let stores = found.stores.iter().map(|store| store.summary(&rest.site_url)).collect();
    Ok(PageEnvelope::new(stores, found.meta))
}

// docs/contract/stores.md#directory
/// Filter and page of the directory.
#[derive(Debug, Deserialize, JsonSchema)]
struct DirectoryParameters {
    /// Page number, from 1.
    #[schemars(extend("default" = 1))]
    page: Option<i64>,
    /// Stores per page, 1 to 100. Larger numbers are clamped; `meta.limit` is the value used.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
    /// Text in the name or the description.
    #[schemars(length(max = 200))]
    q: Option<String>,
    /// Top-level category.
    #[schemars(length(max = 100))]
    category: Option<String>,
    /// Minimum trust score, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    min_trust: Option<f64>,
    /// Platform that the catalog is synchronized from.
    #[schemars(length(max = 100))]
    platform: Option<String>,
}

impl DirectoryParameters {
    fn into_query(self) -> Result<DirectoryQuery, InvalidInput> {
        // NaN is in no range, so it is rejected too.
        if self.min_trust.is_some_and(|least| !(0.0..=1.0).contains(&least)) {
            return Err(InvalidInput::parameter::<Self>("min_trust"));
        }
        Ok(DirectoryQuery {
            words: text("q", self.q, 200)?,
            category: text("category", self.category, 100)?,
            min_trust: self.min_trust,
            platform: text("platform", self.platform, 100)?,
            page: PageRequest::new(self.page, self.limit),
        })
    }
}

/// Checks a text filter. Forms send empty fields for unused filters, so empty means absent. Control characters match
/// nothing, and PostgreSQL cannot store NUL.
fn text(
    name: &str,
    value: Option<String>,
    characters_max: usize,
) -> Result<Option<String>, InvalidInput> {
    let value = value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let is_invalid =
        |value: &str| value.chars().count() > characters_max || value.contains(char::is_control);
    match value {
        Some(value) if is_invalid(&value) => {
            Err(InvalidInput::parameter::<DirectoryParameters>(name))
        }
        value => Ok(value),
    }
}
