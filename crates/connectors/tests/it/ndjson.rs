//! One product draft per line.

use catalog::FeedFormat::Ndjson;
use catalog::GtinSource;

use super::{amount, gtin, huge, product, read, sample, summaries};

#[test]
fn valid_lines_are_read_and_invalid_ones_reported() {
    let items = read(Ndjson, sample(Ndjson));
    assert_eq!(
        summaries(&items),
        [
            "1 HEMP-8 with 0 variants",
            "3 HEMP-10 invalid: price invalid_value",
            "4 ? invalid: external_id missing",
            "5 MANILA-6 invalid: row unreadable",
            "6 COIR-12 invalid: row unreadable",
            "7 BELL-1 invalid: variants invalid_value",
            "8 ? invalid: row unreadable",
            "9 SISAL-4 with 0 variants",
        ]
    );
    assert_eq!(product(&items, "HEMP-8").price, amount("12.5"));
    assert_eq!(product(&items, "SISAL-4").images[0].alt.as_deref(), Some("A ball of twine"));
    let words = format!("{items:?}");
    assert!(
        !words.contains("prize") && !words.contains("1450"),
        "a value of the merchant was repeated"
    );
}

#[test]
fn a_line_that_is_not_utf8_or_too_long_is_skipped() {
    let mut feed = b"\xef\xbb\xbf{\"external_id\":\"a\"}\r\n".to_vec();
    feed.extend(b"{\"external_id\":\"b\",\"name\":\"\xff\xfe\"}\r\n");
    feed.extend(format!("{{\"external_id\":\"c\",\"name\":\"{}\"}}\n", huge()).bytes());
    feed.extend(b"{\"external_id\":\"d\",\"name\":\"\0\"}\n   \n{\"external_id\":\"e\"}");
    assert_eq!(
        summaries(&read(Ndjson, &feed)),
        [
            "1 a with 0 variants",
            "2 b invalid: row unreadable",
            "3 c invalid: row too_long",
            "4 d invalid: row unreadable",
            "6 e with 0 variants",
        ]
    );
}

#[test]
fn an_incomplete_last_line_is_truncated() {
    let whole = "{\"external_id\":\"a\"}\n";
    let summary_of = |end: &[u8]| summaries(&read(Ndjson, [whole.as_bytes(), end].concat()));
    assert_eq!(
        summary_of(b"{\"external_id\":\"b"),
        ["1 a with 0 variants", "2 truncated: truncated"]
    );
    assert_eq!(summary_of(b"{\"name\":\"\xc3"), ["1 a with 0 variants", "2 truncated: truncated"]);
    assert_eq!(summary_of(b"{,}"), ["1 a with 0 variants", "2 ? invalid: row unreadable"]);
    assert_eq!(summaries(&read(Ndjson, "")), ["1 truncated: truncated"]);
}

#[test]
fn the_gtin_source_is_ignored() {
    let line = r#"{"external_id":"1","sku":"2","gtin":"4"}"#;
    for source in [GtinSource::Gtin, GtinSource::Sku, GtinSource::Id] {
        assert_eq!(gtin(Ndjson, source, line).unwrap(), "4");
    }
}

/// Every field of a draft is named if it is invalid.
#[test]
fn errors_name_every_field() {
    let schema = serde_json::to_value(schemars::schema_for!(catalog::ProductDraft)).unwrap();
    for field in schema["properties"].as_object().unwrap().keys() {
        let line = format!("{{\"external_id\":\"a\",\"{field}\":[[true]]}}");
        let line = if field == "external_id" { line.replacen("\"a\"", "7", 1) } else { line };
        let line = line.replace(",\"external_id\":[[true]]", "");
        let found = summaries(&read(Ndjson, line));
        assert!(found[0].ends_with(&format!("{field} invalid_value")), "{found:?}");
    }
}
