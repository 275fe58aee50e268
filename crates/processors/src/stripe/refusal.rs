//! Errors of Stripe.

use http::StatusCode;
use serde::Deserialize;

use crate::api::ErrorMeaning;
use crate::error::{ProcessorCode, Refusal, RefusalReason, UnknownOutcome};

#[derive(Deserialize)]
struct ErrorBody {
    error: ErrorObject,
}

#[derive(Deserialize)]
struct ErrorObject {
    #[serde(rename = "type")]
    kind: String,
    code: Option<String>,
    decline_code: Option<String>,
    param: Option<String>,
}

/// Returns what an error response means, or `None` if it is not one of Stripe.
pub(super) fn meaning(status: StatusCode, body: &[u8]) -> Option<ErrorMeaning> {
    let ErrorBody { error } = serde_json::from_slice(body).ok()?;
    if status == StatusCode::FORBIDDEN {
        return Some(ErrorMeaning::CredentialsRefused);
    }
    if error.code.as_deref() == Some("idempotency_key_in_use") {
        return Some(ErrorMeaning::Unknown(UnknownOutcome::InProgress));
    }
    if error.kind == "idempotency_error" {
        return Some(ErrorMeaning::Unknown(UnknownOutcome::KeyReused));
    }
    let reason = reason(status, &error);
    let code = error.decline_code.or(error.code).unwrap_or(error.kind);
    Some(ErrorMeaning::Refused(Refusal { reason, code: ProcessorCode::parse(&code) }))
}

fn reason(status: StatusCode, error: &ErrorObject) -> RefusalReason {
    match error.code.as_deref() {
        Some("charge_already_refunded") => RefusalReason::AlreadyRefunded,
        Some("amount_too_large" | "amount_too_small") => RefusalReason::AmountRefused,
        Some("charge_disputed" | "refund_disputed_payment") => RefusalReason::RefundNotAllowed,
        Some("balance_insufficient" | "insufficient_funds")
            if status != StatusCode::PAYMENT_REQUIRED =>
        {
            RefusalReason::InsufficientFunds
        }
        Some("account_invalid" | "account_closed" | "testmode_charges_only") => {
            RefusalReason::AccountRestricted
        }
        Some("resource_missing") => RefusalReason::NotFound,
        _ if status == StatusCode::NOT_FOUND => RefusalReason::NotFound,
        _ if error.kind == "card_error" => RefusalReason::Declined,
        // More than what is left has no code of its own.
        None if error.param.as_deref() == Some("amount") => RefusalReason::AmountRefused,
        _ => RefusalReason::InvalidRequest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, body: &str) -> Refusal {
        match meaning(StatusCode::from_u16(status).unwrap(), body.as_bytes()) {
            Some(ErrorMeaning::Refused(refusal)) => refusal,
            _ => panic!("{body} is no refusal"),
        }
    }

    #[test]
    fn the_reason_of_a_refusal_is_stable() {
        for (status, body, reason, code) in [
            (
                402,
                r#"{"error":{"type":"card_error","code":"card_declined","decline_code":"insufficient_funds","message":"Your card 4242 has insufficient funds."}}"#,
                RefusalReason::Declined,
                Some("insufficient_funds"),
            ),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","code":"charge_already_refunded"}}"#,
                RefusalReason::AlreadyRefunded,
                Some("charge_already_refunded"),
            ),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","param":"amount","message":"Refund amount ($5) is greater than unrefunded amount"}}"#,
                RefusalReason::AmountRefused,
                Some("invalid_request_error"),
            ),
            (
                404,
                r#"{"error":{"type":"invalid_request_error","code":"resource_missing"}}"#,
                RefusalReason::NotFound,
                Some("resource_missing"),
            ),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","code":"sk_live_1234"}}"#,
                RefusalReason::InvalidRequest,
                None,
            ),
        ] {
            let refusal = refusal(status, body);
            assert_eq!(refusal.reason, reason, "{body}");
            assert_eq!(refusal.code.as_ref().map(ProcessorCode::as_str), code, "{body}");
        }
    }

    #[test]
    fn an_error_of_the_key_says_nothing_about_the_first_request() {
        let body = br#"{"error":{"type":"idempotency_error"}}"#;
        let meaning = meaning(StatusCode::BAD_REQUEST, body);
        assert!(matches!(meaning, Some(ErrorMeaning::Unknown(UnknownOutcome::KeyReused))));
    }

    #[test]
    fn a_body_of_somebody_else_has_no_meaning() {
        for body in ["", "<html>", "{}", r#"{"error":"text"}"#, r#"{"error":{}}"#] {
            assert!(meaning(StatusCode::BAD_REQUEST, body.as_bytes()).is_none(), "{body}");
        }
    }

    #[test]
    fn a_lack_of_permission_is_about_the_credentials() {
        let body = br#"{"error":{"type":"invalid_request_error"}}"#;
        let meaning = meaning(StatusCode::FORBIDDEN, body);
        assert!(matches!(meaning, Some(ErrorMeaning::CredentialsRefused)));
    }
}
