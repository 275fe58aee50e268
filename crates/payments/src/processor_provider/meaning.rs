//! What results and errors of a processor mean for a payment.

use processors::{
    HintReference, IdempotencyKey, PaidPayment, PaymentMismatch, PaymentSnapshot, PaymentState,
    ProcessorError, Refund, RefundState, WebhookHint,
};

use crate::{
    Attempt, CallError, Charge, ChargeOutcome, PaymentHint, ProviderStatus, RefundAttempt,
    RefundStatus, VerifiedWebhook,
};

/// Returns what an error means for the caller, and logs it. No error contains text that was received.
pub(super) fn failed(
    attempt: &Attempt,
    operation: &'static str,
    error: &ProcessorError,
) -> CallError {
    let meaning = match error {
        ProcessorError::NotSent(_) | ProcessorError::RateLimited { .. } => CallError::NotSent,
        // The merchant can correct them, and the attempt has to be resolved then. None is started with them.
        ProcessorError::CredentialsRefused if attempt.reference.is_some() => CallError::NotSent,
        ProcessorError::Unknown(_) => CallError::Unknown,
        ProcessorError::Invalid(_)
        | ProcessorError::Refused(_)
        | ProcessorError::CredentialsRefused => CallError::Refused,
    };
    let (merchant, payment) = (attempt.merchant, attempt.payment);
    tracing::warn!(
        %merchant, %payment, operation, cause = %error, %meaning,
        "a call of the payment processor has no result"
    );
    meaning
}

/// Compares a payment with the attempt. Another amount that was paid is returned to the caller, who compares it too, and opens a finding.
pub(super) fn check(attempt: &Attempt, snapshot: &PaymentSnapshot) -> Result<(), CallError> {
    let key = IdempotencyKey::of_payment(attempt.payment);
    let checkout = attempt.checkout.to_string();
    let Err(mismatch) = snapshot.ensure_matches(&key, &checkout, attempt.amount) else {
        return Ok(());
    };
    let is_amount = matches!(mismatch, PaymentMismatch::Amount | PaymentMismatch::PaidAmount);
    if is_amount && snapshot.state.paid().is_some_and(|paid| paid.amount != attempt.amount) {
        return Ok(());
    }
    let (merchant, payment) = (attempt.merchant, attempt.payment);
    tracing::error!(
        %merchant, %payment, cause = %mismatch,
        "the payment processor has another payment than the one that was started"
    );
    Err(CallError::Refused)
}

impl From<PaymentState> for ProviderStatus {
    fn from(state: PaymentState) -> Self {
        match state {
            PaymentState::Open => Self::Open,
            PaymentState::Processing => Self::Processing,
            PaymentState::Approved => Self::Approved,
            PaymentState::Paid(payment)
            | PaymentState::PartlyRefunded { payment, .. }
            | PaymentState::Refunded { payment, .. } => {
                let PaidPayment { reference, amount, fee } = payment;
                Self::Done(ChargeOutcome::Paid(Charge { reference, amount, fee }))
            }
            PaymentState::Failed => Self::Done(ChargeOutcome::Declined),
            PaymentState::Expired | PaymentState::Canceled => Self::Done(ChargeOutcome::Ended),
        }
    }
}

/// Returns the status of a refund, if it is the one that was requested.
pub(super) fn refund_status(
    requested: &RefundAttempt,
    found: Refund,
) -> Result<RefundStatus, CallError> {
    let key = IdempotencyKey::of_refund(requested.refund);
    if found.key.as_deref() != Some(key.as_str()) || found.amount != requested.amount {
        let (merchant, refund) = (requested.attempt.merchant, requested.refund);
        tracing::error!(%merchant, %refund, "the payment processor returned another refund");
        return Err(CallError::Unknown);
    }
    let reference = found.reference;
    Ok(match found.state {
        RefundState::Succeeded => RefundStatus::Done { reference },
        RefundState::Pending => RefundStatus::Pending { reference },
        RefundState::Failed | RefundState::Canceled => RefundStatus::Refused,
    })
}

impl From<WebhookHint> for VerifiedWebhook {
    fn from(hint: WebhookHint) -> Self {
        let reference = match hint.reference {
            Some(HintReference::HostedPayment(reference) | HintReference::Payment(reference)) => {
                Some(reference)
            }
            Some(HintReference::Refund { payment, .. }) => payment,
            None => None,
        };
        let payments = reference.map(|reference| PaymentHint { reference }).into_iter().collect();
        Self { event: hint.event_id, payments }
    }
}

#[cfg(test)]
mod tests {
    use primitives::{CheckoutId, Currency, Id, MerchantId, Money, PaymentId, RefundId, Timestamp};
    use processors::{HintKind, InvalidRequest, NotSent, Refusal, RefusalReason, UnknownOutcome};

    use super::*;

    fn euros(minor: i64) -> Money {
        Money::new(minor, Currency::EUR)
    }

    fn attempt(reference: Option<&str>) -> Attempt {
        Attempt {
            payment: PaymentId::from_random(1),
            merchant: MerchantId::from_random(2),
            checkout: CheckoutId::from_random(3),
            account: None,
            amount: euros(12_50),
            instrument: String::new(),
            reference: reference.map(str::to_owned),
            charge: None,
            begun_at: Timestamp::from_unix_micros(0),
            expires_at: Timestamp::from_unix_micros(1),
        }
    }

    fn snapshot(asked: i64, paid: Option<i64>) -> PaymentSnapshot {
        let attempt = attempt(Some("cs_1"));
        let state = paid.map_or(PaymentState::Open, |minor| {
            let (reference, amount) = ("pi_1".to_owned(), euros(minor));
            PaymentState::Paid(PaidPayment { reference, amount, fee: None })
        });
        PaymentSnapshot {
            reference: "cs_1".to_owned(),
            key: Some(attempt.payment.to_string()),
            checkout_reference: Some(attempt.checkout.to_string()),
            amount: euros(asked),
            state,
        }
    }

    #[test]
    fn an_outcome_is_certain_only_if_nothing_can_have_happened() {
        let refusal = Refusal { reason: RefusalReason::InvalidRequest, code: None };
        for (error, is_started, expected) in [
            (ProcessorError::NotSent(NotSent::NoAccessToken), false, CallError::NotSent),
            (ProcessorError::RateLimited { retry_after: None }, true, CallError::NotSent),
            (ProcessorError::Unknown(UnknownOutcome::KeyReused), false, CallError::Unknown),
            (ProcessorError::Unknown(UnknownOutcome::ServerError(500)), true, CallError::Unknown),
            (ProcessorError::Refused(refusal), false, CallError::Refused),
            (ProcessorError::Invalid(InvalidRequest::Amount), false, CallError::Refused),
            (ProcessorError::CredentialsRefused, false, CallError::Refused),
            (ProcessorError::CredentialsRefused, true, CallError::NotSent),
        ] {
            let attempt = attempt(is_started.then_some("cs_1"));
            assert_eq!(failed(&attempt, "test", &error), expected, "{error}");
        }
    }

    #[test]
    fn a_payment_of_something_else_is_refused() {
        let attempt = attempt(Some("cs_1"));
        assert_eq!(check(&attempt, &snapshot(12_50, Some(12_50))), Ok(()));
        let paid = || snapshot(12_50, Some(12_50));
        for other in [
            PaymentSnapshot { key: Some("pay_2".to_owned()), ..paid() },
            PaymentSnapshot { key: None, ..paid() },
            PaymentSnapshot { checkout_reference: None, ..paid() },
            snapshot(12_49, None),
        ] {
            assert_eq!(check(&attempt, &other), Err(CallError::Refused), "{other:?}");
        }
        // The caller compares what was paid.
        assert_eq!(check(&attempt, &snapshot(12_50, Some(12_49))), Ok(()));
        assert_eq!(check(&attempt, &snapshot(12_49, Some(12_49))), Ok(()));
    }

    #[test]
    fn money_that_was_returned_since_was_paid() {
        let (reference, amount, fee) = ("pi_1".to_owned(), euros(12_50), Some(euros(61)));
        let payment = PaidPayment { reference, amount, fee };
        let refunded = euros(12_50);
        for state in [
            PaymentState::Paid(payment.clone()),
            PaymentState::PartlyRefunded { payment: payment.clone(), refunded },
            PaymentState::Refunded { payment, refunded },
        ] {
            let ProviderStatus::Done(ChargeOutcome::Paid(charge)) = state.into() else {
                panic!("not paid")
            };
            assert_eq!((charge.reference.as_str(), charge.amount), ("pi_1", euros(12_50)));
            assert_eq!(charge.fee, Some(euros(61)));
        }
    }

    #[test]
    fn a_refund_of_something_else_is_not_accepted() {
        let refund = RefundId::from_random(9);
        let attempt = attempt(Some("cs_1"));
        let requested = RefundAttempt { refund, attempt, amount: euros(2_50), reference: None };
        let found = |key: &str, minor, state| Refund {
            reference: "re_1".to_owned(),
            key: Some(key.to_owned()),
            amount: euros(minor),
            state,
        };
        let key = refund.to_string();
        let status = |found| refund_status(&requested, found);
        let reference = || "re_1".to_owned();
        let done = RefundStatus::Done { reference: reference() };
        assert_eq!(status(found(&key, 2_50, RefundState::Succeeded)), Ok(done));
        let pending = RefundStatus::Pending { reference: reference() };
        assert_eq!(status(found(&key, 2_50, RefundState::Pending)), Ok(pending));
        assert_eq!(status(found(&key, 2_50, RefundState::Failed)), Ok(RefundStatus::Refused));
        for other in [
            found("rfd_2", 2_50, RefundState::Succeeded),
            found(&key, 2_51, RefundState::Succeeded),
        ] {
            assert_eq!(status(other), Err(CallError::Unknown));
        }
    }

    #[test]
    fn a_webhook_names_the_payment_that_it_concerns() {
        let references = |reference| {
            let (event_id, event_type) = ("evt_1".to_owned(), "any".to_owned());
            let kind = HintKind::Payment;
            let hint = WebhookHint { event_id, event_type, kind, reference };
            let VerifiedWebhook { event, payments } = hint.into();
            assert_eq!(event, "evt_1");
            payments.into_iter().map(|hint| hint.reference).collect::<Vec<_>>()
        };
        let text = |text: &str| text.to_owned();
        assert_eq!(references(Some(HintReference::HostedPayment(text("cs_1")))), ["cs_1"]);
        assert_eq!(references(Some(HintReference::Payment(text("pi_1")))), ["pi_1"]);
        let refund = |payment| HintReference::Refund { refund: text("re_1"), payment };
        assert_eq!(references(Some(refund(Some(text("pi_1"))))), ["pi_1"]);
        assert!(references(Some(refund(None))).is_empty());
        assert!(references(None).is_empty());
    }
}
