//! A model of the catalog as plain values. It applies one operation after another and returns the effect
//! of each: its result, the entries of the price history, and the events. It has no rows, locks or
//! fingerprints, so it is independent of the implementation that it is compared with.

use std::collections::{BTreeMap, BTreeSet};

use catalog::{PutOutcome, StockStatus};
use primitives::Currency;
use uuid::Uuid;

/// The price and stock of a product or variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) price: i64,
    pub(crate) list_price: Option<i64>,
    pub(crate) stock: StockStatus,
    pub(crate) quantity: Option<i32>,
}

/// An offer as the merchant sends it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfferDraft {
    pub(crate) price: i64,
    pub(crate) list_price: Option<i64>,
    pub(crate) stock: Option<StockStatus>,
    pub(crate) quantity: Option<i32>,
}

/// A product as the merchant sends it.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    /// Stands for all text fields.
    pub(crate) label: u8,
    pub(crate) category: u32,
    pub(crate) currency: Currency,
    pub(crate) offer: OfferDraft,
    pub(crate) variants: Vec<(&'static str, OfferDraft)>,
}

/// The source of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Push,
    /// A feed that was received before any push.
    OldFeed,
    /// A feed that was received after any push.
    NewFeed,
}

/// A change of a price or stock alone.
#[derive(Debug, Clone)]
pub(crate) struct OfferUpdate {
    pub(crate) product: usize,
    pub(crate) sku: Option<&'static str>,
    pub(crate) change: OfferChange,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum OfferChange {
    Price { price: i64, list_price: Option<i64>, currency: Option<Currency> },
    Stock { quantity: Option<i32>, stock: Option<StockStatus> },
}

/// An operation, executed in one `Work`.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    Put { source: Source, drafts: Vec<(usize, Draft)> },
    UpdateOffers(Vec<OfferUpdate>),
    Retire { source: Source, products: Vec<usize> },
}

impl Operation {
    /// Returns the part of the operation that concerns a product, with its result.
    pub(crate) fn part(
        &self,
        result: &OperationResult,
        product: usize,
    ) -> Option<(Self, OperationResult)> {
        match (self, result) {
            (Self::Put { source, drafts }, OperationResult::Put(done)) => {
                let mut both = drafts.iter().zip(done);
                let (draft, done) = both.find(|((number, _), _)| *number == product)?;
                let drafts = vec![draft.clone()];
                Some((Self::Put { source: *source, drafts }, OperationResult::Put(vec![*done])))
            }
            (Self::UpdateOffers(updates), OperationResult::OffersUpdated(outcomes)) => {
                let both = updates.iter().cloned().zip(outcomes.iter().cloned());
                let both = both.filter(|(update, _)| update.product == product);
                let (updates, outcomes): (Vec<_>, Vec<_>) = both.unzip();
                let concerns = !updates.is_empty();
                concerns.then_some((
                    Self::UpdateOffers(updates),
                    OperationResult::OffersUpdated(outcomes),
                ))
            }
            (Self::Retire { source, products }, OperationResult::Retired(retired)) => {
                let retired = retired.iter().copied().filter(|number| *number == product);
                let part = Self::Retire { source: *source, products: vec![product] };
                products
                    .contains(&product)
                    .then(|| (part, OperationResult::Retired(retired.collect())))
            }
            _ => None,
        }
    }
}

/// The result of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OperationResult {
    Put(Vec<PutOutcome>),
    OffersUpdated(Vec<OfferUpdateOutcome>),
    Retired(BTreeSet<usize>),
}

/// The outcome of an offer update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OfferUpdateOutcome {
    Updated,
    Unchanged,
    NotFound,
    /// Holds the invalid field.
    Rejected(String),
}

/// A variant that was read from the database, or one that the model has created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum VariantRef {
    Stored(Uuid),
    New(u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) reference: VariantRef,
    pub(crate) sku: &'static str,
    pub(crate) offer: Offer,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Product {
    pub(crate) listed: bool,
    /// Whether the product was ever pushed, also without a change.
    pub(crate) pushed: bool,
    pub(crate) label: u8,
    pub(crate) category: u32,
    pub(crate) currency: Currency,
    pub(crate) offer: Offer,
    pub(crate) variants: Vec<Variant>,
}

/// An entry of the price history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PriceEntry<Id> {
    pub(crate) variant: Option<Id>,
    pub(crate) price: i64,
    pub(crate) list_price: Option<i64>,
    pub(crate) currency: Currency,
}

/// The effect of an operation; prices and events by product number.
#[derive(Debug, Clone)]
pub(crate) struct Effect {
    pub(crate) result: OperationResult,
    pub(crate) prices: Vec<(usize, PriceEntry<VariantRef>)>,
    pub(crate) events: Vec<(usize, &'static str)>,
}

/// The state of the model: products by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CatalogModel {
    pub(crate) products: BTreeMap<usize, Product>,
    /// Number of variants that the model has created.
    pub(crate) new_variants: u32,
}

const CHANGED: &str = "product.changed";
const RETIRED: &str = "product.retired";

impl CatalogModel {
    /// Applies an operation.
    pub(crate) fn apply(&mut self, operation: &Operation) -> Effect {
        let mut effect = Effect {
            result: OperationResult::Put(Vec::new()),
            prices: Vec::new(),
            events: Vec::new(),
        };
        effect.result = match operation {
            Operation::Put { source, drafts } => {
                let put = drafts
                    .iter()
                    .map(|(product, draft)| self.put(*product, *source, draft, &mut effect));
                OperationResult::Put(put.collect())
            }
            Operation::UpdateOffers(updates) => self.update_offers(updates, &mut effect),
            Operation::Retire { source, products } => {
                let retired =
                    products.iter().filter(|product| self.retire(**product, *source, &mut effect));
                OperationResult::Retired(retired.copied().collect())
            }
        };
        effect
    }

    fn put(
        &mut self,
        number: usize,
        source: Source,
        draft: &Draft,
        effect: &mut Effect,
    ) -> PutOutcome {
        let was = self.products.get(&number).cloned();
        if was.as_ref().is_some_and(|was| was.pushed) && source == Source::OldFeed {
            return PutOutcome::Outdated;
        }
        let mut new = self.product_of(draft, was.as_ref());
        if was.as_ref() == Some(&new) {
            new.pushed |= source == Source::Push;
            self.products.insert(number, new);
            return PutOutcome::Unchanged;
        }
        new.record_prices(number, was.as_ref(), effect);
        effect.events.push((number, CHANGED));
        new.pushed |= source == Source::Push;
        self.products.insert(number, new);
        if was.is_some() { PutOutcome::Updated } else { PutOutcome::Created }
    }

    /// Returns the product of a draft. Variants that already exist keep their id.
    fn product_of(&mut self, draft: &Draft, was: Option<&Product>) -> Product {
        let mut variants = Vec::new();
        for (sku, offer) in &draft.variants {
            let before = was.and_then(|was| was.variants.iter().find(|other| other.sku == *sku));
            let reference = before.map_or_else(
                || {
                    self.new_variants += 1;
                    VariantRef::New(self.new_variants)
                },
                |before| before.reference,
            );
            variants.push(Variant { reference, sku, offer: offer.offer() });
        }
        Product {
            listed: true,
            pushed: was.is_some_and(|was| was.pushed),
            label: draft.label,
            category: draft.category,
            currency: draft.currency,
            offer: aggregate_offer(&variants).unwrap_or_else(|| draft.offer.offer()),
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
        effect.events.push((number, RETIRED));
        true
    }

    fn update_offers(&mut self, updates: &[OfferUpdate], effect: &mut Effect) -> OperationResult {
        let before = self.products.clone();
        let mut outcomes = Vec::new();
        for update in updates {
            let product = self.products.get_mut(&update.product);
            let product = product.filter(|product| product.listed);
            outcomes.push(
                product
                    .map_or(OfferUpdateOutcome::NotFound, |product| product.update_offer(update)),
            );
        }
        for (number, product) in &mut self.products {
            let was = before.get(number);
            if was != Some(product) {
                product.record_prices(*number, was, effect);
                effect.events.push((*number, CHANGED));
                product.pushed = true;
            }
        }
        OperationResult::OffersUpdated(outcomes)
    }
}

impl Product {
    fn update_offer(&mut self, update: &OfferUpdate) -> OfferUpdateOutcome {
        let offer = match update.sku {
            None if self.variants.is_empty() => &mut self.offer,
            None => return OfferUpdateOutcome::Rejected(String::from("sku")),
            Some(sku) => match self.variants.iter_mut().find(|variant| variant.sku == sku) {
                Some(variant) => &mut variant.offer,
                None => return OfferUpdateOutcome::NotFound,
            },
        };
        let new = match update.change {
            OfferChange::Price { currency: Some(currency), .. } if currency != self.currency => {
                return OfferUpdateOutcome::Rejected(String::from("currency"));
            }
            OfferChange::Price { price, list_price, .. } => {
                Offer { price, list_price: list_price.filter(|list| *list > price), ..*offer }
            }
            OfferChange::Stock { quantity: None, stock: None } => {
                return OfferUpdateOutcome::Rejected(String::from("stock_quantity"));
            }
            OfferChange::Stock { quantity, stock } => {
                Offer { stock: stock_of(stock, quantity), quantity, ..*offer }
            }
        };
        if *offer == new {
            return OfferUpdateOutcome::Unchanged;
        }
        *offer = new;
        self.offer = aggregate_offer(&self.variants).unwrap_or(self.offer);
        OfferUpdateOutcome::Updated
    }

    /// Adds an entry for each changed price: first that of the product, then those of its variants.
    fn record_prices(&self, number: usize, was: Option<&Self>, effect: &mut Effect) {
        let entry = |variant, offer: &Offer| PriceEntry {
            variant,
            price: offer.price,
            list_price: offer.list_price,
            currency: self.currency,
        };
        let mut entries = vec![(entry(None, &self.offer), was.map(|was| &was.offer))];
        for variant in &self.variants {
            let before = was.and_then(|was| {
                was.variants.iter().find(|other| other.reference == variant.reference)
            });
            let before = before.map(|before| &before.offer);
            entries.push((entry(Some(variant.reference), &variant.offer), before));
        }
        for (entry, before) in entries {
            let same = was.zip(before).is_some_and(|(was, before)| {
                (was.currency, before.price, before.list_price)
                    == (entry.currency, entry.price, entry.list_price)
            });
            if !same {
                effect.prices.push((number, entry));
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

fn stock_of(sent: Option<StockStatus>, quantity: Option<i32>) -> StockStatus {
    match (sent, quantity) {
        (Some(sent), _) if sent != StockStatus::Unknown => sent,
        (_, None) => StockStatus::Unknown,
        (_, Some(6..)) => StockStatus::InStock,
        (_, Some(1..=5)) => StockStatus::LowStock,
        (_, Some(_)) => StockStatus::OutOfStock,
    }
}

/// Returns the offer of a product with variants: the first of the lowest prices, the best stock status,
/// and the total quantity if every variant has one.
fn aggregate_offer(variants: &[Variant]) -> Option<Offer> {
    let mut offers = variants.iter().map(|variant| variant.offer);
    let mut total = offers.next()?;
    for offer in offers {
        if offer.price < total.price {
            (total.price, total.list_price) = (offer.price, offer.list_price);
        }
        if rank(offer.stock) < rank(total.stock) {
            total.stock = offer.stock;
        }
        total.quantity = total.quantity.zip(offer.quantity).map(|(one, other)| one + other);
    }
    Some(total)
}

/// Orders stock statuses; the best has the lowest rank.
fn rank(stock: StockStatus) -> u8 {
    match stock {
        StockStatus::InStock => 0,
        StockStatus::LowStock => 1,
        StockStatus::Unknown => 2,
        StockStatus::Backorder => 3,
        StockStatus::Preorder => 4,
        StockStatus::OutOfStock => 5,
        StockStatus::Discontinued => 6,
    }
}
