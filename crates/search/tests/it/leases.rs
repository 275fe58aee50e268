//! One writer at a time.

use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::world::World;

const VERSION: &str = "SELECT max(version) FROM platform.search_shard";
/// Which writer holds the lease, as a number.
const HOLDER: &str = "SELECT hashtext(lease_token::text)::bigint FROM platform.search_shard";

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_slept_through_its_lease_cannot_publish() {
    let world = World::with_stores(1).await;
    world.put(0, &["a"], "10").await;
    let mut settings = world.writer_settings();
    settings.lease = Duration::from_secs(1);
    // A process of its own, as far as can be: a runtime that stands still when it is told to.
    let (stop, stopped) = watch::channel(false);
    let (database, sleeper_settings) = (world.test.another_process(), settings.clone());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let task = runtime.spawn(search::write(database, sleeper_settings, stopped));
    let replica = world.read("replica");
    world.wait_equal(&replica).await;
    let first_holder = world.number(HOLDER).await;
    // It has changes in hand when it falls asleep.
    world.put(0, &["b"], "10").await;
    let asleep = runtime.spawn(async { std::thread::sleep(Duration::from_secs(5)) });
    let second = world.write_in(settings);
    world.put(0, &["c"], "10").await;
    let started = Instant::now();
    world.wait_equal(&replica).await;
    let (holder, version) = (world.number(HOLDER).await, world.number(VERSION).await);
    if started.elapsed() < Duration::from_secs(4) {
        assert_ne!(first_holder, holder, "the second writer has the lease");
    }
    asleep.await.unwrap();
    world.put(0, &["a", "b", "d"], "11").await;
    world.wait_equal(&replica).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(world.number(HOLDER).await, holder, "the first did not get it back");
    assert!(world.number(VERSION).await > version);
    world.wait_equal(&replica).await;
    assert_eq!(replica.damage_seen(), 0);
    // When the second ends, the first takes over.
    second.stop().await;
    world.put(0, &["e"], "11").await;
    world.wait_equal(&replica).await;
    stop.send_replace(true);
    task.await.unwrap();
    runtime.shutdown_background();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lease_of_a_dead_writer_ends() {
    let world = World::with_stores(1).await;
    world.put(0, &["a"], "10").await;
    let first = world.write();
    let replica = world.read("replica");
    world.wait_equal(&replica).await;
    first.kill().await;
    let second = world.write();
    world.put(0, &["b"], "10").await;
    world.wait_equal(&replica).await;
    second.stop().await;
}
