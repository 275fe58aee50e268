//! Delivering: attempts, their signatures, retries and dead letters.

use std::time::Duration;

use database::Reading;
use merchants::NoticeKind;
use webhooks::{
    DeadLetterDeliveries, DisabledReason, EndpointPatch, EndpointStatus, HealthState, WebhookStats,
};

use crate::dispatching::{Dispatching, LEASE, Running};
use crate::receiver::Behavior;
use crate::shop::{DAY, actor};

#[tokio::test]
async fn an_event_is_delivered_once_and_leaves_the_queue() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    let event = test.publish(1).await;
    assert_eq!(test.deliver().await, 1);
    let received = test.receiver.received();
    assert_eq!(received.len(), 1);
    let body = String::from_utf8(received[0].body.clone()).unwrap();
    assert!(body.contains(&format!("\"id\":\"{event}\"")), "{body}");
    assert_eq!(received[0].headers["webhook-id"], event.to_string());
    assert_eq!(received[0].headers["content-type"], "application/json");
    assert_eq!(test.queue().await, []);
    let delivered = (1, String::from("delivered"), Some(200), None, Some(b"ok".to_vec()));
    assert_eq!(test.attempts().await, [delivered]);
    assert_eq!(test.deliver().await, 0);
    assert_eq!(test.receiver.received().len(), 1);
}

#[tokio::test]
async fn every_enabled_endpoint_gets_the_same_bytes() {
    let test = Dispatching::open().await;
    for path in ["/a", "/b", "/c"] {
        test.endpoint(path).await;
    }
    test.publish(1).await;
    assert_eq!(test.deliver().await, 3);
    let received = test.receiver.received();
    assert!(received.iter().all(|request| request.body == received[0].body));
    let mut paths: Vec<&str> = received.iter().map(|request| request.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/a", "/b", "/c"]);
}

#[tokio::test]
async fn a_request_is_signed_with_the_secret_and_after_a_rotation_with_both() {
    let test = Dispatching::open().await;
    let created = test.endpoint("/a").await;
    let (merchant, id) = (test.shop.merchant, created.endpoint.id);
    let signatures = || {
        let received = test.receiver.received();
        let request = received.last().unwrap().clone();
        let header = request.headers["x-webhook-signature"].clone();
        let (time, digits) = header.split_once(",v1=").unwrap();
        assert_eq!(time, format!("t={}", test.shop.now().unix_seconds()));
        digits.split(",v1=").map(str::to_owned).collect::<Vec<String>>()
    };
    test.publish(1).await;
    test.deliver().await;
    assert_eq!(signatures().len(), 1);

    test.shop.webhooks.rotate_secret(merchant, actor(), id, None).await.unwrap();
    test.publish(2).await;
    test.deliver().await;
    let both = signatures();
    assert_eq!(both.len(), 2);
    assert_ne!(both[0], both[1]);

    test.shop.advance(DAY);
    test.publish(3).await;
    test.deliver().await;
    assert_eq!(signatures().len(), 1, "the former secret is valid for a day");
}

#[tokio::test]
async fn a_delivery_that_fails_is_attempted_ten_times_within_the_times_of_the_table() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.respond("/a", 500);
    test.publish(1).await;
    let delays = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
    for (index, seconds) in delays.into_iter().enumerate() {
        assert_eq!(test.deliver().await, 1, "attempt {}", index + 1);
        assert_eq!(test.deliver().await, 0, "it is not attempted before it is due");
        let queue = test.queue().await;
        let wait = queue[0].due_at.since(test.shop.now()).as_secs_f64();
        let delay = f64::from(seconds);
        assert!(wait >= delay * 0.8 && wait <= delay * 1.2, "{wait} instead of {delay}");
        let count = i16::try_from(index + 1).unwrap();
        assert_eq!((queue[0].attempts, queue[0].starts, queue[0].is_dead), (count, count, false));
        test.shop.advance(Duration::from_secs_f64(delay * 1.2));
    }
    assert_eq!(test.deliver().await, 1);
    assert!(test.queue().await[0].is_dead);
    test.shop.advance(DAY * 2);
    assert_eq!(test.deliver().await, 0);
    let attempts = test.attempts().await;
    let numbers: Vec<i16> = attempts.iter().map(|attempt| attempt.0).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert!(attempts[..9].iter().all(|attempt| attempt.1 == "retry" && attempt.2 == Some(500)));
    assert_eq!(attempts[9].1, "dead");
    let bodies: Vec<Vec<u8>> = test.receiver.received().into_iter().map(|it| it.body).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]), "every attempt has the same bytes");
}

#[tokio::test]
async fn a_receiver_can_ask_for_more_time() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.receiver.set("/a", Behavior::With(503, "retry-after: 3600"));
    test.publish(1).await;
    test.deliver().await;
    let due_at = test.queue().await[0].due_at;
    assert_eq!(due_at, test.shop.now().plus(Duration::from_hours(1)));
}

#[tokio::test]
async fn a_redirect_and_a_closed_connection_are_failures() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.receiver.set("/a", Behavior::With(302, "location: /b"));
    test.publish(1).await;
    assert_eq!(test.deliver().await, 1);
    assert_eq!(test.receiver.count("/b"), 0);
    test.receiver.set("/a", Behavior::Close);
    test.shop.advance(Duration::from_secs(6));
    assert_eq!(test.deliver().await, 1);
    let attempts = test.attempts().await;
    assert_eq!((attempts[0].2, attempts[0].3.as_deref()), (Some(302), None));
    assert_eq!((attempts[1].2, attempts[1].3.as_deref()), (None, Some("connection_closed")));
}

#[tokio::test]
async fn an_endpoint_that_is_gone_is_disabled_with_a_notice_and_nothing_more_is_sent() {
    let test = Dispatching::open().await;
    let created = test.healthy_endpoint("/a").await;
    test.respond("/a", 410);
    for number in 1..=5 {
        test.publish(number).await;
    }
    let attempts = test.deliver().await;
    assert!((1..=2).contains(&attempts), "{attempts} attempts");
    let endpoint = test.shop.find(created.endpoint.id).await.unwrap();
    assert_eq!(endpoint.status, EndpointStatus::Disabled);
    assert_eq!(endpoint.disabled_reason, Some(DisabledReason::Gone));
    let (_, health) =
        test.shop.webhooks.find_with_health(test.shop.merchant, endpoint.id).await.unwrap();
    assert_eq!(health.state(), HealthState::Failing, "the attempt that disabled it counts");
    test.shop.run_due::<DeadLetterDeliveries>().await;
    let queue = test.queue().await;
    assert!(queue.len() == 5 && queue.iter().all(|row| row.is_dead), "{queue:?}");
    let reading = Reading::for_store(test.shop.test.database(), test.shop.merchant).unwrap();
    let page = merchants::notices(&reading, test.shop.merchant, None, 10).await.unwrap();
    assert_eq!(page.notices.len(), 1);
    assert_eq!(page.notices[0].kind, NoticeKind::WebhookEndpointDisabled);
    assert_eq!(page.notices[0].details["reason"], "gone");
    assert_eq!(page.notices[0].details["endpoint_id"], created.endpoint.id.to_string());
    test.publish(6).await;
    assert_eq!(test.deliver().await, 0);
}

#[tokio::test]
async fn the_deliveries_of_a_disabled_endpoint_are_moved_by_a_job_and_not_with_the_result() {
    let test = Dispatching::open().await;
    test.endpoint("/gone").await;
    test.publish(1).await;
    test.shop
        .execute(
            "INSERT INTO webhook_delivery (merchant_id, endpoint_id, event_at, event_id, due_at, attempts, starts)
             SELECT merchant_id, endpoint_id, event_at, md5(number::text)::uuid, due_at + interval '1 hour', 0, 0
             FROM webhook_delivery, generate_series(1, 2500) AS number",
        )
        .await;
    test.respond("/gone", 410);
    assert_eq!(test.deliver().await, 1);
    let pending = "SELECT count(*) FROM webhook_delivery WHERE dead_at IS NULL";
    assert_eq!(test.shop.count(pending).await, 2500, "recording a result takes as long as ever");
    test.shop.run_due::<DeadLetterDeliveries>().await;
    assert_eq!(test.shop.count(pending).await, 0);
}

#[tokio::test]
async fn the_time_of_the_last_change_does_not_go_back_when_an_endpoint_is_disabled() {
    let test = Dispatching::open().await;
    let id = test.endpoint("/gone").await.endpoint.id;
    test.respond("/gone", 410);
    test.publish(1).await;
    // As by a merchant whose transaction began later, and ended earlier.
    test.shop
        .execute("UPDATE webhook_endpoint SET updated_at = updated_at + interval '1 second'")
        .await;
    let changed_at = test.shop.find(id).await.unwrap().updated_at;
    test.deliver().await;
    let endpoint = test.shop.find(id).await.unwrap();
    assert_eq!((endpoint.is_enabled(), endpoint.updated_at), (false, changed_at));
}

#[tokio::test]
async fn every_day_of_the_ring_has_its_bodies() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    for number in 1..=42 {
        test.publish(number).await;
        assert_eq!(test.deliver().await, 1);
        test.shop.advance(DAY);
    }
    assert!(test.attempts().await.iter().all(|attempt| attempt.1 == "delivered"));
    // Those of several days in one statement.
    for number in 100..103 {
        test.publish(number).await;
        test.shop.advance(DAY);
    }
    assert_eq!(test.deliver().await, 3);
    assert_eq!(test.queue().await, []);
}

#[tokio::test]
async fn an_endpoint_that_has_failed_for_five_days_is_disabled() {
    let test = Dispatching::open().await;
    let created = test.endpoint("/a").await;
    test.respond("/a", 500);
    test.publish(1).await;
    test.deliver().await;
    test.shop.advance(DAY * 4);
    test.deliver().await;
    assert!(test.shop.find(created.endpoint.id).await.unwrap().is_enabled());
    test.shop.advance(DAY);
    test.publish(2).await;
    test.deliver().await;
    let endpoint = test.shop.find(created.endpoint.id).await.unwrap();
    assert_eq!(endpoint.disabled_reason, Some(DisabledReason::Failing));
    test.shop.run_due::<DeadLetterDeliveries>().await;
    assert!(test.queue().await.iter().all(|row| row.is_dead));

    // Enabled again, it starts without failures.
    let patch = EndpointPatch { status: Some(EndpointStatus::Enabled), ..EndpointPatch::default() };
    let merchant = test.shop.merchant;
    test.shop.webhooks.update(merchant, actor(), endpoint.id, patch, None).await.unwrap();
    test.publish(3).await;
    test.deliver().await;
    assert!(test.shop.find(created.endpoint.id).await.unwrap().is_enabled());
}

#[tokio::test]
async fn the_circuit_opens_after_five_failures_and_a_success_closes_it() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.respond("/a", 500);
    for number in 1..=12 {
        test.publish(number).await;
    }
    assert_eq!(test.deliver().await, 5, "the others use up no attempt");
    let untouched = |queue: &[crate::dispatching::Stored]| {
        queue.iter().filter(|row| (row.attempts, row.starts) == (0, 0)).count()
    };
    assert_eq!(untouched(&test.queue().await), 7);
    assert_eq!(test.deliver().await, 0);

    test.shop.advance(Duration::from_secs(37));
    assert_eq!(test.deliver().await, 1, "one probe");
    test.shop.advance(Duration::from_secs(40));
    assert_eq!(test.deliver().await, 0, "the next one is later");

    test.respond("/a", 200);
    test.shop.advance(Duration::from_secs(40));
    test.deliver().await;
    let left = test.queue().await;
    assert!(left.iter().all(|row| row.due_at > test.shop.now()), "{left:?}");
    test.shop.advance(Duration::from_hours(1));
    test.deliver().await;
    assert_eq!(test.queue().await, []);
    let open = "SELECT count(*) FROM webhook_health WHERE probe_at IS NOT NULL OR consecutive_failures > 0";
    assert_eq!(test.shop.count(open).await, 0);
}

#[tokio::test]
async fn what_a_merchant_requests_is_sent_although_the_circuit_is_open() {
    let test = Dispatching::open().await;
    let created = test.endpoint("/a").await;
    test.respond("/a", 500);
    let mut newest = test.publish(1).await;
    for number in 2..=6 {
        newest = test.publish(number).await;
    }
    test.deliver().await;
    assert_eq!(test.deliver().await, 0);
    let (merchant, id) = (test.shop.merchant, created.endpoint.id);
    let webhooks = &test.shop.webhooks;
    let last = || test.receiver.received().last().unwrap().headers["webhook-id"].clone();
    // The endpoint goes on failing, so that the probe is all that is sent.
    test.shop.advance(Duration::from_secs(1));
    let sent = webhooks.send_test(merchant, id, None).await.unwrap();
    assert_eq!((test.deliver().await, last()), (1, sent.to_string()), "the test is the probe");
    test.shop.advance(Duration::from_secs(1));
    webhooks.redeliver(merchant, id, newest, None).await.unwrap();
    assert_eq!((test.deliver().await, last()), (1, newest.to_string()));
}

#[tokio::test]
async fn a_recovery_is_attempted_although_the_circuit_is_open() {
    let test = Dispatching::open().await;
    let start = test.shop.now();
    test.publish(1).await;
    let id = test.endpoint("/a").await.endpoint.id;
    test.respond("/a", 500);
    for number in 2..=8 {
        test.publish(number).await;
    }
    assert_eq!((test.deliver().await, test.deliver().await), (5, 0));
    test.shop.advance(Duration::from_secs(1));
    let recovery = test.shop.webhooks.recover(test.shop.merchant, id, start, None).await.unwrap();
    assert_eq!(recovery.queued, 1);
    assert_eq!(test.deliver().await, 1, "the probe");
    test.shop.advance(Duration::from_secs(1));
    let recovery = test.shop.webhooks.recover(test.shop.merchant, id, start, None).await.unwrap();
    assert_eq!(recovery.queued, 0, "all are pending");
    assert_eq!(test.deliver().await, 1, "the probe");
}

#[tokio::test]
async fn a_disabled_endpoint_gets_its_deliveries_when_it_is_enabled_again() {
    let test = Dispatching::open().await;
    let created = test.endpoint("/a").await;
    let (merchant, id) = (test.shop.merchant, created.endpoint.id);
    let set = async |status| {
        let patch = EndpointPatch { status: Some(status), ..EndpointPatch::default() };
        test.shop.webhooks.update(merchant, actor(), id, patch, None).await.unwrap();
    };
    test.publish(1).await;
    set(EndpointStatus::Disabled).await;
    assert_eq!(test.deliver().await, 0);
    set(EndpointStatus::Enabled).await;
    assert_eq!(test.deliver().await, 1);
    assert_eq!(test.queue().await, []);
}

#[tokio::test]
async fn more_deliveries_than_fit_into_memory_are_all_made() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    for number in 1..=100 {
        test.publish(number).await;
    }
    assert_eq!(test.deliver().await, 100);
    let mut ids: Vec<String> = test
        .receiver
        .received()
        .into_iter()
        .map(|request| request.headers["webhook-id"].clone())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 100);
    assert!(test.receiver.most_in_flight("/a") <= 2);
}

#[tokio::test]
async fn statistics_show_what_waits_and_for_how_long() {
    let test = Dispatching::open().await;
    let platform = Reading::for_platform(test.shop.test.database());
    let stats = async || webhooks::webhook_stats(&platform).await.unwrap();
    assert_eq!(stats().await, WebhookStats::default());
    test.endpoint("/a").await;
    test.respond("/a", 500);
    test.publish(1).await;
    test.shop.advance(Duration::from_secs(7));
    let waiting = stats().await;
    assert_eq!((waiting.pending, waiting.dead, waiting.enabled_endpoints), (1, 0, 1));
    assert!((waiting.lag_seconds - 7.0).abs() < 0.001, "{}", waiting.lag_seconds);
    test.deliver().await;
    let failed = stats().await;
    assert_eq!((failed.pending, failed.dead), (1, 0));
    assert!(failed.lag_seconds.abs() < 0.001, "the next attempt is not late");

    test.replace_owner().await;
    test.shop.execute("UPDATE webhook_queue SET due_at = NULL").await;
    assert!(stats().await.lag_seconds.abs() < 0.001);
    let now = test.shop.now();
    sqlx::query("UPDATE webhook_worker SET lease_until = $1")
        .bind(now)
        .execute(&mut test.shop.test.raw().await)
        .await
        .unwrap();
    test.shop.advance(Duration::from_secs(9));
    let left_behind = stats().await.lag_seconds;
    assert!((left_behind - 9.0).abs() < 0.001, "its owner has ended: {left_behind}");
}

#[tokio::test]
async fn what_waits_in_a_dispatcher_is_late() {
    let test = Dispatching::open().await;
    let platform = Reading::for_platform(test.shop.test.database());
    let lag = async || {
        let stats = webhooks::webhook_stats(&platform).await.unwrap();
        format!("{:.0}", stats.lag_seconds)
    };
    test.endpoint("/a").await;
    test.publish(1).await;
    test.replace_owner().await;
    test.shop.execute("UPDATE webhook_queue SET due_at = NULL").await;
    test.shop.take_wakes().await;
    test.shop.advance(Duration::from_mins(10));
    assert_eq!(lag().await, "600", "its owner lives and does not start it");

    test.shop.execute("UPDATE webhook_delivery SET starts = 1").await;
    assert_eq!(lag().await, "600", "nothing is recorded");
    let health = "INSERT INTO webhook_health (merchant_id, endpoint_id, last_attempt_at, consecutive_failures)
                  SELECT merchant_id, endpoint_id, due_at + interval '9 minutes', 0 FROM webhook_delivery";
    test.shop.execute(health).await;
    assert_eq!(lag().await, "0", "a receiver that is slow");
    test.shop.advance(Duration::from_mins(1));
    assert_eq!(lag().await, "60", "results are not recorded any more");
    test.shop.execute("UPDATE webhook_delivery SET starts = 0").await;
    assert_eq!(lag().await, "660");

    test.shop.execute("UPDATE webhook_health SET probe_at = last_attempt_at").await;
    assert_eq!(lag().await, "0", "the circuit is open");
    test.shop.execute("UPDATE webhook_health SET probe_at = NULL").await;
    let disable = "UPDATE webhook_endpoint SET status = 'disabled', disabled_reason = 'merchant', disabled_at = now()";
    test.shop.execute(disable).await;
    assert_eq!(lag().await, "0");
}

#[tokio::test]
async fn a_delivery_is_started_until_its_result_is_recorded() {
    let test = Dispatching::open().await;
    let platform = Reading::for_platform(test.shop.test.database());
    let started = async || webhooks::started(&platform).await.unwrap();
    test.endpoint("/a").await;
    test.receiver.set("/a", Behavior::Hang);
    test.publish(1).await;
    assert_eq!(started().await, 0, "it waits");
    let dispatcher = Running::start(test.dispatcher());
    test.receiver.until(|receiver| receiver.count("/a") == 1).await;
    assert_eq!(started().await, 1);
    dispatcher.kill().await;
    assert_eq!(started().await, 1, "nobody knows yet");
    test.shop.advance(LEASE);
    assert_eq!(started().await, 0, "its lease has expired");
    test.respond("/a", 500);
    assert_eq!(test.deliver().await, 1);
    test.replace_owner().await;
    test.shop.advance(Duration::from_hours(1));
    assert_eq!(started().await, 0, "it is due again, and nobody has started it");
}
