use alloy_primitives::B256;
use alloy_sol_types::SolEvent;
use proptest::prelude::*;

use super::*;
use crate::contract::{AuthorizationCanceled, AuthorizationUsed};
use crate::decimal::AtomicAmount;
use crate::hexadecimal::{Address, BlockHash, Nonce};
use crate::network::Network;

const SINCE: u64 = 100;
const USED_IN: u64 = 103;
const VALID_BEFORE: u64 = 1_800_000_060;

fn transfer() -> AuthorizedTransfer {
    AuthorizedTransfer {
        network: Network::BASE_SEPOLIA,
        asset: Address::new([0xaa; 20]),
        from: Address::new([0x01; 20]),
        to: Address::new([0x02; 20]),
        value: AtomicAmount::new(10_000),
        nonce: Nonce::new([0x03; 32]),
        valid_before: VALID_BEFORE,
    }
}

fn hash() -> TransactionHash {
    TransactionHash::new([0x77; 32])
}

fn block(number: u64, timestamp: u64) -> Block {
    Block { number, hash: BlockHash::new([u8::try_from(number % 251).unwrap(); 32]), timestamp }
}

fn log(address: Address, topics: Vec<B256>, data: Vec<u8>) -> Log {
    let block = block(USED_IN, 0);
    Log {
        address,
        topics: topics.into_iter().map(|topic| topic.0).collect(),
        data,
        block_number: block.number,
        block_hash: block.hash,
        transaction: hash(),
        index: 0,
    }
}

fn authorization_log(signature: B256, nonce: Nonce) -> Log {
    let transfer = transfer();
    let topics = vec![signature, padded(transfer.from), nonce.bytes().into()];
    log(transfer.asset, topics, Vec::new())
}

fn used_log(nonce: Nonce) -> Log {
    authorization_log(AuthorizationUsed::SIGNATURE_HASH, nonce)
}

fn canceled_log() -> Log {
    authorization_log(AuthorizationCanceled::SIGNATURE_HASH, transfer().nonce)
}

fn transfer_log(to: Address, value: u128) -> Log {
    let topics = vec![Transfer::SIGNATURE_HASH, padded(transfer().from), padded(to)];
    log(transfer().asset, topics, U256::from(value).to_be_bytes::<32>().to_vec())
}

fn own_logs() -> Vec<Log> {
    vec![used_log(transfer().nonce), transfer_log(transfer().to, 10_000)]
}

fn event(kind: AuthorizationEventKind) -> AuthorizationEvent {
    let block = block(USED_IN, 0);
    AuthorizationEvent {
        kind,
        block_number: block.number,
        block_hash: block.hash,
        transaction: hash(),
    }
}

/// What is read after the transfer was made by a transaction with these logs.
fn settled_with(logs: Vec<Log>) -> Observation {
    let block = block(USED_IN, VALID_BEFORE - 30);
    Observation {
        confirmed: self::block(USED_IN + 5, VALID_BEFORE - 20),
        is_used: true,
        events: vec![event(AuthorizationEventKind::Used)],
        receipt: Some(Receipt {
            transaction: hash(),
            block_number: block.number,
            block_hash: block.hash,
            succeeded: true,
            logs,
        }),
        block: Some(block),
    }
}

fn unused(timestamp: u64) -> Observation {
    Observation {
        confirmed: block(USED_IN + 5, timestamp),
        is_used: false,
        events: Vec::new(),
        receipt: None,
        block: None,
    }
}

fn at(unix_seconds: u64) -> Timestamp {
    Timestamp::from_unix_micros(i64::try_from(unix_seconds).unwrap() * 1_000_000)
}

fn decided(observation: &Observation) -> Resolution {
    decide(&transfer(), SINCE, observation, at(VALID_BEFORE + 100))
}

#[track_caller]
fn pending(observation: &Observation, reason: PendingReason) {
    assert_eq!(decided(observation), Resolution::Pending(reason));
}

#[test]
fn a_use_followed_by_the_transfer_is_settled() {
    let settled = Resolution::Settled { transaction: hash(), block_number: USED_IN };
    assert_eq!(decided(&settled_with(own_logs())), settled);
    // Also if the time is over.
    let mut late = settled_with(own_logs());
    late.confirmed.timestamp = VALID_BEFORE + 1_000;
    assert_eq!(decided(&late), settled);
    // Among events of others.
    let other = Address::new([0xbb; 20]);
    let foreign = log(other, vec![Transfer::SIGNATURE_HASH], Vec::new());
    let mut logs = vec![foreign.clone(), transfer_log(other, 1), used_log(transfer().nonce)];
    logs.extend([foreign, transfer_log(transfer().to, 10_000), transfer_log(other, 2)]);
    assert_eq!(decided(&settled_with(logs)), settled);
    // The order is that of the block, whatever that of the receipt.
    let mut logs = own_logs();
    logs[1].index = 1;
    logs.reverse();
    assert_eq!(decided(&settled_with(logs)), settled);
}

#[test]
fn a_transaction_that_does_not_count_yet_is_pending() {
    let mut observation = settled_with(own_logs());
    observation.confirmed.number = USED_IN;
    assert!(matches!(decided(&observation), Resolution::Settled { .. }));
    observation.confirmed.number = USED_IN - 1;
    pending(&observation, PendingReason::EventNotFound);
}

#[test]
fn a_use_before_the_attempt_paid_for_something_else() {
    let observation = settled_with(own_logs());
    let now = at(VALID_BEFORE);
    let resolution = |since| decide(&transfer(), since, &observation, now);
    assert!(matches!(resolution(USED_IN - 1), Resolution::Settled { .. }));
    let not_found = Resolution::Pending(PendingReason::EventNotFound);
    assert_eq!(resolution(USED_IN), not_found);
}

#[test]
fn one_transfer_does_not_settle_two_authorizations() {
    let (own, other) = (transfer().nonce, Nonce::new([0x04; 32]));
    let elsewhere = transfer_log(Address::new([0x01; 20]), 1);
    // The own nonce is used for a transfer to somebody else, and another authorization pays the same amount to the same
    // recipient in the same transaction.
    let paid = transfer_log(transfer().to, 10_000);
    for logs in [
        vec![used_log(own), elsewhere.clone(), used_log(other), paid.clone()],
        vec![used_log(other), paid.clone(), used_log(own), elsewhere.clone()],
        vec![used_log(own), used_log(other), paid.clone()],
        vec![paid.clone(), used_log(own)],
    ] {
        pending(&settled_with(logs), PendingReason::Ambiguous);
    }
    let logs = vec![used_log(own), elsewhere];
    let failed = Resolution::Failed(FailureReason::NonceUsedElsewhere);
    assert_eq!(decided(&settled_with(logs)), failed);
}

#[test]
fn another_transfer_is_not_the_payment() {
    let to = transfer().to;
    let from_other = {
        let topics = vec![Transfer::SIGNATURE_HASH, padded(to), padded(to)];
        log(transfer().asset, topics, U256::from(10_000).to_be_bytes::<32>().to_vec())
    };
    let mut of_other_token = transfer_log(to, 10_000);
    of_other_token.address = Address::new([0xbb; 20]);
    let mut other_event = transfer_log(to, 10_000);
    other_event.topics[0] = AuthorizationUsed::SIGNATURE_HASH.0;
    let mut longer = transfer_log(to, 10_000);
    longer.data.push(0);
    for next in [
        transfer_log(to, 9_999),
        transfer_log(to, 10_001),
        transfer_log(transfer().from, 10_000),
        from_other,
        of_other_token,
        other_event,
        longer,
        used_log(transfer().nonce),
    ] {
        let logs = vec![used_log(transfer().nonce), next];
        let failed = Resolution::Failed(FailureReason::NonceUsedElsewhere);
        assert_eq!(decided(&settled_with(logs)), failed);
    }
}

#[test]
fn answers_that_contradict_each_other_are_pending() {
    type Change = fn(&mut Observation);
    let changes: [Change; 10] = [
        |observation| observation.receipt = None,
        |observation| observation.block = None,
        |observation| observation.receipt.as_mut().unwrap().succeeded = false,
        |observation| {
            observation.receipt.as_mut().unwrap().transaction = TransactionHash::new([0; 32]);
        },
        |observation| observation.receipt.as_mut().unwrap().block_number += 1,
        |observation| observation.receipt.as_mut().unwrap().block_hash = BlockHash::new([0; 32]),
        // Another block has taken the place of the one with the transaction.
        |observation| observation.block.as_mut().unwrap().hash = BlockHash::new([0; 32]),
        |observation| observation.block.as_mut().unwrap().number += 1,
        |observation| observation.receipt.as_mut().unwrap().logs.remove(0).index = 0,
        |observation| observation.events.push(event(AuthorizationEventKind::Canceled)),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let mut observation = settled_with(own_logs());
        change(&mut observation);
        let resolution = decided(&observation);
        let inconsistent = Resolution::Pending(PendingReason::Inconsistent);
        assert_eq!(resolution, inconsistent, "change {index}");
    }
}

#[test]
fn a_canceled_authorization_has_failed() {
    let canceled = |number| Observation {
        events: vec![event(AuthorizationEventKind::Canceled)],
        confirmed: block(number, VALID_BEFORE - 20),
        ..settled_with(vec![canceled_log()])
    };
    assert_eq!(decided(&canceled(USED_IN)), Resolution::Failed(FailureReason::Canceled));
    pending(&canceled(USED_IN - 1), PendingReason::EventNotFound);
    // In a block that was replaced, the nonce may have been used by the payment instead.
    let mut replaced = canceled(USED_IN);
    replaced.block.as_mut().unwrap().hash = BlockHash::new([0; 32]);
    pending(&replaced, PendingReason::Inconsistent);
    let paid = Observation { receipt: settled_with(own_logs()).receipt, ..canceled(USED_IN) };
    pending(&paid, PendingReason::Inconsistent);
}

#[test]
fn an_unused_authorization_fails_when_it_can_no_longer_be_used() {
    let resolution = |timestamp, now| decide(&transfer(), SINCE, &unused(timestamp), at(now));
    let (expired, pending) =
        (Resolution::Failed(FailureReason::Expired), Resolution::Pending(PendingReason::Unused));
    assert_eq!(resolution(VALID_BEFORE, VALID_BEFORE), expired);
    // Time alone proves nothing: the chain may be behind.
    assert_eq!(resolution(VALID_BEFORE - 1, VALID_BEFORE + 86_400), pending);
    // A node that is ahead of our clock proves nothing either.
    assert_eq!(resolution(VALID_BEFORE + 86_400, VALID_BEFORE - 1), pending);
}

#[test]
fn a_used_nonce_without_an_event_is_pending_for_ever() {
    let observation = Observation { is_used: true, ..unused(VALID_BEFORE + 1_000) };
    pending(&observation, PendingReason::EventNotFound);
}

#[test]
fn events_of_other_authorizations_are_none_of_this_one() {
    let transfer = transfer();
    let is_event = |log: &Log| log.authorization_event(&transfer).is_some();
    assert!(is_event(&used_log(transfer.nonce)));
    assert!(is_event(&canceled_log()));
    assert!(!is_event(&used_log(Nonce::new([0x04; 32]))));
    assert!(!is_event(&authorization_log(Transfer::SIGNATURE_HASH, transfer.nonce)));
    let mut other = used_log(transfer.nonce);
    other.address = Address::new([0xbb; 20]);
    assert!(!is_event(&other));
    let mut other = used_log(transfer.nonce);
    other.topics[1][31] ^= 1;
    assert!(!is_event(&other));
    let mut other = used_log(transfer.nonce);
    other.topics.push([0; 32]);
    assert!(!is_event(&other));
}

prop_compose! {
    /// Logs of the token in a transaction: uses of two nonces, a cancellation, and transfers with two values to two recipients.
    fn some_logs()(choices in prop::collection::vec(0_u8..7, 0..6)) -> Vec<Log> {
        let log = |choice| match choice {
            0 => used_log(transfer().nonce),
            1 => used_log(Nonce::new([0x04; 32])),
            2 => transfer_log(transfer().to, 10_000),
            3 => transfer_log(transfer().to, 1),
            4 => transfer_log(Address::new([0x09; 20]), 10_000),
            5 => canceled_log(),
            _ => log(Address::new([0xbb; 20]), vec![Transfer::SIGNATURE_HASH], Vec::new()),
        };
        choices.into_iter().map(log).collect()
    }
}

prop_compose! {
    fn some_observation()(
        logs in some_logs(),
        confirmed in SINCE..USED_IN + 4,
        timestamp in VALID_BEFORE - 3..VALID_BEFORE + 3,
        is_used: bool,
        kinds in prop::collection::vec(any::<bool>(), 0..3),
        succeeded in prop::bool::weighted(0.9),
        is_replaced in prop::bool::weighted(0.1),
    ) -> Observation {
        let kind = |is_use| {
            if is_use { AuthorizationEventKind::Used } else { AuthorizationEventKind::Canceled }
        };
        let mut observation = settled_with(logs);
        observation.confirmed = block(confirmed, timestamp);
        observation.is_used = is_used;
        observation.events = kinds.into_iter().map(|is_use| event(kind(is_use))).collect();
        observation.receipt.as_mut().unwrap().succeeded = succeeded;
        if is_replaced {
            observation.block.as_mut().unwrap().hash = BlockHash::new([0; 32]);
        }
        observation
    }
}

proptest! {
    #[test]
    fn a_resolution_follows_from_what_was_read(
        observation in some_observation(),
        now in VALID_BEFORE - 3..VALID_BEFORE + 3,
    ) {
        let used = used_log(transfer().nonce);
        let paid = transfer_log(transfer().to, 10_000);
        let token: Vec<&Log> = observation.receipt.as_ref().unwrap().logs.iter()
            .filter(|log| log.address == transfer().asset).collect();
        match decide(&transfer(), SINCE, &observation, at(now)) {
            Resolution::Settled { .. } => {
                prop_assert!(observation.is_used && observation.confirmed.number >= USED_IN);
                prop_assert!(observation.receipt.as_ref().unwrap().succeeded);
                prop_assert!(token.windows(2).any(|pair| *pair[0] == used && *pair[1] == paid));
            }
            Resolution::Failed(FailureReason::Expired) => {
                prop_assert!(!observation.is_used && now >= VALID_BEFORE);
                prop_assert!(observation.confirmed.timestamp >= VALID_BEFORE);
            }
            Resolution::Failed(FailureReason::Canceled) => {
                prop_assert!(observation.is_used && observation.confirmed.number >= USED_IN);
                prop_assert_eq!(observation.events[0].kind, AuthorizationEventKind::Canceled);
                prop_assert!(token.contains(&&canceled_log()));
            }
            Resolution::Failed(FailureReason::NonceUsedElsewhere) => {
                prop_assert!(observation.is_used && !token.contains(&&paid));
            }
            Resolution::Pending(_) => {}
        }
    }

    /// As long as the same authorization is neither used nor canceled otherwise, more blocks never take a result back.
    #[test]
    fn a_result_is_final(observation in some_observation(), later in 0_u64..100) {
        let now = at(VALID_BEFORE);
        let before = decide(&transfer(), SINCE, &observation, now);
        let mut after = observation;
        after.confirmed = block(after.confirmed.number + later, after.confirmed.timestamp + later);
        let after = decide(&transfer(), SINCE, &after, now);
        if !matches!(before, Resolution::Pending(_)) {
            prop_assert_eq!(before, after);
        }
    }
}
