//! Bringing products in, many at a time, each change once and told once.

use std::collections::{BTreeSet, HashMap, HashSet};

use database::Work;
use jobs::NewEvent;
use primitives::{CategoryId, MerchantId, ProductId, VariantId};
use serde_json::json;
use uuid::Uuid;

use crate::incoming::{Incoming, Origin};
use crate::table::{self, Known, PriceLine};
use crate::{CatalogError, Category};

/// What became of a product that was brought in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Put {
    /// Its id.
    pub id: ProductId,
    /// What was done.
    pub done: Done,
}

/// What bringing a product in came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// It was not there.
    Created,
    /// It differed, or had been retired.
    Updated,
    /// It was there in just this form; nothing was written.
    Unchanged,
    /// A push is newer than the feed; nothing was written.
    Outdated,
}

/// Brings a category in, or up to date.
pub async fn put_category(
    work: &mut Work,
    merchant: MerchantId,
    category: &Category,
) -> Result<(), CatalogError> {
    Ok(table::put_category(work, merchant, category).await?)
}

/// Brings products in, or up to date, with all that belongs to them. No two may have the same
/// identifier. Each that changed is told to the outbox once, in this same work; answers come in the
/// order of the questions.
///
/// What is unchanged is recognised by its fingerprint and not touched. The rest is inserted unless it
/// is there, then held in the order of the identifiers, and compared: whoever comes second waits, sees
/// what the first one wrote, and writes only what still differs.
pub async fn put_products(
    work: &mut Work,
    merchant: MerchantId,
    origin: Origin,
    products: &[Incoming],
) -> Result<Vec<Put>, CatalogError> {
    let mut batch = Batch::read(work, merchant, origin, products).await?;
    if batch.wanted().next().is_some() {
        let ways = batch.wanted().map(|index| &products[index].category);
        let categories = table::ensure(work, merchant, ways).await?;
        batch.insert(work, &categories).await?;
        batch.update(work, &categories).await?;
        batch.put_variants(work).await?;
        batch.put_reviews(work).await?;
        batch.finish(work).await?;
    }
    Ok(batch.into_answers())
}

/// A product on its way through a batch.
struct Row<'new> {
    incoming: &'new Incoming,
    fingerprint: Uuid,
    id: ProductId,
    /// It was found before anything was held. Products are retired and never removed, so it is there.
    found: bool,
    /// What was there, held; none if it is new.
    before: Option<Known>,
    /// What it comes to; open while none.
    done: Option<Done>,
    /// Its own columns differed.
    differed: bool,
}

struct Batch<'new> {
    merchant: MerchantId,
    origin: Origin,
    rows: Vec<Row<'new>>,
    lines: Vec<PriceLine>,
    changed: HashSet<ProductId>,
}

impl<'new> Batch<'new> {
    /// Sorts out what needs no writing, without waiting for anybody.
    async fn read(
        work: &mut Work,
        merchant: MerchantId,
        origin: Origin,
        products: &'new [Incoming],
    ) -> Result<Self, CatalogError> {
        let ids: Vec<String> = products.iter().map(|new| new.facts.external_id.clone()).collect();
        let known = table::known(work, merchant, &ids).await?;
        let known: HashMap<&str, &Known> =
            known.iter().map(|known| (known.external_id.as_str(), known)).collect();
        let mut rows = Vec::with_capacity(products.len());
        for incoming in products {
            let fingerprint = incoming.fingerprint();
            let found = known.get(incoming.facts.external_id.as_str()).copied();
            let id = found.map(|known| known.product_id).or(incoming.id);
            let id = id.unwrap_or_else(|| work.new_id());
            let done = found.and_then(|known| settled(known, origin, fingerprint));
            let (found, before, differed) = (found.is_some(), None, false);
            rows.push(Row { incoming, fingerprint, id, found, before, done, differed });
        }
        Ok(Self { merchant, origin, rows, lines: Vec::new(), changed: HashSet::new() })
    }

    /// The indexes of the rows that are not settled.
    fn wanted(&self) -> impl Iterator<Item = usize> + '_ {
        self.rows.iter().enumerate().filter(|(_, row)| row.done.is_none()).map(|(index, _)| index)
    }

    fn columns(&self, indexes: &[usize]) -> Vec<(ProductId, &'new Incoming, Uuid)> {
        let row = |index: &usize| {
            let row = &self.rows[*index];
            (row.id, row.incoming, row.fingerprint)
        };
        indexes.iter().map(row).collect()
    }

    /// Writes what nobody has written. What was found is left to `update`: trying to insert it would
    /// cost as much as writing it.
    async fn insert(
        &mut self,
        work: &mut Work,
        categories: &HashMap<String, CategoryId>,
    ) -> Result<(), CatalogError> {
        let open: Vec<usize> = self.wanted().filter(|index| !self.rows[*index].found).collect();
        if open.is_empty() {
            return Ok(());
        }
        let rows = self.columns(&open);
        let created = table::insert(work, self.merchant, self.origin, &rows, categories).await?;
        let created: HashSet<ProductId> = created.into_iter().collect();
        for index in open {
            let row = &mut self.rows[index];
            if created.contains(&row.id) {
                row.done = Some(Done::Created);
                row.differed = true;
                let facts = &row.incoming.facts;
                self.lines.push(PriceLine {
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

    /// Holds the rows that were there, looks again, and writes those that differ.
    async fn update(
        &mut self,
        work: &mut Work,
        categories: &HashMap<String, CategoryId>,
    ) -> Result<(), CatalogError> {
        let open: Vec<usize> = self.wanted().collect();
        if open.is_empty() {
            return Ok(());
        }
        let external_id = |index: &usize| self.rows[*index].incoming.facts.external_id.clone();
        let ids: Vec<String> = open.iter().map(external_id).collect();
        let held = table::hold_existing(work, self.merchant, &ids).await?;
        let mut held: HashMap<String, Known> =
            held.into_iter().map(|known| (known.external_id.clone(), known)).collect();
        for index in &open {
            let row = &mut self.rows[*index];
            let known = held.remove(&row.incoming.facts.external_id);
            if let Some(known) = known {
                row.id = known.product_id;
                row.done = settled(&known, self.origin, row.fingerprint);
                row.before = Some(known);
            }
        }
        let open: Vec<usize> = self.wanted().collect();
        let rows = self.columns(&open);
        let updated = table::update(work, self.merchant, self.origin, &rows, categories).await?;
        let updated: HashSet<ProductId> = updated.into_iter().collect();
        for index in open {
            let row = &mut self.rows[index];
            row.differed = updated.contains(&row.id);
            if row.differed {
                self.changed.insert(row.id);
                self.lines.extend(row.new_price());
            }
        }
        Ok(())
    }

    /// Brings the variants of everything that is new or held to what was brought in.
    async fn put_variants(&mut self, work: &mut Work) -> Result<(), CatalogError> {
        let mut new = Vec::new();
        for row in self.rows.iter().filter(|row| row.is_written()) {
            for (place, (id, facts)) in row.incoming.variants.iter().enumerate() {
                let id = id.unwrap_or_else(|| work.new_id::<VariantId>());
                let place = i32::try_from(place).unwrap_or(i32::MAX);
                new.push((row.id, id, place, facts));
            }
        }
        let existing: Vec<Uuid> =
            self.rows.iter().filter(|row| row.is_held()).map(|row| row.id.uuid()).collect();
        let mut before = HashMap::new();
        if !existing.is_empty() {
            for held in table::held_variants(work, self.merchant, &existing).await? {
                let price = (held.price_minor, held.list_price_minor);
                before.insert((held.product_id, held.sku), price);
            }
            if !before.is_empty() {
                self.changed
                    .extend(table::drop_others(work, self.merchant, &existing, &new).await?);
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
            // A new price with unchanged columns can only be another currency.
            let variant = match written.get(&key) {
                Some(id) => Some(*id),
                None => table::variant_id(work, self.merchant, *product, &facts.sku).await?,
            };
            self.lines.push(PriceLine {
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
        let held: Vec<Uuid> =
            self.rows.iter().filter(|row| row.is_held()).map(|row| row.id.uuid()).collect();
        let mut reviewed: BTreeSet<ProductId> = BTreeSet::new();
        if !held.is_empty() {
            reviewed.extend(table::reviewed(work, self.merchant, &held).await?);
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

    /// Settles what was held, writes the price history and tells the outbox.
    async fn finish(&mut self, work: &mut Work) -> Result<(), CatalogError> {
        let mut same = (Vec::new(), Vec::new());
        let mut touched = (Vec::new(), Vec::new());
        for row in self.rows.iter_mut().filter(|row| row.done.is_none()) {
            let changed = self.changed.contains(&row.id);
            row.done = Some(if changed { Done::Updated } else { Done::Unchanged });
            if !row.differed {
                let columns = if changed { &mut touched } else { &mut same };
                columns.0.push(row.id.uuid());
                columns.1.push(row.fingerprint);
            }
        }
        for ((ids, fingerprints), touch) in [(same, false), (touched, true)] {
            if !ids.is_empty() {
                let origin = self.origin;
                table::confirm(work, self.merchant, origin, &ids, &fingerprints, touch).await?;
            }
        }
        table::append(work, self.merchant, &self.lines).await?;
        let told = self.rows.iter().filter(|row| self.changed.contains(&row.id));
        let events: Vec<NewEvent> = told.map(|row| changed(self.merchant, row.id)).collect();
        jobs::publish(work, &events).await?;
        Ok(())
    }

    fn into_answers(self) -> Vec<Put> {
        let put = |row: Row<'_>| Put { id: row.id, done: row.done.unwrap_or(Done::Unchanged) };
        self.rows.into_iter().map(put).collect()
    }
}

impl Row<'_> {
    /// Whether it was inserted or is held: what belongs to it may be written.
    fn is_written(&self) -> bool {
        self.done == Some(Done::Created) || self.is_held()
    }

    fn is_held(&self) -> bool {
        self.done.is_none()
    }

    fn new_price(&self) -> Option<PriceLine> {
        let facts = &self.incoming.facts;
        let line = PriceLine {
            product: self.id,
            variant: None,
            price_minor: facts.price.minor(),
            list_price_minor: facts.list_price_minor,
            currency: facts.price.currency().code(),
        };
        let before = self.before.as_ref();
        let same = before.is_some_and(|before| {
            (before.price_minor, before.list_price_minor, before.currency.as_str())
                == (line.price_minor, line.list_price_minor, line.currency)
        });
        (!same).then_some(line)
    }
}

/// What a known product comes to without being written, if anything.
fn settled(known: &Known, origin: Origin, fingerprint: Uuid) -> Option<Done> {
    if origin.is_older_than(known.pushed_at) {
        return Some(Done::Outdated);
    }
    let same = known.fingerprint == Some(fingerprint) && !known.retired;
    same.then_some(Done::Unchanged)
}

/// The event of a product that changed.
pub(crate) fn changed(merchant: MerchantId, id: ProductId) -> NewEvent {
    let payload = json!({ "product_id": id });
    NewEvent { merchant, topic: "product.changed", subject: id.uuid(), payload }
}

/// Takes products off the shelf. Answers which identifiers were listed until now; a feed leaves
/// alone what was pushed after it was received.
pub async fn retire(
    work: &mut Work,
    merchant: MerchantId,
    origin: Origin,
    external_ids: &[String],
) -> Result<Vec<ProductId>, CatalogError> {
    let held = table::hold_existing(work, merchant, external_ids).await?;
    let due = held.iter().filter(|known| !origin.is_older_than(known.pushed_at));
    let ids: Vec<Uuid> = due.map(|known| known.product_id.uuid()).collect();
    let retired = table::retire(work, merchant, origin, &ids).await?;
    let event = |id: &ProductId| NewEvent {
        merchant,
        topic: "product.retired",
        subject: id.uuid(),
        payload: json!({ "product_id": id }),
    };
    jobs::publish(work, &retired.iter().map(event).collect::<Vec<_>>()).await?;
    Ok(retired)
}

/// Counts what the catalog holds by now, of products agents can see: in each category, and for the
/// store, with its top categories.
pub async fn sum_up(work: &mut Work, merchant: MerchantId) -> Result<(), CatalogError> {
    table::count_products(work, merchant).await?;
    let departments = table::departments(work, merchant).await?;
    let count = table::visible_count(work, merchant).await?;
    merchants::describe_catalog(work, merchant, &departments, count).await?;
    Ok(())
}
