//! Trust: how scores come about, what they are, and how they went.

use std::sync::Arc;

use ::search::Ranking;
use ::trust::{HistoryRecord, Methodology, ScoreRecord};
use axum::extract::State;
use database::Reading;
use primitives::{ErrorCode, StoreSlug, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Access, Endpoint, Malformed, One, Opened, Path, Query, Refusal, Rest, Routes};

pub(crate) fn endpoints() -> Routes<Opened> {
    const MISSING: [ErrorCode; 2] = [ErrorCode::StoreNotFound, ErrorCode::StoreSuspended];
    let methodology = Endpoint::get("/trust/methodology", Access::Public, methodology)
        .tool("get_trust_methodology", 60)
        .name("readTrustMethodology")
        .tag("trust")
        .summary("How trust scores and the order of results come about")
        .answer::<MethodologyDocument>(200);
    let score = Endpoint::get("/trust/scores/{slug}", Access::Public, score)
        .tool("get_trust_score", 60)
        .name("readTrustScore")
        .tag("trust")
        .summary("The trust score of a store, and what it is made of")
        .path::<StoreSlug>()
        .answer::<One<ScoreRecord>>(200)
        .errors(&MISSING);
    let history = Endpoint::get("/trust/scores/{slug}/history", Access::Public, history)
        .tool("get_trust_history", 60)
        .name("readTrustHistory")
        .tag("trust")
        .summary("How the trust score of a store went, newest first")
        .path::<StoreSlug>()
        .query::<HistoryParameters>()
        .answer::<One<HistoryRecord>>(200)
        .errors(&MISSING);
    Routes::new().with(methodology).with(score).with(history)
}

/// The methodology, and how search orders results.
#[derive(Debug, Serialize, JsonSchema)]
struct MethodologyDocument {
    /// How scores come about.
    #[serde(flatten)]
    methodology: Methodology,
    /// How search orders results.
    ranking: Ranking,
}

async fn methodology() -> axum::Json<MethodologyDocument> {
    let (methodology, ranking) = (Methodology::default(), Ranking::default());
    axum::Json(MethodologyDocument { methodology, ranking })
}

async fn score(
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
) -> Result<One<ScoreRecord>, Refusal> {
    let store = rest.stores.admit(&slug).await?;
    let reading = Reading::for_store(&rest.database, store.merchant)?;
    let computation = ::trust::latest(&reading, store.merchant).await?;
    Ok(One::new(ScoreRecord::of(&store, computation.as_ref())))
}

/// Which part of a history.
#[derive(Debug, Deserialize, JsonSchema)]
struct HistoryParameters {
    /// Only since this moment (RFC 3339).
    #[schemars(length(max = 40))]
    from: Option<String>,
    /// Only up to this moment (RFC 3339).
    #[schemars(length(max = 40))]
    to: Option<String>,
}

async fn history(
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
    Query(parameters): Query<HistoryParameters>,
) -> Result<One<HistoryRecord>, Refusal> {
    let moment = |name: &str, text: Option<String>| -> Result<Option<Timestamp>, Malformed> {
        let text = text.filter(|text| !text.is_empty());
        let wrong = |_| Malformed::parameter::<HistoryParameters>(name);
        text.map(|text| text.parse().map_err(wrong)).transpose()
    };
    let (from, to) = (moment("from", parameters.from)?, moment("to", parameters.to)?);
    let store = rest.stores.admit(&slug).await?;
    let reading = Reading::for_store(&rest.database, store.merchant)?;
    let past = ::trust::history(&reading, store.merchant, from, to).await?;
    Ok(One::new(HistoryRecord::of(&store, &past)))
}
