//! Writes the demo data in every format and reads it back.

use catalog::{FeedFormat, FeedSettings, GtinSource, ProductDraft};
use connectors::write::{FORMATS, can_represent, representable, write};
use primitives::Currency;

use super::{amount, read_with, some, summaries};

fn read_back(format: FeedFormat, feed: &[u8], currency: Currency) -> Vec<ProductDraft> {
    let settings = FeedSettings::new(currency, GtinSource::Gtin);
    let items = read_with(format, &settings, feed);
    let drafts: Vec<ProductDraft> = super::products(&items).into_iter().cloned().collect();
    assert_eq!(drafts.len(), items.len(), "{format:?}: {:?}", summaries(&items));
    drafts
}

#[test]
fn representable_products_are_read_back() {
    for store in demo::world().stores {
        let currency: Currency = store.currency.parse().unwrap();
        let all: Vec<_> = store.products.iter().map(|one| demo::draft(&store, one)).collect();
        for format in FORMATS {
            let expected = all.iter().filter(|draft| can_represent(format, draft, currency));
            let expected: Vec<_> =
                expected.map(|draft| representable(format, draft, currency)).collect();
            let found = read_back(format, &write(format, &all, currency), currency);
            assert_eq!(found.len(), expected.len(), "{} as {format}", store.slug);
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected, "{} as {format}", store.slug);
            }
        }
    }
}

#[test]
fn special_characters_are_read_back() {
    let texts = ["a\tb", "c \"d\", e", "<f> & ]]> 'g'", "h\n\ni", "j\\k:l,m", "ü – 漢字 🫖"];
    let mut drafts = Vec::new();
    for (index, text) in texts.into_iter().enumerate() {
        drafts.push(ProductDraft {
            external_id: format!("p-{index}"),
            name: some(text),
            description: some(text),
            brand: some(text),
            price: amount("1.299"),
            list_price: amount("2"),
            attributes: [(text.to_owned(), text.to_owned())].into(),
            category: vec!["A, B".to_owned(), "C & D".to_owned()],
            ..ProductDraft::default()
        });
    }
    for format in FORMATS {
        let found = read_back(format, &write(format, &drafts, Currency::Usdc), Currency::Usdc);
        let expected = drafts.iter().map(|draft| representable(format, draft, Currency::Usdc));
        assert_eq!(found, expected.collect::<Vec<_>>(), "{format:?}");
    }
}

#[test]
fn unknown_stock_stays_unknown_in_shopifys_table() {
    let product = |id: &str, status: &str, quantity| ProductDraft {
        external_id: id.to_owned(),
        name: some("A mug"),
        price: amount("1.00"),
        stock_status: some(status),
        stock_quantity: quantity,
        ..ProductDraft::default()
    };
    let mut shirt = product("shirt", "unknown", None);
    shirt.variants = ["S", "M"]
        .into_iter()
        .map(|sku| catalog::VariantDraft {
            sku: sku.to_owned(),
            price: amount("1.00"),
            stock_status: some("unknown"),
            ..catalog::VariantDraft::default()
        })
        .collect();
    let drafts = [
        product("unknown", "unknown", None),
        product("untracked", "in_stock", None),
        product("tracked", "in_stock", Some(9)),
        shirt,
    ];
    let feed = write(FeedFormat::ShopifyCsv, &drafts, Currency::EUR);
    let found = read_back(FeedFormat::ShopifyCsv, &feed, Currency::EUR);
    let checked: Vec<_> = found
        .iter()
        .map(|draft| catalog::check(draft, Currency::EUR).unwrap())
        .map(|product| (product.facts.stock_status.as_str(), product.facts.stock_quantity))
        .collect();
    let expected =
        [("unknown", None), ("in_stock", None), ("in_stock", Some(9)), ("unknown", None)];
    assert_eq!(checked, expected);
}
