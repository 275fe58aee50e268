use primitives::{EventId, Id};

use super::*;
use crate::dispatcher::StartCounts;
use crate::dispatcher::endpoint_queue::loaded_healthy_max;
use crate::dispatcher::slots::Turn;
use crate::table::delivery::StoredHealth;

const MINUTE: Duration = Duration::from_mins(1);

fn now() -> Timestamp {
    "2026-11-15T08:00:00Z".parse().unwrap()
}

fn merchant() -> MerchantId {
    MerchantId::from_random(1)
}

/// An endpoint with one delivery.
fn loaded(number: u128, is_healthy: bool, due_at: Timestamp) -> Loaded {
    let health = is_healthy.then(|| StoredHealth {
        last_success_at: Some(now()),
        failing_since: None,
        consecutive_failures: 0,
        probe_at: None,
        latency: None,
    });
    let pending = Pending {
        event_at: now(),
        event: EventId::from_random(number),
        due_at,
        counts: StartCounts::default(),
    };
    let endpoint = EndpointId::from_random(number);
    let key = EndpointKey { merchant: merchant(), endpoint };
    Loaded { key, health_version: 1, health, pending: vec![pending] }
}

/// An endpoint with more deliveries than wait in memory.
fn many_due() -> Loaded {
    with_many_due(1)
}

fn with_many_due(number: u128) -> Loaded {
    let mut endpoint = loaded(number, true, now());
    let pending = (1..=1_000).map(EventId::from_random);
    endpoint.pending = pending.map(|event| Pending { event, ..endpoint.pending[0] }).collect();
    endpoint
}

/// Reads a store, in a process in which no other endpoint that is not healthy may wait.
fn read(loaded: &[Loaded]) -> Stores {
    let (mut stores, mut slots) = (Stores::default(), Slots::new(4));
    stores.mark_for_read(merchant());
    read_again(&mut stores, &mut slots, loaded, now());
    stores
}

/// Reads a store that is listed, as a session does.
fn read_again(stores: &mut Stores, slots: &mut Slots, loaded: &[Loaded], now: Timestamp) {
    assert_eq!(stores.take_listed(10, now), [merchant()]);
    stores.refill(&[merchant()], loaded, stores.share(), now);
    stores.offer_all(merchant(), slots, now, backlog(0, now));
    stores.review(merchant(), now);
}

fn backlog(max: usize, now: Timestamp) -> Backlog {
    Backlog { max, defer_until: now.plus(MINUTE) }
}

#[test]
fn a_store_with_an_endpoint_that_is_left_out_is_released_until_later() {
    let released = read(&[loaded(1, false, now())]).idle(true, 10);
    assert_eq!(released.len(), 1);
    assert_eq!(released[0].not_before, Some(now().plus(MINUTE)));
}

#[test]
fn a_store_is_kept_while_another_endpoint_would_wait_for_the_one_that_is_left_out() {
    let (later, mut slots) = (now().plus(Duration::from_secs(5)), Slots::new(4));
    let rows = [loaded(1, false, now()), loaded(2, true, later)];
    let mut stores = read(&rows);
    assert!(stores.idle(true, 10).is_empty());
    stores.list_due(later.minus(Duration::from_micros(1)));
    assert!(!stores.has_listed(), "not before it is due");
    stores.list_due(later);
    read_again(&mut stores, &mut slots, &rows, later);
    let turn = slots.next(Instant::now(), true);
    assert_eq!(turn, Some(Turn::Lane(Class::Healthy, rows[1].key)), "it starts in time");
    assert_eq!(slots.next(Instant::now(), true), None);
    // The endpoint that was left out again is next; what is in memory needs no timer.
    assert_eq!(stores.timers.first(), Some(&(later.plus(MINUTE), merchant())));
    stores.list_due(later);
    assert!(!stores.has_listed(), "it is not read for ever");
}

#[test]
fn a_store_that_is_to_be_read_has_no_timer_and_any_other_at_most_one() {
    let (soon, far) = (now().plus(MINUTE), now().plus(MINUTE * 60));
    let mut stores = read(&[loaded(1, true, far)]);
    let endpoint = loaded(1, true, far).key;
    for _ in 0..3 {
        stores.endpoint(endpoint).unwrap().refill_at(soon);
        stores.review(merchant(), now());
        assert_eq!(stores.timers.len(), 1, "the earlier one replaces the later one");
        stores.list_due(soon);
        assert!(stores.timers.is_empty() && stores.has_listed());
        stores.list_due(soon);
        read_again(&mut stores, &mut Slots::new(4), &[loaded(1, true, far)], soon);
        assert_eq!(stores.timers.first(), Some(&(far, merchant())));
    }
    stores.remove(merchant());
    assert!(stores.timers.is_empty(), "those of a released store are not kept");
}

#[test]
fn a_store_without_anything_that_waits_is_released() {
    let mut stores = read(&[loaded(1, true, now())]);
    assert!(stores.idle(true, 10).is_empty());
    stores.drop_waiting(now());
    assert_eq!(stores.idle(true, 10).len(), 1);
    assert_eq!(stores.rows, 0);
}

/// An endpoint without deliveries.
fn idle(number: u128) -> Loaded {
    Loaded { pending: Vec::new(), ..loaded(number, true, now()) }
}

/// An endpoint all of whose deliveries are in memory.
fn with_few_due(number: u128) -> Loaded {
    let mut endpoint = with_many_due(number);
    endpoint.pending.truncate(WAITING_MAX);
    endpoint
}

/// Takes a store off the list, as a session does, and returns the endpoints that its read leaves out.
fn begin_read(stores: &mut Stores, now: Timestamp) -> Vec<EndpointId> {
    assert_eq!(stores.take_listed(10, now), [merchant()]);
    stores.skipped(&[merchant()])
}

fn end_read(stores: &mut Stores, loaded: &[Loaded], now: Timestamp) {
    stores.refill(&[merchant()], loaded, stores.share(), now);
    stores.review(merchant(), now);
}

fn ids(loaded: &[Loaded]) -> Vec<EndpointId> {
    loaded.iter().map(|it| it.key.endpoint).collect()
}

#[test]
fn a_store_of_which_no_endpoint_has_enough_and_many_deliveries_wait_is_not_read_at_each_wake() {
    let mut many = read(&[with_few_due(1), with_few_due(2), with_few_due(3), idle(4)]);
    many.wake(merchant(), now());
    assert!(!many.has_listed());
    many.list_due(now().plus(WOKEN_DELAY_MANY));
    assert!(many.has_listed());
    let mut few = read(&[with_few_due(1), idle(4)]);
    few.wake(merchant(), now());
    assert!(few.has_listed());
    assert_eq!(begin_read(&mut few, now()), [], "all of it");
}

#[test]
fn a_read_after_a_wake_leaves_out_endpoints_that_have_enough_until_a_little_later() {
    let mut all: Vec<Loaded> = (1..=19).map(with_many_due).collect();
    let full = ids(&all);
    all.push(idle(20));
    let mut stores = read(&all);
    let rows = |stores: &mut Stores| -> Vec<usize> {
        all.iter().map(|it| stores.endpoint(it.key).unwrap().len()).collect()
    };
    let before = rows(&mut stores);
    // An event for the idle one: it does not wait, however long the others are full.
    stores.wake(merchant(), now());
    assert!(stores.has_listed());
    assert_eq!(begin_read(&mut stores, now()), full);
    end_read(&mut stores, &[loaded(20, true, now())], now());
    assert_eq!(rows(&mut stores), [&before[..19], &[1]].concat());
    assert!(!stores.has_listed(), "nothing needs another read");
    let later = now().plus(WOKEN_DELAY);
    stores.wake(merchant(), later.minus(Duration::from_millis(1)));
    assert_eq!(begin_read(&mut stores, now()), full);
    end_read(&mut stores, &[loaded(20, true, now())], now());
    stores.list_due(later);
    assert!(stores.has_listed(), "another wake does not delay it further");
    assert_eq!(begin_read(&mut stores, later), []);
}

#[test]
fn a_store_that_is_to_be_read_as_a_whole_leaves_no_endpoint_out() {
    let mut stores = read(&[with_many_due(1), idle(2)]);
    stores.wake(merchant(), now());
    stores.mark_for_read(merchant());
    assert_eq!(begin_read(&mut stores, now()), []);
    end_read(&mut stores, &[with_many_due(1), idle(2)], now());
    stores.list_due(now().plus(WOKEN_DELAY));
    assert!(!stores.has_listed(), "it was read");
}

#[test]
fn an_endpoint_that_has_few_left_is_read_without_those_that_have_enough() {
    let all = [with_many_due(1), with_many_due(2)];
    let mut stores = read(&all);
    let queue = stores.endpoint(all[0].key).unwrap();
    while !queue.needs_refill(now()) {
        queue.take(1);
    }
    stores.review(merchant(), now());
    assert!(stores.has_listed());
    assert_eq!(begin_read(&mut stores, now()), ids(&all[1..]));
}

#[test]
fn an_endpoint_that_is_held_is_left_out_until_its_time() {
    let mut stores = read(&[loaded(1, true, now()), idle(2)]);
    let held = loaded(1, true, now()).key;
    stores.endpoint(held).unwrap().hold(now().plus(MINUTE));
    stores.wake(merchant(), now());
    assert_eq!(begin_read(&mut stores, now()), [held.endpoint]);
    end_read(&mut stores, &[idle(2)], now());
    assert!(stores.idle(true, 10).is_empty());
    stores.list_due(now().plus(WOKEN_DELAY));
    assert_eq!(begin_read(&mut stores, now().plus(WOKEN_DELAY)), [], "all of it");
    end_read(&mut stores, &[loaded(1, true, now()), idle(2)], now().plus(WOKEN_DELAY));
    stores.list_due(now().plus(MINUTE));
    assert_eq!(begin_read(&mut stores, now().plus(MINUTE)), []);
}

#[test]
fn an_endpoint_that_was_left_out_and_is_disabled_meanwhile_is_dropped_by_the_next_whole_read() {
    let (full, other) = (with_many_due(1), idle(2));
    let mut stores = read(&[full.clone(), other.clone()]);
    stores.wake(merchant(), now());
    assert_eq!(begin_read(&mut stores, now()), [full.key.endpoint]);
    end_read(&mut stores, std::slice::from_ref(&other), now());
    assert!(stores.endpoint(full.key).is_some());
    let later = now().plus(WOKEN_DELAY);
    stores.list_due(later);
    assert_eq!(begin_read(&mut stores, later), []);
    end_read(&mut stores, &[other], later);
    assert!(stores.endpoint(full.key).is_none());
    assert_eq!(stores.idle(true, 10).len(), 1);
}

#[test]
fn a_store_that_has_enough_to_send_is_read_a_little_later_after_a_wake() {
    let mut few = read(&[loaded(1, true, now())]);
    few.wake(merchant(), now());
    assert!(few.has_listed(), "at once: the database may have more");
    let mut many = read(&[many_due()]);
    many.wake(merchant(), now());
    assert!(!many.has_listed());
    let later = now().plus(WOKEN_DELAY);
    many.wake(merchant(), later.minus(Duration::from_millis(1)));
    many.list_due(later);
    assert!(many.has_listed(), "another wake does not delay it further");
}

#[test]
fn a_store_that_was_woken_is_read_even_if_its_endpoint_has_to_wait_meanwhile() {
    let mut stores = read(&[many_due()]);
    stores.wake(merchant(), now());
    stores.defer(loaded(1, true, now()).key, now().plus(MINUTE));
    stores.review(merchant(), now());
    assert!(stores.idle(true, 10).is_empty(), "it is not released before");
    stores.list_due(now().plus(WOKEN_DELAY));
    assert!(stores.has_listed());
}

#[test]
fn a_store_that_could_not_be_read_is_kept_and_read_later_whatever_wakes_it() {
    let mut stores = Stores::default();
    stores.mark_for_read(merchant());
    assert_eq!(stores.take_listed(10, now()), [merchant()]);
    let later = now().plus(MINUTE);
    stores.read_later(merchant(), Duration::ZERO, now());
    stores.mark_for_read(merchant());
    stores.wake(merchant(), now());
    // The result of a lane that was in flight asks for more.
    let endpoint = loaded(1, true, now()).key.endpoint;
    let store = stores.by_merchant.get_mut(&merchant()).unwrap();
    store.endpoints.entry(endpoint).or_insert_with(EndpointQueue::new).expect_more();
    stores.review(merchant(), now());
    stores.list_due(later.minus(Duration::from_millis(1)));
    assert!(!stores.has_listed() && stores.idle(true, 10).is_empty());
    stores.list_due(later);
    assert_eq!(stores.take_listed_apart(10, later), [merchant()]);
    stores.refill(&[merchant()], &[loaded(1, true, now())], stores.share(), later);
    stores.wake(merchant(), later);
    assert_eq!(stores.take_listed(10, later), [merchant()], "it was read");
}

#[test]
fn stores_that_could_not_be_read_rest_after_each_failure_until_one_is_read() {
    let mut stores = Stores::default();
    let [first, second, third] = [1, 2, 3].map(MerchantId::from_random);
    let took = Duration::from_secs(2);
    for merchant in [first, second, third] {
        stores.read_later(merchant, took, now());
    }
    let due = now().plus(MINUTE);
    stores.list_due(due);
    assert_eq!(stores.take_listed_apart(10, due), [first], "alone");
    stores.read_later(first, took, due);
    let rested = due.plus(took * 5);
    assert!(stores.take_listed_apart(10, rested.minus(Duration::from_millis(1))).is_empty());
    assert_eq!(stores.take_listed_apart(10, rested), [second]);
    stores.read_later(second, took, rested);
    // Another one is read.
    stores.read_with_few(&[MerchantId::from_random(4)], 1);
    let other = stores.take_listed_apart(10, rested);
    stores.refill(&other, &[], stores.share(), rested);
    assert_eq!(stores.take_listed_apart(10, rested), [third]);
}

#[test]
fn a_store_that_could_not_be_read_is_read_again_if_the_database_is_unavailable_then() {
    let mut stores = Stores::default();
    stores.read_later(merchant(), Duration::ZERO, now());
    let due = now().plus(MINUTE);
    stores.list_due(due);
    assert_eq!(stores.take_listed_apart(10, due), [merchant()]);
    stores.mark_for_read(merchant());
    assert!(stores.has_listed());
    assert_eq!(stores.take_listed_apart(10, due), [merchant()]);
}

#[test]
fn stores_that_could_not_be_read_together_are_read_in_turn_and_behind_others() {
    let mut stores = Stores::default();
    let [first, second, third, other] = [1, 2, 3, 4].map(MerchantId::from_random);
    for merchant in [first, second, third] {
        stores.mark_for_read(merchant);
    }
    let together = stores.take_listed(10, now());
    stores.read_with_few(&together, 2);
    stores.mark_for_read(other);
    assert_eq!(stores.take_listed(10, now()), [other]);
    assert_eq!(stores.take_listed_apart(10, now()), [first, second]);
    stores.read_with_few(&[first, second], 1);
    let rest = [[third], [first], [second]];
    assert_eq!(rest.map(|_| stores.take_listed_apart(10, now())), rest);
}

#[test]
fn an_endpoint_that_is_held_and_then_disabled_keeps_its_store_no_longer() {
    let mut stores = read(&[loaded(1, true, now())]);
    stores.endpoint(loaded(1, true, now()).key).unwrap().hold(now().plus(MINUTE));
    stores.mark_for_read(merchant());
    read_again(&mut stores, &mut Slots::new(4), &[], now());
    assert!(stores.by_merchant[&merchant()].endpoints.is_empty());
    assert_eq!(stores.idle(true, 10).len(), 1);
    assert!(stores.timers.is_empty());
}

#[test]
fn endpoints_with_long_queues_share_the_memory_and_keep_no_other_store_out() {
    let (mut stores, mut slots) = (Stores::default(), Slots::new(4));
    let merchants: Vec<MerchantId> = (1..=4_000).map(MerchantId::from_random).collect();
    for merchant in &merchants {
        let share = stores.share();
        let mut queue = many_due();
        queue.key.merchant = *merchant;
        queue.pending.truncate(loaded_healthy_max(share));
        stores.refill(&[*merchant], &[queue], share, now());
        stores.offer_all(*merchant, &mut slots, now(), backlog(0, now()));
        stores.review(*merchant, now());
        assert!(
            stores.by_merchant[merchant].rows >= WAITING_UNPROVEN_MAX,
            "each has something to send"
        );
    }
    assert!(stores.has_room(), "what waits keeps no other store from being claimed");
    let most = ROWS_MAX + WAITING_MAX + merchants.len() * WAITING_UNPROVEN_MAX;
    assert!(stores.rows <= most, "{}", stores.rows);
    merchants[..2_000].iter().for_each(|merchant| stores.remove(*merchant));
    assert_eq!(stores.share(), ROWS_MAX / 2_000, "the others have more");
    for merchant in &merchants {
        stores.remove(*merchant);
    }
    assert_eq!((stores.rows, stores.sharing, stores.share()), (0, 0, WAITING_MAX));
}
