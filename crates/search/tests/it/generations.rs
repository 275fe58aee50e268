//! A new generation is built beside the serving one.

use crate::fixture::{Fixture, files};

const GENERATIONS: &str = "SELECT count(*) FROM platform.search_generation";

#[tokio::test(flavor = "multi_thread")]
async fn a_rebuild_replaces_the_serving_generation() {
    let fixture = Fixture::with_stores(2).await;
    fixture.put_many(0, 120, "10").await;
    let writer = fixture.write();
    let replica = fixture.read("replica");
    let before = fixture.wait_until_equal(&replica).await;
    // No event announces this change: only a backfill includes it.
    fixture.execute("UPDATE product SET updated_at = updated_at + interval '1 s' WHERE external_id = 'mug-7'").await;
    let requested = search::rebuild(&fixture.database, 1).await.unwrap();
    assert_eq!(
        search::rebuild(&fixture.database, 1).await.unwrap(),
        requested,
        "a second request changes nothing"
    );
    fixture.put(1, &["meanwhile"], "10").await;
    fixture.wait_for_status(&replica, |status| status.generation == requested).await;
    let after = fixture.wait_until_equal(&replica).await;
    assert!(after.generation > before.generation);
    assert_eq!(after.documents(), 121);
    // The old generation is deleted: rows, cursors and objects.
    fixture.wait_for_number(GENERATIONS, 1).await;
    assert_eq!(
        fixture.number("SELECT count(*) FROM outbox_cursor WHERE name LIKE 'search/%'").await,
        1
    );
    let old = fixture.object_directory().join(format!("generation-{}", before.generation));
    assert!(files(&old).is_empty());
    fixture.put(1, &["later"], "10").await;
    assert_eq!(fixture.wait_until_equal(&replica).await.documents(), 122);
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_shard_becomes_three() {
    let fixture = Fixture::with_stores(12).await;
    for store in 0..12 {
        fixture.put_many(store, 10, "10").await;
    }
    let writer = fixture.write();
    let replica = fixture.read("replica");
    assert_eq!(fixture.wait_until_equal(&replica).await.shards.len(), 1);
    let requested = search::rebuild(&fixture.database, 3).await.unwrap();
    fixture.wait_for_status(&replica, |status| status.generation == requested).await;
    let status = fixture.wait_until_equal(&replica).await;
    assert_eq!(status.shards.len(), 3);
    assert_eq!(status.documents(), 120);
    assert!(status.shards.iter().all(|shard| shard.documents > 0), "{status:?}");
    for store in 0..12 {
        fixture.put(store, &["mug-1", "new"], "11").await;
    }
    fixture.wait_for_status(&replica, |status| status.documents() == 132).await;
    fixture.wait_until_equal(&replica).await;
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_number_of_shards_replaces_a_generation_that_is_not_ready() {
    let fixture = Fixture::with_stores(1).await;
    let first = search::rebuild(&fixture.database, 2).await.unwrap();
    let second = search::rebuild(&fixture.database, 4).await.unwrap();
    assert!(second > first);
    fixture.put(0, &["a"], "10").await;
    let writer = fixture.write();
    let replica = fixture.read("replica");
    let status = fixture.wait_until_equal(&replica).await;
    assert_eq!((status.generation, status.shards.len()), (second, 4));
    writer.stop().await;
}
