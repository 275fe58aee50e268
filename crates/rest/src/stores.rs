//! Stores: the public directory and the profile of one store.

use std::sync::Arc;

use axum::extract::State;
use merchants::{DirectoryQuery, StoreRecord, StoreSummary};
use primitives::{ErrorCode, PageRequest, StoreSlug};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Access, Endpoint, Malformed, Many, One, Opened, Path, Query, Refusal, Rest, Routes};

pub(crate) fn endpoints() -> Routes<Opened> {
    let directory = Endpoint::get("/stores/directory", Access::Public, directory)
        .name("listStores")
        .tag("stores")
        .summary("The public list of stores")
        .explanation(
            "Active stores that are not suspended, best trust score first, unscored ones last.",
        )
        .query::<DirectoryParameters>()
        .answer::<Many<StoreSummary>>(200);
    let store = Endpoint::get("/stores/{slug}", Access::Public, store)
        .name("readStore")
        .tag("stores")
        .summary("The profile of a store")
        .explanation("Who the merchant is, how far it can be trusted, what it promises, and where agents connect.")
        .path::<StoreSlug>()
        .answer::<One<StoreRecord>>(200)
        .errors(&[ErrorCode::StoreNotFound, ErrorCode::StoreSuspended]);
    Routes::new().with(directory).with(store)
}

async fn store(
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
) -> Result<One<StoreRecord>, Refusal> {
    let store = rest.stores.admit(&slug).await?;
    Ok(One::new(store.record(&rest.site_url)))
}

async fn directory(
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<DirectoryParameters>,
) -> Result<Many<StoreSummary>, Refusal> {
    let found = merchants::directory(&rest.database, &parameters.into_query()?).await?;
    let stores = found.stores.iter().map(|store| store.summary(&rest.site_url)).collect();
    Ok(Many::new(stores, found.meta))
}

/// What may be asked of the directory (decisions §2).
#[derive(Debug, Deserialize, JsonSchema)]
struct DirectoryParameters {
    /// Which page, from 1.
    #[schemars(extend("default" = 1))]
    page: Option<i64>,
    /// Stores on a page, 1 to 100. A larger number is clamped; `meta.limit` shows what was used.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
    /// Words in the name or the description.
    #[schemars(length(max = 200))]
    q: Option<String>,
    /// A top category.
    #[schemars(length(max = 100))]
    category: Option<String>,
    /// The least trust score, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    min_trust: Option<f64>,
    /// Where the catalog is synchronised from.
    #[schemars(length(max = 100))]
    platform: Option<String>,
}

impl DirectoryParameters {
    fn into_query(self) -> Result<DirectoryQuery, Malformed> {
        // Not a number is in no range, so it is refused as well.
        if self.min_trust.is_some_and(|least| !(0.0..=1.0).contains(&least)) {
            return Err(Malformed::parameter::<Self>("min_trust"));
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

/// A filter that is plain text. Forms send empty fields for filters nobody filled in. Control
/// characters match nothing, and PostgreSQL cannot even hold the first of them.
fn text(
    name: &str,
    value: Option<String>,
    characters_max: usize,
) -> Result<Option<String>, Malformed> {
    let value = value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let refused =
        |value: &str| value.chars().count() > characters_max || value.contains(char::is_control);
    match value {
        Some(value) if refused(&value) => Err(Malformed::parameter::<DirectoryParameters>(name)),
        value => Ok(value),
    }
}
