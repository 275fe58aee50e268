//! (d) Two writers want the same shards. The one that has them sleeps (SIGSTOP) past its leases while
//! products change; the other takes over; the first wakes. It publishes nothing any more.
//!
//! The guard is the condition of the one statement that puts a state in force: the token of the lease,
//! its end, and the version it was built on. A trigger writes down every lease taken and every
//! publication, and by whom, so a publication by anybody but the holder is seen.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, PgConnection};
use testkit::TestDatabase;
use uuid::Uuid;

use super::balancer::Balancer;
use super::house::{House, PATIENCE, SHARDS};
use super::shop::{Flow, Shop};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, command};

/// Who did what to which shard, in the order in which it came about.
const DIARY: &str = "
    CREATE TABLE diary (
        entry bigint GENERATED ALWAYS AS IDENTITY, writer text, shard smallint, token uuid,
        is_taken boolean, version bigint, manifest text, is_in_time boolean);
    CREATE FUNCTION keep_diary() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
        IF NEW.version <> OLD.version OR NEW.lease_token IS DISTINCT FROM OLD.lease_token THEN
            INSERT INTO public.diary (writer, shard, token, is_taken, version, manifest, is_in_time)
            VALUES (current_setting('souk.writer', true), NEW.shard, NEW.lease_token,
                    NEW.lease_token IS DISTINCT FROM OLD.lease_token, NEW.version, NEW.manifest,
                    NEW.lease_until > NEW.published_at);
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER keep_diary BEFORE UPDATE ON platform.search_shard
        FOR EACH ROW EXECUTE FUNCTION keep_diary();";

struct Scene {
    house: House,
    sql: PgConnection,
    shops: Vec<Shop>,
    reader: Souk,
    writers: [Souk; 2],
    _test: TestDatabase,
}

pub(super) async fn prove(trial: Trial) -> Verdict {
    let rounds = trial.by_tier(1, 3);
    let mut scene = Scene::set(trial.by_tier(30, 200)).await?;
    let balancer = Balancer::start(&[scene.reader.port]);
    let flow = Flow::start(&scene.shops, &balancer, trial.dice(50), Duration::from_millis(20));
    let mut slowest = Duration::ZERO;
    for round in 0..rounds {
        trial.progress(|| format!("sleep {} of {rounds}", round + 1));
        slowest = slowest.max(scene.sleep(round % 2).await?);
    }
    let changes = flow.stop().await?;
    let replica = scene.house.replica("compare")?;
    let (comparison, _) = scene.house.compare(&replica).await?;
    scene.house.compare_reader(scene.reader.port).await?;
    let publications = scene.read_diary().await?;
    ensure(changes > 0, || String::from("nothing changed"))?;
    Ok(format!(
        "{rounds} sleeps past the lease while {} products changed: taken over after {:.1} s at the most, the woken \
         writer published nothing; {} publications, one by one and each by the holder of its lease; {} products \
         compared, no difference",
        grouped(changes),
        slowest.as_secs_f64(),
        grouped(publications),
        grouped(comparison.products),
    ))
}

impl Scene {
    async fn set(size: usize) -> Result<Self, Failure> {
        let test = TestDatabase::new().await;
        let url = test.url();
        command(&url, &["seed"])?;
        let house = House::open(&url, "writers").await?;
        let mut sql = house.sql().await?;
        sqlx::raw_sql(DIARY).execute(&mut sql).await?;
        let first = house.writer_called("a")?;
        let reader = house.ready_reader("readers").await?;
        let shops = Shop::all(&url, size).await?;
        for shop in &shops {
            shop.fill(reader.port).await?;
        }
        let writers = [first, house.writer_called("b")?];
        let mut scene = Self { house, sql, shops, reader, writers, _test: test };
        scene.wait("every shard is held", |held, _| held == [Some(0); SHARDS]).await?;
        Ok(scene)
    }

    /// Which writer holds each shard, and the version each is at.
    async fn holders(&mut self) -> Result<(Vec<Option<usize>>, Vec<i64>), Failure> {
        let rows: Vec<(Option<String>, i64)> = sqlx::query_as(
            "SELECT (SELECT writer FROM diary WHERE is_taken AND token = lease_token ORDER BY entry DESC LIMIT 1),
                    version
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
            ensure(since.elapsed() < PATIENCE, || {
                format!("not within {PATIENCE:?}: {what}; {held:?}")
            })?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The holder sleeps until the other has taken over and published; then it wakes. How long until
    /// the other had all.
    async fn sleep(&mut self, sleeper: usize) -> Result<Duration, Failure> {
        let other = 1 - sleeper;
        self.writers[sleeper].signal("STOP")?;
        let since = Instant::now();
        let taken =
            self.wait("the other takes over", |held, _| held == [Some(other); SHARDS]).await?;
        let took = since.elapsed();
        let grown = |versions: &[i64], by: i64| {
            versions.iter().zip(&taken).all(|(now, then)| *now >= then + by)
        };
        self.wait("the other publishes", |_, versions| grown(versions, 1)).await?;
        self.writers[sleeper].signal("CONT")?;
        self.wait("publications go on", |_, versions| grown(versions, 4)).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (held, _) = self.holders().await?;
        ensure(held == [Some(other); SHARDS], || format!("the woken writer took {held:?}"))?;
        Ok(took)
    }

    /// Every publication was made by the holder of the lease, in time, and on the one before it.
    async fn read_diary(&mut self) -> Result<usize, Failure> {
        type Entry = (Option<String>, i16, Option<Uuid>, bool, i64, Option<String>, Option<bool>);
        let statement =
            "SELECT writer, shard, token, is_taken, version, manifest, is_in_time FROM diary
                         ORDER BY shard, entry";
        let entries: Vec<Entry> =
            sqlx::query_as(AssertSqlSafe(statement)).fetch_all(&mut self.sql).await?;
        let (mut holders, mut versions) = (HashMap::new(), HashMap::new());
        let (mut manifests, mut publications) = (HashMap::new(), 0);
        for (writer, shard, token, is_taken, version, manifest, is_in_time) in entries {
            if is_taken {
                // Given back, it is nobody's.
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
            ensure(is_in_time == Some(true), || format!("version {version} came after the lease"))?;
            let known = manifests.insert((shard, version), manifest);
            ensure(known.is_none(), || format!("version {version} was published twice"))?;
        }
        Ok(publications)
    }
}
