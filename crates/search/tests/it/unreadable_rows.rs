//! Rows that cannot be read: the writer skips each by itself and goes on.

use crate::fixture::Fixture;

const SKIPPED: &str = "SELECT count(*) FROM platform.search_skipped";

#[tokio::test(flavor = "multi_thread")]
async fn products_that_cannot_be_read_are_skipped_and_tried_again() {
    let fixture = Fixture::with_stores(2).await;
    fixture.put(0, &["a", "b", "c"], "10").await;
    fixture.put(1, &["d"], "10").await;
    // One before the shard is filled.
    fixture.execute("UPDATE product SET attributes = '[1]' WHERE external_id = 'a'").await;
    let writer = fixture.write();
    let replica = fixture.read("replica");
    fixture.wait_for_status(&replica, |status| status.documents() == 3).await;
    // And one that changed: its document stays as it was.
    fixture.put(0, &["b"], "11").await;
    fixture.wait_until_equal(&replica).await;
    fixture.execute("UPDATE product SET images = '{}' WHERE external_id = 'b'").await;
    fixture.put_event(0, "b").await;
    fixture.put(1, &["d", "e"], "12").await;
    fixture.wait_for_status(&replica, |status| status.documents() == 4).await;
    assert_eq!(fixture.number(SKIPPED).await, 2);
    // A restart does not forget them.
    writer.kill().await;
    fixture.execute("UPDATE product SET attributes = '{}', images = '[]'").await;
    let writer = fixture.write();
    fixture.wait_for_status(&replica, |status| status.documents() == 5).await;
    fixture.wait_until_equal(&replica).await;
    fixture.wait_until_number(SKIPPED, 0).await;
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_be_read_stops_no_other() {
    let fixture = Fixture::with_stores(3).await;
    fixture.put(0, &["a"], "10").await;
    fixture.put(1, &["b", "gone"], "10").await;
    let writer = fixture.write();
    let replica = fixture.read("replica");
    fixture.wait_until_equal(&replica).await;
    fixture.execute("UPDATE store SET currency = 'QQQ' WHERE slug = 'store-1'").await;
    fixture.execute("UPDATE store SET ships_to = ARRAY[NULL::text] WHERE slug = 'store-2'").await;
    writer.kill().await;
    let writer = fixture.write();
    fixture.put(1, &["new"], "11").await;
    fixture.retire(1, "gone").await;
    fixture.put(2, &["c"], "11").await;
    fixture.put(0, &["d", "e"], "11").await;
    // a, b, d and e.
    fixture.wait_for_status(&replica, |status| status.documents() == 4).await;
    assert_eq!(fixture.number(SKIPPED).await, 2, "the two stores");
    let comparison = fixture.compare(&replica).await.unwrap();
    assert_eq!((comparison.products, comparison.missing, comparison.stale), (3, 0, 0));
    fixture.execute("UPDATE store SET currency = 'EUR', ships_to = '{}'").await;
    fixture.wait_until_equal(&replica).await;
    assert_eq!(replica.status().unwrap().documents(), 6);
    fixture.wait_until_number(SKIPPED, 0).await;
    writer.stop().await;
}
