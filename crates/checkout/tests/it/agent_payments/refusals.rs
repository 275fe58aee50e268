//! What is refused before a facilitator hears of it.

use checkout::AgentPaymentError;
use merchants::{TokenNetwork, X402Settings};
use primitives::{Currency, ErrorCode, Problem};
use testkit::token_payments::{START_SECONDS, Script, Wallet};
use x402::{Address, AtomicAmount, Authorization, Network, PaymentPayload, Signature};

use super::{Market, with_identifier, x402_settings};
use crate::shop::agent;

fn reason(error: &AgentPaymentError) -> &'static str {
    match error {
        AgentPaymentError::Invalid { reason, .. } => reason,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn what_does_not_pay_the_quote_exactly_is_refused_locally() {
    let market = Market::open().await;
    let owner = agent(1);
    let (checkout, quoted) = market.session_and_quote(&owner).await;
    let good = market.wallet.pay(&quoted, 1);
    let signed = |change: &dyn Fn(&mut Authorization)| {
        let mut authorization = good.payload.authorization;
        change(&mut authorization);
        market.wallet.sign(&quoted, authorization)
    };
    let accepting = |change: &dyn Fn(&mut x402::PaymentRequirements)| {
        let mut other = quoted.clone();
        change(&mut other);
        market.wallet.pay(&other, 1)
    };
    let signature = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut payload = good.clone();
        let mut bytes = payload.payload.signature.bytes().to_vec();
        change(&mut bytes);
        payload.payload.signature = Signature::new(bytes);
        payload
    };
    let amount = |units: u128| AtomicAmount::new(units);
    let cases: Vec<(&str, PaymentPayload)> = vec![
        ("amount_mismatch", accepting(&|it| it.amount = amount(1))),
        ("recipient_mismatch", accepting(&|it| it.pay_to = Address::new([1; 20]))),
        ("network_mismatch", accepting(&|it| it.network = Network::BASE)),
        ("asset_mismatch", accepting(&|it| it.asset = Address::new([1; 20]))),
        ("accepted_mismatch", accepting(&|it| it.max_timeout_seconds = 1_000)),
        ("authorization_value_mismatch", signed(&|it| it.value = amount(it.value.units() + 1))),
        ("authorization_value_mismatch", signed(&|it| it.value = amount(it.value.units() - 1))),
        ("authorization_recipient_mismatch", signed(&|it| it.to = Address::new([1; 20]))),
        ("authorization_expired", signed(&|it| it.valid_before = START_SECONDS + 5)),
        ("authorization_not_yet_valid", signed(&|it| it.valid_after = START_SECONDS + 60)),
        ("authorization_valid_too_long", signed(&|it| it.valid_before = START_SECONDS + 9_999)),
        ("signer_mismatch", {
            let mut payload = good.clone();
            payload.payload.authorization.nonce = x402::Nonce::new([9; 32]);
            payload
        }),
        ("signer_mismatch", {
            // The domain of another token.
            let mut other = quoted.clone();
            other.extra["name"] = "USD Coin".into();
            let signed = market.wallet.pay(&other, 1);
            PaymentPayload { accepted: quoted.clone(), ..signed }
        }),
        ("signature_malleable", signature(&malleate)),
        ("signature_length", signature(&|bytes| bytes.push(0))),
    ];
    for (expected, payload) in cases {
        let refused = market.pay(&owner, checkout, Some(&payload)).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::PaymentInvalid);
        assert_eq!(reason(&refused), expected);
        assert_eq!(refused.required().unwrap().accepts, [quoted.clone()]);
    }
    assert!(market.facilitator.saw_no_payment());
    assert_eq!(market.node.calls(), 0);
    assert_eq!(market.count("SELECT count(*) FROM payment").await, 0);
    market.pay(&owner, checkout, Some(&good)).await.unwrap();
    market.assert_paid_once().await;
}

/// Replaces s by the other one that is valid for the same message.
fn malleate(bytes: &mut Vec<u8>) {
    const ORDER: &str = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
    let order = alloy_primitives::U256::from_str_radix(ORDER, 16).unwrap();
    let s = alloy_primitives::U256::from_be_slice(&bytes[32..64]);
    bytes[32..64].copy_from_slice(&(order - s).to_be_bytes::<32>());
    bytes[64] = 55 - bytes[64];
}

#[tokio::test]
async fn a_payload_pays_for_one_session() {
    let market = Market::open().await;
    let owner = agent(1);
    let (first, quoted) = market.session_and_quote(&owner).await;
    let (second, same) = market.session_and_quote(&owner).await;
    assert_eq!(quoted, same, "the quotes do not differ");
    let payload = market.wallet.pay(&quoted, 1);
    market.facilitator.set(Script::Hangs);
    market.pay(&owner, first, Some(&payload)).await.unwrap();
    let refused = market.pay(&owner, second, Some(&payload)).await.unwrap_err();
    assert_eq!(reason(&refused), "authorization_used");
    let other = agent(2);
    let (third, _) = market.session_and_quote(&other).await;
    let refused = market.pay(&other, third, Some(&payload)).await.unwrap_err();
    assert_eq!(reason(&refused), "authorization_used");
    assert_eq!(market.facilitator.settled().len(), 1);
    assert_eq!(market.count("SELECT count(*) FROM payment").await, 1);
}

#[tokio::test]
async fn an_identifier_names_one_payment_of_an_agent() {
    let market = Market::open().await;
    let owner = agent(1);
    let (first, quoted) = market.session_and_quote(&owner).await;
    let (second, _) = market.session_and_quote(&owner).await;
    let id = "pay_0123456789abcdef";
    let payload = with_identifier(&market.wallet.pay(&quoted, 1), id);
    market.pay(&owner, first, Some(&payload)).await.unwrap();
    let other = with_identifier(&market.wallet.pay(&quoted, 2), id);
    for (checkout, payload) in [(first, &other), (second, &other), (second, &payload)] {
        let refused = market.pay(&owner, checkout, Some(payload)).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::IdempotencyConflict);
    }
    // It belongs to the agent.
    let stranger = agent(2);
    let (third, _) = market.session_and_quote(&stranger).await;
    market.pay(&stranger, third, Some(&other)).await.unwrap();
    assert_eq!(market.facilitator.settled().len(), 2);
}

#[tokio::test]
async fn a_used_authorization_and_an_empty_account_are_refused() {
    let market = Market::open().await;
    let owner = agent(1);
    let (checkout, quoted) = market.session_and_quote(&owner).await;
    let used = market.wallet.pay(&quoted, 1);
    market.chain.transfer(&used.payload.authorization).unwrap();
    let refused = market.pay(&owner, checkout, Some(&used)).await.unwrap_err();
    assert_eq!(reason(&refused), "authorization_used");
    market.chain.set_balance(quoted.amount.units() - 1);
    let payload = Wallet::new(8).pay(&quoted, 2);
    let refused = market.pay(&owner, checkout, Some(&payload)).await.unwrap_err();
    assert_eq!(reason(&refused), "insufficient_funds");
    assert!(market.facilitator.saw_no_payment());
    assert_eq!(market.count("SELECT count(*) FROM payment").await, 0);
}

#[tokio::test]
async fn a_store_that_takes_no_tokens_is_not_paid_with_them() {
    let market = Market::open().await;
    let owner = agent(1);
    let checkout = market.session(&owner).await.session.id;
    let code = async || market.pay(&owner, checkout, None).await.unwrap_err().code();
    assert_eq!(code().await, ErrorCode::PaymentRequired);
    market.shop.change_settings(|settings| settings.x402 = None).await;
    assert_eq!(code().await, ErrorCode::UnsupportedPaymentMethod);
    let elsewhere = X402Settings { network: TokenNetwork::Base, ..x402_settings() };
    market.shop.change_settings(|settings| settings.x402 = Some(elsewhere)).await;
    assert_eq!(code().await, ErrorCode::UnsupportedPaymentMethod, "no node of that network");
    let another = market.pay(&agent(2), checkout, None).await.unwrap_err();
    assert_eq!(another.code(), ErrorCode::NotFound, "the session of another agent");
}

#[tokio::test]
async fn euros_without_a_rate_and_open_totals_are_not_quoted() {
    let market = Market::with(Currency::EUR, x402_settings()).await;
    let owner = agent(1);
    let checkout = market.session(&owner).await.session.id;
    let refused = market.pay(&owner, checkout, None).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::UnsupportedCurrency);
    let market = Market::open().await;
    let open = market.shop.complete_open(&owner, market.mug, 1).await.session.id;
    let refused = market.pay(&owner, open, None).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::CheckoutNotReady);
    let details = primitives::Failure::from(refused).envelope("req_1")["details"].clone();
    assert_eq!(details["missing"][0], "destination", "{details}");
}

#[tokio::test]
async fn a_purchase_that_a_person_declined_is_not_paid() {
    let limited = X402Settings { unattended_limit_minor: 1, ..x402_settings() };
    let market = Market::with(Currency::USD, limited).await;
    let owner = agent(1);
    let session = market.session(&owner).await.session;
    let unconfirmed = market.pay(&owner, session.id, None).await.unwrap_err();
    let AgentPaymentError::Unconfirmed(requested) = unconfirmed else { panic!("confirmed") };
    let confirmation = requested.confirmation;
    let (token, hash) = (confirmation.form_token, confirmation.quote_hash);
    let (context, visitor) = (market.shop.context(), crate::shop::visitor());
    let reject = checkout::Decision::Reject;
    checkout::decide(&context, confirmation.id, reject, &token, hash, visitor).await.unwrap();
    let refused = market.pay(&owner, session.id, None).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::InvalidStatusTransition, "the units are released");
}
