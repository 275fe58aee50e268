//! Refunds of PayPal.

use serde::Deserialize;
use serde_json::{Value, json};

use super::unit::Amount;
use crate::api;
use crate::error::{InvalidRequest, ProcessorError};
use crate::refund::{Refund, RefundRequest, RefundState};

/// Returns the body of a refund.
pub(super) fn body(request: &RefundRequest) -> Result<Value, InvalidRequest> {
    let amount = Amount::to_wire(request.amount)?;
    Ok(json!({ "amount": amount, "custom_id": request.key.as_str() }))
}

#[derive(Deserialize)]
pub(super) struct RefundObject {
    id: String,
    pub(super) status: String,
    pub(super) amount: Amount,
    custom_id: Option<String>,
}

impl RefundObject {
    pub(super) fn refund(self) -> Result<Refund, ProcessorError> {
        let state = match self.status.as_str() {
            "COMPLETED" => RefundState::Succeeded,
            "PENDING" => RefundState::Pending,
            "FAILED" => RefundState::Failed,
            "CANCELLED" => RefundState::Canceled,
            _ => return Err(ProcessorError::malformed()),
        };
        let reference = api::reference(&self.id).map_err(|_| ProcessorError::malformed())?;
        Ok(Refund {
            reference: reference.to_owned(),
            key: self.custom_id,
            amount: self.amount.money().ok_or_else(ProcessorError::malformed)?,
            state,
        })
    }
}

#[cfg(test)]
mod tests {
    use primitives::{Currency, Id, Money, RefundId};

    use super::*;
    use crate::key::IdempotencyKey;

    #[test]
    fn every_status_of_a_refund_has_a_state() {
        let parse = |status: &str, value: &str| {
            let body = json!({
                "id": "1JU08902781691411", "status": status, "custom_id": "ref_1",
                "amount": { "currency_code": "EUR", "value": value },
            });
            serde_json::from_value::<RefundObject>(body).unwrap().refund()
        };
        for (status, state) in [
            ("COMPLETED", RefundState::Succeeded),
            ("PENDING", RefundState::Pending),
            ("FAILED", RefundState::Failed),
            ("CANCELLED", RefundState::Canceled),
        ] {
            let refund = parse(status, "2.50").unwrap();
            assert_eq!((refund.state, refund.key.as_deref()), (state, Some("ref_1")));
            assert_eq!(refund.amount, Money::new(2_50, Currency::EUR));
        }
        assert_eq!(parse("NEW", "2.50"), Err(ProcessorError::malformed()));
        assert_eq!(parse("COMPLETED", "-2.50"), Err(ProcessorError::malformed()));
    }

    #[test]
    fn a_refund_has_the_exact_amount_and_our_key() {
        let request = RefundRequest {
            key: IdempotencyKey::of_refund(RefundId::from_random(1)),
            payment_reference: "3C679366HH908993F".to_owned(),
            amount: Money::new(2_50, Currency::EUR),
        };
        let body = body(&request).unwrap();
        assert_eq!(body["amount"], json!({ "currency_code": "EUR", "value": "2.50" }));
        assert_eq!(body["custom_id"], request.key.as_str());
    }
}
