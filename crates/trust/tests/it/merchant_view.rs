//! What a merchant sees of what lowers its score.

use std::time::Duration;

use primitives::CheckoutId;
use serde_json::json;
use trust::{Component, MerchantComponent};

use crate::purchases::{DAY, Purchases, Report, id, key};

#[tokio::test]
async fn a_merchant_sees_the_newest_checkouts_of_another_price() {
    let shop = Purchases::open().await;
    shop.compute().await;
    shop.list_products(9).await;
    let reported = [("accepted", 2_990), ("accepted", 3_000), ("amount_mismatch", 3_100)];
    for (number, (outcome, minor)) in (1..).zip(reported) {
        shop.start(number, key(1, 1)).await;
        let (reported_minor, parts) = (Some(minor), json!([]));
        let report = Report { outcome, reported_minor, is_open: false, parts };
        shop.report(number, key(1, 1), report).await;
        shop.advance(Duration::from_mins(1));
    }
    shop.settle().await;
    shop.advance(2 * DAY);
    shop.recompute().await;
    let reading = shop.reading(shop.merchant);
    let store = merchants::store(&reading, shop.merchant).await.unwrap();
    let components = trust::merchant_trust(&reading, &store, false).await.unwrap().components;
    let with_checkouts: Vec<&MerchantComponent> =
        components.iter().filter(|it| !it.checkouts.is_empty()).collect();
    let [price] = with_checkouts.as_slice() else { panic!("{with_checkouts:?}") };
    assert_eq!((price.component, price.evidence.bad), (Component::PriceAccuracy, 2));
    assert_eq!(price.checkouts, [id::<CheckoutId>(3), id(2)]);
}
