//! Tests the readers with feeds of fictional stores.

#![expect(
    clippy::expect_used,
    clippy::unnecessary_wraps,
    reason = "tests may fail, and compare with fields that are optional"
)]

mod acp_json;
mod arbitrary_input;
mod encodings;
mod google_tsv;
mod google_xml;
mod ndjson;
mod round_trip;
mod shopify_csv;
mod table_csv;
mod truncation;

use std::ops::ControlFlow;

use catalog::{Amount, FeedFormat, FeedItem, FeedSettings, GtinSource, ProductDraft};
use primitives::Currency;

/// A feed of every format, with invalid rows.
const SAMPLES: [(FeedFormat, &[u8]); 6] = [
    (FeedFormat::Ndjson, include_bytes!("../samples/ropewalk.ndjson")),
    (FeedFormat::GoogleXml, include_bytes!("../samples/teahouse.xml")),
    (FeedFormat::GoogleTsv, include_bytes!("../samples/glovers.tsv")),
    (FeedFormat::ShopifyCsv, include_bytes!("../samples/bookbinder.csv")),
    (FeedFormat::AcpJson, include_bytes!("../samples/lampmaker.json")),
    (FeedFormat::Csv, include_bytes!("../samples/chandler.csv")),
];

fn sample(format: FeedFormat) -> &'static [u8] {
    SAMPLES.iter().find(|(one, _)| *one == format).expect("a sample of every format").1
}

fn settings(gtin_source: GtinSource) -> FeedSettings {
    FeedSettings::new(Currency::EUR, gtin_source)
}

fn read_with(format: FeedFormat, settings: &FeedSettings, mut bytes: &[u8]) -> Vec<FeedItem> {
    let mut items = Vec::new();
    connectors::read_feed(format, &mut bytes, settings, &mut |item| {
        items.push(item);
        ControlFlow::Continue(())
    });
    items
}

fn read(format: FeedFormat, bytes: impl AsRef<[u8]>) -> Vec<FeedItem> {
    read_with(format, &settings(GtinSource::Gtin), bytes.as_ref())
}

/// Returns the first GTIN of the first product, with another GTIN source.
fn gtin(format: FeedFormat, source: GtinSource, text: &str) -> Option<String> {
    let items = read_with(format, &settings(source), text.as_bytes());
    let draft = products(&items).remove(0).clone();
    draft.variants.first().map_or(draft.gtin, |variant| variant.gtin.clone())
}

fn attribute(name: &str) -> GtinSource {
    GtinSource::Attribute(name.to_owned())
}

fn products(items: &[FeedItem]) -> Vec<&ProductDraft> {
    let mut drafts = Vec::new();
    for item in items {
        if let FeedItem::Product { draft, .. } = item {
            drafts.push(draft.as_ref());
        }
    }
    drafts
}

fn product<'i>(items: &'i [FeedItem], external_id: &str) -> &'i ProductDraft {
    let all = products(items);
    all.into_iter().find(|draft| draft.external_id == external_id).expect("the product is there")
}

/// Describes each item in one line.
fn summaries(items: &[FeedItem]) -> Vec<String> {
    let describe = |item: &FeedItem| match item {
        FeedItem::Product { line, draft } => {
            format!("{line} {} with {} variants", draft.external_id, draft.variants.len())
        }
        FeedItem::InvalidRow { line, external_id, error } => {
            let id = external_id.as_deref().unwrap_or("?");
            format!("{line} {id} invalid: {} {}", error.field, error.code)
        }
        FeedItem::Skipped { line, external_id, error, stays_listed } => {
            let id = external_id.as_deref().unwrap_or("?");
            let stays = if *stays_listed { "stays" } else { "goes" };
            format!("{line} {id} skipped: {} {stays}", error.code)
        }
        FeedItem::Warning { line, external_id, error } => {
            let id = external_id.as_deref().unwrap_or("?");
            format!("{line} {id} warning: {} {}", error.field, error.code)
        }
        FeedItem::Truncated { line, error } => format!("{line} truncated: {}", error.code),
    };
    items.iter().map(describe).collect()
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn amount(text: &str) -> Option<Amount> {
    Some(Amount::new(text))
}

/// A title above the maximum size of a row.
fn huge() -> String {
    "x".repeat(3 << 20)
}
