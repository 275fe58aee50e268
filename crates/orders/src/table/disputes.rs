//! Disputes, their statements, and feedback.

use database::Work;
use jobs::SweepRow;
use primitives::{DisputeId, Id, KeyId, MerchantId, OrderId, Timestamp};
use serde_json::Value;
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::details::ByOrder;
use super::list::LATEST_MICROS;
use super::parsed;
use crate::{
    ActorKind, Dispute, DisputeCursor, DisputeReason, DisputeStatus, DisputesFilter, OrderError,
    Resolution, Statement,
};

struct Row {
    merchant: MerchantId,
    order: OrderId,
    id: DisputeId,
    status: String,
    reason: String,
    opened_by: String,
    respond_by: Timestamp,
    decide_by: Option<Timestamp>,
    reminded_at: Option<Timestamp>,
    answered_at: Option<Timestamp>,
    proposed_minor: Option<i64>,
    resolution: Option<String>,
    refund_minor: Option<i64>,
    statement_count: i32,
    opened_at: Timestamp,
    updated_at: Timestamp,
    resolved_at: Option<Timestamp>,
}

impl TryFrom<Row> for Dispute {
    type Error = OrderError;
    fn try_from(row: Row) -> Result<Self, OrderError> {
        let resolution = row.resolution.as_deref();
        Ok(Self {
            id: row.id,
            status: parsed(&row.status, DisputeStatus::parse)?,
            reason: parsed(&row.reason, DisputeReason::parse)?,
            opened_by: parsed(&row.opened_by, ActorKind::parse)?,
            respond_by: row.respond_by,
            decide_by: row.decide_by,
            reminded_at: row.reminded_at,
            answered_at: row.answered_at,
            proposed_minor: row.proposed_minor,
            resolution: resolution.map(|name| parsed(name, Resolution::parse)).transpose()?,
            refund_minor: row.refund_minor,
            statement_count: u32::try_from(row.statement_count).unwrap_or(0),
            statements: Vec::new(),
            opened_at: row.opened_at,
            updated_at: row.updated_at,
            resolved_at: row.resolved_at,
        })
    }
}

struct StatementRow {
    dispute: DisputeId,
    actor: String,
    statement: String,
    evidence: Value,
    created_at: Timestamp,
}

impl TryFrom<StatementRow> for Statement {
    type Error = OrderError;
    fn try_from(row: StatementRow) -> Result<Self, OrderError> {
        Ok(Self {
            actor: parsed(&row.actor, ActorKind::parse)?,
            text: row.statement,
            evidence: serde_json::from_value(row.evidence).map_err(|_| OrderError::Unreadable)?,
            created_at: row.created_at,
        })
    }
}

/// A dispute, if it can be read, with its store and order.
pub(crate) struct ListedDispute {
    pub(crate) merchant: MerchantId,
    pub(crate) order: OrderId,
    pub(crate) id: DisputeId,
    pub(crate) opened_at: Timestamp,
    pub(crate) decide_by: Option<Timestamp>,
    pub(crate) dispute: Result<Dispute, OrderError>,
}

impl From<Row> for ListedDispute {
    fn from(row: Row) -> Self {
        Self {
            merchant: row.merchant,
            order: row.order,
            id: row.id,
            opened_at: row.opened_at,
            decide_by: row.decide_by,
            dispute: Dispute::try_from(row),
        }
    }
}

/// Selects the columns of `Row`. The position of the last statement is their number.
macro_rules! disputes {
    ($rest:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"SELECT merchant_id AS "merchant: MerchantId", order_id AS "order: OrderId",
                  dispute_id AS "id: DisputeId", status, reason, opened_by,
                  respond_by AS "respond_by: Timestamp", decide_by AS "decide_by: Timestamp",
                  reminded_at AS "reminded_at: Timestamp", answered_at AS "answered_at: Timestamp", proposed_minor,
                  resolution, refund_minor,
                  coalesce((SELECT max(it.position) FROM dispute_statement AS it
                            WHERE (it.merchant_id, it.order_id, it.dispute_id)
                                = (dispute.merchant_id, dispute.order_id, dispute.dispute_id)), 0) AS "statement_count!",
                  opened_at AS "opened_at: Timestamp", updated_at AS "updated_at: Timestamp",
                  resolved_at AS "resolved_at: Timestamp"
           FROM order_dispute AS dispute "# + $rest,
            $($argument),*
        )
    };
}

/// Returns the disputes of several orders of a store, without their statements.
pub(crate) async fn disputes_of(
    sql: &mut PgConnection,
    merchant: MerchantId,
    ids: &[OrderId],
) -> Result<ByOrder<Dispute>, OrderError> {
    let rows = disputes!(
        "WHERE merchant_id = $1 AND order_id = ANY($2) ORDER BY opened_at, dispute_id",
        merchant as MerchantId,
        ids as &[OrderId],
    );
    let mut found = ByOrder::new();
    for row in rows.fetch_all(sql).await? {
        found.entry(row.order).or_default().push(Dispute::try_from(row)?);
    }
    Ok(found)
}

/// Returns the disputes of a store that a filter selects, without those of sandboxes, the newest first.
pub(crate) async fn disputes_of_store(
    sql: &mut PgConnection,
    merchant: MerchantId,
    filter: &DisputesFilter,
) -> sqlx::Result<Vec<ListedDispute>> {
    let rows = match filter.statuses.as_slice() {
        [status] if filter.order.is_none() => {
            rows_with_status(sql, merchant, *status, filter).await?
        }
        _ => rows_with_statuses(sql, merchant, filter).await?,
    };
    Ok(rows.into_iter().map(ListedDispute::from).collect())
}

/// Reads the disputes of one status, by the index of statuses. A list without a position begins after the latest opening.
async fn rows_with_status(
    sql: &mut PgConnection,
    merchant: MerchantId,
    status: DisputeStatus,
    filter: &DisputesFilter,
) -> sqlx::Result<Vec<Row>> {
    let latest = Timestamp::from_unix_micros(LATEST_MICROS);
    let first = DisputeCursor { at: latest, id: DisputeId::from_uuid(Uuid::nil()) };
    let after = filter.after.unwrap_or(first);
    disputes!(
        "WHERE merchant_id = $1 AND status = $2
           AND opened_at <= $3 AND (opened_at < $3 OR dispute_id > $4)
           AND NOT EXISTS (SELECT FROM placed_order AS placed
                           WHERE (placed.merchant_id, placed.order_id) = (dispute.merchant_id, dispute.order_id)
                             AND is_sandbox)
         ORDER BY opened_at DESC, dispute_id LIMIT $5",
        merchant as MerchantId,
        status.as_str(),
        after.at as Timestamp,
        after.id as DisputeId,
        i64::from(filter.limit),
    )
    .fetch_all(sql)
    .await
}

async fn rows_with_statuses(
    sql: &mut PgConnection,
    merchant: MerchantId,
    filter: &DisputesFilter,
) -> sqlx::Result<Vec<Row>> {
    let statuses: Vec<String> = filter.statuses.iter().map(ToString::to_string).collect();
    disputes!(
        "WHERE merchant_id = $1 AND (cardinality($2::text[]) = 0 OR status = ANY($2))
           AND ($3::uuid IS NULL OR order_id = $3)
           AND ($4::timestamptz IS NULL OR (opened_at <= $4 AND (opened_at < $4 OR dispute_id > $5)))
           AND NOT EXISTS (SELECT FROM placed_order AS placed
                           WHERE (placed.merchant_id, placed.order_id) = (dispute.merchant_id, dispute.order_id)
                             AND is_sandbox)
         ORDER BY opened_at DESC, dispute_id LIMIT $6",
        merchant as MerchantId,
        &statuses,
        filter.order as Option<OrderId>,
        filter.after.map(|after| after.at) as Option<Timestamp>,
        filter.after.map(|after| after.id) as Option<DisputeId>,
        i64::from(filter.limit),
    )
    .fetch_all(sql)
    .await
}

/// Returns the disputes of all stores that are under review, without those of sandboxes, the most urgent first.
pub(crate) async fn disputes_to_decide(
    sql: &mut PgConnection,
    after: Option<DisputeCursor>,
    limit: u32,
) -> sqlx::Result<Vec<ListedDispute>> {
    let rows = disputes!(
        "WHERE status = 'under_review' AND ($1::timestamptz IS NULL OR (decide_by, dispute_id) > ($1, $2))
           AND NOT EXISTS (SELECT FROM placed_order AS placed
                           WHERE (placed.merchant_id, placed.order_id) = (dispute.merchant_id, dispute.order_id)
                             AND is_sandbox)
         ORDER BY decide_by, dispute_id LIMIT $3",
        after.map(|after| after.at) as Option<Timestamp>,
        after.map(|after| after.id) as Option<DisputeId>,
        i64::from(limit),
    );
    Ok(rows.fetch_all(sql).await?.into_iter().map(ListedDispute::from).collect())
}

/// Reads the statements of disputes of one order, the oldest first.
pub(crate) async fn read_statements(
    sql: &mut PgConnection,
    merchant: MerchantId,
    order: OrderId,
    disputes: &mut [Dispute],
) -> Result<(), OrderError> {
    let ids: Vec<DisputeId> = disputes.iter().map(|it| it.id).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let rows = sqlx::query_as!(
        StatementRow,
        r#"SELECT dispute_id AS "dispute: DisputeId", actor, statement, evidence, created_at AS "created_at: Timestamp"
           FROM dispute_statement
           WHERE merchant_id = $1 AND order_id = $2 AND dispute_id = ANY($3)
           ORDER BY dispute_id, position"#,
        merchant as MerchantId,
        order as OrderId,
        &ids as &[DisputeId],
    )
    .fetch_all(sql)
    .await?;
    for row in rows {
        if let Some(dispute) = disputes.iter_mut().find(|it| it.id == row.dispute) {
            dispute.statements.push(Statement::try_from(row)?);
        }
    }
    Ok(())
}

/// Counts the statements of an actor in a dispute.
pub(crate) async fn count_statements(
    work: &mut Work,
    merchant: MerchantId,
    (order, dispute): (OrderId, DisputeId),
    actor: ActorKind,
) -> sqlx::Result<usize> {
    let count = sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM dispute_statement
           WHERE merchant_id = $1 AND order_id = $2 AND dispute_id = $3 AND actor = $4"#,
        merchant as MerchantId,
        order as OrderId,
        dispute as DisputeId,
        actor.as_str(),
    )
    .fetch_one(work.sql())
    .await?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// Inserts a dispute, or replaces what changes about it. The database rejects a second open dispute of an order.
pub(crate) async fn put_dispute(
    work: &mut Work,
    merchant: MerchantId,
    order: OrderId,
    it: &Dispute,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO order_dispute
             (merchant_id, order_id, dispute_id, status, reason, opened_by, respond_by, decide_by, reminded_at,
              answered_at, proposed_minor, resolution, refund_minor, opened_at, updated_at, resolved_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
         ON CONFLICT (merchant_id, order_id, dispute_id) DO UPDATE
         SET status = $4, decide_by = $8, reminded_at = $9, answered_at = $10, proposed_minor = $11, resolution = $12,
             refund_minor = $13, updated_at = $15, resolved_at = $16",
        merchant as MerchantId,
        order as OrderId,
        it.id as DisputeId,
        it.status.as_str(),
        it.reason.as_str(),
        it.opened_by.as_str(),
        it.respond_by as Timestamp,
        it.decide_by as Option<Timestamp>,
        it.reminded_at as Option<Timestamp>,
        it.answered_at as Option<Timestamp>,
        it.proposed_minor,
        it.resolution.map(Resolution::as_str),
        it.refund_minor,
        it.opened_at as Timestamp,
        it.updated_at as Timestamp,
        it.resolved_at as Option<Timestamp>,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Inserts the statement with this position, from 1.
pub(crate) async fn insert_statement(
    work: &mut Work,
    merchant: MerchantId,
    (order, dispute, position): (OrderId, DisputeId, i32),
    it: &Statement,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO dispute_statement
             (merchant_id, order_id, dispute_id, position, actor, statement, evidence, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        merchant as MerchantId,
        order as OrderId,
        dispute as DisputeId,
        position,
        it.actor.as_str(),
        it.text,
        Json(&it.evidence) as _,
        it.created_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns the order of a dispute of this store.
pub(crate) async fn order_of_dispute(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: DisputeId,
) -> sqlx::Result<Option<OrderId>> {
    sqlx::query_scalar!(
        r#"SELECT order_id AS "order: OrderId" FROM order_dispute WHERE merchant_id = $1 AND dispute_id = $2"#,
        merchant as MerchantId,
        id as DisputeId,
    )
    .fetch_optional(sql)
    .await
}

/// Returns the merchant of a dispute, for requests that name a dispute without its store.
pub(crate) async fn merchant_of_dispute(
    sql: &mut PgConnection,
    id: DisputeId,
) -> sqlx::Result<Option<MerchantId>> {
    sqlx::query_scalar!(
        r#"SELECT merchant_id AS "merchant: MerchantId" FROM order_dispute WHERE dispute_id = $1"#,
        id as DisputeId,
    )
    .fetch_optional(sql)
    .await
}

/// Returns open disputes of all stores whose deadline has passed, after a row, the oldest first.
pub(crate) async fn find_unanswered(
    sql: &mut PgConnection,
    now: Timestamp,
    after: Option<SweepRow>,
    limit: i64,
) -> sqlx::Result<Vec<SweepRow>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", dispute_id AS "id", respond_by AS "due_at: Timestamp"
           FROM order_dispute
           WHERE status = 'open' AND respond_by <= $1
             AND ($2::timestamptz IS NULL OR (respond_by, dispute_id) > ($2, $3))
           ORDER BY respond_by, dispute_id LIMIT $4"#,
        now as Timestamp,
        after.map(|row| row.due_at) as Option<Timestamp>,
        after.map(|row| row.id),
        limit,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| SweepRow { merchant: row.merchant, id: row.id, due_at: row.due_at })
        .collect())
}

/// Returns open disputes of all stores whose deadline is after now and at most at `until`, and whose merchant was not
/// reminded, after a row, the oldest first.
pub(crate) async fn find_unreminded(
    sql: &mut PgConnection,
    (now, until): (Timestamp, Timestamp),
    after: Option<SweepRow>,
    limit: i64,
) -> sqlx::Result<Vec<SweepRow>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", dispute_id AS "id", respond_by AS "due_at: Timestamp"
           FROM order_dispute
           WHERE status = 'open' AND respond_by > $1 AND respond_by <= $2 AND reminded_at IS NULL
             AND ($3::timestamptz IS NULL OR (respond_by, dispute_id) > ($3, $4))
           ORDER BY respond_by, dispute_id LIMIT $5"#,
        now as Timestamp,
        until as Timestamp,
        after.map(|row| row.due_at) as Option<Timestamp>,
        after.map(|row| row.id),
        limit,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| SweepRow { merchant: row.merchant, id: row.id, due_at: row.due_at })
        .collect())
}

/// Stores the feedback of an agent about an order; a later one replaces it.
pub(crate) async fn put_feedback(
    work: &mut Work,
    merchant: MerchantId,
    order: OrderId,
    agent: KeyId,
    outcome: &str,
    note: Option<&str>,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO order_feedback (merchant_id, order_id, agent_key_id, outcome, note, created_at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (merchant_id, order_id, agent_key_id) DO UPDATE
         SET outcome = $4, note = $5, created_at = $6",
        merchant as MerchantId,
        order as OrderId,
        agent as KeyId,
        outcome,
        note,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
