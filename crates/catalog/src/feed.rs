//! The interface between the catalog and the feed readers, which are in `connectors`.

use std::io::BufRead;
use std::ops::ControlFlow;

use merchants::GtinSource;
use primitives::Currency;

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
        }
    }

    /// Returns the other media types under which files of the format are sent.
    const fn media_type_aliases(self) -> &'static [&'static str] {
        match self {
            Self::Ndjson => &["application/jsonl", "application/ndjson"],
            Self::GoogleXml => &["text/xml", "application/rss+xml", "application/atom+xml"],
            Self::GoogleTsv | Self::ShopifyCsv | Self::AcpJson => &[],
        }
    }

    /// Returns the file extensions that only this format has.
    const fn file_extensions(self) -> &'static [&'static str] {
        match self {
            Self::Ndjson => &["ndjson"],
            Self::GoogleXml => &["xml", "rss", "atom"],
            Self::GoogleTsv => &["tsv"],
            Self::ShopifyCsv | Self::AcpJson => &[],
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
    /// The file is truncated. The items before are valid; products may be missing.
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
