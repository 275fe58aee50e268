//! Payments of agents in tokens as a payment provider. A facilitator submits the transfer; only the chain decides its outcome.

use std::fmt;
use std::time::Duration;

use database::{Database, DatabaseError, Reading, Work, crash_point};
use primitives::{MerchantId, Timestamp};
use x402::{
    AccountSnapshot, AuthorizedTransfer, ChainError, ChainReader, Facilitator, FacilitatorError,
    Network, PaymentRequirements, Resolution, SettleOutcome,
};

use crate::x402_authorization::{claim_sending, find_authorization, record_resolution};
use crate::{
    Attempt, CallError, Charge, ChargeOutcome, NextStep, PageRequest, Provider, ProviderFuture,
    ProviderName, ProviderStatus, X402Authorization,
};

/// Pauses before the chain is read again after a facilitator claims that it settled: its node may be ahead of ours.
const READ_AGAIN_AFTER: [Duration; 3] =
    [Duration::from_millis(250), Duration::from_secs(1), Duration::from_secs(2)];

/// A facilitator and a node of one network.
#[derive(Clone)]
pub struct X402Provider {
    database: Database,
    facilitator: Facilitator,
    chain: ChainReader,
}

/// Why no payment can be accepted now. No payment is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum X402Unavailable {
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Facilitator(#[from] FacilitatorError),
    #[error("the facilitator does not settle payments on the network")]
    Unsupported,
}

impl fmt::Debug for X402Provider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = self.network();
        formatter.debug_struct("X402Provider").field("network", &network).finish_non_exhaustive()
    }
}

impl X402Provider {
    /// Creates the provider of the network that the chain reader reads.
    #[must_use]
    pub const fn new(database: Database, facilitator: Facilitator, chain: ChainReader) -> Self {
        Self { database, facilitator, chain }
    }

    /// Returns the network on which payments are made.
    #[must_use]
    pub const fn network(&self) -> Network {
        self.chain.network()
    }

    /// Returns the state of an authorization before its attempt is begun, if the facilitator can be reached and settles such payments.
    /// The facilitator does not see the payment.
    pub async fn snapshot(
        &self,
        quoted: &PaymentRequirements,
        transfer: &AuthorizedTransfer,
    ) -> Result<AccountSnapshot, X402Unavailable> {
        let (snapshot, supported) =
            tokio::join!(self.chain.snapshot(transfer), self.facilitator.supported());
        if !supported?.includes(quoted) {
            return Err(X402Unavailable::Unsupported);
        }
        Ok(snapshot?)
    }

    /// Asks the facilitator to settle if that is due, and returns what the chain says.
    async fn advance(&self, attempt: &Attempt) -> Result<ProviderStatus, CallError> {
        let Some((authorization, now)) = self.find(attempt).await? else {
            // Both are stored by one transaction. Without a signature nobody can pay.
            return Ok(ProviderStatus::Done(ChargeOutcome::Declined));
        };
        if authorization.sent_count > 0 {
            let status = self.resolve(attempt, &authorization, now).await?;
            if status != ProviderStatus::Processing || !authorization.is_due(now) {
                return Ok(status);
            }
        }
        let pauses: &[Duration] = match self.send(attempt.merchant, &authorization, now).await? {
            Some(SettleOutcome::Claimed { .. }) => &READ_AGAIN_AFTER,
            _ => &[],
        };
        let mut status = self.resolve_now(attempt).await;
        for pause in pauses {
            if status.as_ref().is_ok_and(|status| *status != ProviderStatus::Processing) {
                break;
            }
            tokio::time::sleep(*pause).await;
            status = self.resolve_now(attempt).await;
        }
        status
    }

    /// Asks the facilitator to settle, unless another process does or it is too late. Each time it receives the same bytes.
    async fn send(
        &self,
        merchant: MerchantId,
        authorization: &X402Authorization,
        now: Timestamp,
    ) -> Result<Option<SettleOutcome>, CallError> {
        if !authorization.is_due(now) {
            return Ok(None);
        }
        let mut work = Work::for_checkout(&self.database, merchant).await.map_err(not_sent)?;
        let is_ours = claim_sending(&mut work, merchant, authorization).await.map_err(not_sent)?;
        work.commit().await.map_err(not_sent)?;
        if !is_ours {
            return Ok(None);
        }
        crash_point("x402.sending");
        let (quoted, payload) = (&authorization.requirements, &authorization.payload);
        let outcome = self.facilitator.settle(quoted, payload).await;
        crash_point("x402.sent");
        if !matches!(outcome, SettleOutcome::Claimed { .. }) {
            let payment = authorization.payment;
            tracing::warn!(
                %merchant, %payment, ?outcome,
                "the facilitator reports no settlement; what became of the payment is read from the chain"
            );
        }
        Ok(Some(outcome))
    }

    async fn find(
        &self,
        attempt: &Attempt,
    ) -> Result<Option<(X402Authorization, Timestamp)>, CallError> {
        let reading = Reading::for_store(&self.database, attempt.merchant).map_err(not_sent)?;
        find_authorization(&reading, attempt.merchant, attempt.payment).await.map_err(|error| {
            tracing::error!(payment = %attempt.payment, %error, "a signed payment could not be read");
            CallError::NotSent
        })
    }

    async fn resolve_now(&self, attempt: &Attempt) -> Result<ProviderStatus, CallError> {
        match self.find(attempt).await? {
            Some((authorization, now)) => self.resolve(attempt, &authorization, now).await,
            None => Ok(ProviderStatus::Done(ChargeOutcome::Declined)),
        }
    }

    /// Reads from the chain what became of an authorization, and records it once it is final.
    async fn resolve(
        &self,
        attempt: &Attempt,
        authorization: &X402Authorization,
        now: Timestamp,
    ) -> Result<ProviderStatus, CallError> {
        let (transfer, since) = (&authorization.transfer, authorization.start_block);
        let resolved = self.chain.resolve(transfer, since, authorization.finality(), now).await;
        let payment = attempt.payment;
        let resolution = resolved.map_err(|error| {
            tracing::warn!(%payment, %error, "the chain could not be read; the payment stays pending");
            CallError::Unknown
        })?;
        let (outcome, recorded) = match resolution {
            Resolution::Pending(reason) => {
                tracing::info!(%payment, %reason, "the chain does not settle the payment yet");
                return Ok(ProviderStatus::Processing);
            }
            Resolution::Failed(reason) => (ChargeOutcome::Declined, Err(reason)),
            Resolution::Settled { transaction, .. } => {
                let reference = authorization.charge_reference(transaction);
                let charge = Charge { reference, amount: attempt.amount, fee: None };
                (ChargeOutcome::Paid(charge), Ok(transaction))
            }
        };
        let is_known = authorization.transaction.is_some() || authorization.failure.is_some();
        if !is_known {
            self.record(attempt, recorded).await.map_err(|_| CallError::Unknown)?;
        }
        Ok(ProviderStatus::Done(outcome))
    }

    async fn record(
        &self,
        attempt: &Attempt,
        resolution: Result<x402::TransactionHash, x402::FailureReason>,
    ) -> Result<(), DatabaseError> {
        let (merchant, payment) = (attempt.merchant, attempt.payment);
        let mut work = Work::for_checkout(&self.database, merchant).await?;
        record_resolution(&mut work, merchant, payment, resolution).await?;
        work.commit().await
    }
}

/// The facilitator was not asked.
fn not_sent(error: DatabaseError) -> CallError {
    tracing::warn!(%error, "a signed payment could not be sent");
    CallError::NotSent
}

impl Provider for X402Provider {
    fn name(&self) -> ProviderName {
        ProviderName::X402
    }

    fn is_live(&self) -> bool {
        true
    }

    fn begin<'call>(
        &'call self,
        attempt: &'call Attempt,
        _: &'call PageRequest,
    ) -> ProviderFuture<'call, NextStep> {
        Box::pin(async {
            let found = self.find(attempt).await?;
            let reference = found.map_or_else(String::new, |(found, _)| found.reference());
            Ok(match self.advance(attempt).await {
                Ok(ProviderStatus::Done(outcome)) => NextStep::Done(outcome),
                // The facilitator may have acted, or can be asked again: the chain tells.
                _ => NextStep::Processing { reference },
            })
        })
    }

    fn status<'call>(
        &'call self,
        attempt: &'call Attempt,
    ) -> ProviderFuture<'call, ProviderStatus> {
        Box::pin(self.advance(attempt))
    }

    /// Whoever has the authorization can use it until it expires: it cannot be recalled, and ends by itself.
    fn expire<'call>(
        &'call self,
        attempt: &'call Attempt,
    ) -> ProviderFuture<'call, ProviderStatus> {
        self.status(attempt)
    }
}
