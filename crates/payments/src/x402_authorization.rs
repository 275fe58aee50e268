//! What an agent signed to pay in tokens. It is stored before a facilitator hears of it, and never changes.

use std::time::Duration;

use database::{DatabaseError, Reading, Work};
use primitives::{CheckoutId, KeyId, MerchantId, PaymentId, Timestamp};
use sha2::{Digest, Sha256};
use x402::{
    AuthorizedTransfer, EXPIRY_MARGIN_SECONDS, FailureReason, Finality, PaymentIdentifier,
    PaymentPayload, PaymentRequirements, TransactionHash, VerifiedAuthorization,
};

use crate::{Payment, PaymentError, table};

/// Time after which a facilitator is asked again to settle; it doubles with each time.
const SEND_AGAIN_AFTER: Duration = Duration::from_secs(15);

/// A signed authorization of a payment attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct X402Authorization {
    pub payment: PaymentId,
    pub checkout: CheckoutId,
    pub agent: KeyId,
    /// The idempotency key that the agent chose.
    pub identifier: Option<String>,
    /// The quote that the payload was verified against.
    pub requirements: PaymentRequirements,
    pub payload: PaymentPayload,
    pub payload_hash: [u8; 32],
    pub transfer: AuthorizedTransfer,
    /// Blocks after which a transfer counts.
    pub confirmations: u32,
    /// The authorization was unused at the end of this block.
    pub start_block: u64,
    /// How often the facilitator was asked to settle.
    pub sent_count: u32,
    pub sent_at: Option<Timestamp>,
    /// The transaction that has the transfer, as the chain says.
    pub transaction: Option<TransactionHash>,
    /// Why the authorization can no longer be used, as the chain says.
    pub failure: Option<FailureReason>,
}

impl X402Authorization {
    /// Returns the blocks that count.
    #[must_use]
    pub fn finality(&self) -> Finality {
        Finality::Confirmations(u64::from(self.confirmations))
    }

    /// Returns the payment's id of the attempt: it differs for every payload.
    #[must_use]
    pub fn reference(&self) -> String {
        hex::encode(self.payload_hash)
    }

    /// Returns the id of the money of a settled payment. A transaction may have several transfers, each with a nonce of its own.
    #[must_use]
    pub fn charge_reference(&self, transaction: TransactionHash) -> String {
        format!("{transaction}:{}", self.transfer.nonce)
    }

    /// Returns whether the facilitator is asked to settle at `now`: it was not asked yet, or some time ago, and a block can still
    /// contain the transfer.
    #[must_use]
    pub fn is_due(&self, now: Timestamp) -> bool {
        let unix_seconds = u64::try_from(now.unix_seconds()).unwrap_or(u64::MAX);
        let is_usable =
            unix_seconds.saturating_add(EXPIRY_MARGIN_SECONDS) < self.transfer.valid_before;
        let doublings = self.sent_count.saturating_sub(1).min(16);
        let pause = SEND_AGAIN_AFTER.saturating_mul(1 << doublings);
        is_usable && self.sent_at.is_none_or(|sent_at| now >= sent_at.plus(pause))
    }
}

/// An authorization to store.
#[derive(Debug, Clone, Copy)]
pub struct NewX402Authorization<'new> {
    pub agent: KeyId,
    pub identifier: Option<&'new PaymentIdentifier>,
    pub requirements: &'new PaymentRequirements,
    pub payload: &'new PaymentPayload,
    pub verified: &'new VerifiedAuthorization,
    pub confirmations: u32,
    pub start_block: u64,
}

/// Returns the hash by which a repeated payload is recognized. It covers everything that a facilitator receives.
#[must_use]
pub fn payload_hash(payload: &PaymentPayload) -> [u8; 32] {
    Sha256::digest(payload_text(payload)).into()
}

pub(crate) fn payload_text(payload: &PaymentPayload) -> String {
    // Maps with text keys always serialize.
    serde_json::to_string(payload).unwrap_or_default()
}

/// Stores the authorization of an attempt that the same work creates. Returns `AuthorizationUsed` if it pays for another purchase, and
/// `IdentifierUsed` if the agent used the identifier for another payment, also at another store; after that the work can only be
/// rolled back.
pub async fn authorize(
    work: &mut Work,
    payment: &Payment,
    new: &NewX402Authorization<'_>,
) -> Result<(), PaymentError> {
    table::x402::insert_authorization(work, payment, new).await
}

/// Returns the authorization of an attempt, with the time of the database.
pub async fn find_authorization(
    reading: &Reading,
    merchant: MerchantId,
    payment: PaymentId,
) -> Result<Option<(X402Authorization, Timestamp)>, PaymentError> {
    reading
        .run(async |sql| {
            let now = sql.now().await?;
            let found = table::x402::find(sql, merchant, payment).await?;
            Ok(found.map(|found| (found, now)))
        })
        .await
}

/// Returns the newest authorization of a session.
pub async fn find_authorization_of(
    reading: &Reading,
    merchant: MerchantId,
    checkout: CheckoutId,
) -> Result<Option<X402Authorization>, PaymentError> {
    reading.run(async |sql| table::x402::find_newest(sql, merchant, checkout).await).await
}

/// Returns the authorizations of a store that have this nonce, or that the agent gave this identifier: none, one or two.
pub async fn find_same(
    work: &mut Work,
    merchant: MerchantId,
    agent: KeyId,
    payload: &PaymentPayload,
    identifier: Option<&PaymentIdentifier>,
) -> Result<Vec<X402Authorization>, PaymentError> {
    table::x402::find_same(work.sql(), merchant, agent, payload, identifier).await
}

/// Records that the facilitator is about to be asked to settle. Returns `false` if another process does that.
pub(crate) async fn claim_sending(
    work: &mut Work,
    merchant: MerchantId,
    authorization: &X402Authorization,
) -> Result<bool, DatabaseError> {
    Ok(table::x402::claim_sending(work, merchant, authorization).await?)
}

/// Records what the chain says, once.
pub(crate) async fn record_resolution(
    work: &mut Work,
    merchant: MerchantId,
    payment: PaymentId,
    resolution: Result<TransactionHash, FailureReason>,
) -> Result<(), DatabaseError> {
    Ok(table::x402::record_resolution(work, merchant, payment, resolution).await?)
}
