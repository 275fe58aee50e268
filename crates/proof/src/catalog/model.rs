//! A catalog of a few products as plain values. It does one operation after another and says what
//! each comes to: its answer, the lines of the price history, and what is told. It knows nothing of
//! rows, locks and fingerprints, so what it agrees with was not arrived at in the same way.

use std::collections::{BTreeMap, BTreeSet};

use catalog::{Done, StockStatus};
use primitives::Currency;
use uuid::Uuid;

/// What something costs and whether it can be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) price: i64,
    pub(crate) list_price: Option<i64>,
    pub(crate) stock: StockStatus,
    pub(crate) quantity: Option<i32>,
}

/// An offer as it is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfferDraft {
    pub(crate) price: i64,
    pub(crate) list_price: Option<i64>,
    pub(crate) stock: Option<StockStatus>,
    pub(crate) quantity: Option<i32>,
}

/// A whole product as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    /// Stands for all that is only text.
    pub(crate) label: u8,
    pub(crate) shelf: u32,
    pub(crate) currency: Currency,
    pub(crate) offer: OfferDraft,
    pub(crate) variants: Vec<(&'static str, OfferDraft)>,
}

/// Who sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Push,
    /// A feed that was received before any push.
    OldFeed,
    /// A feed that was received after any push.
    NewFeed,
}

/// Changes a price or a stock by itself.
#[derive(Debug, Clone)]
pub(crate) struct Revision {
    pub(crate) product: usize,
    pub(crate) sku: Option<&'static str>,
    pub(crate) change: Change,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    Price { price: i64, list_price: Option<i64>, meant: Option<Currency> },
    Stock { quantity: Option<i32>, stock: Option<StockStatus> },
}

/// One operation: what is done in one work.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    Put { source: Source, drafts: Vec<(usize, Draft)> },
    Revise(Vec<Revision>),
    Retire { source: Source, products: Vec<usize> },
}

impl Operation {
    /// What of it concerns a product, with the answer to that.
    pub(crate) fn part(&self, answer: &Answer, product: usize) -> Option<(Self, Answer)> {
        match (self, answer) {
            (Self::Put { source, drafts }, Answer::Put(done)) => {
                let mut both = drafts.iter().zip(done);
                let (draft, done) = both.find(|((number, _), _)| *number == product)?;
                let drafts = vec![draft.clone()];
                Some((Self::Put { source: *source, drafts }, Answer::Put(vec![*done])))
            }
            (Self::Revise(revisions), Answer::Revised(revised)) => {
                let both = revisions.iter().cloned().zip(revised.iter().cloned());
                let both = both.filter(|(revision, _)| revision.product == product);
                let (revisions, revised): (Vec<_>, Vec<_>) = both.unzip();
                let concerns = !revisions.is_empty();
                concerns.then_some((Self::Revise(revisions), Answer::Revised(revised)))
            }
            (Self::Retire { source, products }, Answer::Retired(retired)) => {
                let retired = retired.iter().copied().filter(|number| *number == product);
                let part = Self::Retire { source: *source, products: vec![product] };
                products.contains(&product).then(|| (part, Answer::Retired(retired.collect())))
            }
            _ => None,
        }
    }
}

/// What an operation answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Put(Vec<Done>),
    Revised(Vec<Revised>),
    Retired(BTreeSet<usize>),
}

/// What became of a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Revised {
    Updated,
    Unchanged,
    NotFound,
    /// Because of this field.
    Refused(String),
}

/// Which variant: one that was seen in the database, or one the model has just made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Identity {
    Known(Uuid),
    Fresh(u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) identity: Identity,
    pub(crate) sku: &'static str,
    pub(crate) offer: Offer,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Product {
    pub(crate) listed: bool,
    /// A push changed it at some time.
    pub(crate) pushed: bool,
    pub(crate) label: u8,
    pub(crate) shelf: u32,
    pub(crate) currency: Currency,
    pub(crate) offer: Offer,
    pub(crate) variants: Vec<Variant>,
}

/// A price that began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line<Id> {
    pub(crate) variant: Option<Id>,
    pub(crate) price: i64,
    pub(crate) list_price: Option<i64>,
    pub(crate) currency: Currency,
}

/// What an operation comes to, by product.
#[derive(Debug, Clone)]
pub(crate) struct Effect {
    pub(crate) answer: Answer,
    pub(crate) lines: Vec<(usize, Line<Identity>)>,
    pub(crate) told: Vec<(usize, &'static str)>,
}

/// Products, by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct World {
    pub(crate) products: BTreeMap<usize, Product>,
    pub(crate) fresh: u32,
}

const CHANGED: &str = "product.changed";
const RETIRED: &str = "product.retired";

impl World {
    /// Does an operation.
    pub(crate) fn apply(&mut self, operation: &Operation) -> Effect {
        let mut effect =
            Effect { answer: Answer::Put(Vec::new()), lines: Vec::new(), told: Vec::new() };
        effect.answer = match operation {
            Operation::Put { source, drafts } => {
                let put = drafts
                    .iter()
                    .map(|(product, draft)| self.put(*product, *source, draft, &mut effect));
                Answer::Put(put.collect())
            }
            Operation::Revise(revisions) => self.revise(revisions, &mut effect),
            Operation::Retire { source, products } => {
                let retired =
                    products.iter().filter(|product| self.retire(**product, *source, &mut effect));
                Answer::Retired(retired.copied().collect())
            }
        };
        effect
    }

    fn put(&mut self, number: usize, source: Source, draft: &Draft, effect: &mut Effect) -> Done {
        let was = self.products.get(&number).cloned();
        if was.as_ref().is_some_and(|was| was.pushed) && source == Source::OldFeed {
            return Done::Outdated;
        }
        let mut is = self.made_of(draft, was.as_ref());
        if was.as_ref() == Some(&is) {
            return Done::Unchanged;
        }
        is.tell_prices(number, was.as_ref(), effect);
        effect.told.push((number, CHANGED));
        is.pushed |= source == Source::Push;
        self.products.insert(number, is);
        if was.is_some() { Done::Updated } else { Done::Created }
    }

    /// The product of a draft. Its variants stay who they are as long as they are there.
    fn made_of(&mut self, draft: &Draft, was: Option<&Product>) -> Product {
        let mut variants = Vec::new();
        for (sku, offer) in &draft.variants {
            let before = was.and_then(|was| was.variants.iter().find(|other| other.sku == *sku));
            let identity = before.map_or_else(
                || {
                    self.fresh += 1;
                    Identity::Fresh(self.fresh)
                },
                |before| before.identity,
            );
            variants.push(Variant { identity, sku, offer: offer.offer() });
        }
        Product {
            listed: true,
            pushed: was.is_some_and(|was| was.pushed),
            label: draft.label,
            shelf: draft.shelf,
            currency: draft.currency,
            offer: sum(&variants).unwrap_or_else(|| draft.offer.offer()),
            variants,
        }
    }

    fn retire(&mut self, number: usize, source: Source, effect: &mut Effect) -> bool {
        let Some(product) = self.products.get_mut(&number) else { return false };
        if !product.listed || (product.pushed && source == Source::OldFeed) {
            return false;
        }
        product.listed = false;
        product.pushed |= source == Source::Push;
        effect.told.push((number, RETIRED));
        true
    }

    fn revise(&mut self, revisions: &[Revision], effect: &mut Effect) -> Answer {
        let before = self.products.clone();
        let mut answers = Vec::new();
        for revision in revisions {
            let product = self.products.get_mut(&revision.product);
            let product = product.filter(|product| product.listed);
            answers.push(product.map_or(Revised::NotFound, |product| product.revise(revision)));
        }
        for (number, product) in &mut self.products {
            let was = before.get(number);
            if was != Some(product) {
                product.tell_prices(*number, was, effect);
                effect.told.push((*number, CHANGED));
                product.pushed = true;
            }
        }
        Answer::Revised(answers)
    }
}

impl Product {
    fn revise(&mut self, revision: &Revision) -> Revised {
        let offer = match revision.sku {
            None if self.variants.is_empty() => &mut self.offer,
            None => return Revised::Refused(String::from("sku")),
            Some(sku) => match self.variants.iter_mut().find(|variant| variant.sku == sku) {
                Some(variant) => &mut variant.offer,
                None => return Revised::NotFound,
            },
        };
        let new = match revision.change {
            Change::Price { meant: Some(meant), .. } if meant != self.currency => {
                return Revised::Refused(String::from("currency"));
            }
            Change::Price { price, list_price, .. } => {
                Offer { price, list_price: list_price.filter(|list| *list > price), ..*offer }
            }
            Change::Stock { quantity: None, stock: None } => {
                return Revised::Refused(String::from("stock_quantity"));
            }
            Change::Stock { quantity, stock } => {
                Offer { stock: stock_of(stock, quantity), quantity, ..*offer }
            }
        };
        if *offer == new {
            return Revised::Unchanged;
        }
        *offer = new;
        self.offer = sum(&self.variants).unwrap_or(self.offer);
        Revised::Updated
    }

    /// A line for each price that is not what it was: that of the whole, then those of the variants.
    fn tell_prices(&self, number: usize, was: Option<&Self>, effect: &mut Effect) {
        let line = |variant, offer: &Offer| Line {
            variant,
            price: offer.price,
            list_price: offer.list_price,
            currency: self.currency,
        };
        let mut lines = vec![(line(None, &self.offer), was.map(|was| &was.offer))];
        for variant in &self.variants {
            let before = was.and_then(|was| {
                was.variants.iter().find(|other| other.identity == variant.identity)
            });
            let before = before.map(|before| &before.offer);
            lines.push((line(Some(variant.identity), &variant.offer), before));
        }
        for (line, before) in lines {
            let same = was.zip(before).is_some_and(|(was, before)| {
                (was.currency, before.price, before.list_price)
                    == (line.currency, line.price, line.list_price)
            });
            if !same {
                effect.lines.push((number, line));
            }
        }
    }
}

impl OfferDraft {
    fn offer(self) -> Offer {
        Offer {
            price: self.price,
            list_price: self.list_price.filter(|list| *list > self.price),
            stock: stock_of(self.stock, self.quantity),
            quantity: self.quantity,
        }
    }
}

fn stock_of(said: Option<StockStatus>, quantity: Option<i32>) -> StockStatus {
    match (said, quantity) {
        (Some(said), _) => said,
        (None, None | Some(6..)) => StockStatus::InStock,
        (None, Some(1..=5)) => StockStatus::LowStock,
        (None, Some(_)) => StockStatus::OutOfStock,
    }
}

/// What a product with variants offers: the first of the cheapest prices, the best stock, and the
/// number of all, if each has one.
fn sum(variants: &[Variant]) -> Option<Offer> {
    let mut offers = variants.iter().map(|variant| variant.offer);
    let mut sum = offers.next()?;
    for offer in offers {
        if offer.price < sum.price {
            (sum.price, sum.list_price) = (offer.price, offer.list_price);
        }
        if rank(offer.stock) < rank(sum.stock) {
            sum.stock = offer.stock;
        }
        sum.quantity = sum.quantity.zip(offer.quantity).map(|(one, other)| one + other);
    }
    Some(sum)
}

/// The best first.
fn rank(stock: StockStatus) -> u8 {
    match stock {
        StockStatus::InStock => 0,
        StockStatus::LowStock => 1,
        StockStatus::Backorder => 2,
        StockStatus::Preorder => 3,
        StockStatus::OutOfStock => 4,
        StockStatus::Discontinued => 5,
    }
}
