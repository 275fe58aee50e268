//! Creating and updating products in batches. Each change is written once and published once.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use database::Work;
use jobs::NewEvent;
use primitives::{CategoryId, MerchantId, ProductId, Timestamp, VariantId};
use serde_json::json;
use uuid::Uuid;

use crate::incoming::{Incoming, Origin};
use crate::table::{self, CatalogSize, ExistingProduct, PriceChange};
use crate::{CatalogError, Category, Quota};

/// Time after which a push of an equal product is recorded again: the freshness of the catalog counts it
/// (docs/contract/trust.md#catalog-freshness), and a row is written at most so often for it.
const CONFIRM_AFTER: Duration = Duration::from_hours(1);

/// Result of putting one product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PutResult {
    pub id: ProductId,
    pub outcome: PutOutcome,
    /// Whether the product was equal and the time of the push was recorded.
    pub is_confirmed: bool,
}

/// Outcome of putting a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    Created,
    /// The product differed or was retired.
    Updated,
    /// The product was equal; at most the time of the push was written.
    Unchanged,
    /// The product was pushed after the feed was received; nothing was written.
    Outdated,
    /// The store has as many products or variants as it may have; nothing was written.
    OverQuota(Quota),
}

/// Creates or updates a category.
pub async fn put_category(
    work: &mut Work,
    merchant: MerchantId,
    category: &Category,
) -> Result<(), CatalogError> {
    Ok(table::put_category(work, merchant, category).await?)
}

/// Creates or updates products with their variants and reviews. No two may have the same external id. One event per
/// changed product is published to the outbox in the same transaction. The results are in the order of the products.
///
/// Unchanged products are recognized by their fingerprint and not locked, unless the time of the push is recorded. The others
/// are inserted unless they exist, then locked in the order of their external ids and compared: of two concurrent
/// transactions the second waits for the first and writes only what still differs.
pub async fn put_products(
    work: &mut Work,
    merchant: MerchantId,
    origin: Origin,
    products: &[Incoming],
) -> Result<Vec<PutResult>, CatalogError> {
    let products = with_current_prices(products, work.now());
    let products = products.as_ref();
    let mut upsert = Upsert::read(work, merchant, origin, products).await?;
    upsert.admit(work).await?;
    if upsert.pending().next().is_some() {
        let paths = upsert.pending().map(|index| &products[index].category);
        let categories = table::ensure_categories(work, merchant, paths).await?;
        upsert.insert(work, &categories).await?;
        upsert.update(work, &categories).await?;
        upsert.put_variants(work).await?;
        upsert.put_reviews(work).await?;
        upsert.finish(work).await?;
    }
    Ok(upsert.into_results())
}

/// Returns products with the prices that apply at this time.
fn with_current_prices(products: &[Incoming], now: Timestamp) -> Cow<'_, [Incoming]> {
    if !products.iter().any(Incoming::has_sale) {
        return Cow::Borrowed(products);
    }
    let mut products = products.to_vec();
    for product in products.iter_mut().filter(|product| product.has_sale()) {
        product.set_prices(now);
    }
    Cow::Owned(products)
}

/// A product while it is put.
struct Row<'new> {
    incoming: &'new Incoming,
    fingerprint: Uuid,
    id: ProductId,
    /// The product existed before any row was locked. Products are retired and never deleted, so that it still exists.
    found: bool,
    /// The existing row, locked; `None` for a new product.
    before: Option<ExistingProduct>,
    /// `None` until it is determined.
    outcome: Option<PutOutcome>,
    /// Columns of the product row itself differed.
    differed: bool,
    /// The product was equal and the time of the push is recorded.
    is_confirmed: bool,
}

/// The state of one `put_products` call.
struct Upsert<'new> {
    merchant: MerchantId,
    origin: Origin,
    rows: Vec<Row<'new>>,
    prices: Vec<PriceChange>,
    changed: HashSet<ProductId>,
}

impl<'new> Upsert<'new> {
    /// Determines the products that need no write, without locking.
    async fn read(
        work: &mut Work,
        merchant: MerchantId,
        origin: Origin,
        products: &'new [Incoming],
    ) -> Result<Self, CatalogError> {
        let ids: Vec<String> = products.iter().map(|new| new.facts.external_id.clone()).collect();
        let existing = table::existing_products(work, merchant, &ids).await?;
        let existing: HashMap<&str, &ExistingProduct> =
            existing.iter().map(|product| (product.external_id.as_str(), product)).collect();
        let mut rows = Vec::with_capacity(products.len());
        for incoming in products {
            let fingerprint = incoming.fingerprint();
            let found = existing.get(incoming.facts.external_id.as_str()).copied();
            let id = found.map(|product| product.product_id).or(incoming.id);
            let id = id.unwrap_or_else(|| work.new_id());
            let is_confirmed = found.is_some_and(|product| confirms(product, origin, work.now()));
            let outcome = found
                .and_then(|product| outcome_without_write(product, origin, fingerprint))
                .filter(|outcome| *outcome != PutOutcome::Unchanged || !is_confirmed);
            rows.push(Row {
                incoming,
                fingerprint,
                id,
                found: found.is_some(),
                before: None,
                outcome,
                differed: false,
                // Until it is locked, and still equal then.
                is_confirmed: false,
            });
        }
        Ok(Self { merchant, origin, rows, prices: Vec::new(), changed: HashSet::new() })
    }

    /// Returns the indexes of the rows without an outcome.
    fn pending(&self) -> impl Iterator<Item = usize> + '_ {
        self.rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.outcome.is_none())
            .map(|(index, _)| index)
    }

    /// Counts the products and variants by which the store grows, before anything is locked, and leaves out those for
    /// which it has no room.
    async fn admit(&mut self, work: &mut Work) -> Result<(), CatalogError> {
        let growth = self.growth(work).await?;
        let total = growth.iter().fold(CatalogSize::default(), |sum, (_, one)| sum.plus(*one));
        if total == CatalogSize::default() {
            return Ok(());
        }
        let maximum = CatalogSize {
            products: table::quota(work.sql(), self.merchant, Quota::Products).await?,
            variants: table::quota(work.sql(), self.merchant, Quota::Variants).await?,
        };
        if table::add_to_size(work, self.merchant, total, maximum).await? {
            return Ok(());
        }
        let mut size = table::lock_size(work, self.merchant).await?;
        let mut admitted = CatalogSize::default();
        for (index, one) in growth {
            match size.room_for(one, maximum) {
                Ok(()) => (size, admitted) = (size.plus(one), admitted.plus(one)),
                Err(quota) => self.rows[index].outcome = Some(PutOutcome::OverQuota(quota)),
            }
        }
        if admitted != CatalogSize::default() {
            table::add_to_size(work, self.merchant, admitted, maximum).await?;
        }
        Ok(())
    }

    /// Returns by how much each row without an outcome lets the store grow.
    async fn growth(&self, work: &mut Work) -> Result<Vec<(usize, CatalogSize)>, CatalogError> {
        let existing: Vec<Uuid> = self
            .pending()
            .filter(|index| self.rows[*index].found)
            .map(|index| self.rows[index].id.uuid())
            .collect();
        let mut counts: HashMap<Uuid, i64> = HashMap::new();
        if !existing.is_empty() {
            counts.extend(table::variant_counts(work, self.merchant, &existing).await?);
        }
        let growth = |index: usize| {
            let row = &self.rows[index];
            let variants = i64::try_from(row.incoming.variants.len()).unwrap_or(i64::MAX);
            let before = counts.get(&row.id.uuid()).copied().unwrap_or(0);
            let products = i64::from(!row.found);
            (index, CatalogSize { products, variants: variants - before })
        };
        Ok(self.pending().map(growth).collect())
    }

    fn columns(&self, indexes: &[usize]) -> Vec<(ProductId, &'new Incoming, Uuid)> {
        let row = |index: &usize| {
            let row = &self.rows[*index];
            (row.id, row.incoming, row.fingerprint)
        };
        indexes.iter().map(row).collect()
    }

    /// Inserts products that did not exist. Existing ones are left to `update`, because an insert that conflicts costs as
    /// much as a write.
    async fn insert(
        &mut self,
        work: &mut Work,
        categories: &HashMap<String, CategoryId>,
    ) -> Result<(), CatalogError> {
        let pending: Vec<usize> = self.pending().filter(|index| !self.rows[*index].found).collect();
        if pending.is_empty() {
            return Ok(());
        }
        let rows = self.columns(&pending);
        let created =
            table::insert_products(work, self.merchant, self.origin, &rows, categories).await?;
        let created: HashSet<ProductId> = created.into_iter().collect();
        for index in pending {
            let row = &mut self.rows[index];
            if created.contains(&row.id) {
                row.outcome = Some(PutOutcome::Created);
                row.differed = true;
                let facts = &row.incoming.facts;
                self.prices.push(PriceChange {
                    product: row.id,
                    variant: None,
                    price_minor: facts.price.minor(),
                    list_price_minor: facts.list_price_minor,
                    currency: facts.price.currency().code(),
                });
                self.changed.insert(row.id);
            }
        }
        Ok(())
    }

    /// Locks the existing rows, compares them again, and updates those that differ.
    async fn update(
        &mut self,
        work: &mut Work,
        categories: &HashMap<String, CategoryId>,
    ) -> Result<(), CatalogError> {
        let pending: Vec<usize> = self.pending().collect();
        if pending.is_empty() {
            return Ok(());
        }
        let external_id = |index: &usize| self.rows[*index].incoming.facts.external_id.clone();
        let ids: Vec<String> = pending.iter().map(external_id).collect();
        let locked = table::lock_existing_products(work, self.merchant, &ids).await?;
        let mut locked: HashMap<String, ExistingProduct> =
            locked.into_iter().map(|product| (product.external_id.clone(), product)).collect();
        let mut confirmed = Vec::new();
        for index in &pending {
            let row = &mut self.rows[*index];
            let existing = locked.remove(&row.incoming.facts.external_id);
            if let Some(existing) = existing {
                row.id = existing.product_id;
                row.outcome = outcome_without_write(&existing, self.origin, row.fingerprint);
                row.is_confirmed = row.outcome == Some(PutOutcome::Unchanged)
                    && confirms(&existing, self.origin, work.now());
                confirmed.extend(row.is_confirmed.then_some(row.id.uuid()));
                row.before = Some(existing);
            }
        }
        if !confirmed.is_empty() {
            table::confirm_products(work, self.merchant, &confirmed).await?;
        }
        let pending: Vec<usize> = self.pending().collect();
        let rows = self.columns(&pending);
        let updated =
            table::update_products(work, self.merchant, self.origin, &rows, categories).await?;
        let updated: HashSet<ProductId> = updated.into_iter().collect();
        for index in pending {
            let row = &mut self.rows[index];
            row.differed = updated.contains(&row.id);
            if row.differed {
                self.changed.insert(row.id);
                self.prices.extend(row.price_change());
            }
        }
        Ok(())
    }

    /// Writes the variants of all inserted and locked products and deletes those that are gone.
    async fn put_variants(&mut self, work: &mut Work) -> Result<(), CatalogError> {
        let mut new = Vec::new();
        for row in self.rows.iter().filter(|row| row.is_written()) {
            for (position, (id, facts)) in row.incoming.variants.iter().enumerate() {
                let id = id.unwrap_or_else(|| work.new_id::<VariantId>());
                let position = i32::try_from(position).unwrap_or(i32::MAX);
                new.push((row.id, id, position, facts));
            }
        }
        let existing: Vec<Uuid> =
            self.rows.iter().filter(|row| row.is_locked()).map(|row| row.id.uuid()).collect();
        let mut before = HashMap::new();
        if !existing.is_empty() {
            for variant in table::variant_prices(work, self.merchant, &existing).await? {
                let price = (variant.price_minor, variant.list_price_minor);
                before.insert((variant.product_id, variant.sku), price);
            }
            if !before.is_empty() {
                self.changed.extend(
                    table::delete_other_variants(work, self.merchant, &existing, &new).await?,
                );
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let written = table::put_variants(work, self.merchant, &new).await?;
        self.changed.extend(written.iter().map(|written| written.product_id));
        let written: HashMap<_, _> =
            written.into_iter().map(|row| ((row.product_id, row.sku), row.variant_id)).collect();
        for (product, _, _, facts) in &new {
            let key = (*product, facts.sku.clone());
            let price = (facts.price.minor(), facts.list_price_minor);
            let same_currency = !self.currency_changed(*product);
            if same_currency && before.get(&key) == Some(&price) {
                continue;
            }
            // A price change without changed columns can only be another currency.
            let variant = match written.get(&key) {
                Some(id) => Some(*id),
                None => table::variant_id(work, self.merchant, *product, &facts.sku).await?,
            };
            self.prices.push(PriceChange {
                product: *product,
                variant,
                price_minor: price.0,
                list_price_minor: price.1,
                currency: facts.price.currency().code(),
            });
        }
        Ok(())
    }

    fn currency_changed(&self, product: ProductId) -> bool {
        self.rows.iter().filter(|row| row.id == product).any(|row| {
            let currency = row.incoming.facts.price.currency();
            row.before.as_ref().is_some_and(|before| before.currency != currency.code())
        })
    }

    async fn put_reviews(&mut self, work: &mut Work) -> Result<(), CatalogError> {
        let locked: Vec<Uuid> =
            self.rows.iter().filter(|row| row.is_locked()).map(|row| row.id.uuid()).collect();
        let mut reviewed: BTreeSet<ProductId> = BTreeSet::new();
        if !locked.is_empty() {
            reviewed.extend(table::reviewed(work, self.merchant, &locked).await?);
        }
        for row in self.rows.iter().filter(|row| row.is_written()) {
            if row.incoming.reviews.is_empty() && !reviewed.contains(&row.id) {
                continue;
            }
            let reviews = &row.incoming.reviews;
            if table::put_reviews(work, self.merchant, row.id, reviews).await? {
                self.changed.insert(row.id);
            }
        }
        Ok(())
    }

    /// Determines the remaining outcomes, writes the price history and publishes events.
    async fn finish(&mut self, work: &mut Work) -> Result<(), CatalogError> {
        let mut unchanged = (Vec::new(), Vec::new());
        let mut touched = (Vec::new(), Vec::new());
        for row in self.rows.iter_mut().filter(|row| row.outcome.is_none()) {
            let changed = self.changed.contains(&row.id);
            row.outcome = Some(if changed { PutOutcome::Updated } else { PutOutcome::Unchanged });
            row.is_confirmed = !changed && self.origin == Origin::Push;
            if !row.differed {
                let columns = if changed { &mut touched } else { &mut unchanged };
                columns.0.push(row.id.uuid());
                columns.1.push(row.fingerprint);
            }
        }
        for ((ids, fingerprints), touch) in [(unchanged, false), (touched, true)] {
            if !ids.is_empty() {
                let origin = self.origin;
                table::put_fingerprints(work, self.merchant, origin, &ids, &fingerprints, touch)
                    .await?;
            }
        }
        table::append_prices(work, self.merchant, &self.prices).await?;
        let changed_rows = self.rows.iter().filter(|row| self.changed.contains(&row.id));
        let events: Vec<NewEvent> =
            changed_rows.map(|row| changed(self.merchant, row.id)).collect();
        jobs::publish(work, &events).await?;
        Ok(())
    }

    fn into_results(self) -> Vec<PutResult> {
        let result = |row: Row<'_>| PutResult {
            id: row.id,
            outcome: row.outcome.unwrap_or(PutOutcome::Unchanged),
            is_confirmed: row.is_confirmed,
        };
        self.rows.into_iter().map(result).collect()
    }
}

impl Row<'_> {
    /// Whether the product was inserted or is locked, so that its variants and reviews may be written.
    fn is_written(&self) -> bool {
        self.outcome == Some(PutOutcome::Created) || self.is_locked()
    }

    fn is_locked(&self) -> bool {
        self.outcome.is_none()
    }

    fn price_change(&self) -> Option<PriceChange> {
        let facts = &self.incoming.facts;
        let price = PriceChange {
            product: self.id,
            variant: None,
            price_minor: facts.price.minor(),
            list_price_minor: facts.list_price_minor,
            currency: facts.price.currency().code(),
        };
        let before = self.before.as_ref();
        let same = before.is_some_and(|before| {
            (before.price_minor, before.list_price_minor, before.currency.as_str())
                == (price.price_minor, price.list_price_minor, price.currency)
        });
        (!same).then_some(price)
    }
}

/// Returns the outcome of an existing product that needs no write, if it needs none.
fn outcome_without_write(
    existing: &ExistingProduct,
    origin: Origin,
    fingerprint: Uuid,
) -> Option<PutOutcome> {
    if origin.is_older_than(existing.pushed_at) {
        return Some(PutOutcome::Outdated);
    }
    let same = existing.fingerprint == Some(fingerprint) && !existing.retired;
    same.then_some(PutOutcome::Unchanged)
}

/// Returns whether a push of an equal product is recorded: the last one was an hour ago, or there was none.
fn confirms(existing: &ExistingProduct, origin: Origin, now: Timestamp) -> bool {
    let is_old = |pushed: Timestamp| now.since(pushed) >= CONFIRM_AFTER;
    origin == Origin::Push && existing.pushed_at.is_none_or(is_old)
}

/// Returns the event of a changed product.
pub(crate) fn changed(merchant: MerchantId, id: ProductId) -> NewEvent {
    let payload = json!({ "product_id": id });
    NewEvent { merchant, topic: "product.changed", subject: id.uuid(), payload }
}

/// Counts the products that agents can see, per category and in the store, and stores the counts and the names of the
/// top-level categories.
pub async fn refresh_counts(work: &mut Work, merchant: MerchantId) -> Result<(), CatalogError> {
    table::count_products(work, merchant).await?;
    let departments = table::top_level_names(work, merchant).await?;
    let count = table::visible_count(work, merchant).await?;
    merchants::set_catalog_summary(work, merchant, &departments, count).await?;
    Ok(())
}
