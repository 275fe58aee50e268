//! An index in memory, built once from the database: for tests of search results that do not need a writer and a
//! replica.

use std::sync::Arc;
use std::time::Instant;

use database::{Database, Reading, shard_of};
use merchants::{Store, StoreCache};
use primitives::MerchantId;
use tantivy::directory::RamDirectory;
use tantivy::{Index, IndexWriter};

use crate::analytics::Analytics;
use crate::columns::OpenIndex;
use crate::document::DocumentBuilder;
use crate::engine::SearchSources;
use crate::generation::shard_ranges;
use crate::schema::{schema, settings};
use crate::snapshot::{IndexSnapshot, ShardSnapshot};
use crate::store_directory::StoreDirectory;
use crate::{IndexError, Search, SearchSettings};

/// Products per query and per commit: small, so that there are several segments.
const PAGE: i64 = 400;

impl Search {
    /// Returns a search over the current content of the database, in this many shards. It does not see later
    /// changes.
    pub async fn in_memory(
        database: &Database,
        stores: StoreCache,
        shards: u16,
        search: SearchSettings,
    ) -> Result<Self, IndexError> {
        let reading = Reading::for_platform(database);
        let all_stores = merchants::all_stores(&reading).await?.stores;
        let mut snapshots = Vec::new();
        for (shard, (from, to)) in (0_i16..).zip(shard_ranges(shards)) {
            let (from, to) = (from.cast_unsigned(), to.cast_unsigned());
            let shard_stores: Vec<&Store> = all_stores
                .iter()
                .filter(|store| (from..=to).contains(&shard_of(store.merchant)))
                .collect();
            let index = build_index(&reading, &shard_stores).await?;
            snapshots.push(ShardSnapshot {
                shard,
                index: OpenIndex::new(index.reader()?.searcher())?,
                version: 1,
                caught_up: Instant::now(),
                small_caught_up: Instant::now(),
                bulk_merchants: Arc::default(),
                virtual_from: from,
                virtual_to: to,
            });
        }
        let snapshot = IndexSnapshot { generation: 1, shards: snapshots };
        let sources =
            SearchSources::fixed(Some(Arc::new(snapshot)), StoreDirectory::new(all_stores));
        let analytics = Analytics::start(database.clone());
        Ok(Self::from_sources(database.clone(), stores, Arc::new(sources), analytics, search))
    }
}

async fn build_index(reading: &Reading, stores: &[&Store]) -> Result<Index, IndexError> {
    let (schema, fields) = schema();
    let index = Index::create(RamDirectory::create(), schema, settings())?;
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 30 << 20)?;
    let merchants: Vec<MerchantId> = stores.iter().map(|store| store.merchant).collect();
    let mut after = None;
    loop {
        let page = catalog::products_after(reading, &merchants, after, PAGE).await?;
        let Some(last) = page.last else { break };
        after = Some(last);
        for (merchant, product) in &page.products {
            let Some(store) = stores.iter().find(|store| store.merchant == *merchant) else {
                continue;
            };
            if let Some(document) = DocumentBuilder::new(fields, store).build(product) {
                writer.add_document(document)?;
            }
        }
        writer.commit()?;
    }
    Ok(index)
}
