//! Deliveries that end their process, and faults of this server.

use std::time::Duration;

use webhooks::SealingKey;

use crate::dispatching::{Dispatching, LEASE};
use crate::receiver::Behavior;

#[tokio::test]
async fn a_delivery_whose_process_ended_three_times_is_quarantined_and_others_flow() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.receiver.set("/a", Behavior::Gated);
    let poison = test.publish(1).await;
    for starts in 1..=3 {
        let dispatcher = test.start(test.dispatcher());
        test.receiver.until(|receiver| receiver.count("/a") == starts).await;
        dispatcher.kill().await;
        test.shop.advance(LEASE);
        let queue = test.queue().await;
        let expected = (0, i16::try_from(starts).unwrap(), false);
        assert_eq!((queue[0].attempts, queue[0].starts, queue[0].is_dead), expected);
    }
    test.respond("/a", 200);
    test.publish(2).await;
    assert_eq!(test.deliver().await, 1);
    assert_eq!(test.receiver.count("/a"), 4);
    let queue = test.queue().await;
    assert_eq!((queue.len(), queue[0].event, queue[0].is_dead), (1, poison, true));
    let attempts = test.attempts().await;
    assert!(attempts.iter().any(|it| it.1 == "dead" && it.3.as_deref() == Some("quarantined")));
    assert!(attempts.iter().any(|it| it.1 == "delivered"));
}

#[tokio::test]
async fn a_delivery_whose_process_ended_twice_is_delivered_and_no_suspect_any_more() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    for number in 1..=3 {
        test.publish(number).await;
    }
    test.shop.execute("UPDATE webhook_delivery SET starts = 2").await;
    test.respond("/a", 500);
    assert_eq!(test.deliver().await, 3);
    let counts: Vec<(i16, i16)> =
        test.queue().await.iter().map(|row| (row.attempts, row.starts)).collect();
    assert_eq!(counts, [(1, 1); 3]);
}

#[tokio::test]
async fn suspects_are_attempted_one_at_a_time() {
    let test = Dispatching::open().await;
    for path in ["/a", "/b", "/c"] {
        test.endpoint(path).await;
        test.receiver.set(path, Behavior::Gated);
    }
    test.publish(1).await;
    test.shop.execute("UPDATE webhook_delivery SET starts = 2").await;
    let dispatcher = test.start(test.dispatcher());
    for count in 1..=3 {
        test.receiver.until(|receiver| receiver.received().len() == count).await;
        let open: usize = ["/a", "/b", "/c"].map(|path| test.receiver.in_flight(path)).iter().sum();
        assert_eq!(open, 1);
        test.receiver.permit(1);
    }
    test.until_count("SELECT count(*) FROM webhook_delivery", 0).await;
    dispatcher.stop().await;
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_uses_up_no_attempt() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.publish(1).await;
    let stranger = test.dispatcher_with(SealingKey::new([8; 32]), 64);
    stranger.run_until_idle().await.unwrap();
    assert_eq!(test.receiver.received().len(), 0);
    let queue = test.queue().await;
    assert_eq!((queue[0].attempts, queue[0].starts, queue[0].is_dead), (0, 0, false));
    assert_eq!(queue[0].due_at, test.shop.now().plus(Duration::from_mins(5)));
    test.shop.advance(Duration::from_mins(5));
    assert_eq!(test.deliver().await, 1);
}

#[tokio::test]
async fn a_delivery_whose_body_is_gone_is_a_dead_letter() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.publish(1).await;
    test.shop.execute("DELETE FROM webhook_body").await;
    test.deliver().await;
    assert_eq!(test.receiver.received().len(), 0);
    assert!(test.queue().await[0].is_dead);
    assert_eq!(test.attempts().await[0].3.as_deref(), Some("body_expired"));
}
