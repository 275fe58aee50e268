//! SQL of payments in tokens.

use database::Work;
use primitives::{CheckoutId, KeyId, MerchantId, PaymentId, Timestamp};
use sqlx::PgConnection;
use x402::{
    Address, AuthorizedTransfer, FailureReason, Nonce, PaymentIdentifier, PaymentPayload,
    PaymentRequirements, TransactionHash,
};

use crate::x402_authorization::{payload_hash, payload_text};
use crate::{NewX402Authorization, Payment, PaymentError, X402Authorization};

pub(crate) async fn find_quote(
    sql: &mut PgConnection,
    merchant: MerchantId,
    checkout: CheckoutId,
    quote_hash: [u8; 32],
) -> Result<Option<PaymentRequirements>, PaymentError> {
    let found = sqlx::query_scalar!(
        "SELECT requirements FROM x402_quote WHERE merchant_id = $1 AND checkout_id = $2 AND quote_hash = $3",
        merchant as MerchantId,
        checkout as CheckoutId,
        quote_hash.as_slice(),
    )
    .fetch_optional(sql)
    .await?;
    found.as_deref().map(requirements).transpose()
}

pub(crate) async fn put_quote(
    work: &mut Work,
    merchant: MerchantId,
    checkout: CheckoutId,
    quote_hash: [u8; 32],
    requirements: &PaymentRequirements,
) -> Result<(), PaymentError> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO x402_quote (merchant_id, checkout_id, quote_hash, requirements, quoted_at)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (merchant_id, checkout_id, quote_hash) DO UPDATE SET requirements = $4, quoted_at = $5",
        merchant as MerchantId,
        checkout as CheckoutId,
        quote_hash.as_slice(),
        requirements_text(requirements)?,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn insert_authorization(
    work: &mut Work,
    payment: &Payment,
    new: &NewX402Authorization<'_>,
) -> Result<(), PaymentError> {
    let now = work.now();
    let transfer = new.verified.transfer();
    let unreadable = |_| PaymentError::Unreadable;
    let (asset, nonce) = (transfer.asset.bytes(), transfer.nonce.bytes());
    let (payer, pay_to) = (transfer.from.bytes(), transfer.to.bytes());
    let hash = payload_hash(new.payload);
    sqlx::query!(
        "INSERT INTO x402_authorization
             (merchant_id, payment_id, checkout_id, agent_key_id, payment_identifier, requirements, payload, payload_hash,
              network, asset, payer, pay_to, nonce, value, valid_before, confirmations, start_block, authorized_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)",
        payment.merchant as MerchantId,
        payment.id as PaymentId,
        payment.checkout as CheckoutId,
        new.agent as KeyId,
        new.identifier.map(PaymentIdentifier::as_str),
        requirements_text(new.requirements)?,
        payload_text(new.payload),
        hash.as_slice(),
        transfer.network.to_string(),
        asset.as_slice(),
        payer.as_slice(),
        pay_to.as_slice(),
        nonce.as_slice(),
        transfer.value.to_string(),
        i64::try_from(transfer.valid_before).map_err(unreadable)?,
        i32::try_from(new.confirmations).map_err(unreadable)?,
        i64::try_from(new.start_block).map_err(unreadable)?,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

struct Row {
    payment_id: PaymentId,
    checkout_id: CheckoutId,
    agent_key_id: KeyId,
    payment_identifier: Option<String>,
    requirements: String,
    payload: String,
    payload_hash: Vec<u8>,
    network: String,
    asset: Vec<u8>,
    payer: Vec<u8>,
    pay_to: Vec<u8>,
    nonce: Vec<u8>,
    value: String,
    valid_before: i64,
    confirmations: i32,
    start_block: i64,
    sent_count: i32,
    sent_at: Option<Timestamp>,
    transaction_hash: Option<Vec<u8>>,
    failure: Option<String>,
}

impl TryFrom<Row> for X402Authorization {
    type Error = PaymentError;

    fn try_from(row: Row) -> Result<Self, PaymentError> {
        let transaction = row.transaction_hash.map(bytes).transpose()?;
        let failure = row
            .failure
            .as_deref()
            .map(|name| FailureReason::parse(name).ok_or(PaymentError::Unreadable));
        Ok(Self {
            payment: row.payment_id,
            checkout: row.checkout_id,
            agent: row.agent_key_id,
            identifier: row.payment_identifier,
            requirements: requirements(&row.requirements)?,
            payload: serde_json::from_str(&row.payload).map_err(|_| PaymentError::Unreadable)?,
            payload_hash: bytes(row.payload_hash)?,
            transfer: AuthorizedTransfer {
                network: row.network.parse().map_err(|_| PaymentError::Unreadable)?,
                asset: Address::new(bytes(row.asset)?),
                from: Address::new(bytes(row.payer)?),
                to: Address::new(bytes(row.pay_to)?),
                value: row.value.parse().map_err(|_| PaymentError::Unreadable)?,
                nonce: Nonce::new(bytes(row.nonce)?),
                valid_before: number(row.valid_before)?,
            },
            confirmations: number(row.confirmations)?,
            start_block: number(row.start_block)?,
            sent_count: number(row.sent_count)?,
            sent_at: row.sent_at,
            transaction: transaction.map(TransactionHash::new),
            failure: failure.transpose()?,
        })
    }
}

/// Selects the columns of `Row`.
macro_rules! authorizations {
    ($where:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"SELECT payment_id AS "payment_id: PaymentId", checkout_id AS "checkout_id: CheckoutId",
                      agent_key_id AS "agent_key_id: KeyId", payment_identifier, requirements, payload, payload_hash, network,
                      asset, payer, pay_to, nonce, value, valid_before, confirmations, start_block, sent_count,
                      sent_at AS "sent_at: Timestamp", transaction_hash, failure
               FROM x402_authorization WHERE merchant_id = $1 AND "# + $where,
            $($argument),*
        )
    };
}

pub(crate) async fn find(
    sql: &mut PgConnection,
    merchant: MerchantId,
    payment: PaymentId,
) -> Result<Option<X402Authorization>, PaymentError> {
    let query = authorizations!("payment_id = $2", merchant as MerchantId, payment as PaymentId);
    query.fetch_optional(sql).await?.map(X402Authorization::try_from).transpose()
}

pub(crate) async fn find_newest(
    sql: &mut PgConnection,
    merchant: MerchantId,
    checkout: CheckoutId,
) -> Result<Option<X402Authorization>, PaymentError> {
    let query = authorizations!(
        "checkout_id = $2 ORDER BY authorized_at DESC, payment_id DESC LIMIT 1",
        merchant as MerchantId,
        checkout as CheckoutId,
    );
    query.fetch_optional(sql).await?.map(X402Authorization::try_from).transpose()
}

pub(crate) async fn find_same(
    sql: &mut PgConnection,
    merchant: MerchantId,
    agent: KeyId,
    payload: &PaymentPayload,
    identifier: Option<&PaymentIdentifier>,
) -> Result<Vec<X402Authorization>, PaymentError> {
    let (accepted, authorization) = (&payload.accepted, &payload.payload.authorization);
    let (asset, payer) = (accepted.asset.bytes(), authorization.from.bytes());
    let nonce = authorization.nonce.bytes();
    let query = authorizations!(
        "((network = $2 AND asset = $3 AND payer = $4 AND nonce = $5) OR (agent_key_id = $6 AND payment_identifier = $7))",
        merchant as MerchantId,
        accepted.network.to_string(),
        asset.as_slice(),
        payer.as_slice(),
        nonce.as_slice(),
        agent as KeyId,
        identifier.map(PaymentIdentifier::as_str),
    );
    query.fetch_all(sql).await?.into_iter().map(X402Authorization::try_from).collect()
}

pub(crate) async fn claim_sending(
    work: &mut Work,
    merchant: MerchantId,
    authorization: &X402Authorization,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE x402_authorization SET sent_count = sent_count + 1, sent_at = $4
         WHERE merchant_id = $1 AND payment_id = $2 AND sent_count = $3",
        merchant as MerchantId,
        authorization.payment as PaymentId,
        i32::try_from(authorization.sent_count).unwrap_or(i32::MAX),
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(crate) async fn record_resolution(
    work: &mut Work,
    merchant: MerchantId,
    payment: PaymentId,
    resolution: Result<TransactionHash, FailureReason>,
) -> sqlx::Result<()> {
    let transaction = resolution.ok().map(|transaction| transaction.bytes().to_vec());
    sqlx::query!(
        "UPDATE x402_authorization SET transaction_hash = $3, failure = $4
         WHERE merchant_id = $1 AND payment_id = $2 AND transaction_hash IS NULL AND failure IS NULL",
        merchant as MerchantId,
        payment as PaymentId,
        transaction,
        resolution.err().map(FailureReason::as_str),
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Deletes the quotes of a session.
pub(crate) async fn delete_quotes(
    work: &mut Work,
    merchant: MerchantId,
    checkout: CheckoutId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM x402_quote WHERE merchant_id = $1 AND checkout_id = $2",
        merchant as MerchantId,
        checkout as CheckoutId,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

fn requirements(text: &str) -> Result<PaymentRequirements, PaymentError> {
    serde_json::from_str(text).map_err(|_| PaymentError::Unreadable)
}

fn requirements_text(requirements: &PaymentRequirements) -> Result<String, PaymentError> {
    serde_json::to_string(requirements).map_err(|_| PaymentError::Unreadable)
}

fn bytes<const BYTES: usize>(stored: Vec<u8>) -> Result<[u8; BYTES], PaymentError> {
    stored.try_into().map_err(|_| PaymentError::Unreadable)
}

fn number<T, N: TryFrom<T>>(stored: T) -> Result<N, PaymentError> {
    N::try_from(stored).map_err(|_| PaymentError::Unreadable)
}
