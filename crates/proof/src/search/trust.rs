//! A store is suspended, its score lowered and raised. Both readers reflect each change within five
//! seconds, and no document is rewritten.

use std::time::{Duration, Instant};

use database::{Reading, Work};
use merchants::Standing;
use primitives::MerchantId;
use serde_json::json;
use sqlx::PgConnection;
use testkit::TestDatabase;

use super::deployment::{Deployment, post_search};
use super::store::{STORES, StoreClient};
use crate::http::Client;
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, command};

/// Maximum time until every reader reflects a new standing.
const REACH_MAX: Duration = Duration::from_secs(5);
/// A word that only the products of this check contain, and that is its own stem in every language.
const WORD: &str = "zorb";

/// The position of the store's product in the search results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Absent,
    Last,
    First,
}

struct Harness {
    deployment: Deployment,
    sql: PgConnection,
    readers: [Souk; 2],
    merchant: MerchantId,
    _writer: Souk,
    _test: TestDatabase,
}

pub(super) async fn prove(trial: Trial) -> Verdict {
    let rounds = trial.by_tier(2, 10);
    let mut harness = Harness::new().await?;
    let before = harness.publications().await?;
    let (mut slowest, mut changes) = (Duration::ZERO, 0);
    for round in 0..rounds {
        trial.progress(|| format!("round {} of {rounds}", round + 1));
        // Suspended below 0.2, CAUTION below 0.7, and higher than every demo store.
        for (score, position) in
            [(0.1, Position::Absent), (0.5, Position::Last), (0.995, Position::First)]
        {
            slowest = slowest.max(harness.set_score(score, position).await?);
            changes += 1;
        }
    }
    let after = harness.publications().await?;
    ensure(before == after, || format!("documents were rewritten: {before:?} became {after:?}"))?;
    Ok(format!(
        "{changes} new standings (suspended, lower, higher): reflected by both readers within {:.2} s; no document \
         was rewritten",
        slowest.as_secs_f64()
    ))
}

impl Harness {
    async fn new() -> Result<Self, Failure> {
        let test = TestDatabase::new().await;
        let url = test.url();
        command(&url, &["seed"])?;
        let deployment = Deployment::new(&url, "trust").await?;
        let writer = deployment.writer()?;
        let (one, other) = tokio::try_join!(
            deployment.ready_reader("readers"),
            deployment.ready_reader("readers")
        )?;
        for store in StoreClient::all(&url, 1).await? {
            store.push(one.port, "ranked", &format!("The {WORD} of the fleet")).await?;
        }
        let reading = Reading::for_platform(&deployment.database);
        let stores = merchants::all_stores(&reading).await?.stores;
        let store = stores.iter().find(|store| store.slug.as_str() == STORES[0]);
        let merchant = store.ok_or("the store does not exist")?.merchant;
        let sql = deployment.sql().await?;
        let readers = [one, other];
        let mut harness = Self { deployment, sql, readers, merchant, _writer: writer, _test: test };
        harness.settle().await?;
        Ok(harness)
    }

    /// Waits until both readers have all products and publications have stopped.
    async fn settle(&mut self) -> Result<(), Failure> {
        self.deployment.compare(&self.deployment.replica("compare")?).await?;
        for reader in &self.readers {
            self.deployment.compare_reader(reader.port).await?;
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

    /// Sets the score and returns the time until both readers reflect it.
    async fn set_score(&mut self, score: f64, expected: Position) -> Result<Duration, Failure> {
        let mut work = Work::for_platform(&self.deployment.database).await?;
        let computed_at = work.now();
        let standing = Standing { score: Some(score), provisional: false, computed_at };
        merchants::set_standing(&mut work, self.merchant, &standing).await?;
        work.commit().await?;
        let since = Instant::now();
        let mut clients = self.readers.each_ref().map(|reader| Client::new(reader.port));
        loop {
            // Read before the search, so that the duration of the search does not count.
            let waited = since.elapsed();
            let positions = [position(&mut clients[0]).await?, position(&mut clients[1]).await?];
            if positions == [Some(expected); 2] {
                return Ok(since.elapsed());
            }
            ensure(waited < REACH_MAX, || {
                format!(
                    "with the score {score} the product should be {expected:?}; after {waited:?} it is {positions:?}"
                )
            })?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Returns the position of the store's product; `None` if it is neither absent, first nor last.
async fn position(client: &mut Client) -> Result<Option<Position>, Failure> {
    let response = post_search(client, &json!({ "query": WORD, "limit": 50 })).await?;
    let hits = response["data"].as_array().ok_or("the response has no data")?;
    ensure(hits.len() + 1 >= STORES.len(), || format!("too few hits: {}", hits.len()))?;
    let at = hits.iter().position(|hit| hit["merchant"]["slug"] == STORES[0]);
    Ok(match at {
        None => Some(Position::Absent),
        Some(0) => Some(Position::First),
        Some(at) if at + 1 == hits.len() => Some(Position::Last),
        Some(_) => None,
    })
}
