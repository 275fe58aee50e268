//! Trust scores: methodology, current score, history.

use std::sync::Arc;

use ::search::Ranking;
use ::trust::{HistoryRecord, Methodology, MethodologyVersion, ScoreRecord};
use axum::extract::State;
use database::Reading;
use limits::QuotaClass;
use primitives::{ErrorCode, StoreSlug, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Access, Endpoint, Envelope, ErrorResponse, InvalidInput, Path, Query, Rest, RestState, Routes,
};

/// Scores of a history: four a day for a hundred days.
const POINTS_DEFAULT: i64 = 400;
const POINTS_MAX: i64 = 4_000;

pub(crate) fn endpoints() -> Routes<RestState> {
    let methodology = Endpoint::get("/trust/methodology", Access::Public, methodology)
        .tool("get_trust_methodology", QuotaClass::Discovery)
        .operation_id("getTrustMethodology")
        .tag("trust")
        .summary("Get the trust methodology")
        .description(
            "Explains how trust scores are computed and how search ranks results, with everything needed to compute a score \
             again from its evidence (`GET /merchant/trust/evidence`).",
        )
        .response::<MethodologyDocument>(200);
    let score = Endpoint::get("/trust/scores/{slug}", Access::Public, score)
        .tool("get_trust_score", QuotaClass::Discovery)
        .operation_id("getTrustScore")
        .tag("trust")
        .summary("Get the trust score of a store")
        .description(
            "Returns the score and its components, also of a store that is suspended or closed.",
        )
        .path::<StoreSlug>()
        .response::<Envelope<ScoreRecord>>(200)
        .errors(&[ErrorCode::StoreNotFound]);
    let history = Endpoint::get("/trust/scores/{slug}/history", Access::Public, history)
        .tool("get_trust_history", QuotaClass::Discovery)
        .operation_id("getTrustHistory")
        .tag("trust")
        .summary("Get the trust history of a store")
        .description(
            "Returns past trust scores, newest first, by the beginnings of their epochs, also of a store that is suspended or \
             closed. If the period has more than `limit` epochs, it is divided into as many equal parts, and the newest score \
             of each is returned.",
        )
        .path::<StoreSlug>()
        .query::<HistoryParameters>()
        .response::<Envelope<HistoryRecord>>(200)
        .errors(&[ErrorCode::StoreNotFound]);
    Routes::new().with(methodology).with(score).with(history)
}

/// The trust methodology and the ranking formula.
#[derive(Debug, Serialize, JsonSchema)]
struct MethodologyDocument {
    /// How trust scores are computed.
    #[serde(flatten)]
    methodology: Methodology,
    /// How search ranks results.
    ranking: Ranking,
}

async fn methodology(State(rest): State<Arc<Rest>>) -> axum::Json<MethodologyDocument> {
    let methodology = Methodology::of(rest.trust_methodology == MethodologyVersion::V41);
    axum::Json(MethodologyDocument { methodology, ranking: Ranking::default() })
}

async fn score(
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
) -> Result<Envelope<ScoreRecord>, ErrorResponse> {
    let store = rest.stores.find_active(&slug).await?;
    let reading = Reading::for_store(&rest.database, store.merchant)?;
    let computation = ::trust::latest(&reading, store.merchant).await?;
    Ok(Envelope::new(ScoreRecord::of(&store, computation.as_ref())))
}

/// A period of the history.
#[derive(Debug, Deserialize, JsonSchema)]
struct HistoryParameters {
    /// Start of the period (RFC 3339): the first epoch begins then or later.
    #[schemars(length(max = 40))]
    from: Option<String>,
    /// End of the period (RFC 3339): the last epoch begins then or before.
    #[schemars(length(max = 40))]
    to: Option<String>,
    /// Scores, 1 to 4,000.
    #[schemars(extend("default" = POINTS_DEFAULT))]
    limit: Option<i64>,
}

async fn history(
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
    Query(parameters): Query<HistoryParameters>,
) -> Result<Envelope<HistoryRecord>, ErrorResponse> {
    let timestamp = |name: &str, text: Option<String>| -> Result<Option<Timestamp>, InvalidInput> {
        let text = text.filter(|text| !text.is_empty());
        let invalid = |_| InvalidInput::parameter::<HistoryParameters>(name);
        text.map(|text| text.parse().map_err(invalid)).transpose()
    };
    let (from, to) = (timestamp("from", parameters.from)?, timestamp("to", parameters.to)?);
    let store = rest.stores.find_active(&slug).await?;
    let reading = Reading::for_store(&rest.database, store.merchant)?;
    let limit = parameters.limit.unwrap_or(POINTS_DEFAULT).clamp(1, POINTS_MAX);
    let limit = u16::try_from(limit).unwrap_or(u16::MAX);
    let past = ::trust::thinned_history(&reading, store.merchant, from, to, limit).await?;
    Ok(Envelope::new(HistoryRecord::of(&store, &past)))
}
