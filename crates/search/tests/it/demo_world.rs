//! The demo world, searched in memory.

use std::time::Duration;

use database::Database;
use merchants::StoreCache;
use primitives::PageRequest;
use search::{CallerKind, Query, Search, SearchResults, SearchSettings};
use serde_json::Value;
use testkit::{Template, TestDatabase};

pub(crate) struct World {
    pub(crate) test: TestDatabase,
    pub(crate) search: Search,
}

impl World {
    /// Opens a copy of the demo world in three shards, without a budget, so that totals are exact.
    pub(crate) async fn open() -> Self {
        let test = Self::database().await;
        let search = Self::search(test.database()).await;
        Self { test, search }
    }

    pub(crate) async fn database() -> TestDatabase {
        let world = demo::world();
        let template = Template { name: "world", fingerprint: demo::fingerprint() };
        let seed = async |database: Database| {
            demo::seed(&database, &world, |_| {}).await.unwrap();
        };
        TestDatabase::copy_of(&template, "cell-1", seed).await
    }

    pub(crate) async fn search(database: &Database) -> Search {
        let stores = StoreCache::new(database.clone(), Duration::ZERO);
        let settings = SearchSettings { budget: None, ..SearchSettings::new("http://souk.test") };
        Search::in_memory(database, stores, 3, settings).await.unwrap()
    }

    pub(crate) async fn find(&self, query: Query) -> SearchResults {
        self.search.find(query, CallerKind::Anonymous).await.unwrap()
    }

    /// Returns all results of a query, page by page with the cursor.
    pub(crate) async fn find_all(&self, query: &Query) -> Vec<Value> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let page = PageRequest::new(None, Some(100));
            let found = self.find(Query { cursor, page, ..query.clone() }).await;
            all.extend(records(&found));
            cursor = found.next_cursor;
            if cursor.is_none() {
                return all;
            }
        }
    }
}

pub(crate) fn records(found: &SearchResults) -> Vec<Value> {
    found.records.iter().map(|record| serde_json::from_str(record).unwrap()).collect()
}

pub(crate) fn ids(records: &[Value]) -> Vec<String> {
    records.iter().map(|record| record["id"].as_str().unwrap().to_owned()).collect()
}
