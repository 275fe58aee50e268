//! Two writers compete for the same shards. The holder is paused (SIGSTOP) past its leases while products
//! change; the other takes over; the first resumes. It publishes nothing more.
//!
//! The guard is the condition of the one statement that publishes a version: the token of the lease, its
//! expiry, and the version it was built on. A trigger logs every lease acquired and every publication with
//! the name of the writer, so that a publication by any writer but the holder is detected.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, PgConnection};
use testkit::TestDatabase;
use uuid::Uuid;

use super::balancer::Balancer;
use super::deployment::{Deployment, SHARDS, TIMEOUT};
use super::store::{ChangeLoad, StoreClient};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, command};

/// Logs which writer acquired or published which shard, in order.
const PUBLICATION_LOG: &str = "
    CREATE TABLE publication_log (
        entry bigint GENERATED ALWAYS AS IDENTITY, writer text, shard smallint, token uuid,
        is_acquired boolean, version bigint, manifest text, is_in_time boolean);
    CREATE FUNCTION log_publication() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
        IF NEW.version <> OLD.version OR NEW.lease_token IS DISTINCT FROM OLD.lease_token THEN
            INSERT INTO public.publication_log
                (writer, shard, token, is_acquired, version, manifest, is_in_time)
            VALUES (current_setting('souk.writer', true), NEW.shard, NEW.lease_token,
                    NEW.lease_token IS DISTINCT FROM OLD.lease_token, NEW.version, NEW.manifest,
                    NEW.lease_until > NEW.published_at);
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER log_publication BEFORE UPDATE ON platform.search_shard
        FOR EACH ROW EXECUTE FUNCTION log_publication();";

struct Harness {
    deployment: Deployment,
    sql: PgConnection,
    stores: Vec<StoreClient>,
    reader: Souk,
    writers: [Souk; 2],
    _test: TestDatabase,
}

pub(super) async fn prove(trial: Trial) -> Verdict {
    let rounds = trial.by_tier(1, 3);
    let mut harness = Harness::new(trial.by_tier(30, 200)).await?;
    let balancer = Balancer::start(&[harness.reader.port]);
    let change_load =
        ChangeLoad::start(&harness.stores, &balancer, trial.rng(50), Duration::from_millis(20));
    let mut slowest = Duration::ZERO;
    for round in 0..rounds {
        trial.progress(|| format!("pause {} of {rounds}", round + 1));
        slowest = slowest.max(harness.pause(round % 2).await?);
    }
    let changes = change_load.stop().await?;
    let replica = harness.deployment.replica("compare")?;
    let (comparison, _) = harness.deployment.compare(&replica).await?;
    harness.deployment.compare_reader(harness.reader.port).await?;
    let publications = harness.verify_log().await?;
    ensure(changes > 0, || String::from("no product changed"))?;
    Ok(format!(
        "{rounds} pauses past the lease while {} products changed: taken over within {:.1} s, the resumed writer \
         published nothing; {} publications, consecutive and each by the holder of its lease; {} products compared, \
         no difference",
        grouped(changes),
        slowest.as_secs_f64(),
        grouped(publications),
        grouped(comparison.products),
    ))
}

impl Harness {
    async fn new(size: usize) -> Result<Self, Failure> {
        let test = TestDatabase::new().await;
        let url = test.url();
        command(&url, &["seed"])?;
        let deployment = Deployment::new(&url, "writers").await?;
        let mut sql = deployment.sql().await?;
        sqlx::raw_sql(PUBLICATION_LOG).execute(&mut sql).await?;
        let first = deployment.named_writer("a")?;
        let reader = deployment.ready_reader("readers").await?;
        let stores = StoreClient::all(&url, size).await?;
        for store in &stores {
            store.push_catalog(reader.port).await?;
        }
        let writers = [first, deployment.named_writer("b")?];
        let mut harness = Self { deployment, sql, stores, reader, writers, _test: test };
        harness.wait("every shard is held", |held, _| held == [Some(0); SHARDS]).await?;
        Ok(harness)
    }

    /// Returns the holder and the version of each shard.
    async fn holders(&mut self) -> Result<(Vec<Option<usize>>, Vec<i64>), Failure> {
        let rows: Vec<(Option<String>, i64)> = sqlx::query_as(
            "SELECT (SELECT writer FROM publication_log WHERE is_acquired AND token = lease_token
                     ORDER BY entry DESC LIMIT 1), version
             FROM platform.search_shard ORDER BY shard",
        )
        .fetch_all(&mut self.sql)
        .await?;
        let number = |name: &Option<String>| name.as_deref().map(|name| usize::from(name == "b"));
        Ok((
            rows.iter().map(|(name, _)| number(name)).collect(),
            rows.iter().map(|(_, version)| *version).collect(),
        ))
    }

    async fn wait(
        &mut self,
        what: &str,
        holds: impl Fn(&[Option<usize>], &[i64]) -> bool,
    ) -> Result<Vec<i64>, Failure> {
        let since = Instant::now();
        loop {
            let (held, versions) = self.holders().await?;
            if holds(&held, &versions) {
                return Ok(versions);
            }
            ensure(since.elapsed() < TIMEOUT, || {
                format!("timed out after {TIMEOUT:?}: {what}; holders: {held:?}")
            })?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Pauses the holder until the other has taken over and published, then resumes it. Returns the time
    /// until the other held all shards.
    async fn pause(&mut self, paused: usize) -> Result<Duration, Failure> {
        let other = 1 - paused;
        self.writers[paused].signal("STOP")?;
        let since = Instant::now();
        let versions_at_takeover =
            self.wait("the other takes over", |held, _| held == [Some(other); SHARDS]).await?;
        let took = since.elapsed();
        let advanced = |versions: &[i64], by: i64| {
            versions.iter().zip(&versions_at_takeover).all(|(now, then)| *now >= then + by)
        };
        self.wait("the other publishes", |_, versions| advanced(versions, 1)).await?;
        self.writers[paused].signal("CONT")?;
        self.wait("publications continue", |_, versions| advanced(versions, 4)).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (held, _) = self.holders().await?;
        ensure(held == [Some(other); SHARDS], || {
            format!("the resumed writer acquired a shard; holders: {held:?}")
        })?;
        Ok(took)
    }

    /// Verifies that every publication was made by the holder of the lease, before its expiry, on the
    /// previous version. Returns the number of publications.
    async fn verify_log(&mut self) -> Result<usize, Failure> {
        type Entry = (Option<String>, i16, Option<Uuid>, bool, i64, Option<String>, Option<bool>);
        let statement = "SELECT writer, shard, token, is_acquired, version, manifest, is_in_time
             FROM publication_log ORDER BY shard, entry";
        let entries: Vec<Entry> =
            sqlx::query_as(AssertSqlSafe(statement)).fetch_all(&mut self.sql).await?;
        let (mut holders, mut versions) = (HashMap::new(), HashMap::new());
        let (mut manifests, mut publications) = (HashMap::new(), 0);
        for (writer, shard, token, is_acquired, version, manifest, is_in_time) in entries {
            if is_acquired {
                // A released lease has no token and no holder.
                holders.insert(shard, token.map(|token| (token, writer)));
                continue;
            }
            publications += 1;
            let last = versions.insert(shard, version).unwrap_or(0);
            ensure(version == last + 1, || format!("shard {shard} went from {last} to {version}"))?;
            let holder = holders.get(&shard).cloned().flatten();
            ensure(holder == token.map(|token| (token, writer.clone())), || {
                format!(
                    "{writer:?} published version {version} of shard {shard}, held by {holder:?}"
                )
            })?;
            ensure(is_in_time == Some(true), || {
                format!("version {version} was published after the lease expired")
            })?;
            let known = manifests.insert((shard, version), manifest);
            ensure(known.is_none(), || format!("version {version} was published twice"))?;
        }
        Ok(publications)
    }
}
