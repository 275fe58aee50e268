//! Data quality.

use catalog::{Defect, ProductDraft};
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
    let mut work = shop.work().await;
    let quality = catalog::refresh_quality(&mut work, merchant()).await.unwrap();
    work.commit().await.unwrap();
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
