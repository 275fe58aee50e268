//! Invariants of the whole demo data.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use catalog::{Gtin, StockStatus};
use primitives::Money;

use crate::data::STORES;
use crate::draft::incoming;
use crate::settings::settings;
use crate::{DEMO_STORE, FIRST_PRODUCT, Product, Store, world};

fn stores() -> Vec<Store> {
    world().stores
}

/// Returns every product with the slug of its store.
fn products(stores: &[Store]) -> impl Iterator<Item = (&str, &Product)> {
    stores
        .iter()
        .flat_map(|store| store.products.iter().map(|product| (store.slug.as_str(), product)))
}

fn assert_unique<T: Ord + Debug>(values: impl IntoIterator<Item = T>) {
    let mut seen = BTreeSet::new();
    for value in values {
        assert!(!seen.contains(&value), "{value:?} appears twice");
        seen.insert(value);
    }
}

/// Returns the band of a score (docs/contract/trust.md#bands), or `suspended` below 0.20.
fn band(store: &Store) -> &'static str {
    match store.trust_score {
        None => "unscored",
        Some(trust) if trust >= 0.95 => "ELITE",
        Some(trust) if trust >= 0.85 => "VERIFIED",
        Some(trust) if trust >= 0.70 => "STANDARD",
        Some(trust) if trust >= 0.50 => "CAUTION",
        Some(trust) if trust >= 0.20 => "RESTRICTED",
        Some(_) => "suspended",
    }
}

/// Returns the percentage of products for which a condition holds.
fn percent(stores: &[Store], holds: impl Fn(&Product) -> bool) -> usize {
    let holding = products(stores).filter(|(_, product)| holds(product)).count();
    holding * 100 / products(stores).count()
}

#[test]
fn the_world_is_the_same_every_time() {
    assert_eq!(world(), world());
    let demo = world().store(DEMO_STORE).cloned().expect("the demo store");
    assert_eq!(demo.id.to_string(), "9725a9d5-c24d-52af-af55-00c3b53b5380");
    assert_eq!(demo.categories[1].id.to_string(), "8ced3c89-17e7-5ef2-9d35-acd3b79ad3b2");
}

#[test]
fn the_first_product_suits_documentation() {
    let world = world();
    let first = world.first_product().expect("a first product");
    assert_eq!(first.id, FIRST_PRODUCT);
    assert_eq!((first.sku.as_str(), first.price_minor), ("POUR-101", 5800));
    assert_eq!(first.name, "Tidewater Pour-Over Coffee Set");
    assert_eq!(first.stock_status, "in_stock");
    assert!(first.gtin.is_some() && !first.images.is_empty());
    let names: Vec<&str> = first.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Tidewater Pour-Over Coffee Set, 600 ml, Walnut",
            "Tidewater Pour-Over Coffee Set, 600 ml, Ash",
            "Tidewater Pour-Over Coffee Set, 900 ml, Walnut",
            "Tidewater Pour-Over Coffee Set, 900 ml, Ash",
        ]
    );
}

#[test]
fn every_band_status_platform_and_currency_has_a_store() {
    let stores = stores();
    let bands: BTreeSet<&str> = stores.iter().map(band).collect();
    let all = ["CAUTION", "ELITE", "RESTRICTED", "STANDARD", "VERIFIED", "suspended", "unscored"];
    assert_eq!(bands, BTreeSet::from(all));
    assert_eq!(stores.iter().filter(|store| !store.active).count(), 1);
    let provisional =
        stores.iter().filter(|store| store.provisional && store.trust_score.is_some());
    let provisional: Vec<&str> = provisional.map(|store| store.slug.as_str()).collect();
    assert_eq!(provisional, ["puddlewick-toys", "velvetine-outlet"]);
    for store in &stores {
        assert_eq!(store.purchases.is_some(), store.trust_score.is_some(), "{}", store.slug);
    }
    for status in ["unverified", "pending", "verified", "failed"] {
        assert!(stores.iter().any(|store| store.identity.status == status), "{status}");
    }
    for platform in ["shopify", "woocommerce", "medusa", "magento", "prestashop", "api"] {
        assert!(stores.iter().any(|store| store.platform == platform), "{platform}");
    }
    for currency in ["USD", "EUR", "USDC"] {
        assert!(stores.iter().any(|store| store.currency == currency), "{currency}");
    }
}

#[test]
fn every_store_has_enough_products() {
    let stores = stores();
    assert!(stores.len() >= 10);
    for store in &stores {
        let least = match store.slug.as_str() {
            DEMO_STORE => 220,
            _ if store.trust_score.is_none() => 5,
            _ => 50,
        };
        assert!(store.products.len() >= least, "{}: {}", store.slug, store.products.len());
    }
    assert!((900..=1100).contains(&products(&stores).count()));
}

#[test]
fn the_readme_lists_these_stores() {
    let readme = include_str!("../README.md");
    for store in stores() {
        let score = store.trust_score.map_or("–".to_owned(), |score| format!("{score:.2}"));
        let (slug, count) = (&store.slug, store.products.len());
        let row = format!(
            "| `{slug}` | {} | {score} | {} | {} | {} | {count} |",
            band(&store),
            store.country,
            store.currency,
            store.platform
        );
        assert!(readme.contains(&row), "the README lacks {row}");
    }
}

#[test]
fn ids_are_unique() {
    let stores = stores();
    let variants = products(&stores).flat_map(|(_, product)| &product.variants);
    let ids = stores
        .iter()
        .map(|store| store.id)
        .chain(stores.iter().flat_map(|store| &store.categories).map(|category| category.id))
        .chain(products(&stores).map(|(_, product)| product.id))
        .chain(variants.map(|variant| variant.id));
    assert_unique(ids);
    assert_unique(stores.iter().map(|store| &store.slug));
}

#[test]
fn names_skus_and_gtins_are_unique_in_a_store() {
    for store in stores() {
        let variants = || store.products.iter().flat_map(|product| &product.variants);
        assert_unique(store.products.iter().map(|product| product.name.to_lowercase()));
        let skus = store.products.iter().map(|product| &product.sku);
        assert_unique(skus.chain(variants().map(|variant| &variant.sku)));
        let gtins = store.products.iter().filter_map(|product| product.gtin.as_ref());
        assert_unique(gtins.chain(variants().filter_map(|variant| variant.gtin.as_ref())));
    }
}

#[test]
fn every_gtin_has_a_valid_check_digit() {
    let stores = stores();
    for (slug, product) in products(&stores) {
        let own = product.variants.iter().filter_map(|variant| variant.gtin.as_deref());
        for code in own.chain(product.gtin.as_deref()) {
            assert!(code.parse::<Gtin>().is_ok(), "{slug}/{}: {code}", product.sku);
        }
    }
}

#[test]
fn some_articles_are_sold_by_several_merchants() {
    let stores = stores();
    let mut offers: BTreeMap<&str, Vec<(&str, &Product)>> = BTreeMap::new();
    for (slug, product) in products(&stores) {
        if let Some(code) = product.gtin.as_deref() {
            offers.entry(code).or_default().push((slug, product));
        }
    }
    offers.retain(|_, offers| offers.len() > 1);
    assert!(offers.len() >= 30, "{}", offers.len());
    for same in offers.values() {
        let [(_, first), ..] = same.as_slice() else {
            continue;
        };
        assert!(same.len() <= 3, "{}", first.name);
        assert!(same.iter().all(|(_, other)| other.name == first.name));
        assert!(same.iter().all(|(_, other)| other.brand == first.brand));
        assert_unique(same.iter().map(|(slug, _)| slug));
        assert_unique(same.iter().map(|(_, offer)| (&offer.currency, offer.price_minor)));
    }
}

#[test]
fn every_category_is_used_and_follows_its_parent() {
    for store in stores() {
        let mut paths = BTreeSet::new();
        for category in &store.categories {
            let known = category.parent.as_ref().is_none_or(|parent| paths.contains(parent));
            assert!(known, "{}: {} precedes its parent", store.slug, category.path);
            assert!(paths.insert(category.path.clone()), "{} twice", category.path);
        }
        let used = |path: &str| store.products.iter().any(|one| one.category.starts_with(path));
        assert!(paths.iter().all(|path| used(path)), "{} has an empty category", store.slug);
    }
}

#[test]
fn text_is_plain() {
    let forbidden = |letter: char| {
        letter.is_control()
            || "<>\\{}".contains(letter)
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    for store in stores() {
        let mut texts = vec![store.name.clone(), store.description.clone()];
        for product in &store.products {
            texts.push(product.name.clone());
            texts.push(product.description.clone());
            texts.extend(product.attributes.iter().map(|(name, value)| format!("{name} {value}")));
            texts.extend(product.images.iter().map(|image| image.alt.clone()));
            texts.extend(product.variants.iter().map(|variant| variant.name.clone()));
        }
        for text in texts {
            assert!(!text.contains(forbidden) && !text.contains("  "), "{}: {text:?}", store.slug);
            assert!(!text.is_empty() && text == text.trim(), "{}: {text:?}", store.slug);
        }
    }
}

#[test]
fn a_status_agrees_with_its_quantity() {
    let agree = |status: &str, quantity: Option<i32>| match status {
        "in_stock" => quantity.is_none_or(|quantity| quantity >= 5),
        "low_stock" => quantity.is_some_and(|quantity| (1..=4).contains(&quantity)),
        "out_of_stock" | "backorder" | "discontinued" => quantity == Some(0),
        "preorder" => quantity.is_none(),
        _ => false,
    };
    let stores = stores();
    for (slug, product) in products(&stores) {
        let sku = &product.sku;
        assert!(agree(product.stock_status, product.stock_quantity), "{slug}/{sku}");
        for variant in &product.variants {
            assert!(agree(variant.stock_status, variant.stock_quantity), "{}", variant.sku);
        }
        let sum: i32 = product.variants.iter().filter_map(|variant| variant.stock_quantity).sum();
        if let (Some(quantity), false) = (product.stock_quantity, product.variants.is_empty()) {
            assert_eq!(quantity, sum, "{slug}/{sku}");
        }
    }
}

#[test]
fn prices_are_consistent() {
    let stores = stores();
    for (slug, product) in products(&stores) {
        let sku = &product.sku;
        assert!(product.price_minor > 0, "{slug}/{sku}");
        let list = product.list_price_minor;
        assert!(list.is_none_or(|list| list > product.price_minor), "{slug}/{sku}");
        let cheapest = product.variants.iter().map(|variant| variant.price_minor).min();
        assert!(cheapest.is_none_or(|cheapest| cheapest == product.price_minor), "{slug}/{sku}");
    }
    let hidden = |product: &Product| !["USD", "EUR", "USDC"].contains(&product.currency.as_str());
    let hidden = products(&stores).filter(|(_, product)| hidden(product)).count();
    assert!((3..=8).contains(&hidden), "{hidden}");
    let print = &stores.iter().find(|store| store.currency == "USDC").expect("one").products[0];
    assert_eq!(print.price_minor, 24_000_000);
}

#[test]
fn shares_are_within_their_ranges() {
    let stores = stores();
    let shares = [
        ("in stock", percent(&stores, |one| one.stock_status == "in_stock"), 70..=85),
        ("low", percent(&stores, |one| one.stock_status == "low_stock"), 7..=13),
        ("out", percent(&stores, |one| one.stock_status == "out_of_stock"), 5..=11),
        ("reduced", percent(&stores, |one| one.list_price_minor.is_some()), 15..=30),
        ("rated", percent(&stores, |one| one.rating.is_some()), 80..=93),
        ("incomplete", percent(&stores, |one| one.gtin.is_none() || one.images.is_empty()), 3..=9),
        ("with variants", percent(&stores, |one| !one.variants.is_empty()), 30..=70),
    ];
    for (what, share, expected) in shares {
        assert!(expected.contains(&share), "{what}: {share} percent");
    }
    for status in ["backorder", "preorder", "discontinued"] {
        assert!(products(&stores).any(|(_, product)| product.stock_status == status), "{status}");
    }
    for (_, product) in products(&stores) {
        let average = product.rating.as_ref().map_or(0, |rating| rating.average_hundredths);
        assert!(average <= 500, "{}", product.sku);
        assert!(["new", "refurbished", "used"].contains(&product.condition.as_str()));
    }
}

#[test]
fn a_draft_has_the_facts_of_its_product() {
    let world = world();
    let store = world.store(DEMO_STORE).expect("the demo store");
    let draft = crate::draft(store, &store.products[0]);
    assert_eq!(draft.external_id, store.products[0].sku);
    assert_eq!(draft.category, ["Home & Kitchen", "Coffee"]);
    assert_eq!(draft.variants.len(), store.products[0].variants.len());
    assert!(draft.images[0].url.starts_with("https://demo-store.example/demo/images/"));
    assert!(draft.listed_at.expect("a date").ends_with("T00:00:00Z"));
}

#[test]
fn every_product_passes_the_check_unchanged() {
    for store in stores() {
        for product in &store.products {
            let checked = incoming(&store, product).unwrap();
            let facts = &checked.facts;
            let texts = [&facts.name, &facts.description, &facts.brand, &facts.sku];
            let expected = [&product.name, &product.description, &product.brand, &product.sku];
            assert_eq!(texts, expected, "{}", store.slug);
            assert_eq!(facts.price.minor(), product.price_minor, "{}", product.sku);
            assert_eq!(facts.gtin, product.gtin, "{}", product.sku);
            assert_eq!(facts.attributes, product.attributes, "{}", product.sku);
            let stock = (facts.stock_status, facts.stock_quantity);
            let status = StockStatus::parse(product.stock_status).unwrap();
            assert_eq!(stock, (status, product.stock_quantity), "{}", product.sku);
            let names = checked.variants.iter().map(|(_, variant)| &variant.name);
            assert!(names.eq(product.variants.iter().map(|variant| &variant.name)));
        }
    }
}

#[test]
fn shipping_costs_the_same_in_every_currency() {
    for store in stores() {
        let currency = store.currency.parse().unwrap();
        let rates = settings(&store).shipping.into_iter().flat_map(|zone| zone.rates);
        for rate in rates.filter(|rate| rate.min_subtotal_minor.is_none()) {
            let price = Money::new(rate.price_minor, currency).to_decimal();
            assert!([4.9, 12.9].contains(&price), "{}: {price}", store.slug);
        }
    }
}

/// `merchants::Promotion` ignores unknown fields, because stored promotions may be of a newer version.
#[test]
fn promotions_have_no_unknown_fields() {
    let mut promotions = 0;
    for (file, store) in STORES.iter().zip(stores()) {
        let table: toml::Table = file.text.parse().unwrap();
        let Some(given) = table["store"].get("promotions") else { continue };
        let read = toml::Value::try_from(&store.promotions).unwrap();
        assert_eq!(given, &read, "{}", file.name);
        promotions += store.promotions.len();
    }
    assert!(promotions > 0);
}
