//! A new index is built beside the one that serves.

use crate::world::{World, files};

const GENERATIONS: &str = "SELECT count(*) FROM platform.search_generation";

#[tokio::test(flavor = "multi_thread")]
async fn a_rebuild_takes_the_place_of_what_serves() {
    let world = World::with_stores(2).await;
    world.put_many(0, 120, "10").await;
    let writer = world.write();
    let replica = world.read("replica");
    let before = world.wait_equal(&replica).await;
    // Only an index that is made anew knows of this.
    world.execute("UPDATE product SET updated_at = updated_at + interval '1 s' WHERE external_id = 'mug-7'").await;
    let asked = search::rebuild(&world.database, 1).await.unwrap();
    assert_eq!(search::rebuild(&world.database, 1).await.unwrap(), asked, "asked once");
    world.put(1, &["meanwhile"], "10").await;
    world.wait_figures(&replica, |figures| figures.generation == asked).await;
    let after = world.wait_equal(&replica).await;
    assert!(after.generation > before.generation);
    assert_eq!(after.documents(), 121);
    // What was replaced goes: rows, cursors and objects.
    world.wait_number(GENERATIONS, 1).await;
    assert_eq!(
        world.number("SELECT count(*) FROM outbox_cursor WHERE name LIKE 'search/%'").await,
        1
    );
    let old = world.object_directory().join(format!("generation-{}", before.generation));
    assert!(files(&old).is_empty());
    world.put(1, &["later"], "10").await;
    assert_eq!(world.wait_equal(&replica).await.documents(), 122);
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_shard_becomes_three() {
    let world = World::with_stores(12).await;
    for store in 0..12 {
        world.put_many(store, 10, "10").await;
    }
    let writer = world.write();
    let replica = world.read("replica");
    assert_eq!(world.wait_equal(&replica).await.shards.len(), 1);
    let asked = search::rebuild(&world.database, 3).await.unwrap();
    world.wait_figures(&replica, |figures| figures.generation == asked).await;
    let figures = world.wait_equal(&replica).await;
    assert_eq!(figures.shards.len(), 3);
    assert_eq!(figures.documents(), 120);
    assert!(figures.shards.iter().all(|shard| shard.documents > 0), "{figures:?}");
    for store in 0..12 {
        world.put(store, &["mug-1", "new"], "11").await;
    }
    world.wait_figures(&replica, |figures| figures.documents() == 132).await;
    world.wait_equal(&replica).await;
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_plan_replaces_one_that_is_not_ready() {
    let world = World::with_stores(1).await;
    let first = search::rebuild(&world.database, 2).await.unwrap();
    let second = search::rebuild(&world.database, 4).await.unwrap();
    assert!(second > first);
    world.put(0, &["a"], "10").await;
    let writer = world.write();
    let replica = world.read("replica");
    let figures = world.wait_equal(&replica).await;
    assert_eq!((figures.generation, figures.shards.len()), (second, 4));
    writer.stop().await;
}
