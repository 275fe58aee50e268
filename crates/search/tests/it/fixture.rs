//! A database with some stores, object storage, and tasks that write and read the index.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

use catalog::{Amount, Incoming, Origin, ProductDraft};
use database::{Database, Work};
use primitives::{Currency, Id, MerchantId};
use search::{Comparison, ObjectStorage, Replica, ReplicaSettings, ReplicaStatus, WriterSettings};
use testkit::TestDatabase;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Maximum time to wait for a condition; test machines are busy.
const TIMEOUT: Duration = Duration::from_mins(2);

pub(crate) struct Fixture {
    pub(crate) test: TestDatabase,
    /// Uses the real clock, as writers and readers do.
    pub(crate) database: Database,
    pub(crate) root: PathBuf,
}

impl Fixture {
    /// Creates a database with some stores without products.
    pub(crate) async fn with_stores(count: u128) -> Self {
        let test = TestDatabase::new().await;
        let database = test.another_process();
        database.refresh_directory().await.unwrap();
        for number in 0..count {
            let slug = format!("store-{number}");
            testkit::StoreBuilder::new(&slug).merchant(merchant(number)).build(&database).await;
        }
        Self { test, database, root: new_directory() }
    }

    pub(crate) fn objects(&self) -> ObjectStorage {
        ObjectStorage::open(self.object_directory().to_str().unwrap()).unwrap()
    }

    pub(crate) fn object_directory(&self) -> PathBuf {
        self.root.join("objects")
    }

    pub(crate) fn writer_settings(&self) -> WriterSettings {
        WriterSettings {
            lease: Duration::from_secs(2),
            commit_every: Duration::from_millis(30),
            gc_grace_period: Duration::from_secs(2),
            memory_bytes: 20 << 20,
            retry_skipped_every: Duration::from_millis(300),
            ..WriterSettings::new(self.root.join("writers"), self.objects())
        }
    }

    pub(crate) fn write(&self) -> Writer {
        self.write_in(self.writer_settings())
    }

    pub(crate) fn write_in(&self, settings: WriterSettings) -> Writer {
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(search::write(self.database.clone(), settings, stopped));
        Writer { stop, task }
    }

    pub(crate) fn replica_settings(&self, name: &str) -> ReplicaSettings {
        ReplicaSettings {
            poll: Duration::from_millis(30),
            ..ReplicaSettings::new(self.root.join(name), self.objects())
        }
    }

    pub(crate) fn read(&self, name: &str) -> Replica {
        Replica::start(self.database.clone(), self.replica_settings(name))
    }

    /// Imports products of a store.
    pub(crate) async fn put(&self, store: u128, names: &[&str], price: &str) {
        let drafts: Vec<ProductDraft> = names.iter().map(|name| mug(name, price)).collect();
        let incoming: Vec<Incoming> =
            drafts.iter().map(|draft| catalog::check(draft, Currency::EUR).unwrap()).collect();
        let mut work = Work::for_store(&self.database, merchant(store)).await.unwrap();
        catalog::put_products(&mut work, merchant(store), Origin::Push, &incoming).await.unwrap();
        work.commit().await.unwrap();
    }

    /// Imports many products of a store.
    pub(crate) async fn put_many(&self, store: u128, count: usize, price: &str) {
        let names: Vec<String> = (0..count).map(|number| format!("mug-{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for names in names.chunks(200) {
            self.put(store, names, price).await;
        }
    }

    pub(crate) async fn retire(&self, store: u128, name: &str) {
        let mut work = Work::for_store(&self.database, merchant(store)).await.unwrap();
        let names = [name.to_owned()];
        catalog::retire(&mut work, merchant(store), Origin::Push, &names).await.unwrap();
        work.commit().await.unwrap();
    }

    /// Publishes the event of a changed product.
    pub(crate) async fn put_event(&self, store: u128, name: &str) {
        let find = "SELECT product_id FROM product WHERE external_id = $1";
        let id: uuid::Uuid = sqlx::query_scalar(find)
            .bind(name)
            .fetch_one(&mut self.test.raw().await)
            .await
            .unwrap();
        let payload = serde_json::json!({ "product_id": id });
        let event = jobs::NewEvent {
            merchant: merchant(store),
            topic: "product.changed",
            subject: id,
            payload,
        };
        let mut work = Work::for_store(&self.database, merchant(store)).await.unwrap();
        jobs::publish(&mut work, &[event]).await.unwrap();
        work.commit().await.unwrap();
    }

    /// Waits until a query returns a number.
    pub(crate) async fn wait_until_number(&self, query: &'static str, expected: i64) {
        let started = Instant::now();
        while self.number(query).await != expected {
            assert!(started.elapsed() < TIMEOUT, "{query} is not {expected}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) async fn compare(&self, replica: &Replica) -> Option<Comparison> {
        search::compare(&self.database, replica).await.ok()
    }

    /// Waits until a replica equals PostgreSQL.
    pub(crate) async fn wait_until_equal(&self, replica: &Replica) -> ReplicaStatus {
        let started = Instant::now();
        let mut last = None;
        while started.elapsed() < TIMEOUT {
            last = self.compare(replica).await;
            if last.as_ref().is_some_and(Comparison::is_equal) {
                return replica.status().unwrap();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("after {TIMEOUT:?}: {last:?}, {:?}", replica.status());
    }

    /// Waits until a replica has every change committed before this call.
    pub(crate) async fn wait_until_caught_up(&self, replica: &Replica) {
        let since = Instant::now();
        while replica.status().is_none_or(|status| status.age() >= since.elapsed()) {
            assert!(since.elapsed() < TIMEOUT, "not caught up: {:?}", replica.status());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until object storage has fewer objects than this.
    pub(crate) async fn wait_until_fewer_objects(&self, limit: usize) {
        let started = Instant::now();
        loop {
            let count = files(&self.object_directory()).len();
            if count < limit {
                return;
            }
            assert!(started.elapsed() < TIMEOUT, "{count} objects after {TIMEOUT:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until the task of a dropped replica has released its directory.
    pub(crate) async fn wait_until_released(&self, replica: &str) {
        let started = Instant::now();
        let path = self.root.join(replica).join("replica-0.lock");
        loop {
            if std::fs::File::create(&path).unwrap().try_lock().is_ok() {
                return;
            }
            assert!(started.elapsed() < TIMEOUT, "{} is locked", path.display());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until the status of a replica meets a condition.
    pub(crate) async fn wait_for_status(
        &self,
        replica: &Replica,
        condition: impl Fn(&ReplicaStatus) -> bool,
    ) -> ReplicaStatus {
        let started = Instant::now();
        while started.elapsed() < TIMEOUT {
            if let Some(status) = replica.status().filter(&condition) {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("after {TIMEOUT:?}: {:?}", replica.status());
    }

    /// Returns the number that a query selects.
    pub(crate) async fn number(&self, query: &'static str) -> i64 {
        let mut raw = self.test.raw().await;
        sqlx::query_scalar(query).fetch_one(&mut raw).await.unwrap()
    }

    pub(crate) async fn execute(&self, query: &'static str) {
        let mut raw = self.test.raw().await;
        sqlx::query(query).execute(&mut raw).await.unwrap();
    }

    /// Waits until a query selects this number.
    pub(crate) async fn wait_for_number(&self, query: &'static str, expected: i64) {
        let started = Instant::now();
        while started.elapsed() < TIMEOUT {
            if self.number(query).await == expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{query} is not {expected} after {TIMEOUT:?}");
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// A task that writes the index.
pub(crate) struct Writer {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Writer {
    /// Stops it gracefully.
    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        self.task.await.unwrap();
    }

    /// Aborts it, as a crash would.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

pub(crate) fn merchant(number: u128) -> MerchantId {
    MerchantId::from_random((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}

/// Returns all files below a directory.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn mug(name: &str, price: &str) -> ProductDraft {
    ProductDraft {
        external_id: name.to_owned(),
        name: Some(format!("Mug {name}")),
        description: Some(String::from("Holds coffee.")),
        brand: Some(String::from("Salgueira")),
        category: vec![String::from("Kitchen"), String::from("Mugs")],
        price: Some(Amount::new(price)),
        stock_quantity: Some(9),
        ..ProductDraft::default()
    }
}

fn new_directory() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let nanos = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("souk-search-{}-{count}-{nanos}", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}
