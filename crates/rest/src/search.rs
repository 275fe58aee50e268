//! Products by words.

use std::sync::Arc;

use ::search::{CallerKind, Found, SearchAnswer, SearchArguments, SearchError};
use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use catalog::ProductRecord;
use primitives::{ErrorCode, PageRequest, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request::ProductPart;
use crate::{Access, AgentCaller, Endpoint, Json, One, Opened, Path, Query, Refusal, Rest, Routes};

/// Suggestions of one answer.
const SUGGESTIONS_MAX: i64 = 20;

pub(crate) fn endpoints() -> Routes<Opened> {
    let everyone = Endpoint::post("/search", Access::Public, search)
        .tool("search_products", 20)
        .name("search")
        .summary("Products of all stores, by words and filters");
    let agents = Endpoint::post("/agent/search", Access::Agent(Scope::AgentRead), search)
        .tool("search_products", 20)
        .name("agentSearch")
        .summary("Products of all stores, by words and filters, for agents");
    let suggestions = Endpoint::get("/search/suggestions", Access::Public, suggestions)
        .tool("suggest_queries", 60)
        .name("suggestSearches")
        .tag("agent")
        .summary("Searches that begin so")
        .explanation("Completes the last word. Each suggestion finds something.")
        .query::<SuggestionParameters>()
        .answer::<One<Suggestions>>(200)
        .errors(&[ErrorCode::StoreNotFound, ErrorCode::StoreSuspended, ErrorCode::InvalidSlug]);
    let ranking = Endpoint::get("/search/ranking", Access::Public, ranking)
        .name("readRanking")
        .tag("agent")
        .summary("How results are ordered")
        .explanation("The formula of the order `relevance`, in words and in numbers.")
        .answer::<One<::search::Ranking>>(200);
    let similar = Endpoint::get(
        "/agent/products/{product_id}/similar",
        Access::Agent(Scope::AgentRead),
        similar,
    )
    .tool("find_similar_products", 60)
    .name("listSimilarProducts")
    .tag("agent")
    .summary("Products like this one")
    .explanation("By the words of its name and its place in the tree, of all stores.")
    .path::<ProductPart>()
    .query::<SimilarParameters>()
    .answer::<SearchAnswer<ProductRecord>>(200)
    .errors(&[
        ErrorCode::ProductNotFound,
        ErrorCode::StoreNotFound,
        ErrorCode::StoreSuspended,
        ErrorCode::InvalidSlug,
    ]);
    let routes = Routes::new().with(described(everyone)).with(described(agents));
    routes.with(suggestions).with(ranking).with(similar)
}

fn described(endpoint: Endpoint<Opened>) -> Endpoint<Opened> {
    endpoint
        .tag("agent")
        .explanation(
            "Results have all words of the query; if nothing does, misspelt words are corrected, and then some \
             of the words will do: `meta.matched` says which. What is named exactly (article number, SKU, name) \
             comes first. Stores below a trust score of 0.70 come last, suspended stores never appear. \
             `meta.total` is exact up to a work budget; beyond it `meta.total_is_estimate` is true.",
        )
        .body::<SearchArguments>()
        .answer::<SearchAnswer<ProductRecord>>(200)
        .errors(&[ErrorCode::StoreNotFound, ErrorCode::StoreSuspended, ErrorCode::InvalidSlug])
}

/// An answer that is JSON already.
struct Raw(String);

impl Raw {
    fn of(found: Found) -> Result<Self, Refusal> {
        Ok(Self(found.into_json().map_err(SearchError::Unreadable)?))
    }
}

impl IntoResponse for Raw {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, "application/json")], self.0).into_response()
    }
}

async fn search(
    agent: Option<Extension<AgentCaller>>,
    State(rest): State<Arc<Rest>>,
    Json(arguments): Json<SearchArguments>,
) -> Result<Raw, Refusal> {
    let mut query = arguments.query()?;
    if let Some(Extension(agent)) = &agent {
        query.stores = agent.stores(&rest, query.stores).await?;
    }
    let caller = if agent.is_some() { CallerKind::Agent } else { CallerKind::Anonymous };
    let found = rest.search.find(query, caller).await?;
    Raw::of(found)
}

/// What somebody began to type.
#[derive(Debug, Deserialize, JsonSchema)]
struct SuggestionParameters {
    /// The beginning of a search.
    #[schemars(length(max = 200))]
    q: String,
    /// Only from this store.
    #[schemars(length(max = 63))]
    merchant: Option<String>,
    /// How many, 1 to 20.
    limit: Option<i64>,
}

/// Searches that begin so.
#[derive(Debug, Serialize, JsonSchema)]
struct Suggestions {
    /// The searches, the most frequent words first.
    suggestions: Vec<String>,
}

async fn suggestions(
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<SuggestionParameters>,
) -> Result<One<Suggestions>, Refusal> {
    let stores = ::search::slugs(parameters.merchant.as_slice())?;
    let most = parameters.limit.unwrap_or(8).clamp(1, SUGGESTIONS_MAX);
    let start: String = parameters.q.chars().take(200).collect();
    let most = usize::try_from(most).unwrap_or(1);
    let suggestions = rest.search.suggest(start, stores, most).await?;
    Ok(One::new(Suggestions { suggestions }))
}

async fn ranking() -> One<::search::Ranking> {
    One::new(::search::Ranking::default())
}

/// Which products like it.
#[derive(Debug, Deserialize, JsonSchema)]
struct SimilarParameters {
    /// Only from this store.
    #[schemars(length(max = 63))]
    merchant: Option<String>,
    /// How many, 1 to 100.
    limit: Option<i64>,
}

async fn similar(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(ProductPart(id)): Path<ProductPart>,
    Query(parameters): Query<SimilarParameters>,
) -> Result<Raw, Refusal> {
    let stores = ::search::slugs(parameters.merchant.as_slice())?;
    if agent.0.stores.is_some() {
        agent.sees(catalog::owner(&rest.database, id).await?)?;
    }
    let stores = agent.stores(&rest, stores).await?;
    let page = PageRequest::new(None, Some(parameters.limit.unwrap_or(10)));
    let found = rest.search.similar(id, stores, page).await?;
    Raw::of(found)
}
