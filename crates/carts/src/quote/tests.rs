//! Tests of prices.

use std::collections::BTreeMap;

use catalog::{Category, Condition, ProductFacts, ProductPolicies};
use merchants::{Benefit, Promotion, ShippingRate, ShippingZone, TaxRate};
use primitives::{CartId, CategoryId, Id, KeyId, Money};
use proptest::prelude::*;

use super::*;
use crate::{CartOwner, CartStatus, Destination, Item, Line, Quantity, ShippingEstimator};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix_micros(seconds * 1_000_000)
}

fn product(number: u128, category: &str, minor: i64, stock: Option<i32>) -> Product {
    let facts = ProductFacts {
        external_id: number.to_string(),
        sku: format!("SKU-{number}"),
        name: format!("Thing {number}"),
        description: String::new(),
        brand: String::new(),
        gtin: None,
        mpn: None,
        url: None,
        category: category.to_owned(),
        condition: Condition::New,
        price: Money::new(minor, Currency::EUR),
        list_price_minor: None,
        sale: None,
        stock_status: stock.map_or(StockStatus::InStock, StockStatus::of_quantity),
        stock_quantity: stock,
        rating: None,
        attributes: BTreeMap::new(),
        images: Vec::new(),
        policies: ProductPolicies::default(),
        listed_at: None,
    };
    let id = CategoryId::from_random(1);
    let path = category.to_owned();
    let category = Category { id, parent: None, path, name: String::new() };
    let (listed_at, updated_at) = (at(0), at(0));
    let id = ProductId::from_random(number);
    Product { id, facts, category, variants: Vec::new(), listed_at, updated_at }
}

fn line(product: &Product, quantity: i64) -> Line {
    let quantity = Quantity::new(quantity).unwrap();
    let item = Item { product: product.id, variant: None, quantity };
    let id = LineId::from_random(u128::from_be_bytes(product.id.uuid().into_bytes()));
    Line { id, item, unit_minor: product.facts.price.minor() }
}

fn cart(lines: Vec<Line>) -> Cart {
    Cart {
        id: CartId::from_random(1),
        owner: CartOwner {
            key: KeyId::from_random(1),
            name: String::from("helper"),
            is_sandbox: false,
        },
        stored_status: CartStatus::Active,
        version: 1,
        currency: Currency::EUR,
        lines,
        destination: None,
        buyer: None,
        shipping_option: None,
        codes: Vec::new(),
        created_at: at(0),
        updated_at: at(0),
    }
}

fn to(country: &str) -> Destination {
    let country = country.to_owned();
    let (region, postal_code, city, street, name) = (None, None, None, None, None);
    Destination { country, region, postal_code, city, street, name }
}

fn promotion(id: &str, benefit: Benefit, code: Option<&str>) -> Promotion {
    Promotion {
        id: id.to_owned(),
        name: id.to_owned(),
        benefit,
        code: code.map(str::to_owned),
        min_subtotal_minor: None,
        starts_at: None,
        ends_at: None,
        categories: Vec::new(),
    }
}

fn vat(category: Option<&str>, points: i32, included: bool) -> TaxRate {
    let (country, region) = (String::from("DE"), None);
    let category = category.map(str::to_owned);
    TaxRate { country, region, category, rate_basis_points: points, included }
}

fn settings() -> Settings {
    let rate = |name: &str, price_minor, days_max| ShippingRate {
        name: name.to_owned(),
        price_minor,
        min_subtotal_minor: None,
        days_min: 1,
        days_max,
    };
    let rates = vec![rate("standard", 490, 4), rate("express", 990, 1)];
    let countries = vec![String::from("DE")];
    Settings {
        shipping: vec![ShippingZone { name: String::from("home"), countries, rates }],
        taxes: vec![vat(None, 1_900, false), vat(Some("books"), 700, false)],
        ..Settings::default()
    }
}

fn quote(cart: &Cart, products: &[Product], settings: &Settings) -> Quote {
    let products: Vec<Option<Product>> = cart
        .lines
        .iter()
        .map(|line| products.iter().find(|product| product.id == line.item.product).cloned())
        .collect();
    let inputs = PricingInputs { products: &products, settings, country: "DE", now: at(100) };
    Quote::new(cart, &inputs).unwrap()
}

#[test]
fn goods_discounts_shipping_and_taxes_make_the_total() {
    let goods = [product(1, "books/novels", 1_000, Some(9)), product(2, "home", 2_000, None)];
    let mut cart = cart(vec![line(&goods[0], 2), line(&goods[1], 1)]);
    let mut settings = settings();
    settings.promotions = vec![promotion("ten", Benefit::Percent { basis_points: 1_000 }, None)];
    cart.destination = Some(to("DE"));
    let done = quote(&cart, &goods, &settings);
    assert_eq!((done.subtotal_minor, done.discount_minor), (4_000, 400));
    // 7 % of 18.00 and 19 % of 18.00.
    assert_eq!(done.tax_minor, Some(126 + 342));
    assert_eq!((done.shipping_minor, done.total_minor), (Some(490), 3_600 + 468 + 490));
    assert!(done.is_ready() && !done.is_estimate() && done.open.is_empty());
    assert_eq!(done.selected_option, Some(done.options[0].id.clone()), "the cheapest");
    cart.shipping_option = Some(done.options[1].id.clone());
    assert_eq!(quote(&cart, &goods, &settings).shipping_minor, Some(990));
    cart.shipping_option = Some(String::from("ship_withdrawn"));
    let withdrawn = quote(&cart, &goods, &settings);
    assert_eq!((withdrawn.shipping_minor, withdrawn.is_ready()), (None, false));
}

#[test]
fn without_a_destination_shipping_and_tax_are_estimated_for_the_own_country() {
    let goods = [product(1, "books/novels", 1_000, Some(9))];
    let mut cart = cart(vec![line(&goods[0], 2)]);
    let mut settings = settings();
    let open = quote(&cart, &goods, &settings);
    assert!(open.is_ready() && open.is_estimate() && open.missing.is_empty());
    assert_eq!(open.open, OpenPart::ALL);
    assert_eq!((open.shipping_minor, open.tax_minor), (Some(490), Some(140)));
    assert_eq!(open.total_minor, 2_000 + 490 + 140);
    assert!(open.options.is_empty() && open.selected_option.is_none());
    cart.buyer = Some(crate::Buyer::default());
    assert!(!quote(&cart, &goods, &settings).open.contains(&OpenPart::Buyer));
    settings.destination_required = true;
    let required = quote(&cart, &goods, &settings);
    assert_eq!(
        (required.missing.as_slice(), required.is_ready()),
        (["destination"].as_slice(), false)
    );
    let unknown = quote(&cart, &goods, &Settings::default());
    assert_eq!(
        (unknown.shipping_minor, unknown.tax_minor, unknown.total_minor),
        (None, None, 2_000)
    );
    cart.destination = Some(to("DE"));
    let no_rates = quote(&cart, &goods, &Settings::default());
    assert_eq!((no_rates.open.as_slice(), no_rates.shipping_minor), ([].as_slice(), Some(0)));
    let checkout_url = "https://attic.example/?order={checkout_id}".parse().ok();
    let own_page = Settings { checkout_url, ..Settings::default() };
    let no_rates = quote(&cart, &goods, &own_page);
    assert_eq!(
        (no_rates.open.as_slice(), no_rates.is_ready()),
        ([OpenPart::Shipping].as_slice(), true)
    );
}

#[test]
fn taxes_included_in_prices_are_reported_and_not_added() {
    let goods = [product(1, "home", 1_190, None)];
    let mut cart = cart(vec![line(&goods[0], 1)]);
    cart.destination = Some(to("DE"));
    let settings = Settings { taxes: vec![vat(None, 1_900, true)], ..settings() };
    let quote = quote(&cart, &goods, &settings);
    assert_eq!(
        (quote.tax_minor, quote.tax_included_minor, quote.total_minor),
        (Some(0), 190, 1_190 + 490)
    );
}

#[test]
fn a_code_applies_or_is_rejected_with_a_reason() {
    let goods = [product(1, "home", 1_000, None)];
    let mut cart = cart(vec![line(&goods[0], 1)]);
    cart.codes = ["TEN", "late", "books", "rich", "nothing"].map(str::to_owned).into();
    let mut settings = settings();
    let half = Benefit::Percent { basis_points: 5_000 };
    settings.promotions = vec![
        promotion("five euros", Benefit::Amount { minor: 500 }, Some("ten")),
        Promotion { ends_at: Some(at(50)), ..promotion("late", half, Some("LATE")) },
        Promotion {
            categories: vec![String::from("books")],
            ..promotion("b", half, Some("BOOKS"))
        },
        Promotion { min_subtotal_minor: Some(9_999), ..promotion("r", half, Some("RICH")) },
    ];
    let quote = quote(&cart, &goods, &settings);
    assert_eq!(quote.discount_minor, 500);
    let reasons: Vec<_> = quote.rejected_codes.iter().map(|code| code.reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "discount_code_expired",
            "discount_code_not_applicable",
            "discount_code_minimum_not_met",
            "discount_code_invalid"
        ]
    );
}

#[test]
fn above_the_threshold_the_cheapest_shipping_option_is_free() {
    let goods = [product(1, "home", 5_000, None)];
    let mut cart = cart(vec![line(&goods[0], 1)]);
    cart.destination = Some(to("DE"));
    let mut settings = settings();
    settings.policies.free_shipping_threshold_minor = Some(4_999);
    let prices = |settings: &Settings| -> Vec<i64> {
        let options = quote(&cart, &goods, settings).options;
        let estimator = ShippingEstimator { settings: settings.clone(), now: at(100) };
        let estimate = estimator.options("DE", &[Goods { category: "home", minor: 5_000 }]);
        assert_eq!(estimate.unwrap(), options, "an estimate has the options of a cart");
        options.iter().map(|option| option.price_minor).collect()
    };
    assert_eq!(prices(&settings), [0, 990]);
    settings.policies.free_shipping_threshold_minor = Some(5_000);
    assert_eq!(prices(&settings), [490, 990], "strictly above");
    settings.promotions = vec![promotion("free", Benefit::FreeShipping, None)];
    assert_eq!(prices(&settings), [0, 990]);
    settings.policies.free_shipping_threshold_minor = Some(4_999);
    settings.promotions = vec![promotion("cent", Benefit::Amount { minor: 1 }, None)];
    assert_eq!(prices(&settings), [490, 990], "the threshold applies after discounts");
}

#[test]
fn unavailable_items_are_reported_and_block_checkout() {
    let goods = [product(1, "home", 1_000, Some(2)), product(2, "home", 1_000, None)];
    let mut lines = vec![line(&goods[0], 3), line(&goods[1], 1)];
    lines[1].unit_minor = 900;
    let cart = cart(lines);
    let quote = quote(&cart, &goods[..1], &settings());
    let codes: Vec<&str> = quote.messages.iter().map(|message| message.code.as_str()).collect();
    assert_eq!(codes, ["insufficient_stock", "item_unavailable"]);
    assert!(!quote.is_ready());
    assert_eq!(quote.lines[1].total_minor, 900, "an unavailable item keeps its last price");
}

#[test]
fn a_destination_that_is_not_served_blocks_checkout() {
    let goods = [product(1, "home", 1_000, None)];
    let mut cart = cart(vec![line(&goods[0], 1)]);
    cart.destination = Some(to("FR"));
    let quote = quote(&cart, &goods, &settings());
    assert_eq!(quote.messages[0].code, MessageCode::DestinationNotServed);
    assert!(!quote.is_ready() && quote.missing.is_empty());
}

proptest! {
    #[test]
    fn totals_are_the_sum_of_their_parts(
        lines in prop::collection::vec((1_i64..2_000_000, 1_i64..999), 1..20),
        percents in prop::collection::vec(1_i32..10_000, 0..4),
        amount in 0_i64..5_000_000,
        points in 0_i32..3_000,
        included: bool,
    ) {
        let goods: Vec<Product> = (1..)
            .zip(&lines)
            .map(|(number, (minor, _))| product(number, "home", *minor, None))
            .collect();
        let mut cart = cart(
            goods.iter().zip(&lines).map(|(product, (_, quantity))| line(product, *quantity)).collect(),
        );
        cart.destination = Some(to("DE"));
        let mut settings = Settings { taxes: vec![vat(None, points, included)], ..settings() };
        let percent = |points: &i32| promotion("p", Benefit::Percent { basis_points: *points }, None);
        settings.promotions = percents.iter().map(percent).collect();
        settings.promotions.push(promotion("a", Benefit::Amount { minor: amount }, None));
        let options = quote(&cart, &goods, &settings).options;
        cart.shipping_option = Some(options[1].id.clone());
        let quote = quote(&cart, &goods, &settings);
        let sum = |part: fn(&QuotedLine) -> i64| quote.lines.iter().map(part).sum::<i64>();
        prop_assert_eq!(quote.subtotal_minor, sum(|line| line.unit_minor * i64::from(line.quantity)));
        prop_assert_eq!(quote.discount_minor, quote.discounts.iter().map(|it| it.minor).sum::<i64>());
        prop_assert_eq!(quote.discount_minor, sum(|line| line.discount_minor));
        prop_assert_eq!(sum(|line| line.total_minor), quote.subtotal_minor - quote.discount_minor);
        prop_assert_eq!(quote.tax_minor, Some(sum(|line| line.tax_minor)));
        prop_assert!(quote.lines.iter().all(|line| line.total_minor >= 0));
        let total = quote.subtotal_minor - quote.discount_minor
            + quote.shipping_minor.unwrap() + quote.tax_minor.unwrap();
        prop_assert_eq!(quote.total_minor, total);
    }
}
