//! Payments on the page of a payment processor, with the account of the store: Stripe and PayPal.

mod meaning;

use processors::{
    Credentials, HostedPaymentRequest, IdempotencyKey, PaymentSnapshot, Processor, ProcessorError,
    RefundRequest, Refusal, RefusalReason,
};

use crate::{
    Attempt, CallError, ChargeOutcome, NextStep, PageRequest, PaymentAccounts, Provider,
    ProviderFuture, ProviderName, ProviderPage, ProviderStatus, ReceivedWebhook, RefundAttempt,
    RefundStatus, VerifiedWebhook, WebhookRejection,
};

/// The attempt was closed, and nobody can pay it.
const ENDED: ProviderStatus = ProviderStatus::Done(ChargeOutcome::Ended);

/// A payment processor as a provider: the buyer pays on its page, and the money goes to the account of the store.
#[derive(Debug, Clone)]
pub struct ProcessorProvider {
    processor: Processor,
    accounts: PaymentAccounts,
}

impl ProcessorProvider {
    /// Creates a provider for each processor.
    #[must_use]
    pub fn all(accounts: &PaymentAccounts) -> Vec<Self> {
        let provider =
            |processor: &Processor| Self { processor: *processor, accounts: accounts.clone() };
        Processor::ALL.iter().map(provider).collect()
    }

    /// Returns the credentials of the account that an attempt was started with.
    async fn credentials(&self, attempt: &Attempt) -> Result<Credentials, CallError> {
        let (merchant, payment) = (attempt.merchant, attempt.payment);
        let Some(account) = attempt.account else {
            tracing::error!(%merchant, %payment, "a payment has no account");
            return Err(CallError::Refused);
        };
        self.accounts.credentials(merchant, account).await.map_err(|error| {
            tracing::error!(%merchant, %payment, %error, "the credentials of a payment cannot be read");
            CallError::NotSent
        })
    }

    async fn create(&self, attempt: &Attempt, page: &PageRequest) -> Result<NextStep, CallError> {
        let credentials = self.credentials(attempt).await?;
        let request = HostedPaymentRequest {
            key: IdempotencyKey::of_payment(attempt.payment),
            checkout_reference: attempt.checkout.to_string(),
            amount: attempt.amount,
            description: page.description.clone(),
            success_url: page.success_url.clone(),
            cancel_url: page.cancel_url.clone(),
            created_at: attempt.begun_at,
            expires_at: attempt.expires_at,
            // The units are held until the session ends, not for days.
            allows_delayed_methods: false,
            buyer_email: page.buyer_email.clone(),
        };
        let hosted = self.accounts.processors.create(&credentials, &request).await;
        let hosted = hosted.map_err(|error| meaning::failed(attempt, "create", &error))?;
        Ok(NextStep::Redirect(ProviderPage { reference: hosted.reference, url: hosted.url }))
    }

    async fn fetch(&self, attempt: &Attempt) -> Result<ProviderStatus, CallError> {
        // Nobody got the address of a page without a reference.
        let Some(reference) = &attempt.reference else { return Ok(ENDED) };
        let credentials = self.credentials(attempt).await?;
        let found = self.accounts.processors.fetch(&credentials, reference).await;
        self.status_of(attempt, found, "fetch")
    }

    async fn capture_approved(&self, attempt: &Attempt) -> Result<ProviderStatus, CallError> {
        let Some(reference) = &attempt.reference else { return Ok(ENDED) };
        let credentials = self.credentials(attempt).await?;
        let key = IdempotencyKey::of_payment(attempt.payment);
        match self.accounts.processors.capture(&credentials, reference, &key).await {
            // The buyer may use another instrument, for another attempt: this one is never captured again.
            Err(ProcessorError::Refused(Refusal {
                reason: RefusalReason::Declined | RefusalReason::NotApproved,
                ..
            })) => Ok(ProviderStatus::Done(ChargeOutcome::Declined)),
            captured => self.status_of(attempt, captured, "capture"),
        }
    }

    async fn close(&self, attempt: &Attempt) -> Result<ProviderStatus, CallError> {
        let Some(reference) = &attempt.reference else { return Ok(ENDED) };
        let credentials = self.credentials(attempt).await?;
        let closed = self.accounts.processors.expire(&credentials, reference).await;
        match (self.processor, self.status_of(attempt, closed, "expire")?) {
            // No money is taken without a capture, and none follows.
            (Processor::Paypal, ProviderStatus::Open | ProviderStatus::Approved) => Ok(ENDED),
            (Processor::Stripe, ProviderStatus::Open) => Err(CallError::Unknown),
            (_, status) => Ok(status),
        }
    }

    /// Returns the status of a payment as the processor knows it, if it is the one that was started.
    fn status_of(
        &self,
        attempt: &Attempt,
        found: Result<PaymentSnapshot, ProcessorError>,
        operation: &'static str,
    ) -> Result<ProviderStatus, CallError> {
        match found {
            Ok(snapshot) => meaning::check(attempt, &snapshot).map(|()| snapshot.state.into()),
            // PayPal forgets an order that nobody has paid for some hours. One that was captured stays.
            Err(ProcessorError::Refused(Refusal { reason: RefusalReason::NotFound, .. }))
                if self.processor == Processor::Paypal =>
            {
                Ok(ENDED)
            }
            Err(error) => Err(meaning::failed(attempt, operation, &error)),
        }
    }

    async fn return_money(&self, refund: &RefundAttempt) -> Result<RefundStatus, CallError> {
        let attempt = &refund.attempt;
        let credentials = self.credentials(attempt).await?;
        let key = IdempotencyKey::of_refund(refund.refund);
        let found = match (&refund.reference, attempt.charge.clone()) {
            (Some(reference), _) => {
                self.accounts.processors.fetch_refund(&credentials, reference).await
            }
            (None, Some(payment_reference)) => {
                let amount = refund.amount;
                let request = RefundRequest { key, payment_reference, amount };
                self.accounts.processors.refund(&credentials, &request).await
            }
            (None, None) => return Err(CallError::Refused),
        };
        match found {
            Ok(found) => meaning::refund_status(refund, found),
            // With a reference the processor has the refund, and the question for it was refused.
            Err(ProcessorError::Refused(refusal)) if refund.reference.is_none() => {
                let (merchant, refund) = (attempt.merchant, refund.refund);
                tracing::warn!(%merchant, %refund, %refusal, "the payment processor refused a refund");
                Ok(RefundStatus::Refused)
            }
            Err(error) => Err(meaning::failed(attempt, "refund", &error)),
        }
    }

    async fn verify(
        &self,
        webhook: ReceivedWebhook<'_>,
    ) -> Result<VerifiedWebhook, WebhookRejection> {
        let ReceivedWebhook { merchant, headers, body, received_at } = webhook;
        let (provider, mut rejection) = (self.name(), WebhookRejection::Invalid);
        let accounts = self.accounts.webhook_credentials(merchant, provider).await;
        let accounts = accounts.map_err(|error| {
            tracing::warn!(%merchant, %provider, %error, "the accounts of a store cannot be read");
            WebhookRejection::Unverified
        })?;
        for credentials in &accounts {
            match self
                .accounts
                .processors
                .parse_webhook(credentials, headers, body, received_at)
                .await
            {
                Ok(hint) => return Ok(hint.into()),
                Err(error) if error.is_transient() => {
                    tracing::warn!(%merchant, %provider, %error, "a webhook cannot be verified");
                    rejection = WebhookRejection::Unverified;
                }
                Err(error) => {
                    tracing::debug!(%merchant, %provider, %error, "a webhook is not of this account");
                }
            }
        }
        Err(rejection)
    }
}

impl Provider for ProcessorProvider {
    fn name(&self) -> ProviderName {
        match self.processor {
            Processor::Stripe => ProviderName::Stripe,
            Processor::Paypal => ProviderName::Paypal,
        }
    }

    fn is_live(&self) -> bool {
        true
    }

    fn needs_account(&self) -> bool {
        true
    }

    fn begin<'call>(
        &'call self,
        attempt: &'call Attempt,
        page: &'call PageRequest,
    ) -> ProviderFuture<'call, NextStep> {
        Box::pin(self.create(attempt, page))
    }

    fn status<'call>(
        &'call self,
        attempt: &'call Attempt,
    ) -> ProviderFuture<'call, ProviderStatus> {
        Box::pin(self.fetch(attempt))
    }

    fn capture<'call>(
        &'call self,
        attempt: &'call Attempt,
    ) -> ProviderFuture<'call, ProviderStatus> {
        match self.processor {
            // It takes the money by itself.
            Processor::Stripe => Box::pin(self.fetch(attempt)),
            Processor::Paypal => Box::pin(self.capture_approved(attempt)),
        }
    }

    fn expire<'call>(
        &'call self,
        attempt: &'call Attempt,
    ) -> ProviderFuture<'call, ProviderStatus> {
        Box::pin(self.close(attempt))
    }

    fn refund<'call>(
        &'call self,
        refund: &'call RefundAttempt,
    ) -> ProviderFuture<'call, RefundStatus> {
        Box::pin(self.return_money(refund))
    }

    fn parse_webhook<'call>(
        &'call self,
        webhook: ReceivedWebhook<'call>,
    ) -> ProviderFuture<'call, VerifiedWebhook, WebhookRejection> {
        Box::pin(self.verify(webhook))
    }
}
