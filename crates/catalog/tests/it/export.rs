//! The export of a catalog.

use catalog::{ProductDraft, PutOutcome};
use serde_json::json;

use crate::shop::{Shop, checked, merchant, mug};

/// A product with every field, and one with variants.
fn full() -> Vec<ProductDraft> {
    let whole = json!({
        "external_id": "WHOLE", "sku": "W-1", "name": "A mug", "description": "Two\n\nparagraphs.", "brand": "Salgueira",
        "gtin": "9520000000004", "mpn": "M-1", "url": "https://shop.example/mug",
        "category": ["Home & Kitchen", "Mugs, large"], "condition": "refurbished", "price": "12.50", "currency": "EUR",
        "list_price": "15.00", "sale_price": "9.99", "sale_starts_at": "2026-11-01T00:00:00Z",
        "sale_ends_at": "2026-12-01T00:00:00Z", "stock_status": "low_stock", "stock_quantity": 7,
        "images": [{ "url": "https://shop.example/a.jpg", "alt": "The mug" }, { "url": "/demo/images/a.svg" }],
        "attributes": { "material": "stoneware", "volume": "300 ml" },
        "rating": { "average": "4.05", "count": 12 },
        "reviews": [
            { "external_id": "r1", "stars": 5, "title": "Good", "text": "Holds coffee.", "author": "Ada",
              "written_at": "2026-10-01T08:00:00Z" },
            { "external_id": "r2", "stars": 1, "written_at": "2026-10-02T08:00:00Z" },
        ],
        "policies": { "return_window_days": 0, "shipping_days_min": 1, "shipping_days_max": 2, "warranty_months": 6 },
        "listed_at": "2026-09-01T08:00:00Z",
    });
    let variants = json!({
        "external_id": "VARIANTS", "name": "A shirt", "currency": "EUR", "listed_at": "2026-09-01T08:00:00Z",
        "variants": [
            { "sku": "S", "name": "Small", "options": { "size": "S", "color": "red" }, "price": "10.00", "list_price": "12.00",
              "gtin": "4006381333931", "stock_status": "backorder", "stock_quantity": 0,
              "image": "https://shop.example/s.jpg" },
            { "sku": "L", "name": "Large", "options": { "size": "L" }, "price": "11.00", "sale_price": "8.00",
              "stock_status": "in_stock" },
        ],
    });
    [whole, variants].into_iter().map(|draft| serde_json::from_value(draft).unwrap()).collect()
}

async fn export(shop: &Shop) -> Vec<ProductDraft> {
    let page = catalog::export_page(&shop.reading(), merchant(), "").await.unwrap();
    assert_eq!(page.last, None);
    page.products.iter().map(catalog::StoredProduct::draft).collect()
}

#[tokio::test]
async fn an_exported_product_is_the_imported_one() {
    let shop = Shop::open().await;
    shop.put(&full()).await;
    let exported = export(&shop).await;
    for draft in full() {
        let found = exported.iter().find(|other| other.external_id == draft.external_id).unwrap();
        assert_eq!(checked(found), checked(&draft));
    }
    assert_eq!(shop.put(&exported).await, [PutOutcome::Unchanged; 2]);
    assert_eq!(export(&shop).await, exported);
}

#[tokio::test]
async fn held_units_are_exported_and_own_images_are_paths() {
    let shop = Shop::open().await;
    let stocked = ProductDraft { stock_quantity: Some(9), ..mug("a", "1.00") };
    shop.put(&[stocked, mug("b", "1.00")]).await;
    let raw = "UPDATE product SET held = 2, images = '[{\"url\": \"/demo/images/a.svg\", \"alt\": \"A\"}]' WHERE external_id = 'a';
               UPDATE product SET retired_at = updated_at WHERE external_id = 'b'";
    sqlx::raw_sql(raw).execute(&mut shop.test.raw().await).await.unwrap();
    let exported = export(&shop).await;
    assert_eq!(exported.len(), 1, "a retired product is not exported");
    assert_eq!(exported[0].stock_quantity, Some(9));
    assert_eq!(exported[0].images[0].url, "/demo/images/a.svg");
    assert_eq!(checked(&exported[0]).facts.images[0].url, "/demo/images/a.svg");
    let absolute = exported[0].clone().with_absolute_images("https://souk.example");
    assert_eq!(absolute.images[0].url, "https://souk.example/demo/images/a.svg");
}

#[tokio::test]
async fn a_page_is_cut_by_its_size_and_the_next_one_follows() {
    let shop = Shop::open().await;
    let ids = ["a", "b", "c", "d", "e"];
    shop.put(&ids.map(|id| mug(id, "1.00"))).await;
    // Two fit on a page; the last one is larger than a page. Repeated text is stored compressed, and counts in full.
    let raw = "UPDATE product SET description = repeat('x', 450000);
               UPDATE product SET description = repeat('x', 3000000) WHERE external_id = 'e'";
    sqlx::raw_sql(raw).execute(&mut shop.test.raw().await).await.unwrap();
    let mut pages: Vec<Vec<String>> = Vec::new();
    let mut after = Some(String::new());
    while let Some(id) = after {
        let page = catalog::export_page(&shop.reading(), merchant(), &id).await.unwrap();
        let ids = page.products.iter().map(|own| own.product.facts.external_id.clone());
        pages.push(ids.collect());
        after = page.last;
    }
    assert_eq!(pages, [vec!["a", "b"], vec!["c", "d"], vec!["e"]]);
}
