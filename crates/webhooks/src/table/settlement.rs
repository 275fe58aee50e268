//! Deliveries as the dispatcher leaves them: their results, attempts, and the health of endpoints.

use std::time::Duration;

use database::Work;
use primitives::{EndpointId, EventId, MerchantId, Timestamp};

use crate::dispatcher::StartCounts;
use crate::table::delivery::{DeliveryKey, EndpointKey, Keys};
use crate::{AttemptOutcome, DisabledReason};

/// How a delivery continues after it was started.
#[derive(Debug, Clone)]
pub(crate) struct Settlement {
    pub(crate) key: DeliveryKey,
    /// The counts with which it was started. If the row has other attempts or starts, something else has decided about it, and it
    /// stays as it is.
    pub(crate) counts: StartCounts,
    pub(crate) next: Next,
    /// `None` if no attempt ended.
    pub(crate) attempt: Option<EndedAttempt>,
}

/// The row of a delivery after it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// It was delivered: there is none.
    Removed,
    Pending {
        counts: StartCounts,
        /// `None`: as before.
        due_at: Option<Timestamp>,
    },
    Dead {
        attempts: i16,
        /// Even if it was requested again during its attempt: it crashes the process, or the receiver is gone.
        is_final: bool,
    },
}

/// An attempt that ended.
#[derive(Debug, Clone)]
pub(crate) struct EndedAttempt {
    pub(crate) number: i16,
    pub(crate) at: Timestamp,
    pub(crate) status: Option<i16>,
    pub(crate) error: Option<&'static str>,
    pub(crate) latency_ms: i32,
    pub(crate) response: Option<Vec<u8>>,
    pub(crate) outcome: AttemptOutcome,
}

/// Settles deliveries and records their attempts. One that was requested again during its attempt stays due, unless this attempt
/// delivers it; if this one was the last, its attempts begin again.
pub(crate) async fn settle(work: &mut Work, settlements: &[Settlement]) -> sqlx::Result<()> {
    if !settle_visible(work, settlements).await? {
        settle_visible(work, settlements).await?;
    }
    Ok(())
}

/// Settles deliveries whose rows are where the statement sees them. Returns whether all are settled.
///
/// A statement does not see the new version of a row that another transaction changed after the statement began. Such a row is
/// locked, so that the next statement sees it; what the first one has settled, it does not find again.
///
/// Each row is found by its key and then changed at its place. With a join the plan would depend on how many rows the table is
/// believed to have: the queue is often empty when that is counted, and a burst would then read all of it for each result.
async fn settle_visible(work: &mut Work, settlements: &[Settlement]) -> sqlx::Result<bool> {
    let keys = Keys::of(settlements.iter().map(|settlement| &settlement.key));
    let (counts, ended) = (Counts::of(settlements), Attempts::of(settlements));
    sqlx::query_scalar!(
        r#"WITH given AS MATERIALIZED (
               SELECT given.*, stored.place,
                      CASE WHEN stored.due_at > attempted_at AND NOT is_final THEN stored.due_at END AS requested_at
               FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::uuid[], $5::smallint[], $6::smallint[],
                           $7::smallint[], $8::smallint[], $9::timestamptz[], $10::boolean[], $11::smallint[],
                           $12::timestamptz[], $13::smallint[], $14::text[], $15::integer[], $16::bytea[],
                           $17::text[], $19::smallint[], $20::boolean[])
                   AS given (merchant_id, endpoint_id, event_at, event_id, attempts, starts, next_attempts, next_starts,
                             due_at, is_dead, number, attempted_at, status, error, latency_ms, response, outcome,
                             next_lone_starts, is_final)
               CROSS JOIN LATERAL (
                   SELECT delivery.ctid AS place, delivery.attempts, delivery.starts, delivery.dead_at, delivery.due_at
                   FROM webhook_delivery AS delivery
                   WHERE delivery.merchant_id = given.merchant_id AND delivery.endpoint_id = given.endpoint_id
                     AND delivery.event_at = given.event_at AND delivery.event_id = given.event_id
                   FOR UPDATE) AS stored
               WHERE stored.attempts = given.attempts AND stored.starts = given.starts
                 AND (stored.dead_at IS NULL OR given.next_attempts IS NULL)
           ), removed AS (
               DELETE FROM webhook_delivery AS delivery USING given
               WHERE delivery.ctid = given.place AND given.next_attempts IS NULL
               RETURNING given.*
           ), changed AS (
               UPDATE webhook_delivery AS delivery
               SET attempts = CASE WHEN given.is_dead AND given.requested_at IS NOT NULL THEN 0 ELSE given.next_attempts END,
                   starts = CASE WHEN given.is_dead AND given.requested_at IS NOT NULL THEN 0 ELSE given.next_starts END,
                   lone_starts = given.next_lone_starts, due_at = coalesce(given.requested_at, given.due_at, delivery.due_at),
                   dead_at = CASE WHEN given.is_dead AND given.requested_at IS NULL THEN $18::timestamptz END
               FROM given WHERE delivery.ctid = given.place AND given.next_attempts IS NOT NULL
               RETURNING given.*
           ), settled AS MATERIALIZED (
               SELECT * FROM removed UNION ALL SELECT * FROM changed
           ), recorded AS (
               INSERT INTO webhook_attempt (bucket, merchant_id, endpoint_id, event_at, event_id, number, attempted_at,
                                            status, error, latency_ms, response, outcome, next_at)
               SELECT webhook_bucket(attempted_at), merchant_id, endpoint_id, event_at, event_id, number, attempted_at,
                      status, error, latency_ms, response,
                      CASE WHEN outcome = 'dead' AND requested_at IS NOT NULL THEN 'retry' ELSE outcome END,
                      CASE WHEN outcome = 'delivered' THEN due_at ELSE coalesce(requested_at, due_at) END
               FROM settled WHERE number IS NOT NULL
           )
           SELECT (SELECT count(*) FROM given) = (SELECT count(*) FROM settled) AS "is_complete!""#,
        &keys.merchants as &[MerchantId],
        &keys.endpoints as &[EndpointId],
        &keys.event_times as &[Timestamp],
        &keys.events as &[EventId],
        &counts.attempts,
        &counts.starts,
        &counts.next_attempts as &[Option<i16>],
        &counts.next_starts as &[Option<i16>],
        &counts.due_at as &[Option<Timestamp>],
        &counts.dead,
        &ended.numbers as &[Option<i16>],
        &ended.times as &[Option<Timestamp>],
        &ended.statuses as &[Option<i16>],
        &ended.errors as &[Option<&str>],
        &ended.latencies as &[Option<i32>],
        &ended.responses as &[Option<&[u8]>],
        &ended.outcomes as &[Option<&str>],
        work.now() as Timestamp,
        &counts.next_lone_starts,
        &counts.is_final,
    )
    .fetch_one(work.sql())
    .await
}

/// The columns of the rows before and after.
#[derive(Default)]
struct Counts {
    attempts: Vec<i16>,
    starts: Vec<i16>,
    /// `None`: the row is removed.
    next_attempts: Vec<Option<i16>>,
    next_starts: Vec<Option<i16>>,
    next_lone_starts: Vec<i16>,
    due_at: Vec<Option<Timestamp>>,
    dead: Vec<bool>,
    is_final: Vec<bool>,
}

impl Counts {
    fn of(settlements: &[Settlement]) -> Self {
        let mut columns = Self::default();
        for Settlement { counts, next, .. } in settlements {
            let (after, due_at) = match *next {
                Next::Removed => (None, None),
                Next::Pending { counts, due_at } => (Some(counts), due_at),
                Next::Dead { attempts, .. } => (Some(StartCounts::resulted(attempts)), None),
            };
            columns.attempts.push(counts.attempts);
            columns.starts.push(counts.starts);
            columns.next_attempts.push(after.map(|counts| counts.attempts));
            columns.next_starts.push(after.map(|counts| counts.starts));
            columns.next_lone_starts.push(after.map_or(0, |counts| counts.lone_starts));
            columns.due_at.push(due_at);
            columns.dead.push(matches!(next, Next::Dead { .. }));
            columns.is_final.push(matches!(next, Next::Dead { is_final: true, .. }));
        }
        columns
    }
}

/// The columns of attempts.
#[derive(Default)]
struct Attempts<'settlement> {
    numbers: Vec<Option<i16>>,
    times: Vec<Option<Timestamp>>,
    statuses: Vec<Option<i16>>,
    errors: Vec<Option<&'static str>>,
    latencies: Vec<Option<i32>>,
    responses: Vec<Option<&'settlement [u8]>>,
    outcomes: Vec<Option<&'static str>>,
}

impl<'settlement> Attempts<'settlement> {
    fn of(settlements: &'settlement [Settlement]) -> Self {
        let mut columns = Self::default();
        for Settlement { attempt, .. } in settlements {
            let attempt = attempt.as_ref();
            columns.numbers.push(attempt.map(|it| it.number));
            columns.times.push(attempt.map(|it| it.at));
            columns.statuses.push(attempt.and_then(|it| it.status));
            columns.errors.push(attempt.and_then(|it| it.error));
            columns.latencies.push(attempt.map(|it| it.latency_ms));
            columns.responses.push(attempt.and_then(|it| it.response.as_deref()));
            columns.outcomes.push(attempt.map(|it| it.outcome.as_str()));
        }
        columns
    }
}

/// Disables an endpoint, unless it was moved or enabled, or its secret rotated, since an attempt read this version of its health, or is being changed.
/// Returns whether it did.
pub(crate) async fn disable(
    work: &mut Work,
    key: EndpointKey,
    health_version: i32,
    reason: DisabledReason,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "WITH locked AS MATERIALIZED (
             SELECT endpoint_id FROM webhook_endpoint
             WHERE merchant_id = $1 AND endpoint_id = $2 AND health_version = $3 AND status = 'enabled'
             FOR NO KEY UPDATE SKIP LOCKED
         )
         UPDATE webhook_endpoint AS endpoint
         SET status = 'disabled', disabled_reason = $4, disabled_at = $5, version = version + 1,
             updated_at = greatest(updated_at, $5)
         FROM locked WHERE endpoint.merchant_id = $1 AND endpoint.endpoint_id = locked.endpoint_id",
        key.merchant as MerchantId,
        key.endpoint as EndpointId,
        health_version,
        reason.as_str(),
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Moves pending deliveries of an endpoint to the dead letters and returns their number: none if it is not disabled, or its
/// merchant did that. One that may be in flight is left until its attempt has a result, which has to be recorded, or cannot have one any
/// more: the endpoint was disabled before `in_flight_since`. The rows are changed at their place, for the reason given at [`settle`].
pub(crate) async fn dead_letter(
    work: &mut Work,
    key: EndpointKey,
    in_flight_since: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE webhook_delivery SET dead_at = $3
         WHERE dead_at IS NULL AND ctid = ANY (ARRAY(
             SELECT delivery.ctid
             FROM webhook_endpoint AS endpoint
             JOIN webhook_delivery AS delivery
               ON delivery.merchant_id = endpoint.merchant_id AND delivery.endpoint_id = endpoint.endpoint_id
             WHERE endpoint.merchant_id = $1 AND endpoint.endpoint_id = $2
               AND endpoint.disabled_reason <> 'merchant' AND delivery.dead_at IS NULL
               AND (delivery.starts <= delivery.attempts OR endpoint.disabled_at <= $5)
             ORDER BY delivery.due_at LIMIT $4))",
        key.merchant as MerchantId,
        key.endpoint as EndpointId,
        now as Timestamp,
        limit,
        in_flight_since as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected())
}

/// The health of an endpoint after an attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HealthChange {
    pub(crate) key: EndpointKey,
    /// As the attempt read it.
    pub(crate) health_version: i32,
    pub(crate) has_succeeded: bool,
    /// Zero after a success.
    pub(crate) consecutive_failures: i32,
    /// The first failure in a row; `None` after a success.
    pub(crate) failing_since: Option<Timestamp>,
    pub(crate) probe_at: Option<Timestamp>,
    /// When the attempt began; `None` if nothing was sent.
    pub(crate) attempted_at: Option<Timestamp>,
    /// Of the last requests, smoothed.
    pub(crate) latency: Option<Duration>,
}

/// Records the health of endpoints. Those that were moved, enabled or deleted meanwhile, or whose secret was rotated, or that are being changed, are left out. A probe that
/// was requested after the attempt began is due still (`probe_now`).
pub(crate) async fn put_health(work: &mut Work, changes: &[HealthChange]) -> sqlx::Result<()> {
    let now = work.now();
    let column = |of: fn(&HealthChange) -> Option<Timestamp>| -> Vec<Option<Timestamp>> {
        changes.iter().map(of).collect()
    };
    let merchants: Vec<MerchantId> = changes.iter().map(|change| change.key.merchant).collect();
    let endpoints: Vec<EndpointId> = changes.iter().map(|change| change.key.endpoint).collect();
    let versions: Vec<i32> = changes.iter().map(|change| change.health_version).collect();
    let successes: Vec<bool> = changes.iter().map(|change| change.has_succeeded).collect();
    let failures: Vec<i32> = changes.iter().map(|change| change.consecutive_failures).collect();
    let millis = |latency: Duration| i32::try_from(latency.as_millis()).unwrap_or(i32::MAX);
    let latencies: Vec<Option<i32>> =
        changes.iter().map(|change| change.latency.map(millis)).collect();
    sqlx::query!(
        "WITH endpoint AS MATERIALIZED (
             SELECT merchant_id, endpoint_id, health_version FROM webhook_endpoint
             WHERE (merchant_id, endpoint_id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
             ORDER BY merchant_id, endpoint_id FOR KEY SHARE SKIP LOCKED
         ), given AS MATERIALIZED (
             SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::integer[], $4::boolean[], $5::integer[], $6::timestamptz[],
                                  $7::timestamptz[], $9::integer[], $10::timestamptz[])
                 AS given (merchant_id, endpoint_id, health_version, has_succeeded, failures, failing_since, probe_at,
                           latency_ms, attempted_at)
         )
         INSERT INTO webhook_health AS health
             (merchant_id, endpoint_id, last_attempt_at, last_success_at, failing_since, consecutive_failures, probe_at,
              latency_ms)
         SELECT given.merchant_id, given.endpoint_id, $8::timestamptz,
                CASE WHEN given.has_succeeded THEN $8::timestamptz END, given.failing_since, given.failures,
                given.probe_at, given.latency_ms
         FROM given
         JOIN endpoint
           ON endpoint.merchant_id = given.merchant_id AND endpoint.endpoint_id = given.endpoint_id
          AND endpoint.health_version = given.health_version
         ORDER BY given.merchant_id, given.endpoint_id
         ON CONFLICT (merchant_id, endpoint_id) DO UPDATE SET
             last_attempt_at = excluded.last_attempt_at,
             last_success_at = coalesce(excluded.last_success_at, health.last_success_at),
             failing_since = excluded.failing_since, consecutive_failures = excluded.consecutive_failures,
             latency_ms = excluded.latency_ms,
             probe_at = CASE WHEN excluded.probe_at IS NOT NULL AND health.probe_at <= $8
                                  AND health.probe_at > (SELECT given.attempted_at FROM given
                                                         WHERE given.merchant_id = health.merchant_id
                                                           AND given.endpoint_id = health.endpoint_id)
                             THEN health.probe_at ELSE excluded.probe_at END",
        &merchants as &[MerchantId],
        &endpoints as &[EndpointId],
        &versions,
        &successes,
        &failures,
        &column(|change| change.failing_since) as &[Option<Timestamp>],
        &column(|change| change.probe_at) as &[Option<Timestamp>],
        now as Timestamp,
        &latencies as &[Option<i32>],
        &column(|change| change.attempted_at) as &[Option<Timestamp>],
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
