//! Events of agents, and the import of those of the past with what merchants reported.

use database::Work;
use primitives::{KeyId, MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::event::AgentEvent;
use crate::report::ReportOutcome;
use crate::{ActiveDay, PastCheckout, PastReport};

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

/// Inserts the events of checkouts of the past, many rows in a statement.
pub(crate) async fn import_events(
    work: &mut Work,
    merchant: MerchantId,
    checkouts: &[PastCheckout],
) -> sqlx::Result<()> {
    let started = checkouts.iter().map(|it| (it, AgentEvent::CheckoutStart, it.started_at));
    let completed = checkouts
        .iter()
        .filter_map(|it| Some((it, AgentEvent::CheckoutComplete, it.completed_at?)));
    let events: Vec<_> = started.chain(completed).collect();
    let ids: Vec<Uuid> = events.iter().map(|(it, ..)| it.id.uuid()).collect();
    let kinds: Vec<&str> = events.iter().map(|(_, event, _)| event.as_str()).collect();
    let agents: Vec<Uuid> = events.iter().map(|(it, ..)| it.agent.uuid()).collect();
    let times: Vec<Timestamp> = events.iter().map(|(.., at)| *at).collect();
    sqlx::query!(
        "INSERT INTO agent_event (merchant_id, checkout_id, kind, agent_key_id, at)
         SELECT $1::uuid, past.checkout_id, past.kind, past.agent_key_id, past.at
         FROM unnest($2::uuid[], $3::text[], $4::uuid[], $5::timestamptz[])
              AS past (checkout_id, kind, agent_key_id, at)
         ON CONFLICT DO NOTHING",
        merchant as MerchantId,
        &ids,
        &kinds as _,
        &agents,
        &times as _,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Inserts the reports of checkouts of the past, many rows in a statement.
pub(crate) async fn import_reports(
    work: &mut Work,
    merchant: MerchantId,
    checkouts: &[PastCheckout],
) -> sqlx::Result<()> {
    let reports: Vec<(&PastCheckout, &PastReport)> =
        checkouts.iter().flat_map(|it| it.reports.iter().map(move |one| (it, one))).collect();
    let outcome = |report: &PastReport| {
        let is_equal = report.reported == report.expected;
        if is_equal { ReportOutcome::Accepted } else { ReportOutcome::AmountMismatch }
    };
    let ids: Vec<Uuid> = reports.iter().map(|(it, _)| it.id.uuid()).collect();
    let references: Vec<&str> = reports.iter().map(|(_, one)| one.reference.as_str()).collect();
    let outcomes: Vec<&str> = reports.iter().map(|(_, one)| outcome(one).as_str()).collect();
    let currencies: Vec<&str> =
        reports.iter().map(|(_, one)| one.expected.currency().code()).collect();
    let expected: Vec<i64> = reports.iter().map(|(_, one)| one.expected.minor()).collect();
    let reported: Vec<i64> = reports.iter().map(|(_, one)| one.reported.minor()).collect();
    let times: Vec<Timestamp> = reports.iter().map(|(_, one)| one.at).collect();
    let agents: Vec<Uuid> = reports.iter().map(|(it, _)| it.agent.uuid()).collect();
    sqlx::query!(
        "INSERT INTO payment_report
             (merchant_id, checkout_id, reference, outcome, currency, expected_minor, reported_minor, is_open, at,
              agent_key_id)
         SELECT $1::uuid, past.checkout_id, past.reference, past.outcome, past.currency, past.expected_minor,
                past.reported_minor, false, past.at, past.agent_key_id
         FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::timestamptz[],
                     $9::uuid[])
              AS past (checkout_id, reference, outcome, currency, expected_minor, reported_minor, at, agent_key_id)
         ON CONFLICT DO NOTHING",
        merchant as MerchantId,
        &ids,
        &references as _,
        &outcomes as _,
        &currencies as _,
        &expected,
        &reported,
        &times as _,
        &agents,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
