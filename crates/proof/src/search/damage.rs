//! Objects and files of the index are corrupted (a bit flipped, truncated, deleted), one by one and all
//! together. Corruption is detected, repaired and never served; running readers are not affected.
//!
//! The guards are the checksums that replicas and writers verify before they open a file. Without them
//! the flipped bit would reach the responses, and the products of the reader would differ.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use sqlx::PgConnection;
use testkit::TestDatabase;

use super::balancer::{Balancer, SearchLoad};
use super::deployment::{Deployment, SHARDS, TIMEOUT, files, metric};
use super::store::StoreClient;
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, command};

/// A way to corrupt a file.
type Corruption = fn(&Path) -> std::io::Result<()>;

const CORRUPTIONS: [(&str, Corruption); 3] = [
    ("flipped", flip),
    ("truncated", |path| {
        let bytes = std::fs::read(path)?;
        std::fs::write(path, &bytes[..bytes.len() / 2])
    }),
    ("deleted", |path| std::fs::remove_file(path)),
];

struct Harness {
    deployment: Deployment,
    sql: PgConnection,
    stores: Vec<StoreClient>,
    /// Runs during the whole check and receives the search load.
    reader: Souk,
    _writer: Souk,
    /// Number of corrupt files that readers have detected.
    detected: u64,
    pushed: usize,
    /// The last field, because the database is dropped with it.
    _test: TestDatabase,
}

pub(super) async fn prove(trial: Trial) -> Verdict {
    let mut harness = Harness::new(trial.by_tier(40, 400)).await?;
    let balancer = Balancer::start(&[harness.reader.port]);
    let load = SearchLoad::start(&balancer, &harness.stores, 1);
    let [flipped, truncated, deleted] = CORRUPTIONS;
    // All at once, one in each shard; in the full tier each by itself first.
    let rounds = trial.by_tier(vec![vec![flipped, truncated, deleted]], {
        vec![vec![flipped], vec![truncated], vec![deleted], vec![deleted, flipped, truncated]]
    });
    for (round, corruptions) in rounds.iter().enumerate() {
        let names = corruptions.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        trial.progress(|| format!("objects {names}"));
        harness.corrupt_objects(&format!("fresh-{round}"), corruptions).await?;
    }
    trial.progress(|| String::from("a reader's file flipped"));
    // Of the last of these readers, whose files are the current ones.
    harness.corrupt_file(&format!("fresh-{}", rounds.len() - 1)).await?;
    trial.progress(|| String::from("all objects deleted"));
    let objects = harness.delete(&["objects"]).await?;
    trial.progress(|| String::from("all objects and working copies deleted"));
    let all = harness.delete(&["objects", "writers"]).await?;
    let products = harness.deployment.compare_reader(harness.reader.port).await?;
    let totals = load.stop().await?;
    ensure(balancer.retried() == 0, || String::from("the connection of a search broke"))?;
    Ok(format!(
        "objects flipped, truncated and deleted, and a reader's file flipped: all detected ({} corrupt files) and \
         repaired, {} products correct; all objects deleted: restored in {:.1} s; objects and working copies deleted: \
         rebuilt in {:.1} s; {} searches, none failed",
        harness.detected,
        grouped(products),
        objects.as_secs_f64(),
        all.as_secs_f64(),
        grouped(totals.requests),
    ))
}

impl Harness {
    async fn new(size: usize) -> Result<Self, Failure> {
        let test = TestDatabase::new().await;
        let url = test.url();
        command(&url, &["seed"])?;
        let deployment = Deployment::new(&url, "damage").await?;
        let sql = deployment.sql().await?;
        let writer = deployment.writer()?;
        let reader = deployment.ready_reader("readers").await?;
        let stores = StoreClient::all(&url, size).await?;
        for store in &stores {
            store.push_catalog(reader.port).await?;
        }
        deployment.compare(&deployment.replica("compare")?).await?;
        deployment.compare_reader(reader.port).await?;
        Ok(Self {
            deployment,
            sql,
            stores,
            reader,
            _writer: writer,
            detected: 0,
            pushed: 0,
            _test: test,
        })
    }

    /// Pushes a new product to each store, so that every shard is published again.
    async fn push(&mut self) -> Result<(), Failure> {
        self.pushed += 1;
        for store in &self.stores {
            let name = format!("New product {}", self.pushed);
            store.push(self.reader.port, &format!("new-{}", self.pushed), &name).await?;
        }
        Ok(())
    }

    /// Returns the largest current object of each shard.
    async fn objects(&mut self) -> Result<Vec<PathBuf>, Failure> {
        let rows: Vec<(i32, i16, String)> = sqlx::query_as(
            "SELECT generation, shard, manifest FROM platform.search_shard
             JOIN platform.search_generation USING (generation) WHERE state = 'serving' ORDER BY shard",
        )
        .fetch_all(&mut self.sql)
        .await?;
        ensure(rows.len() == SHARDS, || {
            format!("{} shards are serving, expected {SHARDS}", rows.len())
        })?;
        let root = self.deployment.path("objects");
        let mut objects = Vec::new();
        for (generation, shard, manifest) in rows {
            let key = format!("generation-{generation}/shard-{shard}/manifest-{manifest}.json");
            let manifest: Value = serde_json::from_slice(&std::fs::read(root.join(key))?)?;
            let files = manifest["files"].as_array().ok_or("a manifest has no files")?;
            let largest = files.iter().max_by_key(|file| file["bytes"].as_u64());
            let key =
                largest.and_then(|file| file["key"].as_str()).ok_or("a shard has no files")?;
            objects.push(root.join(key));
        }
        Ok(objects)
    }

    /// Waits until publications have stopped; merges are published too.
    async fn wait_until_idle(&mut self) -> Result<(), Failure> {
        let since = Instant::now();
        let (mut known, mut at) = (self.versions().await?, Instant::now());
        while at.elapsed() < Duration::from_millis(1_200) {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let versions = self.versions().await?;
            if versions != known {
                (known, at) = (versions, Instant::now());
            }
            ensure(since.elapsed() < TIMEOUT, || {
                format!("publications did not stop within {TIMEOUT:?}")
            })?;
        }
        Ok(())
    }

    async fn versions(&mut self) -> Result<Vec<(i32, i16, i64)>, Failure> {
        let rows = sqlx::query_as(
            "SELECT generation, shard, version FROM platform.search_shard ORDER BY 1, 2",
        );
        Ok(rows.fetch_all(&mut self.sql).await?)
    }

    /// Corrupts current objects, one per shard, and then starts a reader without local files.
    async fn corrupt_objects(
        &mut self,
        directory: &str,
        corruptions: &[(&str, Corruption)],
    ) -> Result<(), Failure> {
        self.wait_until_idle().await?;
        let mut corrupted = Vec::new();
        for (object, (_, corrupt)) in self.objects().await?.into_iter().zip(corruptions) {
            let content = std::fs::read(&object)?;
            corrupt(&object)?;
            corrupted.push((object, content));
        }
        let fresh = self.deployment.ready_reader(directory).await?;
        self.deployment.compare_reader(fresh.port).await?;
        self.verify_detected(fresh.port, corruptions.len(), directory).await?;
        for (object, content) in &corrupted {
            self.wait_until_repaired(object, content).await?;
        }
        self.push().await?;
        self.deployment.compare(&self.deployment.replica(&format!("compare-{directory}"))?).await?;
        self.deployment.compare_reader(fresh.port).await?;
        Ok(())
    }

    /// Verifies that the reader detected all corruption.
    async fn verify_detected(
        &mut self,
        port: u16,
        count: usize,
        directory: &str,
    ) -> Result<(), Failure> {
        let detected = metric(port, "souk_search_damage_total").await;
        ensure(detected >= u64::try_from(count)?, || {
            format!("the reader in {directory} detected {detected} of {count} corrupt files")
        })?;
        self.detected += detected;
        Ok(())
    }

    /// Waits until the object is restored and no damage is reported.
    async fn wait_until_repaired(&mut self, object: &Path, content: &[u8]) -> Result<(), Failure> {
        let since = Instant::now();
        loop {
            let open: i64 =
                sqlx::query_scalar("SELECT count(damage_seen_at) FROM platform.search_shard")
                    .fetch_one(&mut self.sql)
                    .await?;
            if open == 0 && std::fs::read(object).is_ok_and(|found| found == content) {
                return Ok(());
            }
            ensure(since.elapsed() < TIMEOUT, || {
                format!("{} was not repaired within {TIMEOUT:?}", object.display())
            })?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Corrupts a file of a reader that is not running.
    async fn corrupt_file(&mut self, directory: &str) -> Result<(), Failure> {
        let own = files(&self.deployment.path(directory).join("replica-0/files"));
        let bytes = |path: &PathBuf| std::fs::metadata(path).map_or(0, |found| found.len());
        let largest = own.into_iter().max_by_key(bytes).ok_or("the reader has no files")?;
        let content = std::fs::read(&largest)?;
        flip(&largest)?;
        let again = self.deployment.ready_reader(directory).await?;
        self.deployment.compare_reader(again.port).await?;
        self.verify_detected(again.port, 1, directory).await?;
        let since = Instant::now();
        // Downloaded again, or deleted if the current version no longer needs it.
        while std::fs::read(&largest).is_ok_and(|found| found != content) {
            ensure(since.elapsed() < TIMEOUT, || {
                format!("a flipped file was not replaced within {TIMEOUT:?}")
            })?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Deletes whole directories. Returns the time until a new replica equals PostgreSQL again.
    async fn delete(&mut self, parts: &[&str]) -> Result<Duration, Failure> {
        for part in parts {
            remove(&self.deployment.path(part))?;
        }
        let since = Instant::now();
        self.push().await?;
        let name = format!("after-{}", parts.join("-"));
        self.deployment.compare(&self.deployment.replica(&format!("compare-{name}"))?).await?;
        let took = since.elapsed();
        self.deployment.compare_reader(self.reader.port).await?;
        Ok(took)
    }
}

fn flip(path: &Path) -> std::io::Result<()> {
    let mut bytes = std::fs::read(path)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path, bytes)
}

/// Removes a directory that another process may be writing to.
fn remove(directory: &Path) -> std::io::Result<()> {
    for _ in 0..100 {
        match std::fs::remove_dir_all(directory) {
            Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => {}
            removed => return removed,
        }
    }
    std::fs::remove_dir_all(directory)
}
