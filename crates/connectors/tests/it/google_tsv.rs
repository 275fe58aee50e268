//! Google Merchant, tab-separated.

use catalog::FeedFormat::GoogleTsv;
use catalog::GtinSource;

use super::{amount, attribute, gtin, huge, product, read, sample, some, summaries};

#[test]
fn valid_rows_are_read_and_invalid_ones_reported() {
    let items = read(GoogleTsv, sample(GoogleTsv));
    assert_eq!(
        summaries(&items),
        [
            "2 GL-1 with 0 variants",
            "6 GL-2 invalid: price missing",
            "7 GL-2 invalid: currency invalid_value",
            "9 ? invalid: external_id missing",
            "10 GL-3 invalid: row unreadable",
            "5 GL-2 with 2 variants",
            "11 GL-4 with 0 variants",
        ]
    );
    let gloves = product(&items, "GL-1");
    assert_eq!(gloves.description, some("Soft \"kid\" leather,\r\nunlined"));
    assert_eq!((&gloves.price, &gloves.stock_status), (&amount("1299.00"), &some("preorder")));
    assert_eq!(gloves.images.len(), 3);
    assert_eq!(gloves.attributes["Wash"], "hand, cold");
    let mittens = product(&items, "GL-2");
    assert_eq!(mittens.variants[0].list_price, amount("20"));
    assert_eq!(mittens.variants[1].options["size"], "XL");
}

#[test]
fn a_row_that_is_not_utf8_or_too_long_is_skipped() {
    let mut feed = b"\xef\xbb\xbfid\ttitle\tprice\na\t\xff\t1\n".to_vec();
    feed.extend(format!("b\t\"{}\n\"\t1\n", huge()).bytes());
    feed.extend(b"c\tC\0\t1\n");
    assert_eq!(
        summaries(&read(GoogleTsv, &feed)),
        ["2 a invalid: row unreadable", "3 b invalid: row too_long", "5 c with 0 variants"]
    );
}

#[test]
fn an_incomplete_file_is_truncated() {
    let summary_of = |text: &str| summaries(&read(GoogleTsv, text));
    assert_eq!(summary_of("id\ttitle\na\tA\nb"), ["2 a with 0 variants", "3 truncated: truncated"]);
    assert_eq!(summary_of("id\ttitle\na\t\"A"), ["2 truncated: truncated"]);
    assert_eq!(summary_of("id\ttitle\na\tA"), ["2 a with 0 variants"]);
    assert_eq!(summary_of("id\ttitle"), ["1 truncated: truncated"]);
    assert_eq!(summary_of("id\ttitle\n"), [""; 0]);
    assert_eq!(summary_of("sku,title\na,A\n"), ["1 truncated: missing_column"]);
    assert_eq!(summary_of("id\tprice\na\t5 EU"), ["2 truncated: truncated"]);
}

#[test]
fn the_gtin_source_is_configurable() {
    let feed = "id\tmpn\tGTIN\tBar Code\n1\t2\t3\t4\n";
    let found = |source| gtin(GoogleTsv, source, feed).unwrap();
    assert_eq!(found(GtinSource::Gtin), "3");
    assert_eq!(found(GtinSource::Id), "1");
    assert_eq!(found(GtinSource::Mpn), "2");
    assert_eq!(found(attribute("bar_code")), "4");
}
