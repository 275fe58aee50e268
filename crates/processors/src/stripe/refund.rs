//! Refunds of Stripe.

use serde::Deserialize;

use super::unit;
use crate::api;
use crate::error::ProcessorError;
use crate::refund::{Refund, RefundRequest, RefundState};

/// Returns the parameters of a refund.
pub(super) fn form(request: &RefundRequest) -> Result<Vec<(&'static str, String)>, ProcessorError> {
    let payment = api::reference(&request.payment_reference)?;
    // Stripe takes the currency from the payment.
    let (amount, _) = unit::to_wire(request.amount)?;
    Ok(vec![
        ("payment_intent", payment.to_owned()),
        ("amount", amount.to_string()),
        ("metadata[key]", request.key.to_string()),
    ])
}

#[derive(Deserialize)]
pub(super) struct RefundObject {
    id: String,
    amount: i64,
    currency: String,
    status: Option<String>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    key: Option<String>,
}

impl RefundObject {
    pub(super) fn refund(self) -> Result<Refund, ProcessorError> {
        let amount = unit::from_wire(self.amount, &self.currency);
        Ok(Refund {
            reference: api::reference(&self.id)
                .map_err(|_| ProcessorError::malformed())?
                .to_owned(),
            key: self.metadata.and_then(|metadata| metadata.key),
            amount: amount.ok_or_else(ProcessorError::malformed)?,
            state: state(self.status.as_deref())?,
        })
    }
}

fn state(status: Option<&str>) -> Result<RefundState, ProcessorError> {
    match status {
        Some("succeeded") => Ok(RefundState::Succeeded),
        Some("failed") => Ok(RefundState::Failed),
        Some("canceled") => Ok(RefundState::Canceled),
        Some("pending" | "requires_action") => Ok(RefundState::Pending),
        _ => Err(ProcessorError::malformed()),
    }
}

#[cfg(test)]
mod tests {
    use primitives::{Currency, Id, Money, RefundId};

    use super::*;
    use crate::error::InvalidRequest;
    use crate::key::IdempotencyKey;

    #[test]
    fn every_status_of_a_refund_has_a_state() {
        for (status, expected) in [
            ("succeeded", RefundState::Succeeded),
            ("pending", RefundState::Pending),
            ("requires_action", RefundState::Pending),
            ("failed", RefundState::Failed),
            ("canceled", RefundState::Canceled),
        ] {
            let body = format!(
                r#"{{"id":"re_1","amount":250,"currency":"eur","status":"{status}","metadata":{{"key":"ref_1"}}}}"#
            );
            let refund = serde_json::from_str::<RefundObject>(&body).unwrap().refund().unwrap();
            assert_eq!((refund.state, refund.key.as_deref()), (expected, Some("ref_1")));
            assert_eq!(refund.amount, Money::new(2_50, Currency::EUR));
        }
        for body in [
            r#"{"id":"re_1","amount":250,"currency":"eur","status":null}"#,
            r#"{"id":"re_1","amount":250,"currency":"eur","status":"new"}"#,
            r#"{"id":"re_1","amount":-250,"currency":"eur","status":"failed"}"#,
            r#"{"id":"re/1","amount":250,"currency":"eur","status":"failed"}"#,
        ] {
            let refund = serde_json::from_str::<RefundObject>(body).unwrap().refund();
            assert_eq!(refund, Err(ProcessorError::malformed()), "{body}");
        }
    }

    #[test]
    fn a_refund_names_the_payment_and_the_amount() {
        let request = RefundRequest {
            key: IdempotencyKey::of_refund(RefundId::from_random(1)),
            payment_reference: "pi_1".to_owned(),
            amount: Money::new(2_50, Currency::EUR),
        };
        let sent = form(&request).unwrap();
        assert_eq!(sent[0], ("payment_intent", "pi_1".to_owned()));
        assert_eq!(sent[1], ("amount", "250".to_owned()));
        let other = RefundRequest { payment_reference: "pi/1".to_owned(), ..request };
        assert_eq!(form(&other), Err(InvalidRequest::Reference.into()));
    }
}
