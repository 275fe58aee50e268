//! Second pass over a feed: its rows become checked products, in batches that fit into one transaction.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use primitives::Currency;

use crate::check::check;
use crate::feed_scan::{FeedScan, Occurrences};
use crate::feed_stream::Sink;
use crate::incoming::Incoming;
use crate::{FeedItem, FieldError, FieldErrorCode, ProductDraft};

/// Most rows written in one transaction.
const ROWS_MAX: usize = 500;
/// Most variants buffered for products whose rows are not adjacent in the feed.
const BUFFERED_VARIANTS_MAX: usize = 100_000;

/// A row of a feed after the check.
#[derive(Debug)]
pub(crate) enum CheckedRow {
    Product(Box<Incoming>),
    Rejected { line: u64, external_id: Option<String>, errors: Vec<FieldError> },
}

/// Rows that are written in one transaction.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) rows: Vec<CheckedRow>,
    /// Database rows that writing the batch may touch.
    weight: usize,
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
    /// Ids of accepted products without variants whose id occurs again later in the feed.
    standalone: HashSet<String>,
    /// Incomplete groups by external id.
    groups: HashMap<String, Group>,
    buffered_variants: usize,
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
    /// Has an empty external id while all rows read so far are invalid.
    draft: Box<ProductDraft>,
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
            standalone: HashSet::new(),
            groups: HashMap::new(),
            buffered_variants: 0,
            batch: Batch::default(),
            full: None,
        }
    }

    fn product(&mut self, line: u64, draft: Box<ProductDraft>) {
        let occurrences = self.scan.occurrences(draft.external_id.trim());
        let occurrences = occurrences.unwrap_or(Occurrences { first: Some(self.item), count: 1 });
        if occurrences.count > 1 && self.has_groups && !draft.variants.is_empty() {
            let id = draft.external_id.trim();
            if self.standalone.contains(id) {
                self.duplicate(line, &draft);
            } else {
                self.add_to_group(line, draft, occurrences.count);
            }
        } else if occurrences.first != Some(self.item) {
            self.duplicate(line, &draft);
        } else {
            if occurrences.count > 1 {
                // A product without variants is no part of a group, so that its group is dropped.
                self.groups.remove(draft.external_id.trim());
                self.standalone.insert(draft.external_id.trim().to_owned());
            }
            if self.item > self.skip {
                self.check(line, &draft);
            }
        }
    }

    /// Rejects a row whose id belongs to an earlier row that is not part of a group.
    fn duplicate(&mut self, line: u64, draft: &ProductDraft) {
        if self.item > self.skip {
            let reason = "is the identifier of an earlier row, which was used instead";
            let error = FieldError::new("external_id", FieldErrorCode::Duplicate, reason);
            self.reject(line, Some(draft.external_id.clone()), vec![error]);
        }
        self.count_missing_row(Some(&draft.external_id));
    }

    /// Merges a row into its group. Rows of groups are never skipped: which of them an earlier attempt has read says
    /// nothing about the others, and writing the whole product again changes nothing.
    fn add_to_group(&mut self, line: u64, draft: Box<ProductDraft>, rows_total: u32) {
        let id = draft.external_id.trim().to_owned();
        self.buffered_variants += draft.variants.len();
        if self.buffered_variants > BUFFERED_VARIANTS_MAX {
            self.buffered_variants -= draft.variants.len();
            let reason = "rows of one group are too far apart; sort the file by group";
            let error = FieldError::new("item_group_id", FieldErrorCode::InvalidValue, reason);
            self.reject(line, Some(id.clone()), vec![error]);
            return self.count_missing_row(Some(&id));
        }
        let item = self.item;
        match self.groups.get_mut(&id) {
            Some(group) if group.draft.external_id.is_empty() => {
                *group = Group { item: group.item, line, rows: group.rows + 1, draft };
            }
            Some(group) => {
                group.rows += 1;
                group.draft.merge(*draft);
            }
            None => {
                self.groups.insert(id.clone(), Group { item, line, rows: 1, draft });
            }
        }
        self.complete_group(&id, rows_total);
    }

    /// Checks the product of a group once all its rows have been read.
    fn complete_group(&mut self, id: &str, rows_total: u32) {
        if self.groups.get(id).is_some_and(|group| group.rows == rows_total)
            && let Some(group) = self.groups.remove(id)
        {
            self.buffered_variants -= group.draft.variants.len();
            self.check(group.line, &group.draft);
        }
    }

    /// Counts a row of a group that is invalid: the group consists of the other rows.
    fn count_missing_row(&mut self, external_id: Option<&str>) {
        let Some(id) = external_id.map(str::trim) else { return };
        let rows_total = self.scan.occurrences(id).map_or(1, |occurrences| occurrences.count);
        if !self.has_groups || rows_total < 2 || self.standalone.contains(id) {
            return;
        }
        let (item, id) = (self.item, id.to_owned());
        let empty = || Group { item, line: 0, rows: 0, draft: Box::default() };
        self.groups.entry(id.clone()).or_insert_with(empty).rows += 1;
        let is_empty = self.groups.get(&id).is_some_and(|group| group.draft.external_id.is_empty());
        if is_empty && self.groups.get(&id).is_some_and(|group| group.rows == rows_total) {
            self.groups.remove(&id);
        } else {
            self.complete_group(&id, rows_total);
        }
    }

    fn check(&mut self, line: u64, draft: &ProductDraft) {
        match check(draft, self.currency) {
            Ok(incoming) => {
                let weight = incoming.rows();
                self.add(CheckedRow::Product(Box::new(incoming)), weight);
            }
            Err(errors) => self.reject(line, Some(draft.external_id.clone()), errors),
        }
    }

    fn reject(&mut self, line: u64, external_id: Option<String>, errors: Vec<FieldError>) {
        let weight = errors.len();
        self.add(CheckedRow::Rejected { line, external_id, errors }, weight);
    }

    fn add(&mut self, row: CheckedRow, weight: usize) {
        // An item adds at most two rows, an error and a product, and those fit into one batch.
        if self.batch.weight + weight > ROWS_MAX && !self.batch.rows.is_empty() {
            debug_assert!(self.full.is_none(), "a full batch is still waiting to be sent");
            self.batch.items_done = self.items_done(self.item - 1);
            self.full = Some(std::mem::take(&mut self.batch));
        }
        self.batch.weight += weight;
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
        self.item += 1;
        match item {
            FeedItem::Product { line, draft } => self.product(line, draft),
            FeedItem::InvalidRow { line, external_id, error } => {
                if self.item > self.skip {
                    self.reject(line, external_id.clone(), vec![error]);
                }
                self.count_missing_row(external_id.as_deref());
            }
            FeedItem::Truncated { line, error } => self.reject(line, None, vec![error]),
        }
        self.full.take()
    }

    fn finish(mut self) -> Option<Batch> {
        self.batch.items_done = self.item;
        Some(self.batch)
    }
}
