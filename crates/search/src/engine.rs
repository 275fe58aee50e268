//! The searching half of a process: it holds the open index and runs queries.

use std::sync::Arc;
use std::time::Duration;

use catalog::{FallbackQuery, FallbackSort, PriceRange};
use database::{Database, Reading};
use merchants::{Store, StoreCache};
use primitives::{Currency, MerchantId, ProductId, StoreSlug};
use tokio::sync::watch;

use crate::analytics::{Analytics, CallerKind};
use crate::find::{Matched, SearchResults, Source, find};
use crate::rank::Tuning;
use crate::replica::{Replica, ReplicaSettings};
use crate::schema::{Fields, schema};
use crate::snapshot::IndexSnapshot;
use crate::store_directory::{DirectoryFollower, StoreDirectory};
use crate::thread_pool::ThreadPool;
use crate::{Query, SearchError, Sort, similar, suggest};

/// Runs searches. Cheap to clone.
#[derive(Clone)]
pub struct Search(Arc<Inner>);

struct Inner {
    engine: Arc<Engine>,
    database: Database,
    sources: Arc<SearchSources>,
    stores: StoreCache,
    analytics: Analytics,
    pool: ThreadPool,
}

/// The data that searches read, each as it was last updated.
pub(crate) struct SearchSources {
    /// `None` until a complete index is open.
    pub(crate) snapshots: watch::Receiver<Option<Arc<IndexSnapshot>>>,
    pub(crate) directories: watch::Receiver<Arc<StoreDirectory>>,
    /// Keeps both receivers updated, or at least open.
    pub(crate) _updates: UpdateSource,
}

/// What updates the sources of a search.
pub(crate) enum UpdateSource {
    /// A replica of the published index.
    Replica { _replica: Replica },
    /// Nothing: the senders only keep the channels open.
    Fixed {
        _snapshots: watch::Sender<Option<Arc<IndexSnapshot>>>,
        _directories: watch::Sender<Arc<StoreDirectory>>,
    },
}

/// What all searches of the process share.
pub(crate) struct Engine {
    pub(crate) fields: Fields,
    pub(crate) tuning: Tuning,
    pub(crate) budget: Option<u64>,
    pub(crate) site_url: Arc<str>,
    pub(crate) database: Database,
}

impl SearchSources {
    /// Returns sources that never change.
    pub(crate) fn fixed(snapshot: Option<Arc<IndexSnapshot>>, directory: StoreDirectory) -> Self {
        let (snapshots, directories) =
            (watch::channel(snapshot), watch::channel(Arc::new(directory)));
        let updates = UpdateSource::Fixed { _snapshots: snapshots.0, _directories: directories.0 };
        Self { snapshots: snapshots.1, directories: directories.1, _updates: updates }
    }
}

impl Engine {
    /// Returns the time at which freshness is computed, rounded down to the hour, so that consecutive pages are
    /// usually ranked at the same time.
    pub(crate) fn now_seconds(&self) -> i64 {
        let now = self.database.local_now().unix_seconds();
        now - now.rem_euclid(3_600)
    }
}

/// Settings of the searching half of a process.
#[derive(Debug, Clone)]
pub struct SearchSettings {
    /// Base URL of the service, for images that it hosts.
    pub site_url: Arc<str>,
    /// Documents that one search may visit; if it would visit more, totals are estimates. `None`: no limit.
    pub budget: Option<u64>,
    /// Parameters of the ranking.
    pub tuning: Tuning,
    /// Number of search threads.
    pub concurrency: usize,
}

impl SearchSettings {
    /// Returns the default settings.
    #[must_use]
    pub fn new(site_url: &str) -> Self {
        let (budget, tuning) = (Some(50_000), Tuning::default());
        Self { site_url: Arc::from(site_url), budget, tuning, concurrency: 4 }
    }
}

/// State of the search index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchState {
    /// Lag behind the database, without stores that change many products at once; `None` while no index is open.
    pub age: Option<Duration>,
    /// Time since the store directory was last confirmed.
    pub store_directory_age: Duration,
    /// Generation that is open; `None` while no index is open.
    pub generation: Option<i32>,
    /// Products in the index.
    pub documents: u64,
}

impl SearchState {
    /// Maximum lag of a healthy index.
    pub const AGE_MAX: Duration = Duration::from_secs(10);

    /// Returns whether searches are answered from an index that is up to date.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.age.is_some_and(|age| age <= Self::AGE_MAX) && self.is_available()
    }

    /// Returns whether searches are answered from the index at all.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.age.is_some() && self.store_directory_age <= StoreDirectory::STALE_AFTER
    }
}

impl Search {
    /// Starts a search over the newest published index and the current standing of the stores.
    #[must_use]
    pub fn start(
        database: Database,
        stores: StoreCache,
        replica: ReplicaSettings,
        settings: SearchSettings,
    ) -> Self {
        let directories = DirectoryFollower::start(&database);
        let analytics = Analytics::start(database.clone());
        let replica = Replica::start(database.clone(), replica);
        let sources = SearchSources {
            snapshots: replica.snapshot(),
            directories,
            _updates: UpdateSource::Replica { _replica: replica },
        };
        Self::from_sources(database, stores, Arc::new(sources), analytics, settings)
    }

    /// Returns a search without an index: it answers queries of one store from the database.
    #[must_use]
    pub fn without_index(database: Database, stores: StoreCache, settings: SearchSettings) -> Self {
        let sources = SearchSources::fixed(None, StoreDirectory::new(Vec::new()));
        let analytics = Analytics::start(database.clone());
        Self::from_sources(database, stores, Arc::new(sources), analytics, settings)
    }

    /// Returns a search over these sources.
    pub(crate) fn from_sources(
        database: Database,
        stores: StoreCache,
        sources: Arc<SearchSources>,
        analytics: Analytics,
        settings: SearchSettings,
    ) -> Self {
        let (_, fields) = schema();
        let engine = Arc::new(Engine {
            fields,
            tuning: settings.tuning,
            budget: settings.budget,
            site_url: settings.site_url,
            database: database.clone(),
        });
        let pool = ThreadPool::start(settings.concurrency);
        Self(Arc::new(Inner { engine, database, sources, stores, analytics, pool }))
    }

    /// Returns a search over the same sources with another ranking and budget, to measure the effect of each.
    #[must_use]
    pub fn with_tuning(&self, tuning: Tuning, budget: Option<u64>) -> Self {
        let inner = &self.0;
        let (site_url, database) = (Arc::clone(&inner.engine.site_url), inner.database.clone());
        let fields = inner.engine.fields;
        let engine = Engine { fields, tuning, budget, site_url, database: database.clone() };
        Self(Arc::new(Inner {
            engine: Arc::new(engine),
            database,
            sources: Arc::clone(&inner.sources),
            stores: inner.stores.clone(),
            analytics: inner.analytics.clone(),
            pool: inner.pool.clone(),
        }))
    }

    /// Returns the state of the index.
    #[must_use]
    pub fn state(&self) -> SearchState {
        let snapshot = self.0.sources.snapshots.borrow().clone();
        let documents = snapshot.as_ref().map_or(0, |snapshot| snapshot.documents());
        SearchState {
            age: snapshot.as_ref().map(|snapshot| snapshot.age_of(&[])),
            store_directory_age: self.0.sources.directories.borrow().age(),
            generation: snapshot.map(|snapshot| snapshot.generation),
            documents,
        }
    }

    /// Runs a query and counts it. Without an index, a query of a single store is answered from the database.
    pub async fn find(
        &self,
        query: Query,
        caller: CallerKind,
    ) -> Result<SearchResults, SearchError> {
        let query = Arc::new(query);
        let found = match self.current() {
            Ok((snapshot, directory)) => {
                let query = Arc::clone(&query);
                self.run(move |engine| find(engine, &snapshot, &directory, &query)).await
            }
            Err(error) => Err(error),
        };
        let found = match found {
            Err(SearchError::IndexUnavailable | SearchError::Index(_))
                if query.stores.len() == 1 =>
            {
                self.find_in_database(&query).await
            }
            other => other,
        };
        if let Ok(found) = &found {
            let store = self.only_store(&query);
            let hits = u64::try_from(found.page.total).unwrap_or(0);
            self.0.analytics.record(store, &query.words, caller, hits);
        }
        found
    }

    /// Returns up to `limit` queries that begin with `prefix` and have results, the most frequent first.
    pub async fn suggest(
        &self,
        prefix: String,
        stores: Vec<StoreSlug>,
        limit: usize,
    ) -> Result<Vec<String>, SearchError> {
        let (snapshot, directory) = self.current()?;
        let query = Query { stores, ..Query::of_words("") };
        self.run(move |engine| {
            suggest::suggest(engine, &snapshot, &directory, &query, &prefix, limit)
        })
        .await
    }

    /// Returns products similar to this one. Of the query, the stores, the filters and the page count.
    pub async fn similar(
        &self,
        product: ProductId,
        query: Query,
    ) -> Result<SearchResults, SearchError> {
        let (snapshot, directory) = self.current()?;
        self.run(move |engine| similar::similar(engine, &snapshot, &directory, &query, product))
            .await
    }

    /// Returns the current index and store directory. Fails if no index is open, or if the directory is too old to
    /// tell which stores are suspended.
    pub(crate) fn current(&self) -> Result<(Arc<IndexSnapshot>, Arc<StoreDirectory>), SearchError> {
        let directory = Arc::clone(&self.0.sources.directories.borrow());
        let snapshot =
            self.0.sources.snapshots.borrow().clone().ok_or(SearchError::IndexUnavailable)?;
        if directory.is_stale() {
            return Err(SearchError::StoreDirectoryStale);
        }
        Ok((snapshot, directory))
    }

    /// Runs a search on a thread of the pool.
    async fn run<T: Send + 'static>(
        &self,
        search: impl FnOnce(&Engine) -> Result<T, SearchError> + Send + 'static,
    ) -> Result<T, SearchError> {
        let engine = Arc::clone(&self.0.engine);
        self.0.pool.run(move || search(&engine)).await
    }

    /// Returns the merchant of a query that names exactly one store.
    fn only_store(&self, query: &Query) -> Option<MerchantId> {
        let [only] = query.stores.as_slice() else { return None };
        self.0.sources.directories.borrow().by_slug(only).map(|entry| entry.store.merchant)
    }

    /// Searches one store by SQL, without stemming, corrections and facets.
    async fn find_in_database(&self, query: &Query) -> Result<SearchResults, SearchError> {
        let store = self.store_in_database(query).await?;
        let reading = Reading::for_store(&self.0.database, store.merchant)
            .map_err(catalog::CatalogError::from)?;
        let fallback = fallback_query(query);
        let (products, total) = catalog::fallback_search(
            &reading,
            store.merchant,
            &fallback,
            query.page.limit().into(),
            query.page.offset(),
        )
        .await?;
        let site_url = &self.0.engine.site_url;
        let record = |product: &catalog::Product| {
            serde_json::to_string(&product.record(&store, site_url)).ok()
        };
        Ok(SearchResults {
            records: products.iter().filter_map(record).collect(),
            page: query.page.meta(total),
            matched: Matched::AllWords,
            corrections: Vec::new(),
            next_cursor: None,
            facets: None,
            source: Source::Database,
            age: Duration::ZERO,
        })
    }

    /// Returns the store of the query, from the cache or the database.
    async fn store_in_database(&self, query: &Query) -> Result<Arc<Store>, SearchError> {
        let Some(slug) = query.stores.first() else { return Err(SearchError::IndexUnavailable) };
        let store = self.0.stores.admit(slug).await;
        store.map_err(|error| SearchError::Catalog(error.into()))
    }
}

/// Converts a query to one that the catalog can answer.
fn fallback_query(query: &Query) -> FallbackQuery {
    let filters = &query.filters;
    let minor = |micros: Option<u64>, currency: Currency, up: bool| {
        let unit = 10_u64.saturating_pow(6_u32.saturating_sub(currency.decimals()));
        let minor = micros.map(|micros| if up { micros.div_ceil(unit) } else { micros / unit });
        minor.map(|minor| i64::try_from(minor).unwrap_or(i64::MAX))
    };
    let currencies = Currency::SUPPORTED
        .into_iter()
        .filter(|currency| filters.currency.is_none_or(|requested| requested == *currency));
    let is_bound = filters.currency.is_some()
        || filters.price_micros_min.is_some()
        || filters.price_micros_max.is_some();
    let range = |currency| PriceRange {
        currency,
        min_minor: minor(filters.price_micros_min, currency, true),
        max_minor: minor(filters.price_micros_max, currency, false),
    };
    FallbackQuery {
        words: Some(query.words.clone()).filter(|words| !words.trim().is_empty()),
        category: filters.category.clone(),
        brand: filters.brand.clone(),
        prices: if is_bound { currencies.map(range).collect() } else { Vec::new() },
        in_stock_only: filters.in_stock_only,
        sort: match query.sort {
            Sort::Relevance | Sort::Trust => FallbackSort::Relevance,
            Sort::PriceAsc => FallbackSort::PriceAscending,
            Sort::PriceDesc => FallbackSort::PriceDescending,
            Sort::Newest => FallbackSort::Newest,
        },
    }
}
