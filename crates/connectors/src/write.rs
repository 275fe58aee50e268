//! Writes products as a feed, for exports and for round-trip tests.
//!
//! Only NDJSON represents every field. [`representable`] returns the part of a product that a format
//! represents; reading the output of [`write()`] returns exactly that part, in order, for every product for
//! which [`can_represent`] is true, if texts have no leading or trailing whitespace.

mod acp_json;
mod google;
mod google_tsv;
mod google_xml;
mod shopify_csv;

use catalog::{Amount, FeedFormat, ProductDraft};
use primitives::{Currency, Money};

/// Writes products as a feed. `currency` is that of the store, for products that name none.
#[must_use]
pub fn write(format: FeedFormat, drafts: &[ProductDraft], currency: Currency) -> Vec<u8> {
    let supported = drafts.iter().filter(|draft| can_represent(format, draft, currency));
    let drafts: Vec<_> = supported.map(|draft| representable(format, draft, currency)).collect();
    match format {
        FeedFormat::Ndjson => ndjson(&drafts),
        FeedFormat::GoogleXml => google_xml::write(&drafts),
        FeedFormat::GoogleTsv => google_tsv::write(&drafts),
        FeedFormat::ShopifyCsv => shopify_csv::write(&drafts),
        FeedFormat::AcpJson => acp_json::write(&drafts),
        FeedFormat::Csv => Vec::new(),
    }
}

/// The formats that are written: all but a table with columns of its own.
pub const FORMATS: [FeedFormat; 5] = [
    FeedFormat::Ndjson,
    FeedFormat::GoogleXml,
    FeedFormat::GoogleTsv,
    FeedFormat::ShopifyCsv,
    FeedFormat::AcpJson,
];

/// Whether the format can represent a product. Shopify's format has no currency, so a product in another
/// currency than the store's would be read back with a wrong price.
#[must_use]
pub fn can_represent(format: FeedFormat, draft: &ProductDraft, currency: Currency) -> bool {
    let named = draft.currency.as_deref();
    match format {
        FeedFormat::ShopifyCsv => named.is_none_or(|named| named == currency.code()),
        format => FORMATS.contains(&format),
    }
}

/// Returns the part of a product that the format represents.
#[must_use]
pub fn representable(format: FeedFormat, draft: &ProductDraft, currency: Currency) -> ProductDraft {
    let full = with_currency(draft, currency);
    match format {
        FeedFormat::Ndjson => draft.clone(),
        FeedFormat::GoogleXml | FeedFormat::GoogleTsv => google::representable(&full),
        FeedFormat::ShopifyCsv => shopify_csv::representable(&full),
        FeedFormat::AcpJson => acp_json::representable(&full),
        FeedFormat::Csv => ProductDraft::default(),
    }
}

/// Returns the product with an explicit currency and with all decimals of its amounts: `1.299` would be
/// ambiguous in most formats. Only NDJSON represents sales.
fn with_currency(draft: &ProductDraft, currency: Currency) -> ProductDraft {
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
    (draft.sale_price, draft.sale_starts_at, draft.sale_ends_at) = (None, None, None);
    full(&mut draft.price);
    full(&mut draft.list_price);
    for variant in &mut draft.variants {
        (variant.sale_price, variant.sale_starts_at, variant.sale_ends_at) = (None, None, None);
        full(&mut variant.price);
        full(&mut variant.list_price);
    }
    draft
}

fn ndjson(drafts: &[ProductDraft]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for draft in drafts {
        // Serializing texts, numbers and maps with text keys cannot fail.
        bytes.extend(serde_json::to_vec(draft).unwrap_or_default());
        bytes.push(b'\n');
    }
    bytes
}

/// Writes rows as delimited text.
fn delimited(delimiter: u8, rows: impl IntoIterator<Item = Vec<String>>) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
    for row in rows {
        // Writing to memory cannot fail, and all rows are as long as the header.
        let _ = writer.write_record(&row);
    }
    writer.into_inner().unwrap_or_default()
}

/// Formats a category path.
fn category_path(category: &[String]) -> String {
    category.join(" > ")
}
