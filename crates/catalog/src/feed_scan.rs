//! First pass over a feed: which products it contains, so that a replacement knows the absent ones before it changes
//! anything. The second pass is in `batch`.
//!
//! Identifiers are kept as hashes of 64 bits, a few dozen bytes each. In a feed of four million rows, two identifiers have
//! the same hash with a probability of one to two million; the second would be rejected as a duplicate.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::feed_stream::Sink;
use crate::{FeedItem, FieldError};

/// A scan with more identifiers takes one of the places of large scans.
const SMALL_SCAN: usize = 200_000;
/// Large scans of a process at the same time. Further ones wait.
static LARGE_SCANS: Semaphore = Semaphore::const_new(2);
/// Most rows that a scan can number.
const ROWS_MAX: u64 = Occurrences::MEMBERS_MAX as u64;

/// Summary of a whole feed.
#[derive(Debug)]
pub(crate) struct FeedScan {
    hasher: RandomState,
    products: HashMap<IdHash, Occurrences, BuildHasherDefault<HashedKey>>,
    rows_max: u64,
    /// Products and invalid rows.
    pub(crate) items: u64,
    /// Invalid rows whose product is unknown.
    pub(crate) unidentified_rows: u64,
    /// Why the file is truncated or unreadable.
    pub(crate) truncated: Option<FieldError>,
    /// The feed has more rows than allowed; the rest was not read.
    pub(crate) has_too_many_rows: bool,
    /// Held by a large scan.
    permit: Option<SemaphorePermit<'static>>,
}

/// The hash of an external id. It differs from scan to scan.
pub(crate) type IdHash = u64;

/// The items of a feed with one external id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Occurrences {
    /// Number of the first item that is a product, from 1; 0 if all its rows are invalid.
    first: u32,
    /// In the low bits the number of items that are products with variants, which form a group.
    members: u32,
}

impl Occurrences {
    const MEMBERS_MAX: u32 = (1 << 30) - 1;
    const IS_REPEATED: u32 = 1 << 30;
    const IS_STANDALONE: u32 = 1 << 31;

    const NONE: Self = Self { first: 0, members: 0 };

    /// The occurrence of an item that the scan does not contain.
    pub(crate) fn only(item: u64) -> Self {
        Self { first: u32::try_from(item).unwrap_or(u32::MAX), members: 0 }
    }

    /// Returns the number of the first item that is a product; `None` if all its rows are invalid.
    pub(crate) fn first(self) -> Option<u64> {
        (self.first > 0).then_some(u64::from(self.first))
    }

    /// Whether several items have this id, invalid rows included.
    pub(crate) const fn is_repeated(self) -> bool {
        self.members & Self::IS_REPEATED != 0
    }

    /// Whether the first product has no variants, so that the rows with this id form no group.
    pub(crate) const fn is_standalone(self) -> bool {
        self.members & Self::IS_STANDALONE != 0
    }

    /// Returns how many rows form the group of this id.
    pub(crate) const fn members(self) -> u32 {
        self.members & Self::MEMBERS_MAX
    }
}

impl FeedScan {
    /// Returns a scan of at most this many rows.
    pub(crate) fn new(rows_max: u64) -> Self {
        Self {
            hasher: RandomState::new(),
            products: HashMap::default(),
            rows_max: rows_max.min(ROWS_MAX),
            items: 0,
            unidentified_rows: 0,
            truncated: None,
            has_too_many_rows: false,
            permit: None,
        }
    }

    /// Returns the hash of an external id.
    pub(crate) fn hash(&self, external_id: &str) -> IdHash {
        self.hasher.hash_one(external_id)
    }

    /// Whether the feed contains a product, even if only in an invalid row.
    pub(crate) fn contains(&self, external_id: &str) -> bool {
        self.products.contains_key(&self.hash(external_id))
    }

    pub(crate) fn occurrences(&self, id: IdHash) -> Option<Occurrences> {
        self.products.get(&id).copied()
    }

    /// Adds an item. `has_variants` is `None` for an invalid row.
    fn add(&mut self, external_id: &str, has_variants: Option<bool>) {
        let id = self.hash(external_id);
        let item = u32::try_from(self.items).unwrap_or(u32::MAX);
        let mut occurrences = match self.products.get(&id) {
            Some(known) => {
                Occurrences { members: known.members | Occurrences::IS_REPEATED, ..*known }
            }
            None => Occurrences::NONE,
        };
        if let Some(has_variants) = has_variants {
            if occurrences.first == 0 {
                occurrences.first = item;
                if !has_variants {
                    occurrences.members |= Occurrences::IS_STANDALONE;
                }
            }
            occurrences.members += u32::from(has_variants);
        }
        self.products.insert(id, occurrences);
    }

    /// Waits for a place before a small scan becomes a large one. The reader runs on a blocking thread.
    fn take_place(&mut self) {
        if self.permit.is_none()
            && self.products.len() >= SMALL_SCAN
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            // The semaphore is never closed.
            self.permit = runtime.block_on(LARGE_SCANS.acquire()).ok();
        }
    }
}

impl Sink for FeedScan {
    type Output = Self;

    fn push(&mut self, item: FeedItem) -> Option<Self> {
        let is_row = !matches!(item, FeedItem::Truncated { .. } | FeedItem::Warning { .. });
        if self.items >= self.rows_max && is_row {
            let mut scan = std::mem::replace(self, Self::new(0));
            scan.has_too_many_rows = true;
            return Some(scan);
        }
        if let FeedItem::Warning { .. } = item {
            return None;
        }
        self.items += 1;
        match item {
            FeedItem::Product { draft, .. } => {
                self.add(draft.external_id.trim(), Some(!draft.variants.is_empty()));
            }
            FeedItem::InvalidRow { external_id: Some(id), .. } => self.add(id.trim(), None),
            FeedItem::InvalidRow { .. } => self.unidentified_rows += 1,
            FeedItem::Skipped { external_id: Some(id), stays_listed: true, .. } => {
                self.add(id.trim(), None);
            }
            FeedItem::Skipped { .. } | FeedItem::Warning { .. } => {}
            FeedItem::Truncated { error, .. } => self.truncated = Some(error),
        }
        self.take_place();
        None
    }

    fn finish(self) -> Option<Self> {
        Some(self)
    }
}

/// The hasher of keys that are hashes.
#[derive(Debug, Default)]
struct HashedKey(u64);

impl Hasher for HashedKey {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FieldErrorCode, ProductDraft, VariantDraft};

    fn product(id: &str, has_variants: bool) -> FeedItem {
        let variants = if has_variants { vec![VariantDraft::default()] } else { Vec::new() };
        let draft = ProductDraft { external_id: id.to_owned(), variants, ..Default::default() };
        FeedItem::Product { line: 1, draft: Box::new(draft) }
    }

    fn invalid(id: Option<&str>) -> FeedItem {
        let error = FieldError::new("item", FieldErrorCode::Unreadable, "");
        FeedItem::InvalidRow { line: 1, external_id: id.map(str::to_owned), error }
    }

    #[test]
    fn rows_are_counted_by_their_identifier() {
        let mut scan = FeedScan::new(100);
        let items = [
            product("group", true),
            invalid(Some("group")),
            product(" group ", true),
            product("alone", false),
            product("alone", true),
            invalid(Some("broken")),
            invalid(None),
            product("once", false),
        ];
        for item in items {
            assert!(scan.push(item).is_none());
        }
        let of = |id: &str| {
            let found = scan.occurrences(scan.hash(id)).unwrap();
            (found.first(), found.is_repeated(), found.is_standalone(), found.members())
        };
        assert_eq!(of("group"), (Some(1), true, false, 2));
        assert_eq!(of("alone"), (Some(4), true, true, 1));
        assert_eq!(of("broken"), (None, false, false, 0));
        assert_eq!(of("once"), (Some(8), false, true, 0));
        assert!(scan.contains("broken") && !scan.contains("absent"));
        assert_eq!((scan.items, scan.unidentified_rows), (8, 1));
    }

    #[test]
    fn a_scan_ends_at_the_maximum_of_rows() {
        let mut scan = FeedScan::new(2);
        assert!(scan.push(product("a", false)).is_none() && scan.push(invalid(None)).is_none());
        let ended = scan.push(product("c", false)).unwrap();
        assert!(ended.has_too_many_rows && ended.contains("a") && !ended.contains("c"));
    }

    #[test]
    fn an_identifier_takes_little_memory() {
        assert_eq!(size_of::<(IdHash, Occurrences)>(), 16);
    }
}
