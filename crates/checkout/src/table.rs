//! All SQL of checkout.

mod confirmation;

use carts::Terms;
use database::Work;
use orders::OrderLine;
use payments::PaymentMethod;
use primitives::{CartId, CheckoutId, ConfirmationId, KeyId, MerchantId, OrderId, Timestamp};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

pub(crate) use confirmation::{
    confirmation, confirmations_of, insert_confirmation, mark_confirmation_used, record_decision,
};

use crate::revalidate::LineComparison;
use crate::session::SessionRow;
use crate::{CheckoutError, Session};

/// Parses an optional name; a name that is not known is an error.
pub(crate) fn parsed<T>(
    name: Option<&str>,
    parse: fn(&str) -> Option<T>,
) -> Result<Option<T>, CheckoutError> {
    name.map(|name| parse(name).ok_or(CheckoutError::Unreadable)).transpose()
}

/// Returns the session with this id, or the session of this cart.
pub(crate) async fn find(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: Option<CheckoutId>,
    cart: Option<CartId>,
) -> Result<Option<Session>, CheckoutError> {
    let row = sqlx::query_as!(
        SessionRow,
        r#"SELECT checkout_id AS "checkout_id: CheckoutId", cart_id AS "cart_id: CartId",
                  agent_key_id AS "agent: KeyId", agent_name, is_sandbox, status, version, payment_method,
                  currency, total_minor, lines AS "lines: Json<Vec<OrderLine>>", terms AS "terms: Json<Terms>",
                  quote_hash, is_holding, confirmation_level,
                  confirmation_id AS "confirmation_id: ConfirmationId", checkout_url, form_token, return_url,
                  metadata, is_payment_failed, reason_code, order_id AS "order_id: OrderId",
                  started_at AS "started_at: Timestamp", updated_at AS "updated_at: Timestamp",
                  expires_at AS "expires_at: Timestamp"
           FROM checkout_session
           WHERE merchant_id = $1 AND (checkout_id = $2 OR cart_id = $3)"#,
        merchant as MerchantId,
        id as Option<CheckoutId>,
        cart as Option<CartId>,
    )
    .fetch_optional(sql)
    .await?;
    row.map(Session::try_from).transpose()
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
              confirmation_id, checkout_url, form_token, return_url, metadata, started_at, updated_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
                 $22, $23, $24)",
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
                expires_at = $21, ended_at = $22
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
    )
    .execute(work.sql())
    .await?;
    if done.rows_affected() == 1 { Ok(()) } else { Err(CheckoutError::Unreadable) }
}

/// Returns sessions of all stores that are past their expiry and not ended, the oldest first.
pub(crate) async fn find_expired(
    sql: &mut PgConnection,
    now: Timestamp,
    limit: i64,
) -> sqlx::Result<Vec<(MerchantId, CheckoutId)>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", checkout_id AS "checkout: CheckoutId"
           FROM checkout_session
           WHERE status IN ('incomplete', 'ready_for_complete', 'requires_escalation') AND expires_at < $1
           ORDER BY expires_at LIMIT $2"#,
        now as Timestamp,
        limit,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.merchant, row.checkout)).collect())
}

pub(crate) async fn insert_comparisons(
    work: &mut Work,
    merchant: MerchantId,
    cart: CartId,
    comparisons: &[LineComparison],
) -> sqlx::Result<()> {
    let now = work.now();
    let uuids = |of: fn(&LineComparison) -> Uuid| comparisons.iter().map(of).collect::<Vec<_>>();
    let (listed, live): (Vec<i64>, Vec<Option<i64>>) =
        comparisons.iter().map(|line| (line.listed_minor, line.live_minor)).unzip();
    sqlx::query!(
        "INSERT INTO checkout_comparison
             (merchant_id, cart_id, line_id, product_id, agent_key_id, listed_minor, live_minor, was_available, at)
         SELECT $1, $2, new.*, $9
         FROM unnest($3::uuid[], $4::uuid[], $5::uuid[], $6::bigint[], $7::bigint[], $8::boolean[]) AS new
         ON CONFLICT DO NOTHING",
        merchant as MerchantId,
        cart as CartId,
        &uuids(|line| line.line.uuid()),
        &uuids(|line| line.product.uuid()),
        &uuids(|line| line.agent.uuid()),
        &listed,
        &live as _,
        &comparisons.iter().map(|line| line.was_available).collect::<Vec<_>>(),
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
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

/// Returns the merchants that have sandbox carts created before a timestamp.
pub(crate) async fn merchants_with_sandboxes_before(
    sql: &mut PgConnection,
    before: Timestamp,
) -> sqlx::Result<Vec<MerchantId>> {
    sqlx::query_scalar!(
        r#"SELECT DISTINCT merchant_id AS "merchant!: MerchantId" FROM cart WHERE is_sandbox AND created_at < $1"#,
        before as Timestamp,
    )
    .fetch_all(sql)
    .await
}

/// Deletes sandbox sessions and confirmations created before a timestamp.
pub(crate) async fn purge_sandbox(
    work: &mut Work,
    merchant: MerchantId,
    before: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM confirmation USING cart
         WHERE confirmation.merchant_id = $1 AND cart.merchant_id = $1
           AND cart.cart_id = confirmation.cart_id AND cart.is_sandbox AND cart.created_at < $2",
        merchant as MerchantId,
        before as Timestamp,
    )
    .execute(work.sql())
    .await?;
    sqlx::query!(
        "DELETE FROM checkout_session WHERE merchant_id = $1 AND is_sandbox AND started_at < $2",
        merchant as MerchantId,
        before as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
