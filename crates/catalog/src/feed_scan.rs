//! Reading a feed twice. The first time tells what it names, so that a replacement knows what is
//! absent before it changes anything; the second time makes checked products of it, in pieces that fit
//! into one work.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use primitives::Currency;

use crate::check::check;
use crate::incoming::Incoming;
use crate::stream::Make;
use crate::{Fault, FaultCode, FeedItem, ProductDraft};

/// Rows written in one work at the most.
pub(crate) const ROWS_MAX: usize = 500;
/// Variants of products whose rows lie apart that may wait for the rest of theirs.
const WAITING_MAX: usize = 100_000;

/// What a feed names.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    named: HashMap<Box<str>, Named>,
    /// Products and broken rows.
    pub(crate) items: u64,
    /// Broken rows of which nobody knows what they are about.
    pub(crate) anonymous: u64,
    /// The file ends in the middle.
    pub(crate) cut: bool,
}

#[derive(Debug, Clone, Copy)]
struct Named {
    /// The first product of the name, from 1; none if all of its rows are broken.
    first: Option<u64>,
    /// How many items name it, broken ones included.
    parts: u32,
}

impl Survey {
    /// Whether the feed names a product, be it in a broken row.
    pub(crate) fn names(&self, external_id: &str) -> bool {
        self.named.contains_key(external_id)
    }

    fn name(&mut self, external_id: &str, product: Option<u64>) {
        match self.named.get_mut(external_id) {
            Some(named) => {
                named.parts += 1;
                named.first = named.first.or(product);
            }
            None => {
                self.named.insert(external_id.into(), Named { first: product, parts: 1 });
            }
        }
    }
}

impl Make for Survey {
    type Piece = Self;

    fn take(&mut self, item: FeedItem) -> Option<Self> {
        self.items += 1;
        match item {
            FeedItem::Product { draft, .. } => {
                self.name(draft.external_id.trim(), Some(self.items));
            }
            FeedItem::Broken { external_id: Some(id), .. } => self.name(id.trim(), None),
            FeedItem::Broken { .. } => self.anonymous += 1,
            FeedItem::Cut { .. } => self.cut = true,
        }
        None
    }

    fn end(self) -> Option<Self> {
        Some(self)
    }
}

/// A row of a feed after the check.
#[derive(Debug)]
pub(crate) enum Checked {
    Product(Box<Incoming>),
    Refused { line: u64, external_id: Option<String>, faults: Vec<Fault> },
}

/// What fits into one work.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub(crate) checked: Vec<Checked>,
    rows: usize,
    /// All items up to this one are in this piece or an earlier one: where a restarted run goes on.
    pub(crate) done: u64,
}

/// Makes pieces of a feed whose survey is known.
pub(crate) struct Assembly {
    survey: Arc<Survey>,
    currency: Currency,
    has_groups: bool,
    /// Items that an earlier attempt has dealt with.
    skip: u64,
    item: u64,
    /// Identifiers of rows that stand for themselves, where others have the same.
    taken: HashSet<String>,
    waiting: HashMap<String, Waiting>,
    waiting_variants: usize,
    piece: Piece,
    full: Option<Piece>,
}

/// A product some of whose rows are still to come.
struct Waiting {
    item: u64,
    line: u64,
    parts: u32,
    draft: Box<ProductDraft>,
}

impl Assembly {
    pub(crate) fn new(
        survey: Arc<Survey>,
        currency: Currency,
        has_groups: bool,
        skip: u64,
    ) -> Self {
        Self {
            survey,
            currency,
            has_groups,
            skip,
            item: 0,
            taken: HashSet::new(),
            waiting: HashMap::new(),
            waiting_variants: 0,
            piece: Piece::default(),
            full: None,
        }
    }

    fn product(&mut self, line: u64, draft: Box<ProductDraft>) {
        let named = self.survey.named.get(draft.external_id.trim()).copied();
        let named = named.unwrap_or(Named { first: Some(self.item), parts: 1 });
        if named.parts > 1 && self.has_groups && !draft.variants.is_empty() {
            let id = draft.external_id.trim();
            if self.taken.contains(id) {
                self.duplicate(line, &draft);
            } else {
                self.wait(line, draft, named.parts);
            }
        } else if named.first != Some(self.item) {
            self.duplicate(line, &draft);
        } else {
            if named.parts > 1 {
                // It stands for itself, so nothing is waited for.
                self.waiting.remove(draft.external_id.trim());
                self.taken.insert(draft.external_id.trim().to_owned());
            }
            if self.item > self.skip {
                self.check(line, &draft);
            }
        }
    }

    /// A row whose identifier was taken by an earlier one that is no part of a group.
    fn duplicate(&mut self, line: u64, draft: &ProductDraft) {
        if self.item > self.skip {
            let reason = "an earlier row has the same identifier; that one was taken";
            let fault = Fault::new("external_id", FaultCode::Duplicate, reason);
            self.refuse(line, Some(draft.external_id.clone()), vec![fault]);
        }
        self.miss_part(Some(&draft.external_id));
    }

    /// Joins the parts of a product. They are never skipped: which of them an earlier attempt has
    /// seen says nothing about the others, and bringing the whole in again changes nothing.
    fn wait(&mut self, line: u64, draft: Box<ProductDraft>, parts: u32) {
        let id = draft.external_id.trim().to_owned();
        self.waiting_variants += draft.variants.len();
        if self.waiting_variants > WAITING_MAX {
            self.waiting_variants -= draft.variants.len();
            let reason = "rows of one group lie too far apart; sort the file by group";
            let fault = Fault::new("item_group_id", FaultCode::InvalidValue, reason);
            self.refuse(line, Some(id.clone()), vec![fault]);
            return self.miss_part(Some(&id));
        }
        let item = self.item;
        match self.waiting.get_mut(&id) {
            Some(waiting) if waiting.draft.external_id.is_empty() => {
                *waiting = Waiting { item: waiting.item, line, parts: waiting.parts + 1, draft };
            }
            Some(waiting) => {
                waiting.parts += 1;
                waiting.draft.absorb(*draft);
            }
            None => {
                self.waiting.insert(id.clone(), Waiting { item, line, parts: 1, draft });
            }
        }
        self.release(&id, parts);
    }

    /// Lets a product go on if all its parts are there.
    fn release(&mut self, id: &str, parts: u32) {
        if self.waiting.get(id).is_some_and(|waiting| waiting.parts == parts)
            && let Some(whole) = self.waiting.remove(id)
        {
            self.waiting_variants -= whole.draft.variants.len();
            self.check(whole.line, &whole.draft);
        }
    }

    fn check(&mut self, line: u64, draft: &ProductDraft) {
        match check(draft, self.currency) {
            Ok(incoming) => {
                let rows = incoming.rows();
                self.push(Checked::Product(Box::new(incoming)), rows);
            }
            Err(faults) => self.refuse(line, Some(draft.external_id.clone()), faults),
        }
    }

    fn refuse(&mut self, line: u64, external_id: Option<String>, faults: Vec<Fault>) {
        let rows = faults.len();
        self.push(Checked::Refused { line, external_id, faults }, rows);
    }

    fn push(&mut self, checked: Checked, rows: usize) {
        // An item makes two entries at the most, a fault and a product, and those fit into one piece.
        if self.piece.rows + rows > ROWS_MAX && !self.piece.checked.is_empty() {
            debug_assert!(self.full.is_none(), "a piece would be lost");
            self.piece.done = self.done(self.item - 1);
            self.full = Some(std::mem::take(&mut self.piece));
        }
        self.piece.rows += rows;
        self.piece.checked.push(checked);
    }

    /// Up to where everything is in some piece, if items up to `item` were looked at.
    fn done(&self, item: u64) -> u64 {
        let waiting = self.waiting.values().map(|waiting| waiting.item - 1).min();
        waiting.map_or(item, |waiting| waiting.min(item))
    }
}

impl Make for Assembly {
    type Piece = Piece;

    fn take(&mut self, item: FeedItem) -> Option<Piece> {
        self.item += 1;
        match item {
            FeedItem::Product { line, draft } => self.product(line, draft),
            FeedItem::Broken { line, external_id, fault } => {
                if self.item > self.skip {
                    self.refuse(line, external_id.clone(), vec![fault]);
                }
                self.miss_part(external_id.as_deref());
            }
            FeedItem::Cut { line, fault } => self.refuse(line, None, vec![fault]),
        }
        self.full.take()
    }

    fn end(mut self) -> Option<Piece> {
        self.piece.done = self.item;
        Some(self.piece)
    }
}

impl Assembly {
    /// A part that will not come: what is left is the whole.
    fn miss_part(&mut self, external_id: Option<&str>) {
        let Some(id) = external_id.map(str::trim) else { return };
        let parts = self.survey.named.get(id).map_or(1, |named| named.parts);
        if !self.has_groups || parts < 2 || self.taken.contains(id) {
            return;
        }
        let (item, id) = (self.item, id.to_owned());
        let nothing = || Waiting { item, line: 0, parts: 0, draft: Box::default() };
        self.waiting.entry(id.clone()).or_insert_with(nothing).parts += 1;
        self.release_known(&id, parts);
    }

    /// As `release`, for a product of which perhaps nothing could be read.
    fn release_known(&mut self, id: &str, parts: u32) {
        let empty =
            self.waiting.get(id).is_some_and(|waiting| waiting.draft.external_id.is_empty());
        if empty && self.waiting.get(id).is_some_and(|waiting| waiting.parts == parts) {
            self.waiting.remove(id);
        } else {
            self.release(id, parts);
        }
    }
}
