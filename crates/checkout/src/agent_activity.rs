//! Which agents started and completed checkouts in a store.

use std::time::Duration;

use database::Reading;
use primitives::{KeyId, MerchantId, Timestamp};

use crate::{CheckoutError, table};

const DAY: Duration = Duration::from_hours(24);
const DAY_MICROS: i64 = 86_400_000_000;

/// An agent and its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentActivity {
    pub key: KeyId,
    /// Days with events, the oldest first.
    pub days: Vec<ActiveDay>,
}

/// Events of an agent on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveDay {
    /// In UTC: `2026-11-16`.
    pub day: String,
    /// Checkouts started.
    pub started: i64,
    /// Checkouts completed.
    pub completed: i64,
}

/// Returns the most active agents of a store in the last days, today included, and the begin of the first day.
pub async fn agent_activity(
    reading: &Reading,
    merchant: MerchantId,
    days: i64,
    limit: i64,
) -> Result<(Timestamp, Vec<AgentActivity>), CheckoutError> {
    reading
        .run(async |sql| {
            let now = sql.now().await?;
            let before = DAY.saturating_mul(u32::try_from(days - 1).unwrap_or(0));
            let first = now.minus(before).unix_micros();
            let since = Timestamp::from_unix_micros(first - first.rem_euclid(DAY_MICROS));
            let rows = table::agent_activity(sql, merchant, since, limit).await?;
            let mut agents: Vec<AgentActivity> = Vec::new();
            for (key, day) in rows {
                match agents.last_mut() {
                    Some(agent) if agent.key == key => agent.days.push(day),
                    _ => agents.push(AgentActivity { key, days: vec![day] }),
                }
            }
            Ok((since, agents))
        })
        .await
}
