//! (e) A store is suspended, scored lower, and scored higher. Both readers show it within five
//! seconds, and no document is written for it.

use std::time::{Duration, Instant};

use database::{Reading, Work};
use merchants::Standing;
use primitives::MerchantId;
use serde_json::json;
use sqlx::PgConnection;
use testkit::TestDatabase;

use super::house::{House, ask};
use super::shop::{STORES, Shop};
use crate::http::Client;
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, command};

/// How long a new standing may take to reach every reader.
const REACH_MAX: Duration = Duration::from_secs(5);
/// A word that only the products of this check have, and that is its own stem in every language.
const WORD: &str = "zorb";

/// Where a store's product stands among those of all stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Gone,
    Last,
    First,
}

struct Scene {
    house: House,
    sql: PgConnection,
    readers: [Souk; 2],
    merchant: MerchantId,
    _writer: Souk,
    _test: TestDatabase,
}

pub(super) async fn prove(trial: Trial) -> Verdict {
    let rounds = trial.by_tier(2, 10);
    let mut scene = Scene::set().await?;
    let before = scene.publications().await?;
    let (mut slowest, mut changes) = (Duration::ZERO, 0);
    for round in 0..rounds {
        trial.progress(|| format!("round {} of {rounds}", round + 1));
        // Suspended below 0.2; CAUTION below 0.7; and higher than every store of the demo world.
        for (score, place) in [(0.1, Place::Gone), (0.5, Place::Last), (0.995, Place::First)] {
            slowest = slowest.max(scene.rate(score, place).await?);
            changes += 1;
        }
    }
    let after = scene.publications().await?;
    ensure(before == after, || format!("documents were written: {before:?} became {after:?}"))?;
    Ok(format!(
        "{changes} new standings (suspended, lower, higher): on both readers after {:.2} s at the most; no document \
         was written",
        slowest.as_secs_f64()
    ))
}

impl Scene {
    async fn set() -> Result<Self, Failure> {
        let test = TestDatabase::new().await;
        let url = test.url();
        command(&url, &["seed"])?;
        let house = House::open(&url, "trust").await?;
        let writer = house.writer()?;
        let (one, other) =
            tokio::try_join!(house.ready_reader("readers"), house.ready_reader("readers"))?;
        for shop in Shop::all(&url, 1).await? {
            shop.push(one.port, "lodestar", &format!("The {WORD} of the fleet")).await?;
        }
        let stores = merchants::roster(&Reading::for_platform(&house.database)).await?;
        let store = stores.iter().find(|store| store.slug.as_str() == STORES[0]);
        let merchant = store.ok_or("the store is not there")?.merchant;
        let sql = house.sql().await?;
        let readers = [one, other];
        let mut scene = Self { house, sql, readers, merchant, _writer: writer, _test: test };
        scene.settle().await?;
        Ok(scene)
    }

    /// Waits until both readers have all products and nothing is published any more.
    async fn settle(&mut self) -> Result<(), Failure> {
        self.house.compare(&self.house.replica("compare")?).await?;
        for reader in &self.readers {
            self.house.compare_reader(reader.port).await?;
        }
        let mut known = self.publications().await?;
        loop {
            tokio::time::sleep(Duration::from_millis(1_200)).await;
            let publications = self.publications().await?;
            if publications == known {
                return Ok(());
            }
            known = publications;
        }
    }

    async fn publications(&mut self) -> Result<Vec<(i16, i64, Option<String>)>, Failure> {
        let rows = sqlx::query_as(
            "SELECT shard, version, manifest FROM platform.search_shard ORDER BY generation, shard",
        );
        Ok(rows.fetch_all(&mut self.sql).await?)
    }

    /// Sets a standing; how long until both readers show it.
    async fn rate(&mut self, score: f64, wanted: Place) -> Result<Duration, Failure> {
        let mut work = Work::for_store(&self.house.database, self.merchant).await?;
        let computed_at = work.now();
        let standing = Standing { score: Some(score), provisional: false, computed_at };
        merchants::set_standing(&mut work, self.merchant, &standing).await?;
        work.commit().await?;
        let since = Instant::now();
        let mut clients = self.readers.each_ref().map(|reader| Client::new(reader.port));
        loop {
            // Asked first: what came later than this is not counted.
            let asked = since.elapsed();
            let places = [place(&mut clients[0]).await?, place(&mut clients[1]).await?];
            if places == [Some(wanted); 2] {
                return Ok(since.elapsed());
            }
            ensure(asked < REACH_MAX, || {
                format!(
                    "the score {score} should make it {wanted:?}; after {asked:?} it is {places:?}"
                )
            })?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Where the store's product stands.
async fn place(client: &mut Client) -> Result<Option<Place>, Failure> {
    let answer = ask(client, &json!({ "query": WORD, "limit": 50 })).await?;
    let hits = answer["data"].as_array().ok_or("an answer without data")?;
    ensure(hits.len() + 1 >= STORES.len(), || format!("only {} hits", hits.len()))?;
    let at = hits.iter().position(|hit| hit["merchant"]["slug"] == STORES[0]);
    Ok(match at {
        None => Some(Place::Gone),
        Some(0) => Some(Place::First),
        Some(at) if at + 1 == hits.len() => Some(Place::Last),
        Some(_) => None,
    })
}
