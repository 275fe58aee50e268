//! One draft a line.

use catalog::FeedFormat::Ndjson;
use catalog::GtinSource;

use super::{amount, gtin, huge, product, read, sample, told};

#[test]
fn good_lines_are_read_and_bad_ones_named() {
    let items = read(Ndjson, sample(Ndjson));
    assert_eq!(
        told(&items),
        [
            "1 HEMP-8 with 0 variants",
            "3 HEMP-10 broken: price invalid_value",
            "4 ? broken: external_id missing",
            "5 MANILA-6 broken: row unreadable",
            "6 COIR-12 broken: row unreadable",
            "7 BELL-1 broken: variants invalid_value",
            "8 ? broken: row unreadable",
            "9 SISAL-4 with 0 variants",
        ]
    );
    assert_eq!(product(&items, "HEMP-8").price, amount("12.5"));
    assert_eq!(product(&items, "SISAL-4").images[0].alt.as_deref(), Some("A ball of twine"));
    let words = format!("{items:?}");
    assert!(!words.contains("prize") && !words.contains("1450"), "a value was repeated");
}

#[test]
fn a_line_that_is_no_text_or_too_long_is_passed_over() {
    let mut feed = b"\xef\xbb\xbf{\"external_id\":\"a\"}\r\n".to_vec();
    feed.extend(b"{\"external_id\":\"b\",\"name\":\"\xff\xfe\"}\r\n");
    feed.extend(format!("{{\"external_id\":\"c\",\"name\":\"{}\"}}\n", huge()).bytes());
    feed.extend(b"{\"external_id\":\"d\",\"name\":\"\0\"}\n   \n{\"external_id\":\"e\"}");
    assert_eq!(
        told(&read(Ndjson, &feed)),
        [
            "1 a with 0 variants",
            "2 b broken: row unreadable",
            "3 c broken: row too_long",
            "4 d broken: row unreadable",
            "6 e with 0 variants",
        ]
    );
}

#[test]
fn a_last_line_that_stops_is_a_cut() {
    let whole = "{\"external_id\":\"a\"}\n";
    let told_of = |end: &[u8]| told(&read(Ndjson, [whole.as_bytes(), end].concat()));
    assert_eq!(told_of(b"{\"external_id\":\"b"), ["1 a with 0 variants", "2 cut: truncated"]);
    assert_eq!(told_of(b"{\"name\":\"\xc3"), ["1 a with 0 variants", "2 cut: truncated"]);
    assert_eq!(told_of(b"{,}"), ["1 a with 0 variants", "2 ? broken: row unreadable"]);
    assert_eq!(told(&read(Ndjson, "")), ["1 cut: truncated"]);
}

#[test]
fn our_own_form_has_a_field_for_the_gtin() {
    let line = r#"{"external_id":"1","sku":"2","gtin":"4"}"#;
    for source in [GtinSource::Gtin, GtinSource::Sku, GtinSource::Id] {
        assert_eq!(gtin(Ndjson, source, line).unwrap(), "4");
    }
}

/// Every field of a draft can be named when it is wrong.
#[test]
fn all_fields_are_known_by_name() {
    let schema = serde_json::to_value(schemars::schema_for!(catalog::ProductDraft)).unwrap();
    for field in schema["properties"].as_object().unwrap().keys() {
        let line = format!("{{\"external_id\":\"a\",\"{field}\":[[true]]}}");
        let line = if field == "external_id" { line.replacen("\"a\"", "7", 1) } else { line };
        let line = line.replace(",\"external_id\":[[true]]", "");
        let found = told(&read(Ndjson, line));
        assert!(found[0].ends_with(&format!("{field} invalid_value")), "{found:?}");
    }
}
