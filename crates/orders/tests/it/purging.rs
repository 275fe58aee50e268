//! Purging sandbox orders.

use database::Work;
use orders::Order;

use crate::shop::{Shop, order};

#[tokio::test]
async fn a_purge_deletes_only_the_sandbox_order_of_a_session() {
    let shop = Shop::open().await;
    let other = shop.another_merchant().await;
    let purged = Order { is_sandbox: true, ..order(1) };
    let kept = [Order { is_sandbox: true, ..order(2) }, order(3)];
    shop.place(&purged).await.unwrap();
    for order in &kept {
        shop.place(order).await.unwrap();
    }
    shop.place_for(other, &purged).await.unwrap();

    for deleted in [1, 0] {
        let mut work = Work::for_checkout(shop.test.database(), shop.merchant).await.unwrap();
        let purge = orders::purge_sandbox(&mut work, shop.merchant, purged.checkout).await;
        assert_eq!(purge.unwrap(), deleted);
        let real = orders::purge_sandbox(&mut work, shop.merchant, kept[1].checkout).await;
        assert_eq!(real.unwrap(), 0);
        work.commit().await.unwrap();
    }
    assert!(shop.read(purged.id, None).await.is_err());
    for order in kept {
        assert_eq!(shop.read(order.id, None).await.unwrap(), order);
    }
    assert_eq!(shop.read_for(other, purged.id, None).await.unwrap(), purged);
}
