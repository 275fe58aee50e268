//! Payments on hosted pages.

use primitives::{Money, Timestamp};

use crate::IdempotencyKey;

/// A request for a hosted payment page. Repeating it with the same key requires equal fields: processors compare them.
#[derive(Debug, Clone)]
pub struct HostedPaymentRequest {
    /// [`IdempotencyKey::of_payment`]: the processor creates one payment for it.
    pub key: IdempotencyKey,
    /// Our id of the checkout session; the buyer does not see it.
    pub checkout_reference: String,
    pub amount: Money,
    /// What the buyer pays for, in one line. Texts that are too long for a processor are cut.
    pub description: String,
    /// Where the processor sends the buyer. The visit of neither URL says anything about the payment.
    pub success_url: String,
    pub cancel_url: String,
    /// When the request was stored, with which `expires_at` is compared.
    pub created_at: Timestamp,
    /// Until when the buyer can pay. The processor's page can be open for longer: see [`HostedPayment::expires_at`].
    pub expires_at: Timestamp,
    /// Whether methods of payment are offered whose outcome can take days, such as direct debits.
    pub allows_delayed_methods: bool,
    /// Fills in a field of the page. Ignored if it is not an e-mail address.
    pub buyer_email: Option<String>,
}

/// A hosted payment page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedPayment {
    /// The processor's id: a Checkout Session of Stripe, an order of PayPal.
    pub reference: String,
    /// Where the buyer pays.
    pub url: String,
    /// When the processor closes the page; `None` if it does not say. It is at least an hour after the request.
    pub expires_at: Option<Timestamp>,
}

/// A payment as the processor knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentSnapshot {
    /// [`HostedPayment::reference`].
    pub reference: String,
    /// [`HostedPaymentRequest::key`]. `None` if the processor has none.
    pub key: Option<String>,
    /// [`HostedPaymentRequest::checkout_reference`]. `None` if the processor has none.
    pub checkout_reference: Option<String>,
    /// What the page asks for.
    pub amount: Money,
    pub state: PaymentState,
}

/// State of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaymentState {
    /// The buyer can pay.
    Open,
    /// The buyer has done everything, and the outcome is not known yet.
    Processing,
    /// The buyer has approved the payment, and [`capture`](crate::Processors::capture) takes the money. PayPal only.
    Approved,
    Paid(PaidPayment),
    PartlyRefunded {
        payment: PaidPayment,
        refunded: Money,
    },
    Refunded {
        payment: PaidPayment,
        refunded: Money,
    },
    /// The payment did not succeed and will not.
    Failed,
    /// The page closed without a payment.
    Expired,
    Canceled,
}

impl PaymentState {
    /// Returns the payment if money was taken, also if it was refunded since.
    #[must_use]
    pub const fn paid(&self) -> Option<&PaidPayment> {
        match self {
            Self::Paid(payment)
            | Self::PartlyRefunded { payment, .. }
            | Self::Refunded { payment, .. } => Some(payment),
            Self::Open
            | Self::Processing
            | Self::Approved
            | Self::Failed
            | Self::Expired
            | Self::Canceled => None,
        }
    }
}

/// Money that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaidPayment {
    /// The processor's id of the money, with which it is refunded: a payment intent of Stripe, a capture of PayPal.
    pub reference: String,
    pub amount: Money,
    /// The processor's fee, in the currency of the merchant's balance. `None` if it is not known (yet).
    pub fee: Option<Money>,
}

/// How a payment differs from the one that was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PaymentMismatch {
    #[error("the payment has another key")]
    Key,
    #[error("the payment is for another checkout")]
    CheckoutReference,
    #[error("the page asks for another amount")]
    Amount,
    #[error("another amount was paid")]
    PaidAmount,
}

impl PaymentSnapshot {
    /// Compares the payment with what was requested. An order is paid only if this succeeds.
    pub fn ensure_matches(
        &self,
        key: &IdempotencyKey,
        checkout_reference: &str,
        amount: Money,
    ) -> Result<(), PaymentMismatch> {
        if self.key.as_deref() != Some(key.as_str()) {
            return Err(PaymentMismatch::Key);
        }
        if self.checkout_reference.as_deref() != Some(checkout_reference) {
            return Err(PaymentMismatch::CheckoutReference);
        }
        if self.amount != amount {
            return Err(PaymentMismatch::Amount);
        }
        if self.state.paid().is_some_and(|payment| payment.amount != amount) {
            return Err(PaymentMismatch::PaidAmount);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use primitives::{Currency, Id, PaymentId};

    use super::*;

    #[test]
    fn a_payment_matches_only_what_was_requested() {
        let key = IdempotencyKey::of_payment(PaymentId::from_random(7));
        let amount = Money::new(12_50, Currency::EUR);
        let paid = |amount| {
            PaymentState::Paid(PaidPayment { reference: "pi_1".to_owned(), amount, fee: None })
        };
        let payment = PaymentSnapshot {
            reference: "cs_1".to_owned(),
            key: Some(key.to_string()),
            checkout_reference: Some("chk_1".to_owned()),
            amount,
            state: paid(amount),
        };
        let check = |payment: &PaymentSnapshot| payment.ensure_matches(&key, "chk_1", amount);
        assert_eq!(check(&payment), Ok(()));
        let (fewer, dollars) = (Money::new(12_49, Currency::EUR), Money::new(12_50, Currency::USD));
        for (payment, mismatch) in [
            (PaymentSnapshot { key: None, ..payment.clone() }, PaymentMismatch::Key),
            (
                PaymentSnapshot { checkout_reference: Some("chk_2".to_owned()), ..payment.clone() },
                PaymentMismatch::CheckoutReference,
            ),
            (PaymentSnapshot { amount: dollars, ..payment.clone() }, PaymentMismatch::Amount),
            (
                PaymentSnapshot { state: paid(fewer), ..payment.clone() },
                PaymentMismatch::PaidAmount,
            ),
        ] {
            assert_eq!(check(&payment), Err(mismatch));
        }
    }
}
