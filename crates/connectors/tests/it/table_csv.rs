//! Tables without a known format.

use catalog::FeedFormat::Csv;
use catalog::{FeedColumns, FeedColumnsError, FeedItem, FeedSettings, GtinSource};
use primitives::Currency;

use super::{amount, product, read, read_with, sample, some, summaries};

#[test]
fn rows_are_read_by_the_names_of_fields() {
    let items = read(Csv, sample(Csv));
    assert_eq!(
        summaries(&items),
        [
            "2 ROPE-1 with 0 variants",
            "3 LAMP-1 with 0 variants",
            "4 BELL-1 invalid: price invalid_amount",
            "5 ? invalid: external_id missing",
            "6 SHORT-1 skipped: incomplete stays",
            "7 KNOT-1 invalid: stock_quantity invalid_value",
        ]
    );
    let rope = product(&items, "ROPE-1");
    assert_eq!((&rope.price, &rope.currency), (&amount("19.90"), &some("EUR")));
    assert_eq!((&rope.gtin, rope.stock_quantity), (&some("9520000000004"), Some(12)));
    assert_eq!(rope.category, ["Deck", "Ropes"]);
    assert_eq!(rope.images[0].url, "https://chandler.example/r.jpg");
}

#[test]
fn columns_can_be_named() {
    let columns = r#"{"external_id":"Artikel Nr","name":"Bezeichnung","price":"VK-Preis"}"#;
    let settings = FeedSettings {
        columns: Some(FeedColumns::parse(columns).expect("valid columns")),
        ..FeedSettings::new(Currency::EUR, GtinSource::Gtin)
    };
    let text = "Artikel Nr;Bezeichnung;VK-Preis;Lager;Farbe\nA1;Becher;12,50;3;blau\n";
    let items = read_with(Csv, &settings, text.as_bytes());
    assert_eq!(summaries(&items), ["1 ? warning: file unknown_column", "2 A1 with 0 variants"]);
    assert_eq!(product(&items, "A1").price, amount("12.50"));
    let FeedItem::Warning { error, .. } = &items[0] else { panic!("a warning") };
    assert!(error.reason.contains("\"lager\", \"farbe\""), "{}", error.reason);
}

#[test]
fn a_missing_column_is_named_with_those_found() {
    let reason =
        |settings: &FeedSettings, text: &str| match read_with(Csv, settings, text.as_bytes()).pop()
        {
            Some(FeedItem::Truncated { error, .. }) => error.reason.into_owned(),
            other => panic!("{other:?}"),
        };
    let mut settings = FeedSettings::new(Currency::EUR, GtinSource::Gtin);
    let found = reason(&settings, "sku,name,cost\n1,a,2\n");
    assert!(found.contains("no column for external_id"), "{found}");
    assert!(found.contains("\"sku\", \"name\", \"cost\""), "{found}");
    let columns = r#"{"external_id":"No","name":"Name","price":"Gross"}"#;
    settings.columns = Some(FeedColumns::parse(columns).expect("valid columns"));
    let found = reason(&settings, "No,Name,Net\n1,a,2\n");
    assert!(found.contains("no column \"Gross\", named for price"), "{found}");
    // Names of columns are the merchant's text.
    let found = reason(&settings, "<b>No</b>,\"a\u{202e}b\",x\n");
    assert!(!found.contains('<') && !found.contains('\u{202e}'), "{found}");
}

#[test]
fn columns_name_fields_of_a_product() {
    for (text, error) in [
        ("[]", FeedColumnsError::NotAnObject),
        (r#"{"external_id":1}"#, FeedColumnsError::NotAnObject),
        (r#"{"external_id":"a","colour":"b"}"#, FeedColumnsError::UnknownField),
        (r#"{"external_id":" "}"#, FeedColumnsError::InvalidColumn),
        (r#"{"name":"a"}"#, FeedColumnsError::NoIdentifier),
    ] {
        assert_eq!(FeedColumns::parse(text), Err(error), "{text}");
    }
}

#[test]
fn separators_are_recognized() {
    for separator in [",", ";", "\t", "|"] {
        let text = "id,title,price\nA,\"Cup, big; or\tnot|\",1.50\n";
        let (header, row) = text.split_once('\n').expect("two lines");
        let text = format!(
            "{}\nA{separator}\"Cup, big; or\tnot|\"{separator}1.50\n",
            header.replace(',', separator)
        );
        assert!(row.starts_with('A'));
        let items = read(Csv, &text);
        assert_eq!(product(&items, "A").name, some("Cup, big; or\tnot|"), "{separator:?}");
    }
}
