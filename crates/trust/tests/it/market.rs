//! Stores whose scores follow from figures that a test sets.

use std::time::Duration;

use database::{Clock, Database, RandomSource, Reading, Settings, Work};
use merchants::{Standing, Store};
use primitives::{Id, MerchantId};
use testkit::{StoreBuilder, TestDatabase};
use trust::{Cause, Component, Computation, Epoch, MethodologyVersion};

pub(crate) const EPOCH: Duration = Duration::from_hours(6);

/// The epoch in which every test starts: 2026-11-15T06:00:00Z.
pub(crate) const FIRST: Epoch = Epoch(83_089);

/// A database with stores.
pub(crate) struct Market {
    pub(crate) test: TestDatabase,
}

impl Market {
    /// Opens a market in the last minute of the first epoch, in which all slots are due.
    pub(crate) async fn open() -> Self {
        let test = TestDatabase::new().await;
        test.clock().advance(Duration::from_mins(239));
        Self { test }
    }

    /// Returns a handle of a process whose clock is ahead.
    pub(crate) fn ahead_by(&self, span: Duration) -> Database {
        let settings = Settings {
            url: self.test.url(),
            connections_max: 4,
            acquire_timeout: Duration::from_secs(10),
            cell: self.database().cell().clone(),
            clock: Clock::fixed(self.database().local_now().plus(span)),
            random_source: RandomSource::seeded(8),
        };
        Database::connect_lazy(settings).unwrap()
    }

    pub(crate) fn database(&self) -> &Database {
        self.test.database()
    }

    /// Opens a store.
    pub(crate) async fn store(&self, number: u128) -> MerchantId {
        self.store_with_id(&format!("store-{number}"), MerchantId::from_random(number)).await
    }

    pub(crate) async fn store_with_id(&self, slug: &str, merchant: MerchantId) -> MerchantId {
        StoreBuilder::new(slug).merchant(merchant).build(self.database()).await.merchant
    }

    /// Sets how many of ten products are complete and consistent: both decide about 0.17 of 0.36.
    pub(crate) async fn set_good(&self, merchant: MerchantId, good: i64) {
        self.set_quality(merchant, 10, good).await;
    }

    pub(crate) async fn set_quality(&self, merchant: MerchantId, products: i64, good: i64) {
        sqlx::query(
            "INSERT INTO catalog_quality
                 (merchant_id, products, complete, consistent, missing_price, missing_image, missing_gtin,
                  foreign_currency, contradicting_stock, shared_gtin, computed_at)
             VALUES ($1, $2, $3, $3, 0, 0, 0, 0, 0, 0, '2026-11-15')
             ON CONFLICT (merchant_id) DO UPDATE
             SET products = excluded.products, complete = excluded.complete, consistent = excluded.consistent",
        )
        .bind(merchant)
        .bind(products)
        .bind(good)
        .execute(&mut self.test.raw().await)
        .await
        .unwrap();
    }

    pub(crate) async fn set_delivered(&self, merchant: MerchantId, delivered: i64) {
        sqlx::query(
            "INSERT INTO trust_tally (merchant_id, delivered, rolled_up_at) VALUES ($1, $2, '2026-11-15')
             ON CONFLICT (merchant_id) DO UPDATE SET delivered = excluded.delivered",
        )
        .bind(merchant)
        .bind(delivered)
        .execute(&mut self.test.raw().await)
        .await
        .unwrap();
    }

    /// Computes what is due.
    pub(crate) async fn compute(&self) {
        self.compute_by(MethodologyVersion::V20).await;
    }

    pub(crate) async fn compute_by(&self, in_force: MethodologyVersion) {
        compute_all(self.database(), in_force).await;
    }

    /// Runs a statement.
    pub(crate) async fn execute(&self, sql: &str) {
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        sqlx::raw_sql(sql).execute(&mut self.test.raw().await).await.unwrap();
    }

    pub(crate) async fn recompute(&self, merchant: MerchantId, cause: Cause) -> Computation {
        let mut work = Work::for_platform(self.database()).await.unwrap();
        let in_force = MethodologyVersion::V20;
        let computed = trust::recompute(&mut work, merchant, cause, in_force).await.unwrap();
        work.commit().await.unwrap();
        computed
    }

    pub(crate) fn advance(&self, span: Duration) {
        self.test.clock().advance(span);
    }

    pub(crate) fn reading(&self, merchant: MerchantId) -> Reading {
        Reading::for_store(self.database(), merchant).unwrap()
    }

    pub(crate) async fn latest(&self, merchant: MerchantId) -> Option<Computation> {
        trust::latest(&self.reading(merchant), merchant).await.unwrap()
    }

    /// Returns the epochs and revisions of a store, oldest first.
    pub(crate) async fn rows(&self, merchant: MerchantId) -> Vec<(i64, i32)> {
        sqlx::query_as(
            "SELECT epoch, revision FROM trust_score WHERE merchant_id = $1 ORDER BY epoch, revision",
        )
        .bind(merchant)
        .fetch_all(&mut self.test.raw().await)
        .await
        .unwrap()
    }

    /// Appends a score with one component that was not computed from evidence, as the first one of an epoch.
    pub(crate) async fn append(&self, merchant: MerchantId, epoch: Epoch, value: f64) {
        let is_price = |it: &Component| *it == Component::PriceAccuracy;
        let values: Vec<Option<f64>> =
            Component::ALL.iter().map(|it| is_price(it).then_some(value)).collect();
        sqlx::query(
            "INSERT INTO trust_score
                 (merchant_id, epoch, revision, computed_at, methodology, score, provisional, basis, cause, component_values)
             VALUES ($1, $2, 0, $3, '2.0', $4, false, 'demo', 'demo', $5)",
        )
        .bind(merchant)
        .bind(epoch.0)
        .bind(epoch.as_of())
        .bind(value)
        .bind(values)
        .execute(&mut self.test.raw().await)
        .await
        .unwrap();
    }

    /// Returns the newest score of each epoch, newest first.
    pub(crate) async fn history(&self, merchant: MerchantId) -> Vec<Computation> {
        let reading = self.reading(merchant);
        trust::thinned_history(&reading, merchant, None, None, u16::MAX).await.unwrap()
    }

    pub(crate) async fn loaded(&self, merchant: MerchantId) -> Store {
        merchants::store(&self.reading(merchant), merchant).await.unwrap()
    }

    pub(crate) async fn standing(&self, merchant: MerchantId) -> Standing {
        self.loaded(merchant).await.standing
    }

    /// Returns the number of events of a topic about a store.
    pub(crate) async fn events(&self, merchant: MerchantId, topic: &str) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM outbox WHERE merchant_id = $1 AND topic = $2")
            .bind(merchant)
            .bind(topic)
            .fetch_one(&mut self.test.raw().await)
            .await
            .unwrap()
    }
}

/// Computes what is due, in several runs if one takes too long.
pub(crate) async fn compute_all(database: &Database, in_force: MethodologyVersion) {
    for _ in 0..10 {
        if trust::compute_due(database, in_force).await.unwrap() {
            return;
        }
    }
    panic!("what is due is not computed after ten runs");
}
