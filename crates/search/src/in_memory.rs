//! Everything a database holds, read once into an index in memory: for tests and proofs, which ask
//! about results and not about how an index travels.

use std::sync::Arc;
use std::time::Instant;

use database::{Database, Reading, shard_of};
use merchants::{Store, StoreCache};
use primitives::MerchantId;
use tantivy::directory::RamDirectory;
use tantivy::{Index, IndexWriter};
use tokio::sync::watch;

use crate::columns::OpenIndex;
use crate::document::Documents;
use crate::engine::{Keeper, Open};
use crate::generation::plan;
use crate::insight::Insight;
use crate::roster::Roster;
use crate::schema::{schema, settings};
use crate::view::{ShardView, View};
use crate::{IndexError, Search, SearchSettings};

/// Products read, and documents committed, in one go: so that there are several segments.
const PAGE: i64 = 400;

impl Search {
    /// Searches in what the database holds now, cut into so many shards. Later changes do not show.
    pub async fn of_everything(
        database: &Database,
        stores: StoreCache,
        shards: u16,
        search: SearchSettings,
    ) -> Result<Self, IndexError> {
        let reading = Reading::for_platform(database);
        let roster = merchants::roster(&reading).await?;
        let mut views = Vec::new();
        for (shard, (from, to)) in (0_i16..).zip(plan(shards)) {
            let (from, to) = (from.cast_unsigned(), to.cast_unsigned());
            let members: Vec<&Store> = roster
                .iter()
                .filter(|store| (from..=to).contains(&shard_of(store.merchant)))
                .collect();
            let index = fill(&reading, &members).await?;
            views.push(ShardView {
                shard,
                index: OpenIndex::new(index.reader()?.searcher())?,
                version: 1,
                caught_up: Instant::now(),
                virtual_from: from,
                virtual_to: to,
            });
        }
        let view = View { generation: 1, shards: views };
        let views = watch::channel(Some(Arc::new(view)));
        let rosters = watch::channel(Arc::new(Roster::of(roster)));
        let keeper = Keeper::Nobody { _views: views.0, _rosters: rosters.0 };
        let open = Arc::new(Open { views: views.1, rosters: rosters.1, _keeper: keeper });
        let insight = Insight::start(database.clone());
        Ok(Self::over(database.clone(), stores, open, insight, search))
    }
}

async fn fill(reading: &Reading, stores: &[&Store]) -> Result<Index, IndexError> {
    let (schema, fields) = schema();
    let index = Index::create(RamDirectory::create(), schema, settings())?;
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 30 << 20)?;
    let merchants: Vec<MerchantId> = stores.iter().map(|store| store.merchant).collect();
    let mut after = None;
    loop {
        let page = catalog::products_after(reading, &merchants, after, PAGE).await?;
        let Some((merchant, product)) = page.last() else { break };
        after = Some((*merchant, product.id));
        for (merchant, product) in &page {
            let Some(store) = stores.iter().find(|store| store.merchant == *merchant) else {
                continue;
            };
            if let Some(document) = Documents::new(fields, store).document(product) {
                writer.add_document(document)?;
            }
        }
        writer.commit()?;
    }
    Ok(index)
}
