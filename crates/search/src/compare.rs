//! Every listed product of PostgreSQL against the documents of the index, one by one.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::Product;
use database::{Database, Reading, shard_of};
use merchants::Store;
use primitives::{MerchantId, ProductId};
use tantivy::schema::{IndexRecordOption, TantivyDocument, Value};
use tantivy::{DocAddress, DocSet, Searcher, TERMINATED};

use crate::IndexError;
use crate::document::{Documents, id_term};
use crate::replica::Replica;
use crate::schema::{Fields, schema};
use crate::view::View;

/// Products compared in one go.
const PRODUCTS: usize = 500;
const STORES: usize = 100;
/// Differences that are named.
const EXAMPLES: usize = 10;

/// How far PostgreSQL and the index differ. In a quiet system: not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Products that should be found.
    pub products: u64,
    /// Should be found, and are not there.
    pub missing: u64,
    /// Are there, and should not be, or not a second time.
    pub extra: u64,
    /// Are there as they once were.
    pub stale: u64,
    /// Some of the differences.
    pub examples: Vec<String>,
}

impl Comparison {
    /// Whether there is no difference.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.missing == 0 && self.extra == 0 && self.stale == 0
    }

    fn note(&mut self, what: &str, id: ProductId) {
        if self.examples.len() < EXAMPLES {
            self.examples.push(format!("{what} {id}"));
        }
    }
}

/// Compares what a replica has at this moment with PostgreSQL. While products change, differences
/// are to be expected.
pub async fn compare(database: &Database, replica: &Replica) -> Result<Comparison, IndexError> {
    let view = replica.view().borrow().clone().ok_or(IndexError::NoView)?;
    let reading = Reading::for_platform(database);
    let stores = merchants::roster(&reading).await?;
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
            if page.is_empty() {
                break;
            }
            after = page.last().map(|(merchant, product)| (*merchant, product.id));
            let (view, stores) = (Arc::clone(&view), Arc::clone(&stores));
            let compared = tokio::task::spawn_blocking(move || {
                compare_page(&view, &stores, &page, &mut comparison)?;
                Ok::<_, IndexError>(comparison)
            });
            comparison = compared.await??;
        }
    }
    let documents: u64 = view.shards.iter().map(|shard| shard.index.searcher.num_docs()).sum();
    comparison.extra = documents.saturating_sub(comparison.products - comparison.missing);
    Ok(comparison)
}

fn compare_page(
    view: &View,
    stores: &HashMap<MerchantId, Arc<Store>>,
    page: &[(MerchantId, Product)],
    comparison: &mut Comparison,
) -> Result<(), IndexError> {
    let (_, fields) = schema();
    for of_store in page.chunk_by(|(one, _), (other, _)| one == other) {
        let Some(merchant) = of_store.first().map(|(merchant, _)| *merchant) else { continue };
        let Some(store) = stores.get(&merchant) else { continue };
        let shard = view.shard_of(shard_of(merchant));
        let mut documents = Documents::new(fields, store);
        for (_, product) in of_store {
            let Some(wanted) = documents.document(product) else { continue };
            comparison.products += 1;
            let found = match shard {
                Some(shard) => find(&shard.index.searcher, &fields, product.id)?,
                None => None,
            };
            match found {
                None => {
                    comparison.missing += 1;
                    comparison.note("missing", product.id);
                }
                Some(found) if found != Essence::of(&fields, &wanted) => {
                    comparison.stale += 1;
                    comparison.note("stale", product.id);
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}

/// What two documents of a product must have in common.
#[derive(Debug, PartialEq, Eq)]
struct Essence {
    updated_at: Option<i64>,
    record: Vec<u8>,
}

impl Essence {
    fn of(fields: &Fields, document: &TantivyDocument) -> Self {
        let updated_at = document.get_first(fields.updated_at).and_then(|value| value.as_i64());
        let record = document.get_first(fields.record).and_then(|value| value.as_bytes());
        Self { updated_at, record: record.unwrap_or_default().to_vec() }
    }
}

/// The newest document of a product, if it is there.
fn find(
    searcher: &Searcher,
    fields: &Fields,
    id: ProductId,
) -> Result<Option<Essence>, IndexError> {
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
                return Ok(Some(Essence { updated_at, record }));
            }
            doc = postings.advance();
        }
    }
    Ok(None)
}
