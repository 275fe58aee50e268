//! Writers and readers die at any moment, while products change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::world::World;

const ROUNDS: u64 = 12;
const STORES: u128 = 6;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_nothing_is_left_over() {
    let world = Arc::new(World::with_stores(STORES).await);
    for store in 0..STORES {
        world.put_many(store, 40, "10").await;
    }
    search::rebuild(&world.database, 3).await.unwrap();
    let mut settings = world.writer_settings();
    settings.lease = Duration::from_millis(800);
    let mut writers = [world.write_in(settings.clone()), world.write_in(settings.clone())];
    let mut replicas = [world.read("one"), world.read("two")];
    let done = Arc::new(AtomicBool::new(false));
    let changes = tokio::spawn(change(Arc::clone(&world), Arc::clone(&done)));
    for round in 0..ROUNDS {
        // Spread over the steps of a writer, the same way in each run.
        tokio::time::sleep(Duration::from_millis(200 + round * 397 % 1000)).await;
        let index = usize::try_from(round % 2).unwrap();
        let killed = std::mem::replace(&mut writers[index], world.write_in(settings.clone()));
        killed.kill().await;
        if round.is_multiple_of(3) {
            let name = ["one", "two"][index];
            replicas[index] = world.read(name);
        }
    }
    done.store(true, Ordering::Relaxed);
    changes.await.unwrap();
    for replica in &replicas {
        let figures = world.wait_equal(replica).await;
        assert_eq!(figures.shards.len(), 3);
    }
    for writer in writers {
        writer.stop().await;
    }
}

/// Changes prices, adds products and retires others, without a pause.
async fn change(world: Arc<World>, done: Arc<AtomicBool>) {
    let mut round: u32 = 0;
    while !done.load(Ordering::Relaxed) {
        let store = u128::from(round) % STORES;
        let known = format!("mug-{}", round % 40);
        let new = format!("new-{}", round % 97);
        let price = format!("{}", 11 + round % 89);
        world.put(store, &[&known, &new], &price).await;
        if round.is_multiple_of(5) {
            world.retire(store, &format!("new-{}", round % 7)).await;
        }
        round += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
