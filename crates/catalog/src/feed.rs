//! What a reader of feeds is asked, and what it answers. The readers are in `connectors`; the catalog
//! only knows this face of them.

use std::io::BufRead;
use std::ops::ControlFlow;

use merchants::GtinSource;
use primitives::Currency;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Fault, ProductDraft};

/// The formats that can come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FeedFormat {
    /// One JSON object a line, each a product draft.
    Ndjson,
    /// Google Merchant, RSS 2.0 or Atom.
    GoogleXml,
    /// Google Merchant, tab-separated.
    GoogleTsv,
    /// Shopify's product export.
    ShopifyCsv,
    /// The Agentic Commerce Protocol's feed.
    AcpJson,
}

impl FeedFormat {
    /// All of them with their names, as on the wire, in PostgreSQL and on the command line.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Ndjson, "ndjson"),
        (Self::GoogleXml, "google_xml"),
        (Self::GoogleTsv, "google_tsv"),
        (Self::ShopifyCsv, "shopify_csv"),
        (Self::AcpJson, "acp_json"),
    ];

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(format, _)| *format == self).map_or("", |(_, name)| name)
    }

    /// The format of a name.
    #[must_use]
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(format, _)| *format)
    }

    /// Whether rows that lie apart may belong to one product, as variants of a group.
    #[must_use]
    pub fn has_groups(self) -> bool {
        matches!(self, Self::GoogleXml | Self::GoogleTsv | Self::ShopifyCsv)
    }
}

/// What a reader has to know of the store.
#[derive(Debug, Clone)]
pub struct FeedSettings {
    /// The currency of amounts that name none.
    pub currency: Currency,
    /// Where the GTIN stands.
    pub gtin_source: GtinSource,
}

/// What a reader found.
#[derive(Debug, Clone, PartialEq)]
pub enum FeedItem {
    /// A product. `line` is where its first row begins, from 1.
    Product {
        /// Where it stands.
        line: u64,
        /// What it says.
        draft: Box<ProductDraft>,
    },
    /// A row that cannot be read, or not be turned into a draft. Reading goes on behind it.
    Broken {
        /// Where it stands.
        line: u64,
        /// The product it is about, where that much can be told: it is then not taken for absent.
        external_id: Option<String>,
        /// What is wrong.
        fault: Fault,
    },
    /// The file ends before its end: what came before is good, what is absent may only be missing.
    Cut {
        /// Where it ends.
        line: u64,
        /// What is wrong.
        fault: Fault,
    },
}

/// Reads a feed from beginning to end and hands over what it finds, until told to stop. It keeps no
/// more than one product in memory, whatever the file holds.
pub type ReadFeed =
    fn(FeedFormat, &mut dyn BufRead, &FeedSettings, &mut dyn FnMut(FeedItem) -> ControlFlow<()>);
