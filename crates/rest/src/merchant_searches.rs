//! What was searched for in a merchant's store, and what was not found.

use std::sync::Arc;

use axum::extract::State;
use database::Reading;
use primitives::{ErrorCode, Plan};
use schemars::JsonSchema;
use search::SearchTally;
use serde::{Deserialize, Serialize};

use crate::{Access, Endpoint, One, Opened, Query, Refusal, Rest, Routes, StoreCaller};

/// Tallies are kept for so many days.
const DAYS_MAX: u32 = 90;
/// Days that every plan has.
const DAYS_FREE: u32 = 30;

pub(crate) fn endpoints() -> Routes<Opened> {
    let searches = Endpoint::get("/merchant/analytics/searches", Access::Store, searches)
        .name("readSearches")
        .tag("merchant")
        .summary("What agents search for in the store, and what they do not find")
        .explanation(
            "Counted some seconds after a search, by day, for ninety days; more than thirty of them take an owner with the plan GROWTH. No caller is named, and a query that \
             could hold an address or a number of a person is shown as `(address)` or `(number)`. Under heavy load \
             some searches are not counted.",
        )
        .query::<SearchesParameters>()
        .answer::<One<SearchesAnswer>>(200)
        .errors(&[ErrorCode::TierRequired]);
    Routes::new().with(searches)
}

/// Which searches.
#[derive(Debug, Deserialize, JsonSchema)]
struct SearchesParameters {
    /// The last days, today among them, 1 to 90.
    #[schemars(extend("default" = 7))]
    days: Option<i64>,
    /// Queries in each list, 1 to 100.
    #[schemars(extend("default" = 20))]
    limit: Option<i64>,
}

/// What was searched for.
#[derive(Debug, Serialize, JsonSchema)]
struct SearchesAnswer {
    /// The most frequent queries.
    top: Vec<QueryRecord>,
    /// The queries that most often found nothing.
    without_result: Vec<QueryRecord>,
}

/// A query, and what came of it.
#[derive(Debug, Serialize, JsonSchema)]
struct QueryRecord {
    /// What was searched for, in lower case.
    query: String,
    /// How often.
    searches: i64,
    /// How often nothing was found.
    without_result: i64,
    /// How many products were found on average.
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
) -> Result<One<SearchesAnswer>, Refusal> {
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
    Ok(One::new(SearchesAnswer { top: records(top), without_result: records(missed) }))
}
