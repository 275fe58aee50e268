use alloy_primitives::{U256, uint};
use k256::ecdsa::SigningKey;
use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::document::Document;
use crate::payload::SignedAuthorization;
use crate::payment_required::PaymentRequired;
use crate::requirements::Token;
use crate::version::ProtocolVersion;

const NOW: u64 = 1_800_000_000;
const SECP256K1_ORDER: U256 =
    uint!(0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141_U256);

/// Made by dev/x402/vectors.mjs with the client of the reference implementation.
#[derive(Deserialize)]
struct Vectors {
    payments: Vec<Payment>,
    signed: Signed,
}

#[derive(Deserialize)]
struct Payment {
    name: String,
    now: u64,
    #[serde(rename = "paymentRequired")]
    required: String,
    #[serde(rename = "paymentSignature")]
    header: String,
    digest: String,
    payer: Address,
}

#[derive(Deserialize)]
struct Signed {
    accepted: PaymentRequirements,
    authorization: Authorization,
    signature: Signature,
    foreign: std::collections::BTreeMap<String, Signature>,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../../tests/vectors.json")).unwrap()
}

fn at(unix_seconds: u64) -> Timestamp {
    Timestamp::from_unix_micros(i64::try_from(unix_seconds).unwrap() * 1_000_000)
}

/// A payment of 10,000 units, signed by the client of the reference implementation.
fn example() -> (PaymentRequirements, PaymentPayload) {
    let signed = vectors().signed;
    let payload = PaymentPayload {
        version: ProtocolVersion,
        resource: None,
        accepted: signed.accepted.clone(),
        payload: SignedAuthorization {
            signature: signed.signature,
            authorization: signed.authorization,
        },
        extensions: crate::Extensions::default(),
    };
    (signed.accepted, payload)
}

/// Returns why the example is rejected after a change of quote and payload.
fn rejection(change: impl FnOnce(&mut PaymentRequirements, &mut PaymentPayload)) -> Rejection {
    let (mut quoted, mut payload) = example();
    change(&mut quoted, &mut payload);
    verify(&quoted, &payload, at(NOW)).unwrap_err()
}

/// Returns why the example is rejected after a change of `accepted`.
fn accepted(change: impl FnOnce(&mut PaymentRequirements)) -> Rejection {
    rejection(|_, payload| change(&mut payload.accepted))
}

/// Signs the authorization of a payload with a key.
fn sign(key: &SigningKey, quoted: &PaymentRequirements, payload: &mut PaymentPayload) {
    let (name, version) = quoted.domain().unwrap();
    let domain = Domain { name, version, network: quoted.network, token: quoted.asset };
    let hash = signing_hash(&payload.payload.authorization, &domain);
    let (signature, id) = key.sign_prehash_recoverable(hash.as_slice()).unwrap();
    let mut bytes = signature.to_bytes().to_vec();
    bytes.push(27 + id.to_byte());
    payload.payload.signature = Signature::new(bytes);
}

fn account(key: &SigningKey) -> Address {
    Address::new(alloy_primitives::Address::from_private_key(key).into_array())
}

/// Changes a signature to the other one that the same payer and message have.
fn malleated(signature: &Signature) -> Signature {
    let mut bytes = signature.bytes().to_vec();
    let s = U256::from_be_slice(&bytes[32..64]);
    bytes[32..64].copy_from_slice(&(SECP256K1_ORDER - s).to_be_bytes::<32>());
    bytes[64] = if bytes[64] == 27 { 28 } else { 27 };
    Signature::new(bytes)
}

fn with_byte(signature: &Signature, index: usize, byte: u8) -> Signature {
    let mut bytes = signature.bytes().to_vec();
    bytes[index] = byte;
    Signature::new(bytes)
}

#[test]
fn payments_of_the_reference_implementation_are_accepted() {
    let payments = vectors().payments;
    assert!(payments.len() >= 5);
    for payment in payments {
        let required = PaymentRequired::from_header(payment.required.as_bytes()).unwrap();
        let payload = PaymentPayload::from_header(payment.header.as_bytes()).unwrap();
        let quoted = &required.accepts[0];
        let (name, version) = quoted.domain().unwrap();
        let domain = Domain { name, version, network: quoted.network, token: quoted.asset };
        let hash = signing_hash(&payload.payload.authorization, &domain);
        assert_eq!(hash.to_string(), payment.digest, "{}", payment.name);
        let verified = verify(quoted, &payload, at(payment.now)).expect(&payment.name);
        let transfer = verified.transfer();
        assert_eq!((transfer.from, transfer.value), (payment.payer, quoted.amount));
        assert_eq!((transfer.to, transfer.asset), (quoted.pay_to, quoted.asset));
        assert_eq!(transfer.network, quoted.network);
        assert_eq!(transfer.nonce, payload.payload.authorization.nonce);
        assert_eq!(transfer.valid_before, payload.payload.authorization.valid_before);
    }
}

#[test]
fn accepted_has_to_be_what_was_quoted() {
    let other = Address::new([9; 20]);
    let cases = [
        (accepted(|accepted| accepted.scheme = "upto".to_owned()), Rejection::UnsupportedScheme),
        (accepted(|accepted| accepted.network = Network::BASE), Rejection::NetworkMismatch),
        (accepted(|accepted| accepted.asset = other), Rejection::AssetMismatch),
        (accepted(|accepted| accepted.amount = AtomicAmount::new(1)), Rejection::AmountMismatch),
        (accepted(|accepted| accepted.pay_to = other), Rejection::RecipientMismatch),
        (accepted(|accepted| accepted.max_timeout_seconds += 1), Rejection::AcceptedMismatch),
        (
            accepted(|accepted| drop(accepted.extra.insert("name".into(), "USD Coin".into()))),
            Rejection::AcceptedMismatch,
        ),
        (accepted(|accepted| accepted.extra.clear()), Rejection::AcceptedMismatch),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
    // A quote of another scheme is never paid, even if the payer accepts it.
    let both = rejection(|quoted, payload| {
        "upto".clone_into(&mut quoted.scheme);
        "upto".clone_into(&mut payload.accepted.scheme);
    });
    assert_eq!(both, Rejection::UnsupportedScheme);
}

#[test]
fn a_quote_without_a_domain_is_not_paid() {
    let found = rejection(|quoted, payload| {
        quoted.extra.remove("version");
        payload.accepted = quoted.clone();
    });
    assert_eq!(found, Rejection::MissingDomain);
}

#[test]
fn the_value_is_exactly_the_amount_and_the_recipient_that_of_the_quote() {
    // The quote and what the payload repeats of it agree, the authorization does not.
    for amount in [9_999, 10_001] {
        let found = rejection(|quoted, payload| {
            quoted.amount = AtomicAmount::new(amount);
            payload.accepted = quoted.clone();
        });
        assert_eq!(found, Rejection::AuthorizationValueMismatch, "{amount}");
    }
    let found = rejection(|quoted, payload| {
        quoted.pay_to = Address::new([9; 20]);
        payload.accepted = quoted.clone();
    });
    assert_eq!(found, Rejection::AuthorizationRecipientMismatch);
}

#[test]
fn the_window_contains_now_and_a_margin() {
    let (quoted, payload) = example();
    let valid_before = payload.payload.authorization.valid_before;
    let verified = |now| verify(&quoted, &payload, at(now)).map(drop);
    assert_eq!(verified(valid_before - 6), Ok(()));
    for now in [valid_before - 5, valid_before, valid_before + 86_400] {
        assert_eq!(verified(now), Err(Rejection::AuthorizationExpired), "{now}");
    }
    // 60 seconds from the signature on, and 30 of difference between clocks.
    assert_eq!(verified(valid_before - 90), Ok(()));
    for now in [valid_before - 91, 0] {
        assert_eq!(verified(now), Err(Rejection::AuthorizationValidTooLong), "{now}");
    }
    let before_1970 = Timestamp::from_unix_micros(-1);
    let found = verify(&quoted, &payload, before_1970).unwrap_err();
    assert_eq!(found, Rejection::AuthorizationValidTooLong);
}

#[test]
fn an_authorization_is_valid_from_its_start_on() {
    let key = SigningKey::from_slice(&[7; 32]).unwrap();
    let (quoted, mut payload) = example();
    payload.payload.authorization.from = account(&key);
    for (valid_after, expected) in
        [(NOW, Ok(())), (NOW + 1, Err(Rejection::AuthorizationNotYetValid))]
    {
        payload.payload.authorization.valid_after = valid_after;
        sign(&key, &quoted, &mut payload);
        assert_eq!(verify(&quoted, &payload, at(NOW)).map(drop), expected);
    }
}

#[test]
fn a_signature_has_one_form() {
    let signature = |change: fn(&Signature) -> Signature| {
        rejection(|_, payload| payload.payload.signature = change(&payload.payload.signature))
    };
    let truncated = |signature: &Signature| Signature::new(signature.bytes()[..64].to_vec());
    assert_eq!(signature(truncated), Rejection::SignatureLength);
    let longer = |signature: &Signature| Signature::new([signature.bytes(), &[0]].concat());
    assert_eq!(signature(longer), Rejection::SignatureLength);
    assert_eq!(signature(|_| Signature::new(Vec::new())), Rejection::SignatureLength);
    assert_eq!(signature(malleated), Rejection::SignatureMalleable);
    // The same signature with the recovery id that Ethereum does not use.
    let zero_based = |signature: &Signature| with_byte(signature, 64, signature.bytes()[64] - 27);
    assert_eq!(signature(zero_based), Rejection::SignatureRecoveryId);
    for id in [0, 1, 2, 26, 29, 35, 36, 255] {
        let found = rejection(|_, payload| {
            payload.payload.signature = with_byte(&payload.payload.signature, 64, id);
        });
        assert_eq!(found, Rejection::SignatureRecoveryId, "{id}");
    }
    let zeros = |_: &Signature| Signature::new([[0; 64].as_slice(), &[27]].concat());
    assert_eq!(signature(zeros), Rejection::SignatureInvalid);
    let no_point = |signature: &Signature| {
        let above_the_order = [[0xff; 32].as_slice(), &signature.bytes()[32..]].concat();
        Signature::new(above_the_order)
    };
    assert_eq!(signature(no_point), Rejection::SignatureInvalid);
    let other_id = |signature: &Signature| with_byte(signature, 64, 55 - signature.bytes()[64]);
    assert_eq!(signature(other_id), Rejection::SignerMismatch);
}

#[test]
fn a_signature_for_another_domain_or_by_another_account_is_rejected() {
    let foreign = vectors().signed.foreign;
    assert_eq!(foreign.len(), 5);
    for (name, signature) in foreign {
        let found = rejection(|_, payload| payload.payload.signature = signature);
        assert_eq!(found, Rejection::SignerMismatch, "{name}");
    }
}

#[test]
fn every_field_of_the_authorization_is_signed() {
    type Change = fn(&mut Authorization);
    let changes: [Change; 4] = [
        |authorization| authorization.from = Address::new([9; 20]),
        |authorization| authorization.valid_after += 1,
        |authorization| authorization.valid_before += 1,
        |authorization| authorization.nonce = Nonce::new([9; 32]),
    ];
    for change in changes {
        let found = rejection(|_, payload| change(&mut payload.payload.authorization));
        assert_eq!(found, Rejection::SignerMismatch);
    }
    // Value and recipient, with a quote that agrees.
    let found = rejection(|quoted, payload| {
        quoted.amount = AtomicAmount::new(1);
        payload.accepted = quoted.clone();
        payload.payload.authorization.value = quoted.amount;
    });
    assert_eq!(found, Rejection::SignerMismatch);
    let found = rejection(|quoted, payload| {
        quoted.pay_to = Address::new([9; 20]);
        payload.accepted = quoted.clone();
        payload.payload.authorization.to = quoted.pay_to;
    });
    assert_eq!(found, Rejection::SignerMismatch);
}

#[test]
fn every_rejection_has_a_sentence_of_its_own() {
    let messages: std::collections::BTreeSet<&str> =
        Rejection::ALL.iter().map(|rejection| rejection.message()).collect();
    assert_eq!(messages.len(), Rejection::ALL.len());
    assert_eq!(Rejection::SignatureMalleable.as_str(), "signature_malleable");
}

prop_compose! {
    fn key()(bytes in any::<[u8; 32]>()) -> SigningKey {
        SigningKey::from_slice(&bytes).unwrap_or_else(|_| SigningKey::from_slice(&[1; 32]).unwrap())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is quoted and signed is accepted, and the transfer is the one that was signed.
    #[test]
    fn a_payment_as_quoted_is_accepted(
        key in key(),
        amount: u128,
        pay_to: [u8; 20],
        nonce: [u8; 32],
        timeout in 6_u32..86_400,
        valid_after in 0..=NOW,
    ) {
        let (amount, pay_to) = (AtomicAmount::new(amount), Address::new(pay_to));
        let token = &Token::BASE_USDC;
        let quoted = PaymentRequirements::exact(token, amount, pay_to, timeout);
        let (_, mut payload) = example();
        payload.accepted = quoted.clone();
        payload.payload.authorization = Authorization {
            from: account(&key),
            to: pay_to,
            value: amount,
            valid_after,
            valid_before: NOW + u64::from(timeout),
            nonce: Nonce::new(nonce),
        };
        sign(&key, &quoted, &mut payload);
        let verified = verify(&quoted, &payload, at(NOW)).unwrap();
        prop_assert_eq!(verified.transfer().from, account(&key));
        prop_assert_eq!(verified.transfer().value, amount);
        // Its other form is rejected.
        payload.payload.signature = malleated(&payload.payload.signature);
        prop_assert_eq!(verify(&quoted, &payload, at(NOW)), Err(Rejection::SignatureMalleable));
    }

    /// No bit of a signature can be changed.
    #[test]
    fn a_changed_signature_is_rejected(bit in 0_usize..65 * 8) {
        let (quoted, mut payload) = example();
        let signature = &payload.payload.signature;
        let changed = signature.bytes()[bit / 8] ^ (1 << (bit % 8));
        payload.payload.signature = with_byte(signature, bit / 8, changed);
        prop_assert!(verify(&quoted, &payload, at(NOW)).is_err());
    }
}
