//! Product search.

use std::sync::Arc;

use ::search::{CallerKind, SearchArguments, SearchError, SearchResponse, SearchResults};
use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use catalog::ProductRecord;
use limits::QuotaClass;
use primitives::{ErrorCode, PageRequest, ProductId, Scope, StoreSlug};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::store_access::SLUG_ERRORS;
use crate::{
    Access, AgentCaller, Endpoint, Envelope, ErrorResponse, Json, Path, Query, Rest, RestState,
    Routes,
};

/// Suggestions in one response.
const SUGGESTIONS_MAX: i64 = 20;

pub(crate) fn endpoints() -> Routes<RestState> {
    let public = Endpoint::post("/search", Access::Public, search)
        .tool("search_products", QuotaClass::Discovery)
        .operation_id("searchProducts")
        .summary("Search products of all stores");
    let agents = Endpoint::post("/agent/search", Access::Agent(Scope::AgentRead), search)
        .tool("search_products", QuotaClass::Discovery)
        .operation_id("searchProductsAsAgent")
        .summary("Search products of all stores as an agent");
    let suggestions = Endpoint::get("/search/suggestions", Access::Public, suggestions)
        .tool("suggest_queries", QuotaClass::Discovery)
        .operation_id("suggestQueries")
        .tag("agent")
        .summary("Suggest queries")
        .description(
            "Completes the last word of the query. Every suggestion has at least one result.",
        )
        .query::<SuggestionParameters>()
        .response::<Envelope<Suggestions>>(200)
        .errors(SLUG_ERRORS);
    let ranking = Endpoint::get("/search/ranking", Access::Public, ranking)
        .operation_id("getRanking")
        .tag("agent")
        .summary("Get the ranking formula")
        .description("The formula of the sort order `relevance`, with its weights.")
        .response::<Envelope<::search::Ranking>>(200);
    let similar = Endpoint::get(
        "/agent/products/{product_id}/similar",
        Access::Agent(Scope::AgentRead),
        similar,
    )
    .tool("find_similar_products", QuotaClass::Discovery)
    .operation_id("listSimilarProducts")
    .tag("agent")
    .summary("List similar products")
    .description("Products of all stores with a similar name and category.")
    .path::<ProductId>()
    .query::<SimilarParameters>()
    .response::<SearchResponse<ProductRecord>>(200)
    .errors(&[ErrorCode::ProductNotFound])
    .errors(SLUG_ERRORS);
    let routes = Routes::new().with(described(public)).with(described(agents));
    routes.with(suggestions).with(ranking).with(similar)
}

fn described(endpoint: Endpoint<RestState>) -> Endpoint<RestState> {
    endpoint
        .tag("agent")
        .description(
            "Results contain all words of the query. If none does, spelling is corrected; if still none does, some of \
             the words suffice: `meta.matched` says which rule applied. Exact matches of a GTIN, SKU or name come \
             first. Stores with a trust score below 0.70 come last; suspended stores never appear. `meta.total` is \
             exact unless `meta.total_is_estimate` is true.",
        )
        .body::<SearchArguments>()
        .response::<SearchResponse<ProductRecord>>(200)
        .errors(SLUG_ERRORS)
}

/// A response body that is already serialized as JSON.
struct RawJson(String);

impl RawJson {
    fn new(found: SearchResults) -> Result<Self, ErrorResponse> {
        Ok(Self(found.into_json().map_err(SearchError::Unreadable)?))
    }
}

impl IntoResponse for RawJson {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, "application/json")], self.0).into_response()
    }
}

async fn search(
    agent: Option<Extension<AgentCaller>>,
    State(rest): State<Arc<Rest>>,
    Json(arguments): Json<SearchArguments>,
) -> Result<RawJson, ErrorResponse> {
    let mut query = arguments.query()?;
    if let Some(Extension(agent)) = &agent {
        query.stores = agent.searchable_stores(&rest, query.stores).await?;
    }
    let caller = if agent.is_some() { CallerKind::Agent } else { CallerKind::Anonymous };
    let found = rest.search.find(query, caller).await?;
    RawJson::new(found)
}

/// The beginning of a query.
#[derive(Debug, Deserialize, JsonSchema)]
struct SuggestionParameters {
    /// The beginning of a query.
    #[schemars(length(max = 200))]
    q: String,
    /// Slug of the only store to search; omitted: all stores.
    #[schemars(length(max = StoreSlug::LENGTH_MAX))]
    merchant: Option<String>,
    /// Number of suggestions, 1 to 20; 8 by default.
    limit: Option<i64>,
}

/// Suggested queries.
#[derive(Debug, Serialize, JsonSchema)]
struct Suggestions {
    /// The queries, most frequent words first.
    suggestions: Vec<String>,
}

async fn suggestions(
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<SuggestionParameters>,
) -> Result<Envelope<Suggestions>, ErrorResponse> {
    let stores = ::search::slugs(parameters.merchant.as_slice())?;
    let most = parameters.limit.unwrap_or(8).clamp(1, SUGGESTIONS_MAX);
    let start: String = parameters.q.chars().take(200).collect();
    let most = usize::try_from(most).unwrap_or(1);
    let suggestions = rest.search.suggest(start, stores, most).await?;
    Ok(Envelope::new(Suggestions { suggestions }))
}

async fn ranking() -> Envelope<::search::Ranking> {
    Envelope::new(::search::Ranking::default())
}

/// Filter of similar products.
#[derive(Debug, Deserialize, JsonSchema)]
struct SimilarParameters {
    /// Slug of the only store to search; omitted: all stores.
    #[schemars(length(max = StoreSlug::LENGTH_MAX))]
    merchant: Option<String>,
    /// Number of products, 1 to 100; 10 by default.
    limit: Option<i64>,
}

async fn similar(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<ProductId>,
    Query(parameters): Query<SimilarParameters>,
) -> Result<RawJson, ErrorResponse> {
    let stores = ::search::slugs(parameters.merchant.as_slice())?;
    if agent.stores.is_some() {
        agent.require_visible(catalog::merchant_of(&rest.database, id).await?)?;
    }
    let stores = agent.searchable_stores(&rest, stores).await?;
    let page = PageRequest::new(None, Some(parameters.limit.unwrap_or(10)));
    let query = ::search::Query { stores, page, ..::search::Query::of_words("") };
    let found = rest.search.similar(id, query).await?;
    RawJson::new(found)
}
