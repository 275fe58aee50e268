//! The searching half of a process: it holds what is open, and answers.

use std::sync::Arc;
use std::time::Duration;

use catalog::{PriceRange, Scan, ScanSort};
use database::{Database, Reading};
use merchants::{Store, StoreCache};
use primitives::{Currency, MerchantId, PageRequest, ProductId, StoreSlug};
use tokio::sync::watch;

use crate::find::{Found, Matched, Source, find};
use crate::insight::{CallerKind, Insight};
use crate::rank::Tuning;
use crate::replica::{Replica, ReplicaSettings};
use crate::roster::{Roster, RosterKeeper};
use crate::schema::{Fields, schema};
use crate::threads::Threads;
use crate::view::View;
use crate::{Query, SearchError, Sort, similar, suggest};

/// Searches. Cheap to clone.
#[derive(Clone)]
pub struct Search(Arc<Inner>);

struct Inner {
    engine: Arc<Engine>,
    database: Database,
    open: Arc<Open>,
    stores: StoreCache,
    insight: Insight,
    threads: Threads,
}

/// What is open.
pub(crate) struct Open {
    pub(crate) views: watch::Receiver<Option<Arc<View>>>,
    pub(crate) rosters: watch::Receiver<Arc<Roster>>,
    /// Whoever brings both up to date, as long as somebody searches.
    pub(crate) _keeper: Keeper,
}

/// Who brings what is open up to date.
pub(crate) enum Keeper {
    /// A replica of what is published.
    Replica { _replica: Replica },
    /// Nobody: the channels stay open, and nothing comes.
    Nobody { _views: watch::Sender<Option<Arc<View>>>, _rosters: watch::Sender<Arc<Roster>> },
}

/// What every search of the process shares.
pub(crate) struct Engine {
    pub(crate) fields: Fields,
    pub(crate) tuning: Tuning,
    pub(crate) budget: Option<u64>,
    pub(crate) site_url: Arc<str>,
    pub(crate) database: Database,
}

impl Engine {
    /// The moment, for ages of products: a lift of some percent, no rule. By the hour, so that pages
    /// that are read one after another are of the same moment.
    pub(crate) fn now_seconds(&self) -> i64 {
        let now = self.database.local_now().unix_seconds();
        now - now.rem_euclid(3_600)
    }
}

/// What can be set.
#[derive(Debug, Clone)]
pub struct SearchSettings {
    /// Where the service is reached; pictures of ours lie there.
    pub site_url: Arc<str>,
    /// Documents one search may see; beyond it totals are estimates. None: all.
    pub budget: Option<u64>,
    /// What plays a part in the order.
    pub tuning: Tuning,
    /// Searches at work at once.
    pub concurrency: usize,
}

impl SearchSettings {
    /// The usual ones.
    #[must_use]
    pub fn new(site_url: &str) -> Self {
        let (budget, tuning) = (Some(50_000), Tuning::default());
        Self { site_url: Arc::from(site_url), budget, tuning, concurrency: 4 }
    }
}

/// How the index is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchState {
    /// How much older than the database it is; none while it is not open.
    pub age: Option<Duration>,
    /// How old what is known of the stores is.
    pub roster_age: Duration,
    /// Which generation is open.
    pub generation: Option<i32>,
    /// How many products are in it.
    pub documents: u64,
}

impl SearchState {
    /// An index older than this is behind.
    pub const AGE_MAX: Duration = Duration::from_secs(10);

    /// Whether searches are answered from an index that keeps up.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.age.is_some_and(|age| age <= Self::AGE_MAX) && self.answers()
    }

    /// Whether searches are answered at all.
    #[must_use]
    pub fn answers(&self) -> bool {
        self.age.is_some() && self.roster_age <= Roster::STALE_AFTER
    }
}

impl Search {
    /// Follows the newest published index and the standing of the stores, and searches in them.
    #[must_use]
    pub fn start(
        database: Database,
        stores: StoreCache,
        replica: ReplicaSettings,
        settings: SearchSettings,
    ) -> Self {
        let rosters = RosterKeeper::start(&database);
        let insight = Insight::start(database.clone());
        let replica = Replica::start(database.clone(), replica);
        let open =
            Open { views: replica.view(), rosters, _keeper: Keeper::Replica { _replica: replica } };
        Self::over(database, stores, Arc::new(open), insight, settings)
    }

    /// Searches while no index is there: one store at a time, in the database.
    #[must_use]
    pub fn away(database: Database, stores: StoreCache, settings: SearchSettings) -> Self {
        let (views, rosters) =
            (watch::channel(None), watch::channel(Arc::new(Roster::of(Vec::new()))));
        let keeper = Keeper::Nobody { _views: views.0, _rosters: rosters.0 };
        let open = Open { views: views.1, rosters: rosters.1, _keeper: keeper };
        let insight = Insight::start(database.clone());
        Self::over(database, stores, Arc::new(open), insight, settings)
    }

    /// Searches in what is open, as it changes.
    pub(crate) fn over(
        database: Database,
        stores: StoreCache,
        open: Arc<Open>,
        insight: Insight,
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
        let threads = Threads::start(settings.concurrency);
        Self(Arc::new(Inner { engine, database, open, stores, insight, threads }))
    }

    /// The same searches with another order or budget: for showing what each is worth.
    #[must_use]
    pub fn with(&self, tuning: Tuning, budget: Option<u64>) -> Self {
        let inner = &self.0;
        let (site_url, database) = (Arc::clone(&inner.engine.site_url), inner.database.clone());
        let fields = inner.engine.fields;
        let engine = Engine { fields, tuning, budget, site_url, database: database.clone() };
        Self(Arc::new(Inner {
            engine: Arc::new(engine),
            database,
            open: Arc::clone(&inner.open),
            stores: inner.stores.clone(),
            insight: inner.insight.clone(),
            threads: inner.threads.clone(),
        }))
    }

    /// How the index is.
    #[must_use]
    pub fn state(&self) -> SearchState {
        let view = self.0.open.views.borrow().clone();
        let documents = view.as_ref().map_or(0, |view| view.documents());
        SearchState {
            age: view.as_ref().map(|view| view.age()),
            roster_age: self.0.open.rosters.borrow().age(),
            generation: view.map(|view| view.generation),
            documents,
        }
    }

    /// Answers a search.
    pub async fn find(&self, query: Query, caller: CallerKind) -> Result<Found, SearchError> {
        let query = Arc::new(query);
        let found = match self.open() {
            Ok((view, roster)) => {
                let query = Arc::clone(&query);
                self.run(move |engine| find(engine, &view, &roster, &query)).await
            }
            Err(error) => Err(error),
        };
        let found = match found {
            Err(SearchError::Away | SearchError::Index(_)) if query.stores.len() == 1 => {
                self.find_in_database(&query).await
            }
            other => other,
        };
        if let Ok(found) = &found {
            let store = self.only_store(&query);
            let hits = u64::try_from(found.page.total).unwrap_or(0);
            self.0.insight.note(store, &query.words, caller, hits);
        }
        found
    }

    /// Searches that begin so and find something.
    pub async fn suggest(
        &self,
        start: String,
        stores: Vec<StoreSlug>,
        most: usize,
    ) -> Result<Vec<String>, SearchError> {
        let (view, roster) = self.open()?;
        let query = Query { stores, ..Query::of_words("") };
        self.run(move |engine| suggest::suggest(engine, &view, &roster, &query, &start, most)).await
    }

    /// Products like this one, of all stores or of some.
    pub async fn similar(
        &self,
        product: ProductId,
        stores: Vec<StoreSlug>,
        page: PageRequest,
    ) -> Result<Found, SearchError> {
        let (view, roster) = self.open()?;
        let query = Query { stores, page, ..Query::of_words("") };
        self.run(move |engine| similar::similar(engine, &view, &roster, &query, product)).await
    }

    /// What is open now, if the standing of the stores is known well enough to show anything of it.
    pub(crate) fn open(&self) -> Result<(Arc<View>, Arc<Roster>), SearchError> {
        let roster = Arc::clone(&self.0.open.rosters.borrow());
        let view = self.0.open.views.borrow().clone().ok_or(SearchError::Away)?;
        if roster.is_stale() {
            return Err(SearchError::Stale);
        }
        Ok((view, roster))
    }

    /// Runs a search where it does not hold up others.
    async fn run<T: Send + 'static>(
        &self,
        search: impl FnOnce(&Engine) -> Result<T, SearchError> + Send + 'static,
    ) -> Result<T, SearchError> {
        let engine = Arc::clone(&self.0.engine);
        self.0.threads.run(move || search(&engine)).await
    }

    fn only_store(&self, query: &Query) -> Option<MerchantId> {
        let [only] = query.stores.as_slice() else { return None };
        self.0.open.rosters.borrow().by_slug(only).map(|member| member.store.merchant)
    }

    /// Looks in one store by SQL: without stems, corrections and facets, but with its products.
    async fn find_in_database(&self, query: &Query) -> Result<Found, SearchError> {
        let store = self.store_in_database(query).await?;
        let reading = Reading::for_store(&self.0.database, store.merchant)
            .map_err(catalog::CatalogError::from)?;
        let scan = scan(query);
        let (products, total) = catalog::scan(
            &reading,
            store.merchant,
            &scan,
            query.page.limit().into(),
            query.page.offset(),
        )
        .await?;
        let site_url = &self.0.engine.site_url;
        let record = |product: &catalog::Product| {
            serde_json::to_string(&product.record(&store, site_url)).ok()
        };
        Ok(Found {
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

    /// The one store of a search, from memory or else from the database.
    async fn store_in_database(&self, query: &Query) -> Result<Arc<Store>, SearchError> {
        let Some(slug) = query.stores.first() else { return Err(SearchError::Away) };
        let store = self.0.stores.admit(slug).await;
        store.map_err(|error| SearchError::Catalog(error.into()))
    }
}

/// A search as the catalog understands it.
fn scan(query: &Query) -> Scan {
    let filters = &query.filters;
    let minor = |micros: Option<u64>, currency: Currency, up: bool| {
        let unit = 10_u64.saturating_pow(6_u32.saturating_sub(currency.decimals()));
        let minor = micros.map(|micros| if up { micros.div_ceil(unit) } else { micros / unit });
        minor.map(|minor| i64::try_from(minor).unwrap_or(i64::MAX))
    };
    let currencies = Currency::SUPPORTED
        .into_iter()
        .filter(|currency| filters.currency.is_none_or(|wanted| wanted == *currency));
    let is_bound = filters.currency.is_some()
        || filters.price_micros_min.is_some()
        || filters.price_micros_max.is_some();
    let range = |currency| PriceRange {
        currency,
        min_minor: minor(filters.price_micros_min, currency, true),
        max_minor: minor(filters.price_micros_max, currency, false),
    };
    Scan {
        words: Some(query.words.clone()).filter(|words| !words.trim().is_empty()),
        category: filters.category.clone(),
        brand: filters.brand.clone(),
        prices: if is_bound { currencies.map(range).collect() } else { Vec::new() },
        in_stock_only: filters.in_stock_only,
        sort: match query.sort {
            Sort::Relevance | Sort::Trust => ScanSort::Relevance,
            Sort::PriceAsc => ScanSort::PriceAscending,
            Sort::PriceDesc => ScanSort::PriceDescending,
            Sort::Newest => ScanSort::Newest,
        },
    }
}
