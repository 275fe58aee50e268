//! Events of agents.

use primitives::{KeyId, MerchantId, Timestamp};
use sqlx::PgConnection;

use crate::ActiveDay;

/// Returns the days of the most active agents since a time, agent by agent, the most active first.
pub(crate) async fn agent_activity(
    sql: &mut PgConnection,
    merchant: MerchantId,
    since: Timestamp,
    limit: i64,
) -> sqlx::Result<Vec<(KeyId, ActiveDay)>> {
    let rows = sqlx::query!(
        r#"WITH agent AS (
               SELECT agent_key_id, count(*) AS events FROM agent_event
               WHERE merchant_id = $1 AND at >= $2
               GROUP BY agent_key_id ORDER BY events DESC, agent_key_id LIMIT $3)
           SELECT agent_key_id AS "key: KeyId", to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS "day!",
                  count(*) FILTER (WHERE kind = 'CHECKOUT_START') AS "started!",
                  count(*) FILTER (WHERE kind = 'CHECKOUT_COMPLETE') AS "completed!"
           FROM agent_event JOIN agent USING (agent_key_id)
           WHERE merchant_id = $1 AND at >= $2
           GROUP BY agent_key_id, events, 2
           ORDER BY events DESC, agent_key_id, 2"#,
        merchant as MerchantId,
        since as Timestamp,
        limit,
    )
    .fetch_all(sql)
    .await?;
    let day = |day, started, completed| ActiveDay { day, started, completed };
    Ok(rows.into_iter().map(|row| (row.key, day(row.day, row.started, row.completed))).collect())
}
