//! Compares every listed product in PostgreSQL with its document in the index.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::Product;
use database::{Database, Reading, shard_of};
use merchants::Store;
use primitives::{MerchantId, ProductId};
use tantivy::schema::{IndexRecordOption, TantivyDocument, Value};
use tantivy::{DocAddress, DocSet, Searcher, TERMINATED};

use crate::IndexError;
use crate::document::{DocumentBuilder, id_term};
use crate::replica::Replica;
use crate::schema::{Fields, schema};
use crate::snapshot::IndexSnapshot;

/// Products read in one query.
const PRODUCTS: usize = 500;
/// Stores whose products are read in one query.
const STORES: usize = 100;
/// Differences that are listed by product id.
const EXAMPLES: usize = 10;

/// Differences between PostgreSQL and the index; none while no product changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Products that belong in the index.
    pub products: u64,
    /// Products without a document.
    pub missing: u64,
    /// Documents without a product, and duplicate documents.
    pub extra: u64,
    /// Documents of an earlier version of their product.
    pub stale: u64,
    /// The first ten differences.
    pub examples: Vec<String>,
}

impl Comparison {
    /// Returns whether there is no difference.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.missing == 0 && self.extra == 0 && self.stale == 0
    }

    fn add_example(&mut self, what: &str, id: ProductId) {
        if self.examples.len() < EXAMPLES {
            self.examples.push(format!("{what} {id}"));
        }
    }
}

/// Compares the current state of a replica with PostgreSQL. While products change, differences are expected.
pub async fn compare(database: &Database, replica: &Replica) -> Result<Comparison, IndexError> {
    let snapshot = replica.snapshot().borrow().clone().ok_or(IndexError::NotPublished)?;
    let reading = Reading::for_platform(database);
    let stores = merchants::all_stores(&reading).await?.stores;
    let stores: HashMap<MerchantId, Arc<Store>> =
        stores.into_iter().map(|store| (store.merchant, Arc::new(store))).collect();
    let stores = Arc::new(stores);
    let merchants: Vec<MerchantId> = stores.keys().copied().collect();
    let mut comparison = Comparison::default();
    for merchants in merchants.chunks(STORES) {
        let mut after = None;
        loop {
            let limit = i64::try_from(PRODUCTS).unwrap_or(i64::MAX);
            let page = catalog::products_after(&reading, merchants, after, limit).await?;
            let Some(last) = page.last else { break };
            after = Some(last);
            let (snapshot, stores) = (Arc::clone(&snapshot), Arc::clone(&stores));
            let compared = tokio::task::spawn_blocking(move || {
                compare_page(&snapshot, &stores, &page.products, &mut comparison)?;
                Ok::<_, IndexError>(comparison)
            });
            comparison = compared.await??;
        }
    }
    let documents: u64 = snapshot.shards.iter().map(|shard| shard.index.searcher.num_docs()).sum();
    comparison.extra = documents.saturating_sub(comparison.products - comparison.missing);
    Ok(comparison)
}

fn compare_page(
    snapshot: &IndexSnapshot,
    stores: &HashMap<MerchantId, Arc<Store>>,
    page: &[(MerchantId, Product)],
    comparison: &mut Comparison,
) -> Result<(), IndexError> {
    let (_, fields) = schema();
    for of_store in page.chunk_by(|(one, _), (other, _)| one == other) {
        let Some(merchant) = of_store.first().map(|(merchant, _)| *merchant) else { continue };
        let Some(store) = stores.get(&merchant) else { continue };
        let shard = snapshot.shard_of(shard_of(merchant));
        let mut builder = DocumentBuilder::new(fields, store);
        for (_, product) in of_store {
            let Some(wanted) = builder.build(product) else { continue };
            comparison.products += 1;
            let found = match shard {
                Some(shard) => find(&shard.index.searcher, &fields, product.id)?,
                None => None,
            };
            match found {
                None => {
                    comparison.missing += 1;
                    comparison.add_example("missing", product.id);
                }
                Some(found) if found != ComparedFields::of(&fields, &wanted) => {
                    comparison.stale += 1;
                    comparison.add_example("stale", product.id);
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}

/// The fields in which two documents of a product must agree.
#[derive(Debug, PartialEq, Eq)]
struct ComparedFields {
    updated_at: Option<i64>,
    record: Vec<u8>,
}

impl ComparedFields {
    fn of(fields: &Fields, document: &TantivyDocument) -> Self {
        let updated_at = document.get_first(fields.updated_at).and_then(|value| value.as_i64());
        let record = document.get_first(fields.record).and_then(|value| value.as_bytes());
        Self { updated_at, record: record.unwrap_or_default().to_vec() }
    }
}

/// Returns the live document of a product, if there is one.
fn find(
    searcher: &Searcher,
    fields: &Fields,
    id: ProductId,
) -> Result<Option<ComparedFields>, IndexError> {
    let term = id_term(fields, id);
    for (number, segment) in searcher.segment_readers().iter().enumerate() {
        let index = segment.inverted_index(fields.id)?;
        let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else {
            continue;
        };
        let mut doc = postings.doc();
        while doc != TERMINATED {
            if !segment.is_deleted(doc) {
                let address = DocAddress::new(u32::try_from(number).unwrap_or(u32::MAX), doc);
                let stored: TantivyDocument = searcher.doc(address)?;
                let updated_at = segment.fast_fields().i64("updated_at")?.first(doc);
                let record = stored.get_first(fields.record).and_then(|value| value.as_bytes());
                let record = record.unwrap_or_default().to_vec();
                return Ok(Some(ComparedFields { updated_at, record }));
            }
            doc = postings.advance();
        }
    }
    Ok(None)
}
