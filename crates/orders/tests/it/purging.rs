//! Purging sandbox orders.

use std::time::Duration;

use database::Work;
use orders::Order;
use primitives::Timestamp;

use crate::shop::{Shop, order};

#[tokio::test]
async fn a_purge_deletes_only_old_sandbox_orders_of_its_store() {
    let shop = Shop::open().await;
    let other = shop.another_merchant().await;
    let limit = Timestamp::from_unix_micros(testkit::START);
    let old = limit.minus(Duration::from_micros(1));
    let at = |number, is_sandbox, created_at| Order {
        is_sandbox,
        created_at,
        updated_at: created_at,
        ..order(number)
    };
    let purged = at(1, true, old);
    let kept = [at(2, true, limit), at(3, false, old)];
    shop.place(&purged).await.unwrap();
    for order in &kept {
        shop.place(order).await.unwrap();
    }
    shop.place_for(other, &purged).await.unwrap();

    for deleted in [1, 0] {
        let mut work = Work::for_store(shop.test.database(), shop.merchant).await.unwrap();
        let purge = orders::purge_sandbox(&mut work, shop.merchant, limit).await;
        assert_eq!(purge.unwrap(), deleted);
        work.commit().await.unwrap();
    }
    assert!(shop.read(purged.id, None).await.is_err());
    for order in kept {
        assert_eq!(shop.read(order.id, None).await.unwrap(), order);
    }
    assert_eq!(shop.read_for(other, purged.id, None).await.unwrap(), purged);
}
