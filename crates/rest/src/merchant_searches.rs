//! Search analytics of a merchant's store.

use std::sync::Arc;

use axum::extract::State;
use database::Reading;
use identity::StoreScope;
use primitives::{ErrorCode, Plan};
use schemars::JsonSchema;
use search::SearchTally;
use serde::{Deserialize, Serialize};

use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Query, Rest, RestState, Routes, StoreCaller,
};

/// Days for which searches are kept.
const DAYS_MAX: u32 = 90;
/// Days that every plan includes.
const DAYS_FREE: u32 = 30;

pub(crate) fn endpoints() -> Routes<RestState> {
    let searches = Endpoint::get("/merchant/analytics/searches", Access::Store(StoreScope::Catalog), searches)
        .operation_id("getSearchAnalytics")
        .tag("merchant")
        .summary("Get search analytics")
        .description(
            "Returns the most frequent queries in the store and those without results. Searches are counted by day, \
             after some seconds, and kept for ninety days; more than thirty days require an owner with the plan GROWTH. \
             Callers are anonymous, and a query that may contain personal data is shown as `(address)` or `(number)`. \
             Under heavy load some searches are not counted.",
        )
        .query::<SearchesParameters>()
        .response::<Envelope<SearchesResult>>(200)
        .errors(&[ErrorCode::TierRequired]);
    Routes::new().with(searches)
}

/// Period and length of the lists.
#[derive(Debug, Deserialize, JsonSchema)]
struct SearchesParameters {
    /// Number of days up to and including today, 1 to 90.
    #[schemars(extend("default" = 7))]
    days: Option<i64>,
    /// Queries per list, 1 to 100.
    #[schemars(extend("default" = 20))]
    limit: Option<i64>,
}

/// Queries in the store.
#[derive(Debug, Serialize, JsonSchema)]
struct SearchesResult {
    /// The most frequent queries.
    top: Vec<QueryRecord>,
    /// The queries that most often had no result.
    without_result: Vec<QueryRecord>,
}

/// A query and its counts.
#[derive(Debug, Serialize, JsonSchema)]
struct QueryRecord {
    /// The query, in lower case.
    query: String,
    /// Number of searches.
    searches: i64,
    /// Number of searches without a result.
    without_result: i64,
    /// Average number of results.
    average_hits: f64,
}

impl From<SearchTally> for QueryRecord {
    fn from(tally: SearchTally) -> Self {
        Self {
            query: tally.query,
            searches: tally.searches,
            without_result: tally.without_result,
            average_hits: (tally.average_hits * 100.0).round() / 100.0,
        }
    }
}

async fn searches(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<SearchesParameters>,
) -> Result<Envelope<SearchesResult>, ErrorResponse> {
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let merchant = Some(caller.merchant);
    let days = parameters.days.unwrap_or(7).clamp(1, i64::from(DAYS_MAX));
    let days = u32::try_from(days).unwrap_or(DAYS_MAX);
    if days > DAYS_FREE {
        let plan = identity::store_plan(&rest.database, caller.merchant).await?;
        identity::require_plan(plan, Plan::Growth, "more than thirty days of searches")?;
    }
    let limit = parameters.limit.unwrap_or(20).clamp(1, 100);
    let top = search::top_searches(&reading, merchant, days, limit).await?;
    let missed = search::searches_without_result(&reading, merchant, days, limit).await?;
    let records = |tallies: Vec<SearchTally>| tallies.into_iter().map(QueryRecord::from).collect();
    Ok(Envelope::new(SearchesResult { top: records(top), without_result: records(missed) }))
}
