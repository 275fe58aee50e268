use std::time::Duration;

use primitives::Id;

use super::*;
use crate::dispatcher::StartCounts;

const MINUTE: Duration = Duration::from_mins(1);

fn now() -> Timestamp {
    "2026-11-15T08:00:00Z".parse().unwrap()
}

fn pending(number: u128, lost: i16) -> Pending {
    let event = EventId::from_random(number);
    Pending {
        event_at: now(),
        event,
        due_at: now(),
        counts: StartCounts { attempts: 1, starts: 1 + lost, lone_starts: 0 },
    }
}

fn rows(count: u128) -> Vec<Pending> {
    (0..count).map(|number| pending(number, 0)).collect()
}

fn stored(failures: i32, probe_at: Option<Timestamp>) -> StoredHealth {
    let failing_since = (failures > 0).then(now);
    let last_success_at = Some(now());
    StoredHealth {
        last_success_at,
        failing_since,
        consecutive_failures: failures,
        probe_at,
        latency: None,
    }
}

fn healthy(count: u128) -> EndpointQueue {
    let mut queue = EndpointQueue::new();
    assert!(queue.refill(Some(stored(0, None)), &rows(count), now()).is_empty());
    queue
}

#[test]
fn a_healthy_endpoint_has_two_lanes_and_others_one() {
    let mut queue = healthy(30);
    for lanes in 0..2 {
        assert!(queue.can_start(now()), "{lanes}");
        assert_eq!(queue.take(4).len(), 4);
        queue.lane_started();
    }
    assert!(!queue.can_start(now()));
    for health in [None, Some(stored(1, None))] {
        let mut queue = EndpointQueue::new();
        queue.refill(health, &rows(30), now());
        assert_eq!(queue.take(4).len(), 1);
        queue.lane_started();
        assert!(!queue.can_start(now()));
    }
}

#[test]
fn a_slow_endpoint_has_two_lanes_of_one_delivery_and_few_wait() {
    let mut queue = EndpointQueue::new();
    let latency = Some(Duration::from_secs(9));
    queue.refill(Some(StoredHealth { latency, ..stored(0, None) }), &rows(30), now());
    assert_eq!((queue.health.class(), queue.len()), (Class::Slow, WAITING_UNPROVEN_MAX));
    for lanes in 0..2 {
        assert!(queue.can_start(now()), "{lanes}");
        assert_eq!(queue.take(4).len(), 1);
        queue.lane_started();
    }
    assert!(!queue.can_start(now()) && queue.needs_refill(now()));
}

#[test]
fn few_deliveries_wait_in_memory_and_more_are_read_in_time() {
    let mut queue = healthy(u128::try_from(LOADED_MAX).unwrap());
    assert_eq!(queue.len(), WAITING_MAX);
    assert!(!queue.needs_refill(now()));
    let (mut taken, most) = (0, WAITING_MAX - WAITING_MAX / 4);
    while taken < most {
        assert!(!queue.needs_refill(now()), "{taken}");
        taken += queue.take(RUN_MAX.min(most - taken)).len();
    }
    assert!(queue.needs_refill(now()));
    let again =
        queue.refill(Some(stored(0, None)), &rows(u128::try_from(LOADED_MAX).unwrap()), now());
    assert_eq!((again.len(), queue.waiting.len()), (0, LOADED_MAX - taken));
    let first = EventId::from_random(u128::try_from(taken).unwrap());
    assert_eq!(queue.waiting.front().unwrap().event, first);
    let mut untried = EndpointQueue::new();
    untried.refill(None, &rows(30), now());
    assert_eq!(untried.len(), WAITING_UNPROVEN_MAX);
}

#[test]
fn few_deliveries_of_an_endpoint_that_fails_are_read_and_those_after_them_in_time() {
    let most = u128::try_from(LOADED_UNPROVEN_MAX).unwrap();
    let failing = Some(stored(1, None));
    let mut queue = EndpointQueue::new();
    queue.refill(failing, &rows(most), now());
    assert_eq!(queue.take(RUN_MAX).len() + queue.take(RUN_MAX).len(), WAITING_UNPROVEN_MAX);
    assert!(queue.needs_refill(now()));
    queue.unsettled = (0..most).map(EventId::from_random).collect();
    queue.refilling();
    queue.refill(failing, &rows(most), now());
    assert!(!queue.needs_refill(now()), "all that can be read are started");
    queue.settled(EventId::from_random(0));
    assert!(queue.needs_refill(now()));
}

#[test]
fn an_endpoint_that_has_just_succeeded_is_read_again_once_a_result_is_recorded() {
    let most = u128::try_from(LOADED_UNPROVEN_MAX).unwrap();
    let mut queue = EndpointQueue::new();
    queue.refill(None, &rows(most), now());
    let taken = queue.take(RUN_MAX);
    assert!(queue.health.succeed(now()));
    queue.refilling();
    queue.refill(None, &rows(most), now());
    assert_eq!(queue.waiting.len(), LOADED_UNPROVEN_MAX - taken.len());
    assert!(!queue.needs_refill(now()), "its success is not recorded");
    queue.settled(taken[0].event);
    assert!(queue.needs_refill(now()));
}

#[test]
fn a_delivery_that_is_started_is_not_read_again_until_it_is_settled() {
    let mut queue = healthy(1);
    let taken = queue.take(10);
    queue.refill(Some(stored(0, None)), &rows(1), now());
    assert!(queue.waiting.is_empty() && !queue.is_idle());
    queue.settled(taken[0].event);
    assert!(queue.needs_refill(now()), "what it read meanwhile may be out of date");
    queue.refilling();
    queue.refill(Some(stored(0, None)), &[], now());
    assert!(queue.is_idle() && !queue.needs_refill(now()));
}

#[test]
fn a_delivery_that_is_due_later_is_read_then() {
    let mut queue = EndpointQueue::new();
    let later = Pending { due_at: now().plus(MINUTE), ..pending(1, 0) };
    queue.refill(Some(stored(0, None)), &[later], now());
    assert!(queue.is_idle() && !queue.needs_refill(now()));
    assert_eq!(queue.next_due(), Some(now().plus(MINUTE)));
    assert!(queue.needs_refill(now().plus(MINUTE)));
}

#[test]
fn an_open_circuit_lets_one_probe_through_when_it_is_time() {
    let (mut queue, probe_at) = (EndpointQueue::new(), now().plus(MINUTE));
    queue.refill(Some(stored(5, Some(probe_at))), &rows(30), now());
    assert!(queue.is_idle() && !queue.can_start(now()));
    assert_eq!(queue.next_due(), Some(probe_at));
    queue.refill(Some(stored(5, Some(probe_at))), &rows(30), probe_at);
    assert!(queue.can_start(probe_at));
    assert_eq!(queue.take(10).len(), 1);
    assert!(!queue.can_start(probe_at));
    queue.refill(Some(stored(5, Some(probe_at))), &rows(30), probe_at);
    assert!(!queue.can_start(probe_at), "the probe has no result yet");
    assert!(!queue.needs_refill(probe_at), "it is read again once it has");
}

#[test]
fn the_fifth_failure_opens_the_circuit_and_a_success_closes_it() {
    let mut queue = healthy(30);
    for failures in 1..=5 {
        assert!(queue.can_start(now()), "{failures}");
        queue.health.fail();
        queue.pause_if_open();
    }
    assert!(!queue.can_start(now()) && queue.is_idle());
    queue.health.recorded(Some(now()), Some(now().plus(MINUTE)));
    queue.pause_if_open();
    assert_eq!(queue.next_due(), Some(now().plus(MINUTE)));
    assert!(queue.health.succeed(now()), "it is recorded");
    queue.refill(Some(stored(0, None)), &rows(3), now());
    assert!(queue.can_start(now()));
}

#[test]
fn deliveries_with_lost_starts_are_separated_and_others_flow() {
    let mut queue = EndpointQueue::new();
    let mut own = pending(4, 3);
    own.counts.lone_starts = 1;
    let read = [pending(0, 2), pending(1, 1), pending(2, 0), pending(3, 0), own];
    let quarantined = queue.refill(Some(stored(0, None)), &read, now());
    assert_eq!(quarantined, [own]);
    assert_eq!(queue.take(10), [pending(1, 1)], "the only one of its lane");
    assert_eq!(queue.take(10), [pending(2, 0), pending(3, 0)], "a suspect is in no one's way");
    assert_eq!(queue.take(10), [], "the suspect has its own turn");
    assert!(!queue.can_start(now()) && queue.can_start_alone(now()));
    assert_eq!(queue.take_suspect(), Some(pending(0, 2)));
    assert_eq!(queue.take_suspect(), None);
    assert!(!queue.can_start_alone(now()));
}

#[test]
fn suspects_keep_no_other_delivery_of_an_endpoint_that_is_not_healthy_waiting() {
    let read = [pending(0, 2), pending(1, 2), pending(2, 0), pending(3, 0), pending(4, 0)];
    for health in [None, Some(stored(1, None))] {
        let mut queue = EndpointQueue::new();
        queue.refill(health, &read, now());
        assert!(queue.can_start(now()) && queue.can_start_alone(now()));
        assert_eq!(queue.take(10), [pending(2, 0)], "a suspect is in no one's way");
        assert_eq!(queue.take(10), [pending(3, 0)]);
        assert!(queue.needs_refill(now()), "there are more");
        assert_eq!(queue.take_suspect(), Some(pending(0, 2)));
        assert_eq!(queue.take_suspect(), Some(pending(1, 2)));
    }
    let mut open = EndpointQueue::new();
    open.refill(Some(stored(5, Some(now()))), &read, now());
    assert!(open.can_start(now()) && !open.can_start_alone(now()), "there is one probe");
    open.refill(Some(stored(5, Some(now()))), &read[..2], now());
    assert!(!open.can_start(now()) && open.can_start_alone(now()));
    assert!(open.take_suspect().is_some() && open.take_suspect().is_none());
}

#[test]
fn an_endpoint_whose_last_failure_cannot_be_recorded_is_read_again() {
    let mut queue = healthy(1);
    let taken = queue.take(1);
    (0..5).for_each(|_| queue.health.fail());
    queue.pause_if_open();
    queue.settled(taken[0].event);
    queue.refill_at(now().plus(MINUTE));
    queue.pause_if_open();
    assert_eq!(queue.next_due(), Some(now().plus(MINUTE)));
}

#[test]
fn a_store_that_reset_the_health_of_its_endpoint_is_believed_after_the_last_result() {
    let mut queue = EndpointQueue::new();
    queue.refill(Some(stored(5, Some(now()))), &rows(3), now());
    let probe = queue.take(1);
    queue.refill(None, &rows(3), now());
    assert_eq!(queue.health.class(), Class::Failing);
    queue.settled(probe[0].event);
    assert!(queue.needs_refill(now()));
    queue.refill(None, &rows(3), now());
    assert_eq!(queue.health.class(), Class::Untried);
    assert!(queue.can_start(now()));
}

#[test]
fn an_endpoint_that_is_held_is_read_when_the_hold_ends_whatever_its_circuit_does() {
    let mut queue = healthy(1);
    queue.hold(now().plus(MINUTE));
    (0..5).for_each(|_| queue.health.fail());
    queue.health.recorded(Some(now()), Some(now().plus(60 * MINUTE)));
    queue.pause_if_open();
    assert_eq!(queue.next_due(), Some(now().plus(MINUTE)));
    queue.drop_waiting();
    assert!(queue.is_idle());
}
