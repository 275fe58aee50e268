//! Writers and readers crash while products change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::fixture::Fixture;

const ROUNDS: u64 = 12;
const STORES: u128 = 6;

#[tokio::test(flavor = "multi_thread")]
async fn crashes_lose_no_change_and_leave_no_extra_documents() {
    let fixture = Arc::new(Fixture::with_stores(STORES).await);
    for store in 0..STORES {
        fixture.put_many(store, 40, "10").await;
    }
    search::rebuild(&fixture.database, 3).await.unwrap();
    let mut settings = fixture.writer_settings();
    settings.lease = Duration::from_millis(800);
    let mut writers = [fixture.write_in(settings.clone()), fixture.write_in(settings.clone())];
    let mut replicas = [fixture.read("one"), fixture.read("two")];
    let done = Arc::new(AtomicBool::new(false));
    let changes = tokio::spawn(change(Arc::clone(&fixture), Arc::clone(&done)));
    for round in 0..ROUNDS {
        // Varies the time of the crash, the same way in each run.
        tokio::time::sleep(Duration::from_millis(200 + round * 397 % 1000)).await;
        let index = usize::try_from(round % 2).unwrap();
        let killed = std::mem::replace(&mut writers[index], fixture.write_in(settings.clone()));
        killed.kill().await;
        if round.is_multiple_of(3) {
            let name = ["one", "two"][index];
            replicas[index] = fixture.read(name);
        }
    }
    done.store(true, Ordering::Relaxed);
    changes.await.unwrap();
    for replica in &replicas {
        let status = fixture.wait_until_equal(replica).await;
        assert_eq!(status.shards.len(), 3);
    }
    for writer in writers {
        writer.stop().await;
    }
}

/// Changes prices, adds products and retires others, continuously.
async fn change(fixture: Arc<Fixture>, done: Arc<AtomicBool>) {
    let mut round: u32 = 0;
    while !done.load(Ordering::Relaxed) {
        let store = u128::from(round) % STORES;
        let known = format!("mug-{}", round % 40);
        let new = format!("new-{}", round % 97);
        let price = format!("{}", 11 + round % 89);
        fixture.put(store, &[&known, &new], &price).await;
        if round.is_multiple_of(5) {
            fixture.retire(store, &format!("new-{}", round % 7)).await;
        }
        round += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
