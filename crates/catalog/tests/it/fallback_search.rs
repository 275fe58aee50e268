//! Searching one store without the search index.

use catalog::{FallbackQuery, FallbackSort, PriceRange, ProductDraft};
use primitives::Currency;

use crate::shop::{Shop, merchant, mug};

async fn found(shop: &Shop, query: FallbackQuery) -> Vec<String> {
    let (products, total) =
        catalog::fallback_search(&shop.reading(), merchant(), &query, 100, 0).await.unwrap();
    assert_eq!(usize::try_from(total).unwrap(), products.len());
    products.into_iter().map(|product| product.facts.external_id).collect()
}

fn words(text: &str) -> FallbackQuery {
    FallbackQuery { words: Some(text.to_owned()), ..FallbackQuery::default() }
}

fn draft(id: &str, name: &str, description: &str, price: &str, day: &str) -> ProductDraft {
    ProductDraft {
        name: Some(name.to_owned()),
        description: Some(description.to_owned()),
        listed_at: Some(format!("2026-11-{day}T00:00:00Z")),
        ..mug(id, price)
    }
}

async fn shop() -> Shop {
    let shop = Shop::open().await;
    let lamp = ProductDraft {
        category: vec![String::from("Light"), String::from("Table lamps")],
        brand: Some(String::from("Lumière")),
        ..draft("lamp", "Lámpara de mesa", "A lamp for a café table.", "40", "03")
    };
    let sold_out = ProductDraft {
        stock_quantity: Some(0),
        ..draft("empty", "Café cup", "For espresso.", "8", "02")
    };
    let coins = ProductDraft {
        currency: Some(String::from("USDC")),
        ..draft("coins", "Travel cup", "Keeps coffee warm.", "12.5", "04")
    };
    let hidden = ProductDraft { currency: Some(String::from("SEK")), ..mug("hidden", "1") };
    let cup = draft("cup", "Espresso cup", "Small, for the café at home.", "10", "01");
    shop.put(&[lamp, sold_out, coins, hidden, cup]).await;
    shop
}

#[tokio::test]
async fn all_words_must_occur_and_words_of_the_name_rank_higher() {
    let shop = shop().await;
    assert_eq!(found(&shop, words("CAFE cup")).await, ["empty", "cup"]);
    assert_eq!(found(&shop, words("lampara")).await, ["lamp"]);
    assert_eq!(found(&shop, words("  lumiere,  TABLE ")).await, ["lamp"]);
    assert_eq!(found(&shop, words("espresso")).await, ["cup", "empty"]);
    assert!(found(&shop, words("cup lamp")).await.is_empty());
    assert!(found(&shop, words("cup'); DROP TABLE product; --")).await.is_empty());
    assert!(found(&shop, words("nul\0")).await.is_empty());
    assert_eq!(found(&shop, words(" ")).await.len(), 4);
}

#[tokio::test]
async fn all_filters_apply() {
    let shop = shop().await;
    let category =
        |text: &str| FallbackQuery { category: Some(text.to_owned()), ..FallbackQuery::default() };
    for text in ["light", "light/table-lamps", "table LAMPS"] {
        assert_eq!(found(&shop, category(text)).await, ["lamp"], "{text}");
    }
    assert!(found(&shop, category("lig")).await.is_empty());
    let brand = FallbackQuery { brand: Some(String::from("LUMIÈRE")), ..FallbackQuery::default() };
    assert_eq!(found(&shop, brand).await, ["lamp"]);
    let stocked = FallbackQuery { in_stock_only: true, sort: FallbackSort::Newest, ..words("cup") };
    assert_eq!(found(&shop, stocked).await, ["coins", "cup"]);
    let range = |currency, min_minor, max_minor| PriceRange { currency, min_minor, max_minor };
    let euros = vec![range(Currency::EUR, Some(900), Some(4_000))];
    let mut both = FallbackQuery { prices: euros, ..FallbackQuery::default() };
    assert_eq!(found(&shop, both.clone()).await, ["lamp", "cup"]);
    both.prices.push(range(Currency::Usdc, None, Some(12_500_000)));
    assert_eq!(found(&shop, both).await, ["coins", "lamp", "cup"]);
}

#[tokio::test]
async fn every_sort_orders_all_pages() {
    let shop = shop().await;
    for (sort, expected) in [
        (FallbackSort::Relevance, ["coins", "lamp", "empty", "cup"]),
        (FallbackSort::Newest, ["coins", "lamp", "empty", "cup"]),
        (FallbackSort::PriceAscending, ["empty", "cup", "coins", "lamp"]),
        (FallbackSort::PriceDescending, ["lamp", "coins", "cup", "empty"]),
    ] {
        let query = FallbackQuery { sort, ..FallbackQuery::default() };
        assert_eq!(found(&shop, query.clone()).await, expected, "{sort:?}");
        let page =
            catalog::fallback_search(&shop.reading(), merchant(), &query, 2, 1).await.unwrap();
        let ids: Vec<_> = page.0.iter().map(|it| it.facts.external_id.as_str()).collect();
        assert_eq!((ids, page.1), (expected[1..3].to_vec(), 4));
        let beyond =
            catalog::fallback_search(&shop.reading(), merchant(), &query, 2, 9).await.unwrap();
        assert_eq!((beyond.0.len(), beyond.1), (0, 4));
    }
}
