//! The Agentic Commerce Protocol's feed.

use catalog::FeedFormat::AcpJson;
use catalog::GtinSource;

use super::{amount, attribute, gtin, huge, product, read, sample, some, summaries};

#[test]
fn valid_products_are_read_and_invalid_ones_reported() {
    let items = read(AcpJson, sample(AcpJson));
    assert_eq!(
        summaries(&items),
        [
            "5 glow invalid: price invalid_amount",
            "5 glow invalid: currency invalid_value",
            "5 glow with 2 variants",
            "32 wick with 0 variants",
            "33 moon invalid: name invalid_value",
            "34 void invalid: variants missing",
            "35 ? invalid: external_id missing",
            "36 sun invalid: row unreadable",
            "37 ? invalid: row unreadable",
            "38 yen with 0 variants",
            "39 shell invalid: price unknown_currency",
        ]
    );
}

#[test]
fn all_fields_of_a_product_are_read() {
    let items = read(AcpJson, sample(AcpJson));
    let glow = product(&items, "glow");
    assert_eq!((&glow.name, &glow.description), (&some("Glow, a table lamp"), &some("Warm.")));
    assert_eq!((&glow.currency, &glow.condition), (&some("EUR"), &some("used")));
    assert_eq!(glow.category, ["Lamps", "Table"]);
    assert_eq!((glow.images.len(), &glow.images[0].alt), (1, &some("A lamp")));
    let [brass, iron] = &glow.variants[..] else { panic!("two variants") };
    assert_eq!((&brass.price, &brass.list_price), (&amount("129.90"), &amount("149.90")));
    assert_eq!((&brass.gtin, &brass.stock_status), (&some("4006381333931"), &some("low_stock")));
    assert_eq!(brass.options["Metal"], "Brass");
    assert_eq!(brass.image, some("https://lampmaker.example/brass.jpg"));
    assert_eq!(iron.stock_status, some("out_of_stock"));
    let wick = product(&items, "wick");
    assert_eq!((&wick.name, &wick.price), (&some("Wick, \"cotton\" }"), &amount("1.500000")));
    assert_eq!((&wick.sku, &wick.currency), (&None, &some("USDC")));
    let lantern = product(&items, "yen");
    assert_eq!((&lantern.sku, &lantern.price), (&some("yen-1"), &amount("1299")));
}

#[test]
fn an_array_and_lines_are_read() {
    let one = r#"{"id":"a","title":"A","variants":[{"id":"a","title":"A"}]}"#;
    let two = one.replace("\"a\"", "\"b\"");
    let expected = ["1 a with 0 variants", "2 b with 0 variants"];
    assert_eq!(summaries(&read(AcpJson, format!("[{one},\n{two}]"))), expected);
    assert_eq!(summaries(&read(AcpJson, format!("{one}\n{two}"))), expected);
    let lines = format!("{one}\n{{\"id\":\"c\",}}\n{two}\n{{\"id\":");
    assert_eq!(
        summaries(&read(AcpJson, lines)),
        [
            "1 a with 0 variants",
            "2 c invalid: row unreadable",
            "3 b with 0 variants",
            "4 truncated: truncated"
        ]
    );
}

#[test]
fn an_element_that_is_not_utf8_or_too_long_is_skipped() {
    let mut feed = b"[{\"id\":\"a\",\"title\":\"\xff\"},\n".to_vec();
    feed.extend(format!("{{\"id\":\"b\",\"title\":\"{}\"}},\n", huge()).bytes());
    feed.extend(br#"{"id":"c","variants":[{"id":"c"}]}]"#);
    assert_eq!(
        summaries(&read(AcpJson, &feed)),
        ["1 a invalid: row unreadable", "2 b invalid: row too_long", "3 c with 0 variants"]
    );
}

#[test]
fn an_incomplete_document_is_truncated() {
    let summary_of = |text: &str| summaries(&read(AcpJson, text));
    assert_eq!(summary_of("[]"), [""; 0]);
    assert_eq!(summary_of("{\"products\":[]}\n"), [""; 0]);
    for text in ["[", "{", "{\"products\":[", "{\"products\":[]", "[{\"id\":\"a\"", "{\"a\":1"] {
        assert_eq!(summary_of(text), ["1 truncated: truncated"], "{text}");
    }
    assert_eq!(summary_of("nothing"), ["1 truncated: unsupported_file"]);
    for text in ["[,]", "[]]", "[:1]", "{\"products\":[]}}", "[}"] {
        assert_eq!(summary_of(text), ["1 truncated: unreadable"], "{text}");
    }
}

#[test]
fn the_gtin_source_is_configurable() {
    let feed = r#"[{"id":"1","variants":[{"id":"2","barcodes":[{"type":"MPN","value":"3"},
        {"type":"gtin13","value":"4"}],"variant_options":[{"name":"Code","value":"5"}]}]}]"#;
    let found = |source| gtin(AcpJson, source, feed).unwrap();
    assert_eq!(found(GtinSource::Gtin), "4");
    assert_eq!(found(GtinSource::Id), "2");
    assert_eq!(found(GtinSource::Sku), "2");
    assert_eq!(found(GtinSource::Mpn), "3");
    assert_eq!(found(attribute("code")), "5");
}
