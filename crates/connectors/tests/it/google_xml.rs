//! Google Merchant as XML.

use catalog::FeedFormat::GoogleXml;
use catalog::GtinSource;

use super::{amount, attribute, gtin, huge, product, products, read, sample, some, summaries};

#[test]
fn valid_items_are_read_and_invalid_ones_reported() {
    let items = read(GoogleXml, sample(GoogleXml));
    assert_eq!(
        summaries(&items),
        [
            "11 TEA-1 with 0 variants",
            "37 TEA-2 invalid: row unreadable",
            "38 TEA-3 invalid: row unreadable",
            "39 TEA-4 invalid: row unreadable",
            "40 TEA-5 invalid: price invalid_amount",
            "41 TEA-6 invalid: row unreadable",
            "46 CUP invalid: price unknown_currency",
            "48 ? invalid: external_id missing",
            "42 CUP with 2 variants",
            "49 POT-1 with 0 variants",
            "50 CUP with 1 variants",
        ]
    );
}

#[test]
fn all_fields_of_an_item_are_read() {
    let items = read(GoogleXml, sample(GoogleXml));
    let tea = product(&items, "TEA-1");
    assert_eq!(tea.name, some("Smoked black tea & bergamot"));
    let description = "<p>Smoked over <b>beech</b>. </item> stays here &nbsp; too.</p>";
    assert_eq!(tea.description, some(description));
    assert_eq!((&tea.price, &tea.list_price), (&amount("9.90"), &amount("12.90")));
    assert_eq!(tea.currency, some("EUR"));
    assert_eq!(tea.category, ["Tea", "Black", "Smoked"]);
    assert_eq!((&tea.stock_status, tea.stock_quantity), (&some("in_stock"), Some(12)));
    assert_eq!(tea.condition, some("new"));
    let images: Vec<_> = tea.images.iter().map(|image| image.url.as_str()).collect();
    assert_eq!(
        images[1..],
        ["https://oldquay.example/i/2.jpg", "https://oldquay.example/i/3,4.jpg"]
    );
    let attributes = [("Time: first, then", "3:30, 5:00"), ("material", "leaf")];
    assert!(
        tea.attributes.iter().map(|(name, value)| (name.as_str(), value.as_str())).eq(attributes)
    );
    assert_eq!(tea.url, some("https://oldquay.example/tea-1"));
}

#[test]
fn a_group_is_a_product_with_variants() {
    let items = read(GoogleXml, sample(GoogleXml));
    let cup = product(&items, "CUP");
    assert_eq!((&cup.name, &cup.price, &cup.currency), (&some("Cup"), &None, &some("EUR")));
    let [red, blue] = &cup.variants[..] else { panic!("two variants") };
    assert_eq!((red.sku.as_str(), &red.name), ("CUP-R", &None));
    assert_eq!(red.stock_status, some("out_of_stock"));
    assert_eq!((&blue.name, &blue.options["color"]), (&some("Cup, blue"), &"blue".to_owned()));
    assert_eq!(blue.price, amount("8.50"));
}

#[test]
fn atom_is_read() {
    let feed = r#"<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0">
        <entry><id>tag:1</id><g:id>A</g:id><title type="text">Bell</title>
        <link rel="self" href="https://bell.example/self"/>
        <link href="https://bell.example/a?x=1&amp;y=2"/><summary>Rings <b>very
        </b>&#108;oud.</summary>
        <price>3 EUR</price><g:availability>available soon</g:availability></entry></feed>"#;
    let items = read(GoogleXml, feed);
    let bell = product(&items, "A");
    assert_eq!(bell.url, some("https://bell.example/a?x=1&y=2"));
    assert_eq!(
        (&bell.description, &bell.price),
        (&some("Rings very\n        loud."), &amount("3"))
    );
    assert_eq!(bell.stock_status, some("available_soon"));
}

#[test]
fn an_item_that_is_not_utf8_or_too_long_is_skipped() {
    let mut feed = b"<rss><channel><item><g:id>a</g:id><title>\xff</title></item>\n".to_vec();
    feed.extend(format!("<item><g:id>b</g:id><title>{}</title></item>\n", huge()).bytes());
    feed.extend(b"<item><id>c</id><g:price>1 EUR</g:price></item></channel></rss>");
    assert_eq!(
        summaries(&read(GoogleXml, &feed)),
        ["1 a invalid: row unreadable", "2 b invalid: row too_long", "3 c with 0 variants"]
    );
}

#[test]
fn a_sale_has_a_period() {
    let item = |period: &str| {
        format!(
            "<rss><item><id>a</id><price>10 EUR</price><sale_price>8 EUR</sale_price>\
             <sale_price_effective_date>{period}</sale_price_effective_date></item></rss>"
        )
    };
    let items = read(GoogleXml, item("2026-11-01T08:00+0100/2026-11-30T23:59+0100"));
    let timed = product(&items, "a");
    assert_eq!((&timed.price, &timed.list_price), (&amount("10"), &None));
    assert_eq!((&timed.sale_price, items.len()), (&amount("8"), 1));
    assert_eq!(timed.sale_ends_at, some("2026-11-30T23:59:00+01:00"));
    let items = read(GoogleXml, item("some time"));
    let without = product(&items, "a");
    assert_eq!((&without.price, &without.sale_price), (&amount("10"), &None));
    let expected = ["1 a warning: sale_price invalid_value", "1 a with 0 variants"];
    assert_eq!(summaries(&items), expected);
}

#[test]
fn an_incomplete_file_is_truncated() {
    let summary_of = |text: &str| summaries(&read(GoogleXml, text));
    assert_eq!(
        summary_of("<rss><item><id>a</id></item>"),
        ["1 a with 0 variants", "1 truncated: truncated"]
    );
    assert_eq!(summary_of("no markup at all"), ["1 truncated: unsupported_file"]);
    let unknown = "<?xml version='1.0' encoding='X-OWN'?><rss></rss>";
    assert_eq!(summary_of(unknown), ["1 truncated: unreadable"]);
    let wide = read(GoogleXml, b"\xff\xfe<\0");
    assert_eq!(summaries(&wide), ["1 ? warning: file encoding", "1 truncated: truncated"]);
    assert_eq!(summary_of("<?xml version='1.0'?><rss><channel/></rss>"), [""; 0]);
    // The missing variants of a group would look as if the store had removed them.
    let group = "<rss>\n<item><id>a</id><item_group_id>g</item_group_id><price>1</price></item>\n";
    assert_eq!(summary_of(group), ["3 truncated: truncated"]);
}

#[test]
fn the_gtin_source_is_configurable() {
    let feed = "<rss><item><g:id>1</g:id><g:mpn>2</g:mpn><g:gtin>3</g:gtin>\
        <c:Bar_Code>4</c:Bar_Code></item></rss>";
    let found = |source| gtin(GoogleXml, source, feed).unwrap();
    assert_eq!(found(GtinSource::Gtin), "3");
    assert_eq!(found(GtinSource::Id), "1");
    assert_eq!(found(GtinSource::Sku), "1");
    assert_eq!(found(GtinSource::Mpn), "2");
    assert_eq!(found(attribute("bar code")), "4");
    let denied = feed.replace("<c:", "<g:identifier_exists>no</g:identifier_exists><c:");
    assert_eq!(gtin(GoogleXml, GtinSource::Gtin, &denied), None);
}

#[test]
fn a_large_group_is_emitted_in_parts() {
    let row = "<item><id>a</id><item_group_id>g</item_group_id><price>1</price></item>\n";
    let items = read(GoogleXml, format!("<rss>{}</rss>", row.repeat(20_000)));
    assert!(items.len() > 2 && products(&items).iter().all(|part| part.external_id == "g"));
    let variants: usize = products(&items).iter().map(|part| part.variants.len()).sum();
    assert_eq!(variants, 20_000);
}
