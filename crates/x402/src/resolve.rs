//! Whether a payment was settled, as the chain tells it.

use alloy_primitives::U256;
use alloy_sol_types::SolEvent;
use primitives::Timestamp;

use crate::chain::{
    AuthorizationEvent, AuthorizationEventKind, Block, BlockName, ChainError, ChainReader,
    EVENT_BLOCKS_MAX, Log, Receipt, padded,
};
use crate::contract::Transfer;
use crate::hexadecimal::TransactionHash;
use crate::verify::AuthorizedTransfer;

/// Requests for events of one resolution. An authorization is valid for minutes, in which no chain makes so many blocks.
const EVENT_REQUESTS_MAX: u64 = 10;

/// From when on a block counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finality {
    /// When so many blocks, itself included, are on top of its predecessor.
    Confirmations(u64),
    /// When the chain says that it is final.
    Finalized,
}

/// What the chain says about a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// The payer has paid. It stays so.
    Settled { transaction: TransactionHash, block_number: u64 },
    /// The payer has not paid with this authorization and cannot any more. It stays so.
    Failed(FailureReason),
    /// Neither is certain. The payer may have paid.
    Pending(PendingReason),
}

primitives::text_enum! {
    /// Why an authorization can no longer be used.
    #[strum(serialize_all = "snake_case")]
    pub enum FailureReason {
        /// It expired unused.
        Expired,
        /// The payer canceled it.
        Canceled,
        /// The payer used its nonce for another transfer.
        NonceUsedElsewhere,
    }
}

primitives::text_enum! {
    /// Why it is not certain whether a payment was settled.
    #[strum(serialize_all = "snake_case")]
    pub enum PendingReason {
        /// The authorization is unused and can still be used.
        Unused,
        /// The nonce is used or canceled, but not within the blocks that were searched: somebody has to look.
        EventNotFound,
        /// The answers of the node contradict each other. That passes when a block was replaced, or the node was behind.
        Inconsistent,
        /// The transaction has the transfer, but not as part of this authorization: somebody has to look.
        Ambiguous,
    }
}

/// What was read of a chain about an authorization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The newest block that counts.
    pub confirmed: Block,
    /// Whether the nonce was used or canceled at the end of that block.
    pub is_used: bool,
    /// Events that ended the authorization.
    pub events: Vec<AuthorizationEvent>,
    /// The transaction of the event.
    pub receipt: Option<Receipt>,
    /// The block that the chain has at the height of that transaction.
    pub block: Option<Block>,
}

impl ChainReader {
    /// Finds out what became of an authorization since a block: that of the [`snapshot`](Self::snapshot) before it was sent
    /// to a facilitator. An authorization that was used before paid for something else.
    pub async fn resolve(
        &self,
        transfer: &AuthorizedTransfer,
        since: u64,
        finality: Finality,
        now: Timestamp,
    ) -> Result<Resolution, ChainError> {
        self.check_network(transfer).await?;
        let observation = self.observe(transfer, since, finality).await?;
        Ok(decide(transfer, since, &observation, now))
    }

    async fn observe(
        &self,
        transfer: &AuthorizedTransfer,
        since: u64,
        finality: Finality,
    ) -> Result<Observation, ChainError> {
        let confirmed = self.confirmed(finality).await?;
        let is_used = self.is_used(transfer, confirmed.hash).await?;
        let events = if is_used {
            self.events_since(transfer, since, confirmed.number).await?
        } else {
            Vec::new()
        };
        let (receipt, block) = match events.first() {
            Some(event) => (
                self.receipt(event.transaction).await?,
                self.block(BlockName::Number(event.block_number)).await?,
            ),
            None => (None, None),
        };
        Ok(Observation { confirmed, is_used, events, receipt, block })
    }

    async fn confirmed(&self, finality: Finality) -> Result<Block, ChainError> {
        let block = match finality {
            Finality::Finalized => self.block(BlockName::Finalized).await?,
            Finality::Confirmations(confirmations) => {
                let latest = self.block(BlockName::Latest).await?;
                let latest = latest.ok_or(ChainError::MissingBlock)?;
                let number = latest.number.saturating_sub(confirmations.saturating_sub(1));
                self.block(BlockName::Number(number)).await?
            }
        };
        block.ok_or(ChainError::MissingBlock)
    }

    /// Searches from `since` on, because that is where an authorization that is valid for minutes is used.
    async fn events_since(
        &self,
        transfer: &AuthorizedTransfer,
        since: u64,
        last: u64,
    ) -> Result<Vec<AuthorizationEvent>, ChainError> {
        let mut first = since.saturating_add(1);
        for _ in 0..EVENT_REQUESTS_MAX {
            if first > last {
                break;
            }
            let events = self.authorization_events(transfer, first..=last).await?;
            if !events.is_empty() {
                return Ok(events);
            }
            first = first.saturating_add(EVENT_BLOCKS_MAX);
        }
        Ok(Vec::new())
    }
}

/// Decides what became of an authorization that was unused at the end of block `since`.
#[must_use]
pub fn decide(
    transfer: &AuthorizedTransfer,
    since: u64,
    observation: &Observation,
    now: Timestamp,
) -> Resolution {
    let confirmed = &observation.confirmed;
    if !observation.is_used {
        // Blocks get later times only, and the token refuses the authorization from this one on. A node whose blocks are
        // ahead of our clock is not believed.
        let now = u64::try_from(now.unix_seconds()).unwrap_or(0);
        let is_over = confirmed.timestamp >= transfer.valid_before && now >= transfer.valid_before;
        return if is_over {
            Resolution::Failed(FailureReason::Expired)
        } else {
            Resolution::Pending(PendingReason::Unused)
        };
    }
    let counts = |event: &&AuthorizationEvent| {
        event.block_number > since && event.block_number <= confirmed.number
    };
    let mut events = observation.events.iter().filter(counts);
    match (events.next(), events.next()) {
        (None, _) => Resolution::Pending(PendingReason::EventNotFound),
        (Some(event), None) => ended(transfer, event, observation),
        // A nonce is used or canceled once.
        (Some(_), Some(_)) => Resolution::Pending(PendingReason::Inconsistent),
    }
}

/// What an event means, if receipt and block agree with it.
fn ended(
    transfer: &AuthorizedTransfer,
    event: &AuthorizationEvent,
    observation: &Observation,
) -> Resolution {
    let place = (event.block_number, event.block_hash);
    let receipt = observation.receipt.as_ref().filter(|receipt| {
        receipt.succeeded
            && receipt.transaction == event.transaction
            && (receipt.block_number, receipt.block_hash) == place
    });
    let block = observation.block.filter(|block| (block.number, block.hash) == place);
    let (Some(receipt), Some(_)) = (receipt, block) else {
        return Resolution::Pending(PendingReason::Inconsistent);
    };
    let mut logs: Vec<&Log> =
        receipt.logs.iter().filter(|log| log.address == transfer.asset).collect();
    logs.sort_by_key(|log| log.index);
    let is_event = |log: &&Log| log.authorization_event(transfer).as_ref() == Some(event);
    let Some(position) = logs.iter().position(is_event) else {
        return Resolution::Pending(PendingReason::Inconsistent);
    };
    if event.kind == AuthorizationEventKind::Canceled {
        return Resolution::Failed(FailureReason::Canceled);
    }
    // A token emits the transfer of an authorization right after its use. The transfer of another authorization in the
    // same transaction may look the same, and pays for another order.
    if logs.get(position + 1).is_some_and(|log| is_transfer(log, transfer)) {
        let (transaction, block_number) = (event.transaction, event.block_number);
        return Resolution::Settled { transaction, block_number };
    }
    if logs.iter().any(|log| is_transfer(log, transfer)) {
        return Resolution::Pending(PendingReason::Ambiguous);
    }
    Resolution::Failed(FailureReason::NonceUsedElsewhere)
}

fn is_transfer(log: &Log, transfer: &AuthorizedTransfer) -> bool {
    let topics = [Transfer::SIGNATURE_HASH.0, padded(transfer.from).0, padded(transfer.to).0];
    let value = U256::from(transfer.value.units()).to_be_bytes::<32>();
    log.address == transfer.asset && log.topics == topics && log.data == value
}

#[cfg(test)]
mod tests;
