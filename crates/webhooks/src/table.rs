//! All SQL of webhooks, by subject.

pub(crate) mod attempt;
pub(crate) mod delivery;
pub(crate) mod endpoint;
pub(crate) mod event;
pub(crate) mod purge;
pub(crate) mod queue;
pub(crate) mod redeliver;
pub(crate) mod settlement;
pub(crate) mod stats;

use std::time::Duration;

use sqlx::PgConnection;

/// Plans the statements of a transaction with their parameters, each time. The tables of the queue are empty one moment
/// and have many rows the next, and a plan that was prepared for an empty table reads all of it. It also selects the
/// partitions.
pub(crate) async fn plan_anew(sql: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("SET LOCAL plan_cache_mode = force_custom_plan").execute(sql).await?;
    Ok(())
}

/// As [`plan_anew`], and no statement takes longer: the loop of a dispatcher waits for it.
pub(crate) async fn prepare_read(
    sql: &mut PgConnection,
    statement_max: Duration,
) -> sqlx::Result<()> {
    let settings = sqlx::query!(
        "SELECT set_config('plan_cache_mode', 'force_custom_plan', true) AS plan_cache_mode,
                set_config('statement_timeout', $1, true) AS statement_timeout",
        statement_max.as_millis().to_string(),
    );
    settings.fetch_one(sql).await?;
    Ok(())
}

/// As [`plan_anew`], and the transaction waits for a lock only briefly: everything that a dispatcher does waits behind
/// it.
pub(crate) async fn prepare(sql: &mut PgConnection, lock_max: Duration) -> sqlx::Result<()> {
    let settings = sqlx::query!(
        "SELECT set_config('plan_cache_mode', 'force_custom_plan', true) AS plan_cache_mode,
                set_config('lock_timeout', $1, true) AS lock_timeout",
        lock_max.as_millis().to_string(),
    );
    settings.fetch_one(sql).await?;
    Ok(())
}
