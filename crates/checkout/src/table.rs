//! All SQL of checkout.

mod agent_activity;
mod confirmation;

use carts::{ApprovalScope, Terms};
use database::Work;
use jobs::SweepRow;
use orders::OrderLine;
use payments::PaymentMethod;
use primitives::{
    CartId, CheckoutId, ConfirmationId, KeyId, MerchantId, Money, OrderId, PageRequest, Timestamp,
};
use serde_json::json;
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

pub(crate) use agent_activity::{agent_activity, import_events, import_reports};
pub(crate) use confirmation::{
    confirmation, confirmations_of, declined_at, delete_declined, insert_confirmation,
    insert_declined, mark_confirmation_used, record_decision,
};

use crate::report::{ReportOutcome, reported_parts};
use crate::session::SessionRow;
use crate::{Amounts, CheckoutError, PaymentReport, Session, SessionsFilter, Status, Transition};

/// Parses an optional name; a name that is not known is an error.
pub(crate) fn parsed<T>(
    name: Option<&str>,
    parse: fn(&str) -> Option<T>,
) -> Result<Option<T>, CheckoutError> {
    name.map(|name| parse(name).ok_or(CheckoutError::Unreadable)).transpose()
}

/// Selects the columns of `SessionRow`.
macro_rules! sessions {
    ($where:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            SessionRow,
            r#"SELECT checkout_id AS "checkout_id: CheckoutId", cart_id AS "cart_id: CartId",
                      agent_key_id AS "agent: KeyId", agent_name, is_sandbox, status, version, payment_method,
                      currency, total_minor, amounts AS "amounts: Json<Amounts>",
                      lines AS "lines: Json<Vec<OrderLine>>", terms AS "terms: Json<Terms>",
                      quote_hash, is_holding, confirmation_level, confirmation_scope,
                      confirmation_id AS "confirmation_id: ConfirmationId", checkout_url, form_token, agent_address,
                      return_url, metadata, is_payment_failed, reason_code, order_id AS "order_id: OrderId",
                      started_at AS "started_at: Timestamp", updated_at AS "updated_at: Timestamp",
                      expires_at AS "expires_at: Timestamp"
               FROM checkout_session WHERE merchant_id = $1 AND "# + $where,
            $($argument),*
        )
    };
}

/// Returns the session with this id, or the session of this cart.
pub(crate) async fn find(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: Option<CheckoutId>,
    cart: Option<CartId>,
) -> Result<Option<Session>, CheckoutError> {
    let query = sessions!(
        "(checkout_id = $2 OR cart_id = $3)",
        merchant as MerchantId,
        id as Option<CheckoutId>,
        cart as Option<CartId>,
    );
    query.fetch_optional(sql).await?.map(Session::try_from).transpose()
}

/// Returns the names of the statuses in which a session can expire.
fn expiring_statuses() -> Vec<String> {
    let statuses = Status::before(Transition::Expire);
    statuses.into_iter().map(|status| status.as_str().to_owned()).collect()
}

/// Returns a page of the real sessions of a store, the newest first.
pub(crate) async fn find_page(
    sql: &mut PgConnection,
    merchant: MerchantId,
    filter: &SessionsFilter,
    now: Timestamp,
    page: PageRequest,
) -> Result<Vec<Session>, CheckoutError> {
    let offset = if filter.after.is_some() { 0 } else { page.offset() };
    let query = sessions!(
        "NOT is_sandbox AND (is_holding OR NOT $2)
         AND ($5::text IS NULL OR $5 = CASE
             WHEN status = ANY ($8) AND expires_at < $6
             THEN 'expired' ELSE status END)
         AND ($7::uuid IS NULL OR (started_at, checkout_id) <
             (SELECT started_at, checkout_id FROM checkout_session WHERE merchant_id = $1 AND checkout_id = $7))
         ORDER BY started_at DESC, checkout_id DESC LIMIT $3 OFFSET $4",
        merchant as MerchantId,
        filter.holding_only,
        i64::from(page.limit()),
        offset,
        filter.status.map(Status::as_str),
        now as Timestamp,
        filter.after as Option<CheckoutId>,
        &expiring_statuses(),
    );
    query.fetch_all(sql).await?.into_iter().map(Session::try_from).collect()
}

/// Returns the number of real sessions of a store, at most `limit`.
pub(crate) async fn count(
    sql: &mut PgConnection,
    merchant: MerchantId,
    filter: &SessionsFilter,
    now: Timestamp,
    limit: i64,
) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM
             (SELECT FROM checkout_session
              WHERE merchant_id = $1 AND NOT is_sandbox AND (is_holding OR NOT $2)
                AND ($4::text IS NULL OR $4 = CASE
                    WHEN status = ANY ($6) AND expires_at < $5
                    THEN 'expired' ELSE status END)
              LIMIT $3) AS counted"#,
        merchant as MerchantId,
        filter.holding_only,
        limit,
        filter.status.map(Status::as_str),
        now as Timestamp,
        &expiring_statuses(),
    )
    .fetch_one(sql)
    .await
}

/// Serializes the completions of one holder, an account or a key, at one store until the work ends.
pub(crate) async fn lock_holds(
    work: &mut Work,
    merchant: MerchantId,
    holder: Uuid,
) -> sqlx::Result<()> {
    sqlx::query!(
        "SELECT pg_advisory_xact_lock(hashtextextended('holds/' || $1::text || '/' || $2::text, 0))",
        merchant.uuid().to_string(),
        holder.to_string(),
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns how many sessions of a key hold units at a store, and how many units they hold.
pub(crate) async fn count_holds(
    work: &mut Work,
    merchant: MerchantId,
    agent: KeyId,
) -> sqlx::Result<(i64, i64)> {
    let row = sqlx::query!(
        r#"SELECT count(DISTINCT checkout_id) AS "holds!",
                  coalesce(sum((line ->> 'quantity')::bigint), 0)::bigint AS "units!"
           FROM checkout_session, jsonb_array_elements(lines) AS line
           WHERE merchant_id = $1 AND agent_key_id = $2 AND is_holding"#,
        merchant as MerchantId,
        agent as KeyId,
    )
    .fetch_one(work.sql())
    .await?;
    Ok((row.holds, row.units))
}

/// Returns how many units of a product the sessions of some keys hold at a store.
pub(crate) async fn count_held_units(
    work: &mut Work,
    merchant: MerchantId,
    agents: &[KeyId],
    line: &OrderLine,
) -> sqlx::Result<i64> {
    let agents: Vec<Uuid> = agents.iter().map(|agent| agent.uuid()).collect();
    sqlx::query_scalar!(
        r#"SELECT coalesce(sum((line ->> 'quantity')::bigint), 0)::bigint AS "units!"
           FROM checkout_session, jsonb_array_elements(lines) AS line
           WHERE merchant_id = $1 AND agent_key_id = ANY ($2) AND is_holding AND NOT is_sandbox
             AND line ->> 'product' = $3 AND line ->> 'variant' IS NOT DISTINCT FROM $4"#,
        merchant as MerchantId,
        &agents,
        line.product.to_string(),
        line.variant.map(|variant| variant.to_string()),
    )
    .fetch_one(work.sql())
    .await
}

pub(crate) async fn merchant_of(
    sql: &mut PgConnection,
    id: CheckoutId,
) -> sqlx::Result<Option<MerchantId>> {
    sqlx::query_scalar!(
        r#"SELECT merchant_id AS "merchant: MerchantId" FROM checkout_session WHERE checkout_id = $1"#,
        id as CheckoutId,
    )
    .fetch_optional(sql)
    .await
}

pub(crate) async fn insert(
    work: &mut Work,
    merchant: MerchantId,
    session: &Session,
) -> sqlx::Result<()> {
    let (level, proof) = proof(session);
    sqlx::query!(
        "INSERT INTO checkout_session
             (merchant_id, checkout_id, cart_id, agent_key_id, agent_name, is_sandbox, status, version,
              payment_method, currency, total_minor, lines, terms, quote_hash, is_holding, confirmation_level,
              confirmation_id, checkout_url, form_token, return_url, metadata, started_at, updated_at, expires_at,
              amounts, agent_address, confirmation_scope)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
                 $22, $23, $24, $25, $26, $27)",
        merchant as MerchantId,
        session.id as CheckoutId,
        session.cart as CartId,
        session.owner.key as KeyId,
        session.owner.name,
        session.owner.is_sandbox,
        session.stored_status().as_str(),
        session.version,
        session.payment_method.map(PaymentMethod::as_str),
        session.total.currency().code(),
        session.total.minor(),
        Json(&session.lines) as _,
        Json(&session.terms) as _,
        session.quote_hash.as_bytes().as_slice(),
        session.is_holding,
        level,
        proof as Option<ConfirmationId>,
        session.checkout_url.as_deref(),
        session.form_token.as_slice(),
        session.return_url.as_deref(),
        session.metadata.as_ref(),
        session.started_at as Timestamp,
        session.updated_at as Timestamp,
        session.expires_at as Timestamp,
        Json(&session.amounts) as _,
        session.agent_address,
        session.confirmed_scope.map(ApprovalScope::as_str),
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

fn proof(session: &Session) -> (Option<&'static str>, Option<ConfirmationId>) {
    let proof = session.confirmation;
    (proof.map(|proof| proof.level.as_str()), proof.and_then(|proof| proof.confirmation))
}

/// Updates a session. Its version cannot have changed, because the caller holds the lock on its cart.
pub(crate) async fn update(
    work: &mut Work,
    merchant: MerchantId,
    session: &mut Session,
    version: i64,
) -> Result<(), CheckoutError> {
    session.version = version + 1;
    let (level, proof) = proof(session);
    let ended_at = session.stored_status().is_final().then_some(session.updated_at);
    let done = sqlx::query!(
        "UPDATE checkout_session SET status = $4, version = $5, payment_method = $6, total_minor = $7,
                lines = $8, terms = $9, quote_hash = $10, is_holding = $11, confirmation_level = $12,
                confirmation_id = $13, checkout_url = $14, return_url = $15, metadata = $16,
                is_payment_failed = $17, reason_code = $18, order_id = $19, updated_at = $20,
                expires_at = $21, ended_at = $22, amounts = $23, agent_address = $24,
                confirmation_scope = $25
         WHERE merchant_id = $1 AND checkout_id = $2 AND version = $3",
        merchant as MerchantId,
        session.id as CheckoutId,
        version,
        session.stored_status().as_str(),
        session.version,
        session.payment_method.map(PaymentMethod::as_str),
        session.total.minor(),
        Json(&session.lines) as _,
        Json(&session.terms) as _,
        session.quote_hash.as_bytes().as_slice(),
        session.is_holding,
        level,
        proof as Option<ConfirmationId>,
        session.checkout_url.as_deref(),
        session.return_url.as_deref(),
        session.metadata.as_ref(),
        session.is_payment_failed,
        session.reason_code.as_deref(),
        session.order as Option<OrderId>,
        session.updated_at as Timestamp,
        session.expires_at as Timestamp,
        ended_at as Option<Timestamp>,
        Json(&session.amounts) as _,
        session.agent_address,
        session.confirmed_scope.map(ApprovalScope::as_str),
    )
    .execute(work.sql())
    .await?;
    if done.rows_affected() == 1 { Ok(()) } else { Err(CheckoutError::Unreadable) }
}

/// Returns sessions of all stores that are past their expiry and not ended, after a row, the oldest first. The statuses are
/// those of `expiring_statuses`, as literals: so PostgreSQL can use the partial index `checkout_session_end`.
pub(crate) async fn find_expired(
    sql: &mut PgConnection,
    now: Timestamp,
    after: Option<SweepRow>,
    limit: i64,
) -> sqlx::Result<Vec<SweepRow>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", checkout_id AS "id", expires_at AS "due_at: Timestamp"
           FROM checkout_session
           WHERE status IN ('incomplete', 'ready_for_complete', 'requires_escalation') AND expires_at < $1
             AND ($2::timestamptz IS NULL OR (expires_at, checkout_id) > ($2, $3))
           ORDER BY expires_at, checkout_id LIMIT $4"#,
        now as Timestamp,
        after.map(|row| row.due_at) as Option<Timestamp>,
        after.map(|row| row.id),
        limit,
    )
    .fetch_all(sql)
    .await?;
    let rows = rows.into_iter();
    Ok(rows
        .map(|row| SweepRow { merchant: row.merchant, id: row.id, due_at: row.due_at })
        .collect())
}

/// Records what a merchant reported as paid, once for each outcome.
pub(crate) async fn insert_report(
    work: &mut Work,
    merchant: MerchantId,
    session: &Session,
    report: &PaymentReport,
    outcome: ReportOutcome,
) -> sqlx::Result<bool> {
    let parts = reported_parts(&session.terms, &report.amounts).into_iter().map(|part| {
        json!({
            "field": part.field,
            "expected_minor": part.expected_minor,
            "reported_minor": part.reported.minor(),
            "currency": part.reported.currency().code(),
        })
    });
    let done = sqlx::query!(
        "INSERT INTO payment_report
             (merchant_id, checkout_id, reference, outcome, currency, expected_minor, reported_minor, is_open, parts, at,
              agent_key_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING",
        merchant as MerchantId,
        session.id as CheckoutId,
        report.reference,
        outcome.as_str(),
        session.terms.currency.code(),
        session.terms.total_minor,
        report.amounts.total.map(Money::minor),
        !session.terms.open.is_empty(),
        parts.collect::<serde_json::Value>(),
        work.now() as Timestamp,
        session.owner.key as KeyId,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns the number of recorded reports of a session.
pub(crate) async fn count_reports(
    work: &mut Work,
    merchant: MerchantId,
    session: CheckoutId,
) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM payment_report WHERE merchant_id = $1 AND checkout_id = $2"#,
        merchant as MerchantId,
        session as CheckoutId,
    )
    .fetch_one(work.sql())
    .await
}

pub(crate) async fn insert_event(
    work: &mut Work,
    merchant: MerchantId,
    session: &Session,
    kind: &str,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO agent_event (merchant_id, checkout_id, kind, agent_key_id, at) VALUES ($1, $2, $3, $4, $5)",
        merchant as MerchantId,
        session.id as CheckoutId,
        kind,
        session.owner.key as KeyId,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Deletes the session and the confirmations of a cart.
pub(crate) async fn purge_cart(
    work: &mut Work,
    merchant: MerchantId,
    cart: CartId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM confirmation WHERE merchant_id = $1 AND cart_id = $2",
        merchant as MerchantId,
        cart as CartId,
    )
    .execute(work.sql())
    .await?;
    sqlx::query!(
        "DELETE FROM checkout_session WHERE merchant_id = $1 AND cart_id = $2",
        merchant as MerchantId,
        cart as CartId,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Deletes events before a timestamp, at most `limit`, and returns their number.
pub(crate) async fn purge_events(
    work: &mut Work,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "DELETE FROM agent_event WHERE ctid IN
             (SELECT ctid FROM agent_event WHERE at < $1 ORDER BY at LIMIT $2)",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected())
}

/// Deletes declined purchases before a timestamp, at most `limit`, and returns their number.
pub(crate) async fn purge_declined(
    work: &mut Work,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "DELETE FROM declined_purchase WHERE ctid IN
             (SELECT ctid FROM declined_purchase WHERE declined_at < $1 ORDER BY declined_at LIMIT $2)",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected())
}

/// Removes buyer and address from the terms of ended sessions and of confirmations of carts. The country remains.
pub(crate) async fn erase_terms(
    work: &mut Work,
    carts: &[(MerchantId, CartId)],
) -> sqlx::Result<()> {
    let now = work.now();
    let (merchants, ids): (Vec<Uuid>, Vec<Uuid>) =
        carts.iter().map(|(merchant, cart)| (merchant.uuid(), cart.uuid())).unzip();
    sqlx::query!(
        "UPDATE checkout_session AS session
         SET terms = terms - 'buyer' || jsonb_build_object('destination',
                 CASE WHEN terms -> 'destination' ->> 'country' IS NULL THEN 'null'::jsonb
                      ELSE jsonb_build_object('country', terms -> 'destination' -> 'country') END),
             metadata = NULL, return_url = NULL
         FROM unnest($1::uuid[], $2::uuid[]) AS erased (merchant_id, cart_id)
         WHERE session.merchant_id = erased.merchant_id AND session.cart_id = erased.cart_id
           AND session.ended_at IS NOT NULL",
        &merchants,
        &ids,
    )
    .execute(work.sql())
    .await?;
    sqlx::query!(
        "UPDATE confirmation
         SET terms = terms - 'buyer' || jsonb_build_object('destination',
                 CASE WHEN terms -> 'destination' ->> 'country' IS NULL THEN 'null'::jsonb
                      ELSE jsonb_build_object('country', terms -> 'destination' -> 'country') END),
             decided_address = NULL, decided_browser = NULL
         FROM unnest($1::uuid[], $2::uuid[]) AS erased (merchant_id, cart_id)
         WHERE confirmation.merchant_id = erased.merchant_id AND confirmation.cart_id = erased.cart_id
           AND (confirmation.decided_at IS NOT NULL OR confirmation.expires_at < $3)",
        &merchants,
        &ids,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
