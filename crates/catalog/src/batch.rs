//! Second pass over a feed: its rows become checked products, in batches that fit into one transaction.

use std::collections::HashMap;
use std::sync::Arc;

use primitives::Currency;

use crate::check::check;
use crate::feed_run::RowErrorKind;
use crate::feed_scan::{FeedScan, IdHash, Occurrences};
use crate::feed_stream::Sink;
use crate::incoming::Incoming;
use crate::{FeedItem, FieldError, FieldErrorCode, ProductDraft};

/// Most rows written in one transaction.
const ROWS_MAX: usize = 500;
/// Most bytes of drafts in one transaction; a larger product has one of its own.
const BYTES_MAX: usize = 4 << 20;
/// Most variants, and most bytes, buffered for products whose rows are not adjacent in the feed.
const BUFFERED_VARIANTS_MAX: usize = 100_000;
const BUFFERED_BYTES_MAX: usize = 32 << 20;
/// Most rows that are rejected because they cannot be buffered.
const UNBUFFERED_ROWS_MAX: usize = 100_000;

/// A row of a feed after the check.
#[derive(Debug)]
pub(crate) enum CheckedRow {
    Product {
        line: u64,
        incoming: Box<Incoming>,
    },
    Rejected {
        line: u64,
        external_id: Option<String>,
        errors: Vec<FieldError>,
    },
    /// A row that was left out, or a warning.
    Noted {
        line: u64,
        external_id: Option<String>,
        error: FieldError,
        kind: RowErrorKind,
    },
}

/// Rows that are written in one transaction.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) rows: Vec<CheckedRow>,
    /// Database rows that writing the batch may touch.
    weight: usize,
    /// Bytes of its drafts.
    bytes: usize,
    /// The feed cannot be imported; the batch is its last one.
    pub(crate) failure: Option<&'static str>,
    /// All items up to this number are in this batch or an earlier one: where a restarted run resumes.
    pub(crate) items_done: u64,
}

/// Builds batches of a feed that has been scanned.
pub(crate) struct BatchBuilder {
    scan: Arc<FeedScan>,
    currency: Currency,
    has_groups: bool,
    /// Items that an earlier attempt has committed.
    skip: u64,
    /// Number of the current item, from 1.
    item: u64,
    /// Incomplete groups by external id.
    groups: HashMap<IdHash, Group>,
    buffered_variants: usize,
    buffered_bytes: usize,
    /// Rows rejected because they could not be buffered.
    unbuffered_rows: usize,
    batch: Batch,
    full: Option<Batch>,
}

/// A product some of whose rows have not been read yet.
struct Group {
    /// Number of its first item.
    item: u64,
    line: u64,
    /// Rows read so far.
    rows: u32,
    /// `None` while all rows read so far were rejected.
    draft: Option<Box<ProductDraft>>,
    bytes: usize,
}

impl BatchBuilder {
    pub(crate) fn new(
        scan: Arc<FeedScan>,
        currency: Currency,
        has_groups: bool,
        skip: u64,
    ) -> Self {
        Self {
            scan,
            currency,
            has_groups,
            skip,
            item: 0,
            groups: HashMap::new(),
            buffered_variants: 0,
            buffered_bytes: 0,
            unbuffered_rows: 0,
            batch: Batch::default(),
            full: None,
        }
    }

    fn product(&mut self, line: u64, draft: Box<ProductDraft>) {
        let id = self.scan.hash(draft.external_id.trim());
        let occurrences = self.scan.occurrences(id).unwrap_or(Occurrences::only(self.item));
        let is_member = occurrences.is_repeated()
            && self.has_groups
            && !draft.variants.is_empty()
            && !occurrences.is_standalone();
        if is_member {
            self.add_to_group(id, line, draft, occurrences.members());
        } else if self.item <= self.skip {
            // An earlier attempt has written or rejected it.
        } else if occurrences.first() == Some(self.item) {
            self.check(line, &draft);
        } else {
            let reason = "is the identifier of an earlier row, which was used instead";
            let error = FieldError::new("external_id", FieldErrorCode::Duplicate, reason);
            self.reject(line, Some(draft.external_id), vec![error]);
        }
    }

    /// Merges a row into its group. Rows of groups are never skipped: which of them an earlier attempt has read says
    /// nothing about the others, and writing the whole product again changes nothing.
    fn add_to_group(&mut self, id: IdHash, line: u64, draft: Box<ProductDraft>, members: u32) {
        let (variants, bytes) = (draft.variants.len(), draft.bytes());
        let fits = self.buffered_variants + variants <= BUFFERED_VARIANTS_MAX
            && self.buffered_bytes + bytes <= BUFFERED_BYTES_MAX;
        // The last row of a group is not buffered, nor is the only one.
        let is_last = members == self.groups.get(&id).map_or(1, |group| group.rows + 1);
        let item = self.item;
        let new = || Group { item, line, rows: 0, draft: None, bytes: 0 };
        if fits || is_last {
            let group = self.groups.entry(id).or_insert_with(new);
            group.rows += 1;
            group.bytes += bytes;
            self.buffered_variants += variants;
            self.buffered_bytes += bytes;
            match &mut group.draft {
                Some(before) => before.merge(*draft),
                none => (group.line, *none) = (line, Some(draft)),
            }
        } else {
            self.unbuffered_rows += 1;
            let reason = "rows of one group are too far apart; sort the file by group";
            let error = FieldError::new("item_group_id", FieldErrorCode::InvalidValue, reason);
            self.reject(line, Some(draft.external_id), vec![error]);
            self.groups.entry(id).or_insert_with(new).rows += 1;
        }
        self.complete_group(id, members);
    }

    /// Checks the product of a group once all its rows have been read.
    fn complete_group(&mut self, id: IdHash, members: u32) {
        if self.groups.get(&id).is_some_and(|group| group.rows == members)
            && let Some(group) = self.groups.remove(&id)
            && let Some(draft) = group.draft
        {
            self.buffered_variants -= draft.variants.len();
            self.buffered_bytes -= group.bytes;
            self.check(group.line, &draft);
        }
    }

    fn check(&mut self, line: u64, draft: &ProductDraft) {
        match check(draft, self.currency) {
            Ok(incoming) => {
                let weight = incoming.rows();
                let row = CheckedRow::Product { line, incoming: Box::new(incoming) };
                self.add(row, weight, draft.bytes());
            }
            Err(errors) => self.reject(line, Some(draft.external_id.clone()), errors),
        }
    }

    fn reject(&mut self, line: u64, external_id: Option<String>, errors: Vec<FieldError>) {
        let weight = errors.len();
        let bytes = external_id.as_ref().map_or(0, String::len) + 100 * weight;
        self.add(CheckedRow::Rejected { line, external_id, errors }, weight, bytes);
    }

    fn note(
        &mut self,
        line: u64,
        external_id: Option<String>,
        error: FieldError,
        kind: RowErrorKind,
    ) {
        let bytes = external_id.as_ref().map_or(0, String::len) + 100;
        self.add(CheckedRow::Noted { line, external_id, error, kind }, 1, bytes);
    }

    fn add(&mut self, row: CheckedRow, weight: usize, bytes: usize) {
        let is_full = self.batch.weight + weight > ROWS_MAX || self.batch.bytes + bytes > BYTES_MAX;
        // An item adds at most two rows, an error and a product. If neither fits, the batch is larger than usual.
        if is_full && !self.batch.rows.is_empty() && self.full.is_none() {
            self.batch.items_done = self.items_done(self.item.saturating_sub(1));
            self.full = Some(std::mem::take(&mut self.batch));
        }
        self.batch.weight += weight;
        self.batch.bytes += bytes;
        self.batch.rows.push(row);
    }

    /// Number of the last item before which every item is in a batch, if items up to `item` have been read.
    fn items_done(&self, item: u64) -> u64 {
        let incomplete = self.groups.values().map(|group| group.item - 1).min();
        incomplete.map_or(item, |incomplete| incomplete.min(item))
    }
}

impl Sink for BatchBuilder {
    type Output = Batch;

    fn push(&mut self, item: FeedItem) -> Option<Batch> {
        self.item += u64::from(!matches!(item, FeedItem::Warning { .. }));
        match item {
            FeedItem::Product { line, draft } => self.product(line, draft),
            FeedItem::InvalidRow { line, external_id, error } => {
                if self.item > self.skip {
                    self.reject(line, external_id, vec![error]);
                }
            }
            FeedItem::Skipped { line, external_id, error, .. } => {
                if self.item > self.skip {
                    self.note(line, external_id, error, RowErrorKind::Skipped);
                }
            }
            FeedItem::Warning { line, external_id, error } => {
                // A warning follows the item to which it belongs.
                if self.skip == 0 || self.item > self.skip {
                    self.note(line, external_id, error, RowErrorKind::Warning);
                }
            }
            FeedItem::Truncated { line, error } => self.reject(line, None, vec![error]),
        }
        if self.unbuffered_rows > UNBUFFERED_ROWS_MAX {
            let failure = Some("rows of one group are too far apart; sort the file by group");
            return Some(Batch { failure, ..std::mem::take(&mut self.batch) });
        }
        self.full.take()
    }

    fn finish(mut self) -> Option<Batch> {
        self.batch.items_done = self.item;
        Some(self.batch)
    }
}
