//! The check of drafts.

use catalog::{Amount, FieldErrorCode, ProductDraft, StockStatus};
use primitives::Currency;

use crate::shop::{checked, mug, variant};

fn errors(draft: &ProductDraft) -> Vec<(String, FieldErrorCode)> {
    let errors = catalog::check(draft, Currency::EUR).unwrap_err();
    errors.into_iter().map(|error| (error.field.into_owned(), error.code)).collect()
}

#[test]
fn all_errors_of_a_draft_are_reported_at_once() {
    let draft = ProductDraft {
        name: Some(String::from("\u{200b}<br>")),
        gtin: Some(String::from("6291041500214")),
        price: Some(Amount::new("1.999")),
        url: Some(String::from("javascript:alert(1)")),
        condition: Some(String::from("shiny")),
        stock_status: Some(String::from("maybe")),
        ..mug("a", "1")
    };
    let mut found = errors(&draft);
    found.sort_by(|left, right| left.0.cmp(&right.0));
    let expected = [
        ("condition", FieldErrorCode::InvalidValue),
        ("name", FieldErrorCode::Missing),
        ("price", FieldErrorCode::InvalidAmount),
        ("stock_status", FieldErrorCode::InvalidValue),
        ("url", FieldErrorCode::InvalidUrl),
    ];
    assert_eq!(found, expected.map(|(field, code)| (field.to_owned(), code)));
}

#[test]
fn a_doubtful_product_is_taken_with_warnings() {
    let warnings = |draft: &ProductDraft| -> Vec<(String, FieldErrorCode)> {
        let warnings = checked(draft).warnings;
        warnings.into_iter().map(|it| (it.field.into_owned(), it.code)).collect()
    };
    for gtin in ["9.52E+12", "INTERN-7", "6291041500214"] {
        let draft = ProductDraft { gtin: Some(gtin.to_owned()), ..mug("a", "1") };
        assert_eq!(warnings(&draft), [(String::from("gtin"), FieldErrorCode::InvalidGtin)]);
        assert_eq!(checked(&draft).facts.gtin, None);
    }
    let draft = ProductDraft { list_price: Some(Amount::new("0.50")), ..mug("a", "1") };
    assert_eq!(warnings(&draft), [(String::from("list_price"), FieldErrorCode::ListPriceTooLow)]);
    assert_eq!(checked(&draft).facts.list_price_minor, None);
    assert_eq!(warnings(&mug("a", "0")), [(String::from("price"), FieldErrorCode::ZeroPrice)]);
    let dollars = ProductDraft { currency: Some(String::from("USD")), ..mug("a", "1") };
    assert_eq!(warnings(&dollars), [(String::from("currency"), FieldErrorCode::ForeignCurrency)]);
    assert_eq!(warnings(&mug("a", "1")), []);
}

#[test]
fn a_sale_needs_a_lower_price_and_a_period() {
    let sale = |price: &str, from: Option<&str>, to: Option<&str>| ProductDraft {
        sale_price: Some(Amount::new(price)),
        sale_starts_at: from.map(str::to_owned),
        sale_ends_at: to.map(str::to_owned),
        ..mug("a", "10")
    };
    let whole = sale("8", Some("2026-01-01T00:00:00Z"), Some("2026-02-01T00:00:00Z"));
    let found = checked(&whole).facts.sale.expect("a sale");
    assert_eq!((found.price_minor, found.regular_price_minor), (800, 1_000));
    assert!(checked(&sale("8", None, None)).facts.sale.is_some());
    for (wrong, code) in [
        (sale("10", None, None), FieldErrorCode::InvalidAmount),
        (sale("x", None, None), FieldErrorCode::InvalidAmount),
        (sale("0.00", None, None), FieldErrorCode::InvalidAmount),
        (sale("8", Some("soon"), None), FieldErrorCode::InvalidValue),
        (
            sale("8", Some("2026-02-01T00:00:00Z"), Some("2026-01-01T00:00:00Z")),
            FieldErrorCode::InvalidValue,
        ),
    ] {
        let incoming = checked(&wrong);
        assert_eq!((incoming.facts.sale, incoming.warnings[0].code), (None, code));
    }
}

#[test]
fn stock_that_is_not_stated_is_unknown() {
    let draft = ProductDraft { stock_quantity: None, ..mug("a", "1") };
    assert_eq!(checked(&draft).facts.stock_status, StockStatus::Unknown);
    let stated = ProductDraft { stock_status: Some(String::from("unknown")), ..mug("a", "1") };
    assert_eq!(checked(&stated).facts.stock_status, StockStatus::InStock, "9 units are in stock");
}

#[test]
fn an_error_of_a_variant_names_the_variant() {
    let draft = ProductDraft {
        variants: vec![variant("S", "1", 1), variant("S", "2", 1), variant("L", "x", 1)],
        ..mug("a", "1")
    };
    let expected = [
        ("variants[1].sku", FieldErrorCode::Duplicate),
        ("variants[2].price", FieldErrorCode::InvalidAmount),
    ];
    assert_eq!(errors(&draft), expected.map(|(field, code)| (field.to_owned(), code)));
}

#[test]
fn currencies_that_agents_cannot_pay_in_are_accepted_and_unknown_ones_rejected() {
    let crowns = ProductDraft { currency: Some(String::from("sek")), ..mug("a", "1") };
    assert_eq!(checked(&crowns).facts.price.currency().code(), "SEK");
    let nonsense = ProductDraft { currency: Some(String::from("EUX")), ..mug("a", "1") };
    assert_eq!(errors(&nonsense), [(String::from("currency"), FieldErrorCode::UnknownCurrency)]);
}

#[test]
fn huge_fields_are_rejected_and_long_descriptions_truncated() {
    let huge = ProductDraft { name: Some("x".repeat(5_000_000)), ..mug("a", "1") };
    assert_eq!(errors(&huge), [(String::from("name"), FieldErrorCode::TooLong)]);
    let long = ProductDraft { description: Some("word ".repeat(4_000)), ..mug("a", "1") };
    assert!(checked(&long).facts.description.chars().count() <= 5_000);
}

#[test]
fn an_amount_is_never_a_floating_point_number() {
    let json = r#"{"external_id":"a","name":"A","price":0.1,"list_price":"9999999999.99"}"#;
    let draft: ProductDraft = serde_json::from_str(json).unwrap();
    let facts = checked(&draft).facts;
    assert_eq!(facts.price.minor(), 10);
    assert_eq!(facts.list_price_minor, Some(999_999_999_999));
    for wrong in ["true", "null", "[1]", "1e2", "-1"] {
        let json = format!(r#"{{"external_id":"a","name":"A","price":{wrong}}}"#);
        let read = serde_json::from_str::<ProductDraft>(&json);
        assert!(read.is_err() || catalog::check(&read.unwrap(), Currency::EUR).is_err(), "{wrong}");
    }
}

#[test]
fn a_price_has_a_ceiling() {
    let errors = |price: &str, currency: &str| {
        let draft = ProductDraft { currency: Some(currency.to_owned()), ..mug("a", price) };
        catalog::check(&draft, Currency::EUR).err().map(|errors| errors[0].reason.to_string())
    };
    assert_eq!(errors("10000000000.00", "EUR"), None);
    assert_eq!(errors("1000000", "USDC"), None);
    let reason = |max: &str| Some(format!("must be at most {max}"));
    assert_eq!(errors("10000000000.01", "EUR"), reason("10000000000.00"));
    assert_eq!(errors("92233720368547758.07", "EUR"), reason("10000000000.00"));
    assert_eq!(errors("1000000.000001", "USDC"), reason("1000000.000000"));
}

#[test]
fn the_example_of_the_documentation_is_valid() {
    let draft: ProductDraft = serde_json::from_value(ProductDraft::example()).unwrap();
    assert!(catalog::check(&draft, Currency::EUR).is_ok());
}
