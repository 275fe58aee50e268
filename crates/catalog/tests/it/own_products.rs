//! The products of a store as its merchant sees them.

use std::time::Duration;

use catalog::{
    Amount, HiddenReason, OwnProductStatus, OwnProductsFilter, OwnProductsPage, ProductCursor,
    ProductDraft,
};
use merchants::Store;

use crate::shop::{Shop, merchant, mug, variant};

const ALL: OwnProductsFilter = OwnProductsFilter { status: None, changed_since: None };
const FAILING: OwnProductsFilter =
    OwnProductsFilter { status: Some(OwnProductStatus::Failing), changed_since: None };

impl Shop {
    async fn store(&self) -> Store {
        merchants::store(&self.reading(), merchant()).await.unwrap()
    }

    async fn own(
        &self,
        filter: OwnProductsFilter,
        after: Option<&ProductCursor>,
    ) -> OwnProductsPage {
        let store = self.store().await;
        catalog::own_products(&self.reading(), &store, filter, after, 50).await.unwrap()
    }
}

fn ids(page: &OwnProductsPage) -> Vec<&str> {
    page.products.iter().map(|product| product.external_id.as_str()).collect()
}

#[tokio::test]
async fn a_list_shows_the_prices_of_sales_that_run() {
    let shop = Shop::open().await;
    let at = shop.work().await.now().plus(Duration::from_mins(1)).to_string();
    let running = ProductDraft { sale_price: Some(Amount::new("8")), ..mug("running", "10") };
    let begins = ProductDraft {
        sale_price: Some(Amount::new("7")),
        sale_starts_at: Some(at.clone()),
        ..mug("begins", "10")
    };
    let mut shirt = ProductDraft {
        variants: vec![variant("S", "12", 1), variant("L", "14", 1)],
        ..mug("shirt", "1")
    };
    shirt.variants[1].sale_price = Some(Amount::new("9"));
    shirt.variants[1].sale_starts_at = Some(at);
    shop.put(&[running, begins, shirt, mug("without", "5")]).await;
    let prices = async || -> Vec<i64> {
        let page = shop.own(ALL, None).await;
        assert_eq!(ids(&page), ["begins", "running", "shirt", "without"]);
        page.products.iter().map(|product| product.price.minor()).collect()
    };
    assert_eq!(prices().await, [1_000, 800, 1_200, 500]);
    // The sweep that writes the prices has not run yet.
    shop.test.clock().advance(Duration::from_mins(1));
    assert_eq!(prices().await, [700, 800, 900, 500]);
}

#[tokio::test]
async fn a_product_is_read_as_stored_and_as_listed() {
    let shop = Shop::open().await;
    let stocked = ProductDraft { stock_quantity: Some(9), ..mug("a", "1.00") };
    shop.put(&[stocked, mug("b", "1.00")]).await;
    let raw = "UPDATE product SET held = 2 WHERE external_id = 'a';
               UPDATE product SET retired_at = updated_at WHERE external_id = 'b'";
    sqlx::raw_sql(raw).execute(&mut shop.test.raw().await).await.unwrap();
    let store = shop.store().await;
    let own = catalog::own_product(&shop.reading(), &store, "a").await.unwrap();
    assert_eq!(own.stored.product.facts.stock_quantity, Some(9));
    assert_eq!(own.listed.unwrap().facts.stock_quantity, Some(7));
    let own = catalog::own_product(&shop.reading(), &store, "b").await.unwrap();
    assert_eq!(own.listed.unwrap_err(), HiddenReason::Retired);
    let retired = &shop.own(ALL, None).await.products[1];
    assert!(retired.defects.is_empty(), "{:?}", retired.defects);
}

#[tokio::test]
async fn a_call_examines_a_limited_number_of_products_for_defects() {
    let shop = Shop::open().await;
    let good = ProductDraft { gtin: Some(String::from("4006381333931")), ..mug("0", "1") };
    shop.put(&[good, mug("z", "1")]).await;
    let raw = "INSERT INTO product
               SELECT (jsonb_populate_record(product, jsonb_build_object(
                   'product_id', gen_random_uuid(), 'external_id', 'p' || lpad(number::text, 5, '0'),
                   'gtin', lpad(number::text, 13, '0')))).*
               FROM product, generate_series(1, 10050) AS number WHERE external_id = '0';
               ANALYZE product";
    sqlx::raw_sql(raw).execute(&mut shop.test.raw().await).await.unwrap();
    let first = shop.own(FAILING, None).await;
    assert_eq!(ids(&first), [""; 0]);
    assert_eq!((first.total, first.total_is_estimate), (0, true));
    let next = first.next.expect("the scan continues");
    let second = shop.own(FAILING, Some(&next)).await;
    assert_eq!((ids(&second), &second.next), (vec!["z"], &None));
    // Other lists examine more, and count what they need not look up.
    let all = shop.own(ALL, None).await;
    assert_eq!((all.products.len(), all.total, all.total_is_estimate), (50, 10_000, true));
    let hidden = OwnProductsFilter { status: Some(OwnProductStatus::Hidden), changed_since: None };
    let hidden = shop.own(hidden, None).await;
    assert_eq!((hidden.total, hidden.total_is_estimate, hidden.next), (0, false, None));
}
