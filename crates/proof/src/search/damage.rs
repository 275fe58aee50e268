//! (c) Objects and files of the index are flipped, cut, deleted one by one and all together. What is
//! broken is found out, mended, and never served; readers that were running go on as if nothing had
//! been.
//!
//! The guards are the checksums a replica and a writer compare before they open anything. Without
//! them the flipped byte would be in the answers, and the reader's whole shelf differs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use sqlx::PgConnection;
use testkit::TestDatabase;

use super::balancer::{Balancer, Searchers};
use super::house::{House, PATIENCE, SHARDS, files, metric};
use super::shop::Shop;
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, command};

/// A way to break a file.
type Breakage = fn(&Path) -> std::io::Result<()>;

const BREAKAGES: [(&str, Breakage); 3] = [
    ("flipped", flip),
    ("cut", |path| {
        let bytes = std::fs::read(path)?;
        std::fs::write(path, &bytes[..bytes.len() / 2])
    }),
    ("deleted", |path| std::fs::remove_file(path)),
];

struct Scene {
    house: House,
    sql: PgConnection,
    shops: Vec<Shop>,
    /// Who was there from the beginning, and is searched in all the time.
    reader: Souk,
    _writer: Souk,
    damages: u64,
    pushed: usize,
    /// Goes last: the database is dropped with it.
    _test: TestDatabase,
}

pub(super) async fn prove(trial: Trial) -> Verdict {
    let mut scene = Scene::set(trial.by_tier(40, 400)).await?;
    let balancer = Balancer::start(&[scene.reader.port]);
    let searchers = Searchers::start(&balancer, &scene.shops, 1);
    let [flipped, cut, deleted] = BREAKAGES;
    // All at once, one in each shard; with time, each by itself first.
    let rounds = trial.by_tier(vec![vec![flipped, cut, deleted]], {
        vec![vec![flipped], vec![cut], vec![deleted], vec![deleted, flipped, cut]]
    });
    for (round, breakages) in rounds.iter().enumerate() {
        let names = breakages.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        trial.progress(|| format!("objects are {names}"));
        scene.break_objects(&format!("fresh-{round}"), breakages).await?;
    }
    trial.progress(|| String::from("a reader's file is flipped"));
    // Of the last of these readers, so that its files are those in force.
    scene.break_file(&format!("fresh-{}", rounds.len() - 1)).await?;
    trial.progress(|| String::from("all objects are deleted"));
    let objects = scene.lose(&["objects"]).await?;
    trial.progress(|| String::from("all objects and working copies are deleted"));
    let all = scene.lose(&["objects", "writers"]).await?;
    let products = scene.house.compare_reader(scene.reader.port).await?;
    let searched = searchers.stop().await?;
    ensure(balancer.retried() == 0, || String::from("a search was cut"))?;
    Ok(format!(
        "objects flipped, cut and deleted, and a reader's file flipped: each noted ({} damages) and mended, and {} \
         products shown rightly; all objects deleted: there again after {:.1} s; the working copies too: built \
         anew in {:.1} s, while {} searches were answered and none failed",
        scene.damages,
        grouped(products),
        objects.as_secs_f64(),
        all.as_secs_f64(),
        grouped(searched.requests),
    ))
}

impl Scene {
    async fn set(size: usize) -> Result<Self, Failure> {
        let test = TestDatabase::new().await;
        let url = test.url();
        command(&url, &["seed"])?;
        let house = House::open(&url, "damage").await?;
        let sql = house.sql().await?;
        let writer = house.writer()?;
        let reader = house.ready_reader("readers").await?;
        let shops = Shop::all(&url, size).await?;
        for shop in &shops {
            shop.fill(reader.port).await?;
        }
        house.compare(&house.replica("compare")?).await?;
        house.compare_reader(reader.port).await?;
        Ok(Self { house, sql, shops, reader, _writer: writer, damages: 0, pushed: 0, _test: test })
    }

    /// Something new in each store, so that every shard has to be published again.
    async fn push(&mut self) -> Result<(), Failure> {
        self.pushed += 1;
        for shop in &self.shops {
            let name = format!("Novelty number {}", self.pushed);
            shop.push(self.reader.port, &format!("novelty-{}", self.pushed), &name).await?;
        }
        Ok(())
    }

    /// The largest object that is in force, of each shard.
    async fn objects(&mut self) -> Result<Vec<PathBuf>, Failure> {
        let rows: Vec<(i32, i16, String)> = sqlx::query_as(
            "SELECT generation, shard, manifest FROM platform.search_shard
             JOIN platform.search_generation USING (generation) WHERE state = 'serving' ORDER BY shard",
        )
        .fetch_all(&mut self.sql)
        .await?;
        ensure(rows.len() == SHARDS, || format!("{} shards serve", rows.len()))?;
        let root = self.house.path("objects");
        let mut objects = Vec::new();
        for (generation, shard, manifest) in rows {
            let key = format!("generation-{generation}/shard-{shard}/manifest-{manifest}.json");
            let manifest: Value = serde_json::from_slice(&std::fs::read(root.join(key))?)?;
            let files = manifest["files"].as_array().ok_or("a manifest without files")?;
            let largest = files.iter().max_by_key(|file| file["bytes"].as_u64());
            let key =
                largest.and_then(|file| file["key"].as_str()).ok_or("a shard without files")?;
            objects.push(root.join(key));
        }
        Ok(objects)
    }

    /// Waits until nothing is published any more: merges are published too.
    async fn quiet(&mut self) -> Result<(), Failure> {
        let since = Instant::now();
        let (mut known, mut at) = (self.versions().await?, Instant::now());
        while at.elapsed() < Duration::from_millis(1_200) {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let versions = self.versions().await?;
            if versions != known {
                (known, at) = (versions, Instant::now());
            }
            ensure(since.elapsed() < PATIENCE, || String::from("it is never quiet"))?;
        }
        Ok(())
    }

    async fn versions(&mut self) -> Result<Vec<(i32, i16, i64)>, Failure> {
        let rows = sqlx::query_as(
            "SELECT generation, shard, version FROM platform.search_shard ORDER BY 1, 2",
        );
        Ok(rows.fetch_all(&mut self.sql).await?)
    }

    /// Objects in force are broken, one of a shard, and then a reader comes that has nothing yet.
    async fn break_objects(
        &mut self,
        directory: &str,
        breakages: &[(&str, Breakage)],
    ) -> Result<(), Failure> {
        self.quiet().await?;
        let mut broken = Vec::new();
        for (object, (_, breakage)) in self.objects().await?.into_iter().zip(breakages) {
            let whole = std::fs::read(&object)?;
            breakage(&object)?;
            broken.push((object, whole));
        }
        let fresh = self.house.ready_reader(directory).await?;
        self.house.compare_reader(fresh.port).await?;
        self.note(fresh.port, breakages.len(), directory).await?;
        for (object, whole) in &broken {
            self.mended(object, whole).await?;
        }
        self.push().await?;
        self.house.compare(&self.house.replica(&format!("compare-{directory}"))?).await?;
        self.house.compare_reader(fresh.port).await?;
        Ok(())
    }

    /// Everything that was broken was noted.
    async fn note(&mut self, port: u16, count: usize, directory: &str) -> Result<(), Failure> {
        let damages = metric(port, "souk_search_damage_total").await;
        ensure(damages >= u64::try_from(count)?, || {
            format!("of {count} damages the reader of {directory} noted {damages}")
        })?;
        self.damages += damages;
        Ok(())
    }

    /// The object is what it was, and nobody complains any more.
    async fn mended(&mut self, object: &Path, whole: &[u8]) -> Result<(), Failure> {
        let since = Instant::now();
        loop {
            let open: i64 =
                sqlx::query_scalar("SELECT count(damage_seen_at) FROM platform.search_shard")
                    .fetch_one(&mut self.sql)
                    .await?;
            if open == 0 && std::fs::read(object).is_ok_and(|found| found == whole) {
                return Ok(());
            }
            ensure(since.elapsed() < PATIENCE, || format!("{} is not mended", object.display()))?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// A file of a reader is broken while the reader is not running.
    async fn break_file(&mut self, directory: &str) -> Result<(), Failure> {
        let own = files(&self.house.path(directory).join("replica-0/files"));
        let bytes = |path: &PathBuf| std::fs::metadata(path).map_or(0, |found| found.len());
        let largest = own.into_iter().max_by_key(bytes).ok_or("the reader has no files")?;
        let whole = std::fs::read(&largest)?;
        flip(&largest)?;
        let again = self.house.ready_reader(directory).await?;
        self.house.compare_reader(again.port).await?;
        self.note(again.port, 1, directory).await?;
        let since = Instant::now();
        // Brought again; or swept, if what was published since does without it.
        while std::fs::read(&largest).is_ok_and(|found| found != whole) {
            ensure(since.elapsed() < PATIENCE, || String::from("a flipped file stays"))?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Whole directories go. How long until a copy made of nothing is equal again.
    async fn lose(&mut self, parts: &[&str]) -> Result<Duration, Failure> {
        for part in parts {
            remove(&self.house.path(part))?;
        }
        let since = Instant::now();
        self.push().await?;
        let name = format!("after-{}", parts.join("-"));
        self.house.compare(&self.house.replica(&format!("compare-{name}"))?).await?;
        let took = since.elapsed();
        self.house.compare_reader(self.reader.port).await?;
        Ok(took)
    }
}

fn flip(path: &Path) -> std::io::Result<()> {
    let mut bytes = std::fs::read(path)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path, bytes)
}

/// Removes a directory in which somebody may be writing just now.
fn remove(directory: &Path) -> std::io::Result<()> {
    for _ in 0..100 {
        match std::fs::remove_dir_all(directory) {
            Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => {}
            removed => return removed,
        }
    }
    std::fs::remove_dir_all(directory)
}
