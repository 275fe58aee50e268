use primitives::{EndpointId, Id};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::*;
use crate::dispatcher::StartCounts;
use crate::dispatcher::attempt::Outcome;
use crate::dispatcher::results::RecordedHealth;
use crate::schedule::Jitter;
use crate::table::delivery::StoredHealth;

const OWNER: Uuid = Uuid::from_u128(7);
const SLOTS: usize = 8;
const SHARE: usize = 100;

fn now() -> Timestamp {
    "2026-11-15T08:00:00Z".parse().unwrap()
}

fn healthy() -> StoredHealth {
    StoredHealth {
        last_success_at: Some(now()),
        failing_since: None,
        consecutive_failures: 0,
        probe_at: None,
        latency: None,
    }
}

fn endpoint() -> EndpointKey {
    EndpointKey { merchant: MerchantId::from_random(1), endpoint: EndpointId::from_random(2) }
}

/// A memory with a healthy endpoint, for which that many deliveries are due.
fn memory(deliveries: u128) -> Memory {
    let mut memory = Memory::new(SLOTS, now());
    read(&mut memory, 1, Some(healthy()), deliveries);
    memory
}

/// Reads the endpoint at a version, with that many deliveries that are due.
fn read(memory: &mut Memory, health_version: i32, health: Option<StoredHealth>, deliveries: u128) {
    let pending = |number| Pending {
        event_at: now(),
        event: EventId::from_random(number),
        due_at: now(),
        counts: StartCounts::default(),
    };
    let pending = (0..deliveries).map(pending).collect();
    let loaded = Loaded { key: endpoint(), health_version, health, pending };
    assert!(memory.refill(OWNER, &[endpoint().merchant], &[loaded], SHARE).is_empty());
}

/// Chooses and starts everything. Returns the lanes with their deliveries.
fn start(memory: &mut Memory) -> Vec<(LaneNumber, Vec<DeliveryKey>)> {
    let chosen = memory.choose(Instant::now());
    let begin = |lane: Chosen| {
        let number = memory.begin(&lane, &[], true).expect("it has deliveries");
        (number, lane.startable().map(|it| it.key).collect())
    };
    chosen.into_iter().map(begin).collect()
}

fn delivered(lane: LaneNumber, key: DeliveryKey) -> AttemptResult {
    AttemptResult {
        owner: OWNER,
        lane,
        key,
        health_version: 1,
        counts: StartCounts::default().started(false),
        is_alone: false,
        is_first: true,
        jitter: Jitter::random(&mut StdRng::seed_from_u64(1)),
        at: now(),
        latency: Duration::from_millis(5),
        outcome: Outcome::Response { status: 200, retry_after: None, start: Vec::new() },
    }
}

#[test]
fn a_lane_that_panics_leaves_nothing_in_flight() {
    let mut memory = memory(2 * u128::try_from(RUN_MAX).unwrap());
    let before = memory.run_max();
    let lanes = start(&mut memory);
    assert_eq!(lanes.len(), 2);
    memory.report(&delivered(lanes[0].0, lanes[0].1[0]));
    assert!(memory.run_max() < before && memory.is_busy());
    for (lane, _) in lanes {
        assert_eq!(memory.lane_ended(lane), Some(endpoint()));
    }
    memory.stores.remove(endpoint().merchant);
    memory.lose_reports();
    assert_eq!((memory.run_max(), memory.slots.in_use()), (before, 0));
    assert!(!memory.is_busy());
}

#[test]
fn a_result_of_a_lost_lease_is_recorded_and_changes_nothing_in_memory() {
    let mut memory = memory(20);
    let lanes = start(&mut memory);
    memory.forget();
    let report = memory.report(&delivered(lanes[0].0, lanes[0].1[0]));
    assert_eq!((report.plan, report.health), (Plan::Delivered, None));
    assert!(!memory.is_settled());
    let settled = Settled {
        owner: OWNER,
        key: report.key,
        health_version: 1,
        disposition: Disposition::Fenced,
        health: None,
        is_disabled: false,
    };
    memory.settle(Some(Uuid::from_u128(8)), &[settled]);
    assert!(memory.is_settled());
    assert_eq!(memory.lane_ended(lanes[0].0), None);
}

/// Starts everything, and lets the process find that it cannot read the secret of the endpoint. Returns until when it waits.
fn withhold(memory: &mut Memory) -> Timestamp {
    let mut settled = Vec::new();
    let mut until = now();
    for (lane, keys) in start(memory) {
        for key in keys {
            let outcome = Outcome::SecretUnreadable;
            let report = memory.report(&AttemptResult { outcome, ..delivered(lane, key) });
            let Plan::Withheld(delay) = report.plan else { panic!("{:?}", report.plan) };
            until = now().plus(delay);
            settled.push(Settled {
                owner: OWNER,
                key,
                health_version: 1,
                disposition: Disposition::Due(until),
                health: None,
                is_disabled: false,
            });
        }
        memory.lane_ended(lane);
    }
    memory.settle(Some(OWNER), &settled);
    until
}

#[test]
fn an_endpoint_whose_secret_cannot_be_read_gets_no_other_attempt_for_some_time() {
    let mut memory = memory(20);
    let until = withhold(&mut memory);
    assert_eq!(until, now().plus(Duration::from_mins(5)));
    assert!(!memory.can_start(Instant::now()) && !memory.stores.has_listed());
    // Whatever its store is read for. Another process may have the secret.
    for _ in 0..2 {
        read(&mut memory, 1, Some(healthy()), 20);
        assert!(memory.choose(Instant::now()).is_empty() && !memory.stores.has_listed());
        let released = memory.stores.idle(true, 10);
        assert_eq!(released.len(), 1);
        assert_eq!(released[0].not_before, Some(until));
    }
    memory.now = until;
    memory.stores.list_due(until);
    assert!(memory.stores.has_listed());
    read(&mut memory, 1, Some(healthy()), 20);
    assert!(!memory.choose(Instant::now()).is_empty());
}

#[test]
fn an_endpoint_with_another_secret_gets_attempts_at_once() {
    let mut memory = memory(20);
    let lanes = start(&mut memory);
    let outcome = Outcome::SecretUnreadable;
    let (lane, keys) = &lanes[0];
    read(&mut memory, 2, Some(healthy()), 60);
    memory.report(&AttemptResult { outcome, ..delivered(*lane, keys[0]) });
    memory.lane_ended(*lane);
    let started = start(&mut memory);
    assert!(!started.is_empty(), "what was started before says nothing about the new secret");
}

#[test]
fn a_rotation_lifts_what_withholds_an_endpoint() {
    let mut memory = memory(20);
    withhold(&mut memory);
    read(&mut memory, 2, Some(healthy()), 20);
    assert!(!memory.choose(Instant::now()).is_empty());
}

#[test]
fn deliveries_that_were_not_started_are_read_again() {
    let mut memory = memory(1);
    let chosen = memory.choose(Instant::now());
    memory.undo(&chosen[0]);
    assert!(memory.stores.has_listed() && !memory.is_busy());
    assert_eq!(memory.slots.in_use(), 0);
}

#[test]
fn a_store_whose_start_failed_is_read_again_whatever_else_waits() {
    let mut memory = memory(u128::try_from(SHARE).unwrap());
    memory.slots.wait(Class::Healthy, endpoint());
    let chosen = memory.choose(Instant::now());
    assert!(!memory.stores.has_listed());
    memory.undo(&chosen[0]);
    assert!(memory.stores.has_listed());
}

#[test]
fn nothing_starts_while_too_many_results_are_not_recorded() {
    let mut memory = memory(20);
    let most = SLOTS * UNSETTLED_PER_SLOT;
    let key = DeliveryKey { endpoint: endpoint(), event_at: now(), event: EventId::from_random(0) };
    for _ in 0..most {
        memory.report(&delivered(99, key));
    }
    assert!(memory.can_start(Instant::now()));
    memory.report(&delivered(99, key));
    assert!(!memory.can_start(Instant::now()));
}

#[test]
fn what_was_sent_before_an_endpoint_moved_says_nothing_about_it() {
    let mut memory = memory(1);
    let lanes = start(&mut memory);
    let class = |memory: &mut Memory| memory.stores.endpoint(endpoint()).unwrap().health.class();
    read(&mut memory, 2, None, 1);
    assert_eq!(class(&mut memory), Class::Untried, "its request is still in flight");
    let (lane, keys) = &lanes[0];
    let slow = Duration::from_secs(9);
    let report = memory.report(&AttemptResult { latency: slow, ..delivered(*lane, keys[0]) });
    assert_eq!((report.plan, report.health), (Plan::Delivered, None));
    assert_eq!(class(&mut memory), Class::Untried);

    // It fails at its new address, and then the record of a failure at the former one ends.
    memory.stores.endpoint(endpoint()).unwrap().health.fail();
    let long_ago = now().minus(Duration::from_hours(100));
    let settled = Settled {
        owner: OWNER,
        key: report.key,
        health_version: 1,
        disposition: Disposition::Done,
        health: Some(RecordedHealth { failing_since: Some(long_ago), probe_at: None }),
        is_disabled: false,
    };
    memory.settle(Some(OWNER), &[settled]);
    let failing_since =
        |memory: &mut Memory| memory.stores.endpoint(endpoint()).unwrap().health.failing_since;
    assert_eq!(failing_since(&mut memory), None);
    memory.settle(Some(OWNER), &[Settled { health_version: 2, ..settled }]);
    assert_eq!(failing_since(&mut memory), Some(long_ago));
}

#[test]
fn a_lane_has_no_more_deliveries_than_it_is_expected_to_send() {
    for (millis, most) in [(5, RUN_MAX), (500, 4), (900, 2)] {
        let mut memory = Memory::new(SLOTS, now());
        let latency = Some(Duration::from_millis(millis));
        read(&mut memory, 1, Some(StoredHealth { latency, ..healthy() }), 100);
        let lanes = start(&mut memory);
        assert_eq!(lanes.iter().map(|(_, keys)| keys.len()).max(), Some(most), "{millis} ms");
    }
}

/// Reads an endpoint of another store that is slow, with that many deliveries that are due. Returns its key.
fn read_slow(memory: &mut Memory, number: u128, deliveries: u128) -> EndpointKey {
    let key = EndpointKey { merchant: MerchantId::from_random(number), ..endpoint() };
    let health = StoredHealth { latency: Some(Duration::from_secs(9)), ..healthy() };
    let pending = |number| Pending {
        event_at: now(),
        event: EventId::from_random(number),
        due_at: now(),
        counts: StartCounts::default(),
    };
    let pending = (0..deliveries).map(pending).collect();
    let loaded = Loaded { key, health_version: 1, health: Some(health), pending };
    memory.refill(OWNER, &[key.merchant], &[loaded], SHARE);
    key
}

#[test]
fn a_slow_endpoint_that_had_its_turn_leaves_its_place_to_one_that_was_left_out() {
    let mut memory = Memory::new(SLOTS, now());
    let most = u128::try_from(memory.backlog().max).unwrap();
    for number in 1..=most {
        read_slow(&mut memory, number, 5);
    }
    let left_out = read_slow(&mut memory, most + 1, 5);
    assert!(!memory.stores.endpoint(left_out).unwrap().can_start(now()), "there is no place");
    let chosen = memory.choose(Instant::now());
    let places = memory.slots.waiting(Class::Slow);
    assert_eq!(places + chosen.len(), memory.backlog().max, "each had one lane");
    for lane in &chosen {
        let number = memory.begin(lane, &[], true).unwrap();
        let key = lane.startable().next().unwrap().key;
        let latency = Duration::from_secs(9);
        memory.report(&AttemptResult { latency, ..delivered(number, key) });
        memory.lane_ended(number);
    }
    assert_eq!(memory.slots.waiting(Class::Slow), places, "none of them waits again");
    assert!(!memory.stores.has_listed(), "or is read before its time");
    read_slow(&mut memory, most + 1, 5);
    let queue = memory.stores.endpoint(left_out).unwrap();
    assert_eq!(queue.queued, Some(Class::Slow), "it has a place");
    memory.stores.list_due(now().plus(DEFERRED));
    assert_eq!(
        memory.stores.take_listed(STORES_MAX, memory.now).len(),
        chosen.len(),
        "the others come later"
    );
}

#[test]
fn an_endpoint_whose_result_cannot_be_recorded_gets_no_other_attempt_for_a_minute() {
    let mut memory = memory(1);
    let lanes = start(&mut memory);
    let report = memory.report(&delivered(lanes[0].0, lanes[0].1[0]));
    memory.lane_ended(lanes[0].0);
    let settled = Settled {
        owner: OWNER,
        key: report.key,
        health_version: 1,
        disposition: Disposition::Unrecordable,
        health: None,
        is_disabled: false,
    };
    memory.settle(Some(OWNER), &[settled]);
    assert!(memory.stores.idle(true, 10).is_empty(), "no other process claims it");
    read(&mut memory, 1, Some(healthy()), 1);
    assert!(memory.choose(Instant::now()).is_empty(), "its store was woken");
    memory.now = now().plus(DEFERRED);
    read(&mut memory, 1, Some(healthy()), 1);
    assert_eq!(memory.choose(Instant::now()).len(), 1);
}

#[test]
fn an_endpoint_that_is_held_and_disabled_by_another_result_keeps_its_store_no_longer() {
    let mut memory = memory(2 * u128::try_from(RUN_MAX).unwrap());
    let lanes = start(&mut memory);
    let settled =
        |(lane, keys): &(LaneNumber, Vec<DeliveryKey>), memory: &mut Memory| -> Vec<Settled> {
            let reports = keys.iter().map(|key| memory.report(&delivered(*lane, *key)));
            let settle = |report: Report| Settled {
                owner: OWNER,
                key: report.key,
                health_version: 1,
                disposition: Disposition::Done,
                health: None,
                is_disabled: true,
            };
            let settled = reports.map(settle).collect();
            memory.lane_ended(*lane);
            settled
        };
    let mut refused = settled(&lanes[0], &mut memory);
    for it in &mut refused {
        (it.disposition, it.is_disabled) = (Disposition::Unrecordable, false);
    }
    memory.settle(Some(OWNER), &refused);
    assert!(memory.stores.idle(true, 10).is_empty());
    let disabled = settled(&lanes[1], &mut memory);
    memory.settle(Some(OWNER), &disabled);
    assert_eq!(memory.stores.idle(true, 10).len(), 1);
}

#[test]
fn an_endpoint_whose_start_is_refused_waits_whatever_wakes_its_store_and_keeps_no_slot() {
    let mut memory = memory(1);
    let chosen = memory.choose(Instant::now());
    memory.refuse(&chosen[0]);
    assert_eq!(memory.slots.used_by(Class::Healthy), 0);
    read(&mut memory, 1, Some(healthy()), 1);
    assert!(memory.choose(Instant::now()).is_empty() && !memory.is_busy());
    assert!(memory.stores.idle(true, 10).is_empty(), "no other process claims it");
    memory.stores.list_due(now().plus(DEFERRED));
    assert!(memory.stores.has_listed());
    memory.now = now().plus(DEFERRED);
    read(&mut memory, 1, Some(healthy()), 1);
    assert_eq!(memory.choose(Instant::now()).len(), 1);
}

#[test]
fn however_many_slots_there_are_endpoints_that_do_not_respond_leave_room_for_other_stores() {
    let mut memory = Memory::new(STORES_MAX, now());
    let of = |number: usize| MerchantId::from_random(u128::try_from(number).unwrap());
    for number in 0..STORES_MAX / 2 {
        let pending = Pending {
            event_at: now(),
            event: EventId::from_random(1),
            due_at: now(),
            counts: StartCounts::default(),
        };
        let key = EndpointKey { merchant: of(number), ..endpoint() };
        let loaded = Loaded { key, health_version: 1, health: None, pending: vec![pending] };
        memory.refill(OWNER, &[key.merchant], &[loaded], SHARE);
    }
    assert_eq!(memory.slots.waiting(Class::Untried), STORES_MAX / 6);
}
