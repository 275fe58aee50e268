use serde_json::json;

use super::*;

fn response(status: u16, body: impl Into<Vec<u8>>) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    Response { status, retry_after: None, body: body.into(), is_truncated: false }
}

fn hash() -> TransactionHash {
    TransactionHash::new([0xab; 32])
}

fn settle(status: u16, body: &Value) -> SettleOutcome {
    settled(Ok(response(status, body.to_string())))
}

fn unknown(
    reason: UnknownReason,
    hint: Option<TransactionHash>,
    facilitator_reason: Option<&str>,
) -> SettleOutcome {
    let facilitator_reason = facilitator_reason.map(str::to_owned);
    SettleOutcome::Unknown { reason, hint, facilitator_reason }
}

#[test]
fn success_with_a_transaction_is_a_claim() {
    let body = json!({"success": true, "transaction": hash(), "network": "eip155:1", "payer": 7});
    assert_eq!(settle(200, &body), SettleOutcome::Claimed { transaction: hash() });
}

#[test]
fn success_without_a_transaction_is_no_claim() {
    for transaction in [json!(""), json!(null), json!("0x12"), json!(7), json!([hash()])] {
        let body = json!({"success": true, "transaction": transaction});
        assert_eq!(settle(200, &body), unknown(UnknownReason::MissingTransaction, None, None));
    }
    let body = json!({"success": true});
    assert_eq!(settle(200, &body), unknown(UnknownReason::MissingTransaction, None, None));
}

#[test]
fn success_with_another_status_is_no_claim() {
    let body = json!({"success": true, "transaction": hash()});
    for (status, reason) in [
        (500, UnknownReason::ServerError),
        (503, UnknownReason::ServerError),
        (302, UnknownReason::UnexpectedStatus),
        (402, UnknownReason::UnexpectedStatus),
    ] {
        assert_eq!(settle(status, &body), unknown(reason, Some(hash()), None), "{status}");
    }
}

#[test]
fn a_reported_failure_is_unknown_and_its_reason_is_data() {
    for reason in ["nonce_already_used", "insufficient_funds", "anything"] {
        let body = json!({"success": false, "errorReason": reason, "transaction": ""});
        let expected = unknown(UnknownReason::ReportedFailure, None, Some(reason));
        assert_eq!(settle(200, &body), expected);
    }
    let body = json!({"success": false, "errorReason": {"code": 7}, "transaction": hash()});
    let expected = unknown(UnknownReason::ReportedFailure, Some(hash()), None);
    assert_eq!(settle(200, &body), expected);
}

#[test]
fn settlement_pending_is_recognized_with_any_status() {
    let reason = "settlement_pending";
    let body = json!({"success": false, "errorReason": reason, "transaction": hash()});
    for status in [200, 400, 500] {
        let expected = unknown(UnknownReason::SettlementPending, Some(hash()), Some(reason));
        assert_eq!(settle(status, &body), expected, "{status}");
    }
}

#[test]
fn a_response_that_cannot_be_read_is_unknown() {
    for body in ["", "{}", "<html>", "[]", "null", "{\"success\":1}", "{\"success\":true"] {
        let outcome = |status| settled(Ok(response(status, body)));
        let expected = |reason| unknown(reason, None, None);
        assert_eq!(outcome(200), expected(UnknownReason::MalformedResponse), "{body}");
        assert_eq!(outcome(401), expected(UnknownReason::UnexpectedStatus), "{body}");
        assert_eq!(outcome(502), expected(UnknownReason::ServerError), "{body}");
    }
}

#[test]
fn a_request_was_not_sent_only_if_there_was_no_connection() {
    for error in RequestError::ALL.iter().copied() {
        let expected = match error {
            RequestError::DnsFailed
            | RequestError::ConnectFailed
            | RequestError::ConnectTimeout => SettleOutcome::NotSent { error },
            RequestError::Timeout => unknown(UnknownReason::Timeout, None, None),
            RequestError::InvalidResponse => unknown(UnknownReason::MalformedResponse, None, None),
            RequestError::AddressRefused
            | RequestError::TlsFailed
            | RequestError::ConnectionClosed => unknown(UnknownReason::ConnectionLost, None, None),
        };
        assert_eq!(settled(Err(error)), expected);
    }
}

#[test]
fn a_reason_is_short_and_without_control_characters() {
    let reason = format!("a\u{0}\n{}", "ü".repeat(1_000));
    let body = json!({"success": false, "errorReason": reason});
    let SettleOutcome::Unknown { facilitator_reason: Some(kept), .. } = settle(200, &body) else {
        panic!("a reason");
    };
    assert_eq!(kept, format!("a{}", "ü".repeat(127)));
}

#[test]
fn an_opinion_is_valid_or_invalid() {
    let verify = |status, body: Value| verified(&response(status, body.to_string()));
    assert_eq!(verify(200, json!({"isValid": true})), Ok(VerifyOutcome::Valid));
    let invalid = json!({"isValid": false, "invalidReason": "insufficient_funds"});
    let facilitator_reason = Some("insufficient_funds".to_owned());
    let expected = VerifyOutcome::Invalid { facilitator_reason };
    for status in [200, 400, 402] {
        assert_eq!(verify(status, invalid.clone()), Ok(expected.clone()), "{status}");
    }
    let unavailable = |status: u16| FacilitatorError::Status(StatusCode::from_u16(status).unwrap());
    assert_eq!(verify(500, invalid), Err(unavailable(500)));
    assert_eq!(verify(500, json!({"isValid": true})), Err(unavailable(500)));
    assert_eq!(verify(400, json!({"isValid": true})), Err(unavailable(400)));
    assert_eq!(verify(401, json!({})), Err(unavailable(401)));
    assert_eq!(verify(200, json!({})), Err(FacilitatorError::Malformed));
}

#[test]
fn supported_kinds_include_networks_of_other_chains() {
    let body = json!({
        "kinds": [
            {"x402Version": 1, "scheme": "exact", "network": "base-sepolia"},
            {"x402Version": 2, "scheme": "exact", "network": "eip155:84532", "extra": {}},
            {"x402Version": 2, "scheme": "exact", "network": "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"},
            {"x402Version": 2, "scheme": "upto", "network": "eip155:8453"}
        ],
        "signers": {"eip155:*": ["0x1234567890abcdef1234567890abcdef12345678"]}
    });
    let supported = supported(&response(200, body.to_string())).unwrap();
    let includes = |token| {
        let amount = crate::AtomicAmount::new(1);
        let zero = crate::Address::ZERO;
        supported.includes(&PaymentRequirements::exact(token, amount, zero, 60))
    };
    assert!(includes(&crate::Token::BASE_SEPOLIA_USDC));
    assert!(!includes(&crate::Token::BASE_USDC), "only another scheme");
}
