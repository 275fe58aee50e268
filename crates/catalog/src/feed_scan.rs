//! First pass over a feed: which products it contains, so that a replacement knows the absent ones before it changes
//! anything. The second pass is in `batch`.

use std::collections::HashMap;

use crate::FeedItem;
use crate::feed_stream::Sink;

/// Summary of a whole feed.
#[derive(Debug, Default)]
pub(crate) struct FeedScan {
    products: HashMap<Box<str>, Occurrences>,
    /// Products and invalid rows.
    pub(crate) items: u64,
    /// Invalid rows whose product is unknown.
    pub(crate) unidentified_rows: u64,
    pub(crate) truncated: bool,
}

/// The items of a feed with one external id.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Occurrences {
    /// Number of the first item that is a product, from 1; `None` if all its rows are invalid.
    pub(crate) first: Option<u64>,
    /// Items with this id, invalid rows included.
    pub(crate) count: u32,
}

impl FeedScan {
    /// Whether the feed contains a product, even if only in an invalid row.
    pub(crate) fn contains(&self, external_id: &str) -> bool {
        self.products.contains_key(external_id)
    }

    pub(crate) fn occurrences(&self, external_id: &str) -> Option<Occurrences> {
        self.products.get(external_id).copied()
    }

    fn add(&mut self, external_id: &str, product: Option<u64>) {
        if let Some(occurrences) = self.products.get_mut(external_id) {
            occurrences.count += 1;
            occurrences.first = occurrences.first.or(product);
        } else {
            let occurrences = Occurrences { first: product, count: 1 };
            self.products.insert(external_id.into(), occurrences);
        }
    }
}

impl Sink for FeedScan {
    type Output = Self;

    fn push(&mut self, item: FeedItem) -> Option<Self> {
        self.items += 1;
        match item {
            FeedItem::Product { draft, .. } => {
                self.add(draft.external_id.trim(), Some(self.items));
            }
            FeedItem::InvalidRow { external_id: Some(id), .. } => self.add(id.trim(), None),
            FeedItem::InvalidRow { .. } => self.unidentified_rows += 1,
            FeedItem::Truncated { .. } => self.truncated = true,
        }
        None
    }

    fn finish(self) -> Option<Self> {
        Some(self)
    }
}
