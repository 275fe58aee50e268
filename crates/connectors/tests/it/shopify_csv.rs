//! Shopify's product export.

use catalog::FeedFormat::ShopifyCsv;
use catalog::GtinSource;

use super::{amount, attribute, gtin, huge, product, read, sample, some, summaries};

#[test]
fn valid_products_are_read_and_invalid_rows_reported() {
    let items = read(ShopifyCsv, sample(ShopifyCsv));
    assert_eq!(
        summaries(&items),
        [
            "5 notebook invalid: price invalid_amount",
            "2 notebook with 3 variants",
            "7 bone-folder with 0 variants",
            "8 old-press skipped: not_for_sale goes",
            "11 ? invalid: external_id missing",
            "10 hidden skipped: not_for_sale goes",
            "12 awl with 0 variants",
        ]
    );
}

#[test]
fn rows_of_a_handle_are_one_product() {
    let items = read(ShopifyCsv, sample(ShopifyCsv));
    let notebook = product(&items, "notebook");
    assert_eq!(notebook.name, some("Sewn notebook"));
    assert_eq!(notebook.description, some("<p>Ninety-six leaves, \"laid\" paper</p>"));
    assert_eq!((&notebook.brand, &notebook.currency), (&some("Quire & Co"), &None));
    assert_eq!(notebook.category, ["Office", "Paper", "Notebooks"]);
    assert_eq!(notebook.images.len(), 4);
    assert_eq!(notebook.images[3].alt, some("Spread open"));
    let [grey, red, large] = &notebook.variants[..] else { panic!("three variants") };
    assert_eq!((grey.options["Size"].as_str(), grey.options["Cover"].as_str()), ("A5", "Grey"));
    assert_eq!((&grey.price, &grey.list_price), (&amount("18.50"), &amount("22.00")));
    assert_eq!((&grey.gtin, grey.stock_quantity), (&some("4006381333931"), Some(14)));
    assert_eq!(grey.image, some("https://quire.example/g.jpg"));
    assert_eq!((&red.stock_status, red.stock_quantity), (&some("backorder"), Some(0)));
    assert_eq!(red.list_price, None);
    assert_eq!((large.sku.as_str(), large.stock_quantity), ("notebook-grey-a4", Some(0)));
    let folder = product(&items, "bone-folder");
    assert_eq!((&folder.sku, &folder.price), (&some("BF-1"), &amount("6.00")));
    assert_eq!((&folder.stock_status, folder.stock_quantity), (&some("in_stock"), None));
    let awl = product(&items, "awl");
    assert_eq!((&awl.sku, &awl.price), (&None, &amount("1299.00")));
}

#[test]
fn the_newer_column_names_are_supported() {
    let feed = "Title,URL handle,Description,Vendor,Status,SKU,Barcode,Option1 name,Option1 value,\
        Price,Compare-at price,Inventory quantity,Continue selling when out of stock,\
        Product image URL,Image alt text\n\
        Stamp,stamp,Rubber.,Quire,Active,ST-1,4006381333931,Letter,A,5.00,6.00,0,TRUE,\
        https://quire.example/s.jpg,A stamp\n\
        Ink,ink,,Quire,Draft,INK,,Title,Default Title,5.00,,1,FALSE,,\n";
    let items = read(ShopifyCsv, feed);
    assert_eq!(summaries(&items), ["2 stamp with 1 variants", "3 ink skipped: not_for_sale goes"]);
    let stamp = product(&items, "stamp");
    assert_eq!((&stamp.description, stamp.images.len()), (&some("Rubber."), 1));
    let variant = &stamp.variants[0];
    assert_eq!((&variant.gtin, &variant.list_price), (&some("4006381333931"), &amount("6.00")));
    assert_eq!(variant.stock_status, some("backorder"));
}

#[test]
fn a_row_that_is_not_utf8_or_too_long_is_skipped() {
    let mut feed = "Handle,Größe,Title,Variant Price\n".as_bytes().to_vec();
    feed.extend(b"a,,\xff,1\n");
    feed.extend(format!("b,,{},1\n", huge()).bytes());
    feed.extend(b"c,,C,1\n");
    assert_eq!(
        summaries(&read(ShopifyCsv, &feed)),
        ["2 a invalid: row unreadable", "3 b invalid: row too_long", "4 c with 0 variants"]
    );
}

#[test]
fn a_row_without_a_variant_is_skipped() {
    let feed = "Handle,Title,Image Src,Variant Price\na,A,,1\nshort,Short\nb,B,,x\n";
    assert_eq!(
        summaries(&read(ShopifyCsv, feed)),
        [
            "2 a with 0 variants",
            "3 short skipped: incomplete stays",
            "4 b invalid: price invalid_amount"
        ]
    );
}

#[test]
fn an_incomplete_file_is_truncated() {
    let summary_of = |text: &str| summaries(&read(ShopifyCsv, text));
    let head = "Handle,Title,Variant Price\n";
    assert_eq!(summary_of(&format!("{head}a,A,1\nb,B")), ["3 truncated: truncated"]);
    assert_eq!(summary_of(&format!("{head}a,A,1\nb,\"B,1")), ["3 truncated: truncated"]);
    assert_eq!(summary_of("Title,Price\nA,1\n"), ["1 truncated: missing_column"]);
    assert_eq!(summary_of(head), [""; 0]);
}

#[test]
fn the_gtin_source_is_configurable() {
    let feed = "Handle,Variant SKU,Variant Barcode,Google Shopping / MPN,EAN,Variant Price\n\
        1,'2,'3,4,5,6\n";
    let found = |source| gtin(ShopifyCsv, source, feed).unwrap();
    assert_eq!(found(GtinSource::Gtin), "3");
    assert_eq!(found(GtinSource::Id), "1");
    assert_eq!(found(GtinSource::Sku), "2");
    assert_eq!(found(GtinSource::Mpn), "4");
    assert_eq!(found(attribute("ean")), "5");
}
