//! Leases: one writer per shard.

use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::fixture::Fixture;

const VERSION: &str = "SELECT max(version) FROM platform.search_shard";
/// Selects the holder of the lease, as a number.
const HOLDER: &str = "SELECT hashtext(lease_token::text)::bigint FROM platform.search_shard";

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_whose_lease_expired_cannot_publish() {
    let fixture = Fixture::with_stores(1).await;
    fixture.put(0, &["a"], "10").await;
    let mut settings = fixture.writer_settings();
    settings.lease = Duration::from_secs(1);
    // A separate runtime with one thread stands for a process that can be suspended.
    let (stop, stopped) = watch::channel(false);
    let (database, suspended_settings) = (fixture.test.another_process(), settings.clone());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let task = runtime.spawn(search::write(database, suspended_settings, stopped));
    let replica = fixture.read("replica");
    fixture.wait_until_equal(&replica).await;
    let first_holder = fixture.number(HOLDER).await;
    // It has pending changes when it is suspended.
    fixture.put(0, &["b"], "10").await;
    let suspended = runtime.spawn(async { std::thread::sleep(Duration::from_secs(5)) });
    let second = fixture.write_in(settings);
    fixture.put(0, &["c"], "10").await;
    let started = Instant::now();
    fixture.wait_until_equal(&replica).await;
    let (holder, version) = (fixture.number(HOLDER).await, fixture.number(VERSION).await);
    if started.elapsed() < Duration::from_secs(4) {
        assert_ne!(first_holder, holder, "the second writer holds the lease");
    }
    suspended.await.unwrap();
    fixture.put(0, &["a", "b", "d"], "11").await;
    fixture.wait_until_equal(&replica).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(fixture.number(HOLDER).await, holder, "the first did not acquire it again");
    assert!(fixture.number(VERSION).await > version);
    fixture.wait_until_equal(&replica).await;
    assert_eq!(replica.damage_count(), 0);
    // When the second stops, the first takes over.
    second.stop().await;
    fixture.put(0, &["e"], "11").await;
    fixture.wait_until_equal(&replica).await;
    stop.send_replace(true);
    task.await.unwrap();
    runtime.shutdown_background();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lease_of_a_crashed_writer_expires() {
    let fixture = Fixture::with_stores(1).await;
    fixture.put(0, &["a"], "10").await;
    let first = fixture.write();
    let replica = fixture.read("replica");
    fixture.wait_until_equal(&replica).await;
    first.kill().await;
    let second = fixture.write();
    fixture.put(0, &["b"], "10").await;
    fixture.wait_until_equal(&replica).await;
    second.stop().await;
}
