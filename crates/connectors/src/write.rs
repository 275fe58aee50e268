//! The way back: products written as a feed. Exports use it, and so do proofs, because reading what
//! was written has to give the same products again.
//!
//! No format but NDJSON has a place for everything. [`carried`] is what is left of a product, and
//! reading [`write`] gives exactly that, in that order, for every product that [`carries`] allows,
//! as long as texts have no white space at their ends.

mod acp_json;
mod google;
mod google_tsv;
mod google_xml;
mod shopify_csv;

use catalog::{Amount, FeedFormat, ProductDraft};
use primitives::{Currency, Money};

/// Writes products as a feed. `currency` is the store's: that of products that name none.
#[must_use]
pub fn write(format: FeedFormat, drafts: &[ProductDraft], currency: Currency) -> Vec<u8> {
    let allowed = drafts.iter().filter(|draft| carries(format, draft, currency));
    let drafts: Vec<_> = allowed.map(|draft| carried(format, draft, currency)).collect();
    match format {
        FeedFormat::Ndjson => lines(&drafts),
        FeedFormat::GoogleXml => google_xml::write(&drafts),
        FeedFormat::GoogleTsv => google_tsv::write(&drafts),
        FeedFormat::ShopifyCsv => shopify_csv::write(&drafts),
        FeedFormat::AcpJson => acp_json::write(&drafts),
    }
}

/// Whether the format can carry a product at all. Shopify's file has no place for a currency, so a
/// product in another one than the store's would come back at a wrong price.
#[must_use]
pub fn carries(format: FeedFormat, draft: &ProductDraft, currency: Currency) -> bool {
    let named = draft.currency.as_deref();
    format != FeedFormat::ShopifyCsv || named.is_none_or(|named| named == currency.code())
}

/// What the format can carry of a product.
#[must_use]
pub fn carried(format: FeedFormat, draft: &ProductDraft, currency: Currency) -> ProductDraft {
    let full = in_full(draft, currency);
    match format {
        FeedFormat::Ndjson => draft.clone(),
        FeedFormat::GoogleXml | FeedFormat::GoogleTsv => google::carried(&full),
        FeedFormat::ShopifyCsv => shopify_csv::carried(&full),
        FeedFormat::AcpJson => acp_json::carried(&full),
    }
}

/// The product with its currency named, and its amounts with all decimals of it: `1.299` would be
/// ambiguous in most formats.
fn in_full(draft: &ProductDraft, currency: Currency) -> ProductDraft {
    let named = draft.currency.as_deref().and_then(|code| code.parse().ok());
    let currency: Currency = named.unwrap_or(currency);
    let full = |amount: &mut Option<Amount>| {
        let Some(text) = amount.as_ref().map(Amount::as_str) else { return };
        if let Ok(money) = Money::from_decimal_text(text, currency) {
            *amount = Some(Amount::new(money.to_decimal_text()));
        }
    };
    let mut draft = draft.clone();
    draft.currency = Some(currency.code().to_owned());
    full(&mut draft.price);
    full(&mut draft.list_price);
    for variant in &mut draft.variants {
        full(&mut variant.price);
        full(&mut variant.list_price);
    }
    draft
}

fn lines(drafts: &[ProductDraft]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for draft in drafts {
        // A draft is texts, numbers and maps with texts for keys, which always are JSON.
        bytes.extend(serde_json::to_vec(draft).unwrap_or_default());
        bytes.push(b'\n');
    }
    bytes
}

/// Rows as delimited text.
fn sheet(delimiter: u8, rows: impl IntoIterator<Item = Vec<String>>) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
    for row in rows {
        // Memory does not fail, and the rows are all as long as the header.
        let _ = writer.write_record(&row);
    }
    writer.into_inner().unwrap_or_default()
}

/// A category as one text, as Google and the others write it.
fn path(category: &[String]) -> String {
    category.join(" > ")
}
