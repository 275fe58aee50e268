//! A verb, and a job: a webhook of a payment processor. It is verified and stored, and the processor is asked about the payment that it
//! concerns afterwards: the answer to the webhook does not wait for that, and a crash loses nothing.

use database::{Database, Reading, Work, crash_point};
use http::HeaderMap;
use jobs::{Job, JobContext, JobError, Outcome};
use payments::{ProviderName, ReceivedWebhook};
use primitives::MerchantId;
use serde::{Deserialize, Serialize};

use crate::observe::observe_payment;
use crate::{CheckoutError, PaymentGateway};

/// A webhook as it was received.
#[derive(Debug, Clone, Copy)]
pub struct PaymentWebhook<'request> {
    pub provider: ProviderName,
    pub headers: &'request HeaderMap,
    pub body: &'request [u8],
}

/// Verifies a webhook of a payment processor, and enqueues the question about the payment that it concerns. One that was received before,
/// and one of a payment that is not ours, changes nothing. Returns `Webhook` if it is not one of an account of the store, or cannot be
/// verified now.
pub async fn receive_webhook(
    database: &Database,
    gateway: &PaymentGateway,
    merchant: MerchantId,
    webhook: PaymentWebhook<'_>,
) -> Result<(), CheckoutError> {
    let PaymentWebhook { provider: name, headers, body } = webhook;
    let provider = gateway.provider(name);
    let provider = provider.ok_or(CheckoutError::ProviderMissing { provider: name })?;
    let reading = Reading::for_store(database, merchant)?;
    let received_at = reading.run(async |sql| sql.now().await).await?;
    let received = ReceivedWebhook { merchant, headers, body, received_at };
    let verified = provider.parse_webhook(received).await?;
    let mut references = Vec::new();
    for hint in verified.payments {
        // A merchant can have other payments at the processor.
        let reference = hint.reference;
        if payments::find_by_reference(&reading, merchant, name, &reference).await?.is_some() {
            references.push(reference);
        }
    }
    if references.is_empty() {
        return Ok(());
    }
    let mut work = Work::for_checkout(database, merchant).await?;
    if payments::record_webhook(&mut work, merchant, name, &verified.event).await? {
        for reference in references {
            jobs::enqueue(&mut work, &ObservePayment { merchant, provider: name, reference })
                .await?;
        }
    }
    crash_point("webhook.before_commit");
    Ok(work.commit().await?)
}

/// Asks a processor about the payment that a webhook concerns, and records what it says.
#[derive(Debug, Serialize, Deserialize)]
pub struct ObservePayment {
    merchant: MerchantId,
    provider: ProviderName,
    reference: String,
}

impl Job for ObservePayment {
    const NAME: &'static str = "checkout.observe_payment";
    const IS_URGENT: bool = true;
    type Dependencies = PaymentGateway;

    fn merchant(&self) -> Option<MerchantId> {
        Some(self.merchant)
    }

    async fn run(self, context: JobContext, gateway: PaymentGateway) -> Result<Outcome, JobError> {
        let Self { merchant, provider, reference } = self;
        observe_payment(context.database(), &gateway, merchant, provider, &reference).await?;
        Ok(Outcome::DONE)
    }
}
