//! The interface between the catalog and the feed readers, which are in `connectors`.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::ops::ControlFlow;

use merchants::GtinSource;
use primitives::Currency;
use serde::{Deserialize, Serialize};

use crate::{FieldError, ProductDraft};

primitives::text_enum! {
    /// Format of a product feed.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum FeedFormat {
        /// One JSON object per line, each a product as in `PATCH /merchant/products`.
        Ndjson,
        /// Google Merchant, RSS 2.0 or Atom.
        GoogleXml,
        /// Google Merchant, tab-separated.
        GoogleTsv,
        /// Shopify's product export.
        ShopifyCsv,
        /// The feed of the Agentic Commerce Protocol.
        AcpJson,
        /// A table with a header row; `columns` names the column of each field.
        Csv,
    }
}

impl FeedFormat {
    /// Returns a description for people.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Ndjson => "One product per line, as in `PATCH /merchant/products`.",
            Self::GoogleXml => "Google Merchant, RSS 2.0 or Atom.",
            Self::GoogleTsv => "Google Merchant, tab-separated.",
            Self::ShopifyCsv => "Shopify's product export.",
            Self::AcpJson => "The feed of the Agentic Commerce Protocol.",
            Self::Csv => "Any table with a header row; `columns` names the column of each field.",
        }
    }

    /// Returns the media type that identifies the format in API requests.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Ndjson => "application/x-ndjson",
            Self::GoogleXml => "application/xml",
            Self::GoogleTsv => "text/tab-separated-values",
            Self::ShopifyCsv => "text/csv",
            Self::AcpJson => "application/json",
            Self::Csv => "application/csv",
        }
    }

    /// Returns the other media types under which files of the format are sent.
    const fn media_type_aliases(self) -> &'static [&'static str] {
        match self {
            Self::Ndjson => &["application/jsonl", "application/ndjson"],
            Self::GoogleXml => &["text/xml", "application/rss+xml", "application/atom+xml"],
            Self::GoogleTsv | Self::ShopifyCsv | Self::AcpJson | Self::Csv => &[],
        }
    }

    /// Returns the file extensions that only this format has.
    const fn file_extensions(self) -> &'static [&'static str] {
        match self {
            Self::Ndjson => &["ndjson"],
            Self::GoogleXml => &["xml", "rss", "atom"],
            Self::GoogleTsv => &["tsv"],
            Self::ShopifyCsv | Self::AcpJson | Self::Csv => &[],
        }
    }

    /// Returns the format of a Content-Type, or `None` if no format has it. Case and parameters are ignored.
    #[must_use]
    pub fn from_media_type(content_type: &str) -> Option<Self> {
        let media_type = content_type.split(';').next()?.trim().to_ascii_lowercase();
        let has_type = |format: &Self| {
            format.media_type() == media_type
                || format.media_type_aliases().contains(&media_type.as_str())
        };
        Self::ALL.iter().copied().find(has_type)
    }

    /// Returns the format of a lowercase file extension, or `None` if the extension does not determine it.
    #[must_use]
    pub fn from_file_extension(extension: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.file_extensions().contains(&extension))
    }

    /// Whether several rows, not necessarily adjacent, can form one product with variants.
    #[must_use]
    pub fn has_groups(self) -> bool {
        matches!(self, Self::GoogleXml | Self::GoogleTsv | Self::ShopifyCsv)
    }
}

/// Settings of the store that a feed reader needs.
#[derive(Debug, Clone)]
pub struct FeedSettings {
    /// Currency of amounts without one.
    pub currency: Currency,
    /// Field that holds the GTIN.
    pub gtin_source: GtinSource,
    /// Columns of a file without a known format.
    pub columns: Option<FeedColumns>,
}

impl FeedSettings {
    /// Returns settings without columns.
    #[must_use]
    pub fn new(currency: Currency, gtin_source: GtinSource) -> Self {
        Self { currency, gtin_source, columns: None }
    }
}

/// The column of each field, for files without a known format: `external_id` → `Artikelnummer`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FeedColumns(BTreeMap<String, String>);

/// Why columns are invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FeedColumnsError {
    #[error(
        "columns must be a JSON object of field and column, such as {{\"external_id\":\"Item no\"}}"
    )]
    NotAnObject,
    #[error("columns names a field that a product does not have")]
    UnknownField,
    #[error("a column must have 1 to 100 characters, without line breaks")]
    InvalidColumn,
    #[error("columns must name the column of external_id")]
    NoIdentifier,
}

impl FeedColumns {
    /// The fields that a column can hold.
    pub const FIELDS: [&'static str; 20] = [
        "external_id",
        "sku",
        "name",
        "description",
        "brand",
        "gtin",
        "mpn",
        "url",
        "category",
        "condition",
        "price",
        "currency",
        "list_price",
        "sale_price",
        "sale_starts_at",
        "sale_ends_at",
        "stock_status",
        "stock_quantity",
        "image",
        "listed_at",
    ];

    /// Parses a JSON object of fields and column names.
    pub fn parse(text: &str) -> Result<Self, FeedColumnsError> {
        let columns: BTreeMap<String, String> =
            serde_json::from_str(text).map_err(|_| FeedColumnsError::NotAnObject)?;
        if columns.keys().any(|field| !Self::FIELDS.contains(&field.as_str())) {
            return Err(FeedColumnsError::UnknownField);
        }
        let is_valid = |name: &String| {
            let length = name.trim().chars().count();
            (1..=100).contains(&length) && !name.contains(|letter: char| letter.is_control())
        };
        if !columns.values().all(is_valid) {
            return Err(FeedColumnsError::InvalidColumn);
        }
        if !columns.contains_key("external_id") {
            return Err(FeedColumnsError::NoIdentifier);
        }
        Ok(Self(columns))
    }

    /// Returns the fields with their columns.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(field, column)| (field.as_str(), column.as_str()))
    }
}

/// An item that a feed reader has read.
#[derive(Debug, Clone, PartialEq)]
pub enum FeedItem {
    /// A product.
    Product {
        /// Line of its first row, from 1.
        line: u64,
        draft: Box<ProductDraft>,
    },
    /// A row that cannot be parsed or converted to a draft. Reading continues after it.
    InvalidRow {
        line: u64,
        /// The product of the row, where known: it does not count as absent then.
        external_id: Option<String>,
        error: FieldError,
    },
    /// A product that is not imported, though its row can be read: a draft, or a row with too few fields.
    Skipped {
        line: u64,
        external_id: Option<String>,
        error: FieldError,
        /// Whether a listed product stays as it is; a replacement retires it otherwise.
        stays_listed: bool,
    },
    /// Something to report about a product that is accepted, or about the whole file. It counts as no row.
    Warning { line: u64, external_id: Option<String>, error: FieldError },
    /// The file is truncated, or cannot be read at all. The items before are valid; products may be missing.
    Truncated { line: u64, error: FieldError },
}

/// Reads a feed and passes each item to the callback until the callback breaks. At most one product is held in memory,
/// whatever the size of the file.
pub type ReadFeed =
    fn(FeedFormat, &mut dyn BufRead, &FeedSettings, &mut dyn FnMut(FeedItem) -> ControlFlow<()>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_names_one_format() {
        for &format in FeedFormat::ALL {
            assert_eq!(FeedFormat::from_media_type(format.media_type()), Some(format));
            for alias in format.media_type_aliases() {
                assert_eq!(FeedFormat::from_media_type(alias), Some(format), "{alias}");
            }
            for extension in format.file_extensions() {
                assert_eq!(FeedFormat::from_file_extension(extension), Some(format), "{extension}");
            }
        }
        assert_eq!(
            FeedFormat::from_media_type("Text/CSV; charset=utf-8"),
            Some(FeedFormat::ShopifyCsv)
        );
        assert_eq!(FeedFormat::from_media_type("application/octet-stream"), None);
    }
}
