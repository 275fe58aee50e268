//! Data quality.

use std::time::Duration;

use catalog::{Amount, Defect, ProductDraft, RatingDraft, RefreshOutdatedFigures};
use database::Work;
use jobs::{Runner, RunnerSettings};
use primitives::PageRequest;

use crate::shop::{Shop, merchant, mug};

#[tokio::test]
async fn the_figures_match_the_defective_products() {
    let shop = Shop::open().await;
    let gtin = |id: &str, gtin: &str| ProductDraft { gtin: Some(gtin.to_owned()), ..mug(id, "1") };
    let bare = ProductDraft { images: Vec::new(), ..mug("bare", "0") };
    let crowns = ProductDraft {
        currency: Some(String::from("SEK")),
        stock_status: Some(String::from("in_stock")),
        stock_quantity: Some(0),
        ..gtin("crowns", "96385074")
    };
    let drafts = [
        gtin("good", "4006381333931"),
        gtin("twin-1", "036000291452"),
        gtin("twin-2", "0036000291452"),
        bare,
        crowns,
    ];
    shop.put(&drafts).await;
    let quality = shop.refresh_quality().await;
    assert_eq!((quality.products, quality.complete, quality.consistent), (5, 4, 2));
    assert_eq!(catalog::quality(&shop.reading(), merchant()).await.unwrap(), Some(quality));
    let page = PageRequest::new(None, None);
    let (all, total) =
        catalog::products_with_defects(&shop.reading(), merchant(), None, page).await.unwrap();
    assert_eq!(total, 4);
    let defects: Vec<_> =
        all.iter().map(|row| (row.external_id.as_str(), &row.defects[..])).collect();
    assert_eq!(
        defects,
        [
            ("bare", &[Defect::MissingPrice, Defect::MissingImage, Defect::MissingGtin][..]),
            ("crowns", &[Defect::ForeignCurrency, Defect::ContradictingStock]),
            ("twin-1", &[Defect::SharedGtin]),
            ("twin-2", &[Defect::SharedGtin]),
        ]
    );
    // The list of the merchant finds the same defects, product by product.
    let store = merchants::store(&shop.reading(), merchant()).await.unwrap();
    let failing = catalog::OwnProductsFilter {
        status: Some(catalog::OwnProductStatus::Failing),
        changed_since: None,
    };
    let listed = catalog::own_products(&shop.reading(), &store, failing, None, 50).await.unwrap();
    let listed: Vec<_> = listed
        .products
        .iter()
        .map(|product| (product.external_id.as_str(), &product.defects[..]))
        .collect();
    assert_eq!(listed, defects);
    let only = Some(Defect::SharedGtin);
    let (twins, _) =
        catalog::products_with_defects(&shop.reading(), merchant(), only, page).await.unwrap();
    assert_eq!(twins.len(), 2);
}

#[tokio::test]
async fn an_event_says_that_a_store_has_products_for_the_first_time() {
    let shop = Shop::open().await;
    let filled = async || {
        shop.refresh_quality().await;
        shop.count("SELECT count(*) FROM outbox WHERE topic = 'catalog.filled'").await
    };
    assert_eq!(filled().await, 0, "it has no products");
    shop.put(&[mug("one", "1")]).await;
    assert_eq!(filled().await, 1);
    shop.put(&[mug("two", "1")]).await;
    assert_eq!(filled().await, 1, "it had products before");
}

#[tokio::test]
async fn figures_of_an_earlier_version_are_computed_again() {
    let shop = Shop::open().await;
    let rating = Some(RatingDraft { average: Amount::new("4.5"), count: 9 });
    shop.put(&[ProductDraft { rating, ..mug("one", "1") }]).await;
    let right = shop.refresh_quality().await;
    assert_eq!((right.rated_products, right.is_outdated), (1, false));
    // As the migration leaves the figures that exist.
    let outdated = "UPDATE catalog_quality
                    SET rated_products = 0, rating_sum_hundredths = 0, pushed_since = NULL, is_outdated = true";
    sqlx::query(outdated).execute(&mut shop.test.raw().await).await.unwrap();
    for _ in 0..2 {
        let mut work = Work::for_platform(shop.test.database()).await.unwrap();
        jobs::enqueue_sweep::<RefreshOutdatedFigures>(&mut work).await.unwrap();
        work.commit().await.unwrap();
        let runner = Runner::new(shop.test.database().clone(), RunnerSettings::default());
        let runner = runner.sweep::<RefreshOutdatedFigures>(Duration::from_mins(1), ());
        runner.run_until_idle().await.unwrap();
        let stored = catalog::quality(&shop.reading(), merchant()).await.unwrap();
        assert_eq!(stored.as_ref(), Some(&right));
    }
}
