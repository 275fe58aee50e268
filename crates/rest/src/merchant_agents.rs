//! Which agents use a merchant's store.

use std::sync::Arc;

use axum::extract::State;
use checkout::AgentActivity;
use database::Reading;
use identity::StoreScope;
use primitives::{KeyId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Query, Rest, RestState, Routes, StoreCaller,
};

/// Longest period. The events are stored for longer (docs/retention.md).
const DAYS_MAX: i64 = 90;

pub(crate) fn endpoints() -> Routes<RestState> {
    let agents = Endpoint::get("/merchant/analytics/agents", Access::Store(StoreScope::Orders), agents)
        .operation_id("getAgentAnalytics")
        .tag("merchant")
        .summary("Get agent analytics")
        .description(
            "Returns the agents that started or completed checkouts in the store, the most active first, with the number \
             of events of each kind by day (UTC). An agent is the ID of its key, as in orders; checkouts of sandbox keys \
             are not counted.",
        )
        .query::<AgentsParameters>()
        .response::<Envelope<AgentsResult>>(200);
    Routes::new().with(agents)
}

/// Period and length of the list.
#[derive(Debug, Deserialize, JsonSchema)]
struct AgentsParameters {
    /// Number of days up to and including today, 1 to 90.
    #[schemars(extend("default" = 7))]
    days: Option<i64>,
    /// Agents, 1 to 100.
    #[schemars(extend("default" = 20))]
    limit: Option<i64>,
}

/// Agents of the store.
#[derive(Debug, Serialize, JsonSchema)]
struct AgentsResult {
    /// Number of days that are counted, up to and including today.
    days: i64,
    /// Begin of the period.
    since: Timestamp,
    /// The most active agents.
    agents: Vec<AgentRecord>,
}

/// An agent and its events.
#[derive(Debug, Serialize, JsonSchema)]
struct AgentRecord {
    /// ID of the agent key, not the key itself.
    agent_key_id: KeyId,
    /// Checkouts started.
    checkouts_started: i64,
    /// Checkouts completed.
    checkouts_completed: i64,
    /// The days with events, the oldest first.
    by_day: Vec<DayRecord>,
}

/// Events of a day.
#[derive(Debug, Serialize, JsonSchema)]
struct DayRecord {
    /// The day in UTC, such as `2026-11-16`.
    day: String,
    /// Checkouts started.
    checkouts_started: i64,
    /// Checkouts completed.
    checkouts_completed: i64,
}

impl From<AgentActivity> for AgentRecord {
    fn from(agent: AgentActivity) -> Self {
        let by_day: Vec<DayRecord> = agent
            .days
            .into_iter()
            .map(|day| DayRecord {
                day: day.day,
                checkouts_started: day.started,
                checkouts_completed: day.completed,
            })
            .collect();
        Self {
            agent_key_id: agent.key,
            checkouts_started: by_day.iter().map(|day| day.checkouts_started).sum(),
            checkouts_completed: by_day.iter().map(|day| day.checkouts_completed).sum(),
            by_day,
        }
    }
}

async fn agents(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<AgentsParameters>,
) -> Result<Envelope<AgentsResult>, ErrorResponse> {
    let days = parameters.days.unwrap_or(7).clamp(1, DAYS_MAX);
    let limit = parameters.limit.unwrap_or(20).clamp(1, 100);
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let (since, agents) = checkout::agent_activity(&reading, caller.merchant, days, limit).await?;
    let agents = agents.into_iter().map(AgentRecord::from).collect();
    Ok(Envelope::new(AgentsResult { days, since, agents }))
}
