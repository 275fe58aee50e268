//! Errors of PayPal.

use http::StatusCode;
use serde::Deserialize;

use crate::api::ErrorMeaning;
use crate::error::{ProcessorCode, Refusal, RefusalReason, UnknownOutcome};

/// The issue of an order that is captured already, possibly by an earlier call of ours.
pub(super) const ALREADY_CAPTURED: &str = "ORDER_ALREADY_CAPTURED";

#[derive(Deserialize)]
struct ErrorBody {
    name: String,
    #[serde(default)]
    details: Vec<Detail>,
}

#[derive(Deserialize)]
struct Detail {
    issue: Option<String>,
}

/// Returns what an error response means, or `None` if it is not one of PayPal.
pub(super) fn meaning(status: StatusCode, body: &[u8]) -> Option<ErrorMeaning> {
    let error: ErrorBody = serde_json::from_slice(body).ok()?;
    if status == StatusCode::FORBIDDEN {
        return Some(ErrorMeaning::CredentialsRefused);
    }
    let issue = error.details.into_iter().find_map(|detail| detail.issue);
    let issue = issue.unwrap_or(error.name);
    match issue.as_str() {
        "ORDER_COMPLETION_IN_PROGRESS" => {
            return Some(ErrorMeaning::Unknown(UnknownOutcome::InProgress));
        }
        "DUPLICATE_REQUEST_ID" => return Some(ErrorMeaning::Unknown(UnknownOutcome::KeyReused)),
        _ => {}
    }
    let reason = match reason(&issue) {
        RefusalReason::InvalidRequest if status == StatusCode::NOT_FOUND => RefusalReason::NotFound,
        reason => reason,
    };
    Some(ErrorMeaning::Refused(Refusal { reason, code: ProcessorCode::parse(&issue) }))
}

fn reason(issue: &str) -> RefusalReason {
    match issue {
        "INSTRUMENT_DECLINED"
        | "TRANSACTION_REFUSED"
        | "PAYER_CANNOT_PAY"
        | "PAYER_ACCOUNT_RESTRICTED"
        | "REDIRECT_PAYER_FOR_ALTERNATE_FUNDING"
        | "MAX_NUMBER_OF_PAYMENT_ATTEMPTS_EXCEEDED"
        | "TRANSACTION_LIMIT_EXCEEDED"
        | "COMPLIANCE_VIOLATION"
        | "DECLINED_DUE_TO_RELATED_TXN" => RefusalReason::Declined,
        "ORDER_NOT_APPROVED" | "PAYER_ACTION_REQUIRED" => RefusalReason::NotApproved,
        ALREADY_CAPTURED | "DUPLICATE_INVOICE_ID" => RefusalReason::AlreadyPaid,
        "CAPTURE_FULLY_REFUNDED" => RefusalReason::AlreadyRefunded,
        "REFUND_AMOUNT_EXCEEDED"
        | "REFUND_AMOUNT_TOO_LOW"
        | "REFUND_CAPTURE_CURRENCY_MISMATCH"
        | "CURRENCY_MISMATCH"
        | "DECIMAL_PRECISION"
        | "DECIMALS_NOT_SUPPORTED"
        | "CANNOT_BE_ZERO_OR_NEGATIVE"
        | "CANNOT_BE_NEGATIVE"
        | "MAX_VALUE_EXCEEDED" => RefusalReason::AmountRefused,
        "REFUND_NOT_ALLOWED"
        | "REFUND_TIME_LIMIT_EXCEEDED"
        | "PARTIAL_REFUND_NOT_ALLOWED"
        | "MAX_NUMBER_OF_REFUNDS_EXCEEDED"
        | "PENDING_CAPTURE"
        | "REFUND_NOT_PERMITTED_DUE_TO_CHARGEBACK"
        | "TRANSACTION_DISPUTED"
        | "REFUND_IS_RESTRICTED" => RefusalReason::RefundNotAllowed,
        "REFUND_FAILED_INSUFFICIENT_FUNDS" => RefusalReason::InsufficientFunds,
        "PAYEE_ACCOUNT_RESTRICTED"
        | "PAYEE_ACCOUNT_LOCKED_OR_CLOSED"
        | "PAYEE_ACCOUNT_INVALID"
        | "PAYEE_BLOCKED_TRANSACTION"
        | "TRANSACTION_BLOCKED_BY_PAYEE"
        | "TRANSACTION_RECEIVING_LIMIT_EXCEEDED"
        | "CURRENCY_NOT_SUPPORTED" => RefusalReason::AccountRestricted,
        "RESOURCE_NOT_FOUND" | "INVALID_RESOURCE_ID" => RefusalReason::NotFound,
        _ => RefusalReason::InvalidRequest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> Option<ErrorMeaning> {
        meaning(StatusCode::from_u16(status).unwrap(), body.as_bytes())
    }

    #[test]
    fn the_reason_of_a_refusal_is_that_of_the_first_issue() {
        for (status, issue, expected) in [
            (422, "INSTRUMENT_DECLINED", RefusalReason::Declined),
            (422, "ORDER_NOT_APPROVED", RefusalReason::NotApproved),
            (422, ALREADY_CAPTURED, RefusalReason::AlreadyPaid),
            (422, "DUPLICATE_INVOICE_ID", RefusalReason::AlreadyPaid),
            (422, "CAPTURE_FULLY_REFUNDED", RefusalReason::AlreadyRefunded),
            (422, "REFUND_AMOUNT_EXCEEDED", RefusalReason::AmountRefused),
            (422, "REFUND_TIME_LIMIT_EXCEEDED", RefusalReason::RefundNotAllowed),
            (404, "INVALID_RESOURCE_ID", RefusalReason::NotFound),
            (404, "ANYTHING", RefusalReason::NotFound),
            (422, "ANYTHING", RefusalReason::InvalidRequest),
        ] {
            let body = format!(
                r#"{{"name":"UNPROCESSABLE_ENTITY","details":[{{"issue":"{issue}","description":"of the buyer"}}],"debug_id":"1"}}"#
            );
            let Some(ErrorMeaning::Refused(refusal)) = of(status, &body) else {
                panic!("{issue} is no refusal")
            };
            assert_eq!(refusal.reason, expected, "{issue}");
            assert_eq!(refusal.code.unwrap().as_str(), issue);
        }
    }

    #[test]
    fn a_running_capture_and_an_error_of_the_key_are_no_refusals() {
        for (issue, expected) in [
            ("ORDER_COMPLETION_IN_PROGRESS", UnknownOutcome::InProgress),
            ("DUPLICATE_REQUEST_ID", UnknownOutcome::KeyReused),
        ] {
            let body = format!(r#"{{"name":"A","details":[{{"issue":"{issue}"}}]}}"#);
            let Some(ErrorMeaning::Unknown(outcome)) = of(422, &body) else {
                panic!("{issue} is a refusal")
            };
            assert_eq!(outcome, expected);
        }
    }

    #[test]
    fn an_error_without_details_has_its_name() {
        let Some(ErrorMeaning::Refused(refusal)) = of(404, r#"{"name":"RESOURCE_NOT_FOUND"}"#)
        else {
            panic!("it is a refusal")
        };
        assert_eq!(refusal.reason, RefusalReason::NotFound);
        assert!(matches!(
            of(403, r#"{"name":"NOT_AUTHORIZED"}"#),
            Some(ErrorMeaning::CredentialsRefused)
        ));
        for body in ["", "<html>", "{}", r#"{"error":"invalid_client"}"#] {
            assert!(of(400, body).is_none(), "{body}");
        }
    }
}
