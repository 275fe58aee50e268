//! `epochs`: two workers compute the scores of many merchants for several epochs that are late, and for the current one, while
//! one or the other is killed again and again. Afterwards SQL alone checks that every merchant has exactly one score of each
//! epoch at whose begin its store existed, that the standing of each store is its newest score, and that a suspension was told
//! once. Stored scores of some merchants are computed again from their stored evidence.
//!
//! Time is compressed by beginning late: workers make up for the epochs since the newest one that is recorded as done, each with
//! its own time. Merchants, their catalogs and rows of days are inserted by SQL.
//!
//! The check detects a batch that is skipped because progress was recorded before its scores, a score that is appended twice, and
//! effects that are committed without the score. A job that is quarantined although it makes progress fails it as well: scores
//! would stand still for an hour.

use std::time::{Duration, Instant};

use database::{Database, Reading};
use primitives::{Id, MerchantId, Timestamp};
use rand::RngExt;
use rand::rngs::StdRng;
use sqlx::PgConnection;
use testkit::TestDatabase;
use trust::{Epoch, TrustStatus};
use uuid::Uuid;

use super::many_merchants::{POOR_EVERY, fill, is_done_until};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::Souk;

/// Rows of days of each merchant.
const ROWS_EACH: u32 = 8;
/// The lease of jobs, in seconds: the shortest that can be configured.
const LEASE_SECONDS: u32 = 1;
/// Kills of a run, at least.
const KILLS_MIN: u32 = 4;
/// Kills in quick succession; later ones have longer pauses.
const KILLS_DENSE: u32 = 30;
/// Merchants whose stored scores are computed again.
const SAMPLE: i64 = 50;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let (merchants, late) = trial.by_tier((2_000, 12), (100_000, 4));
    let limit = trial.by_tier(Duration::from_mins(2), Duration::from_mins(14));
    let test = TestDatabase::new().await;
    let mut run = Run::open(&test, merchants, late, trial.rng(30)).await?;
    let kills = run.kill_until_done(&trial, limit).await?;
    let seconds = run.began.elapsed().as_secs_f64();
    let counted = run.verify().await?;
    let rate = f64::from(u32::try_from(counted.scores)?) / seconds;
    Ok(format!(
        "{} merchants, {late} late epochs and the current one, {kills} kills of workers in {seconds:.0} s: {} scores, one for \
         each merchant and epoch ({rate:.0}/s); {} standings are the newest score; {} suspensions, each told once",
        grouped(merchants),
        grouped(u64::try_from(counted.scores)?),
        grouped(u64::try_from(counted.standings)?),
        grouped(u64::try_from(counted.suspensions)?),
    ))
}

/// What was counted at the end.
struct Counted {
    scores: i64,
    standings: i64,
    suspensions: i64,
}

/// Workers that compute, and what they have to compute.
struct Run {
    workers: [Souk; 2],
    url: String,
    database: Database,
    sql: PgConnection,
    rng: StdRng,
    merchants: u32,
    /// The first late epoch, and the current one when the run began.
    first: Epoch,
    current: Epoch,
    began: Instant,
}

impl Run {
    async fn open(
        test: &TestDatabase,
        merchants: u32,
        late: i64,
        rng: StdRng,
    ) -> Result<Self, Failure> {
        let (database, url, mut sql) = (test.another_process(), test.url(), test.raw().await);
        database.refresh_directory().await?;
        let now: Timestamp = sqlx::query_scalar("SELECT now()").fetch_one(&mut sql).await?;
        fill(test, &database, merchants, now, ROWS_EACH).await?;
        let current = Epoch::of(now);
        let first = Epoch(current.0 - late);
        is_done_until(&mut sql, first.previous()).await?;
        let workers = [Souk::work(&url, LEASE_SECONDS)?, Souk::work(&url, LEASE_SECONDS)?];
        let began = Instant::now();
        Ok(Self { workers, url, database, sql, rng, merchants, first, current, began })
    }

    /// Kills workers until all late epochs are done, each one after further scores were stored: a job that is killed whenever it
    /// starts is quarantined. Returns the number of kills.
    async fn kill_until_done(&mut self, trial: &Trial, limit: Duration) -> Result<u32, Failure> {
        let (mut kills, mut scores_before) = (0, 0);
        loop {
            // A slow machine gets done as well.
            let pause = if kills < KILLS_DENSE { 500..1_800 } else { 4_000..8_000 };
            let pause = self.rng.random_range(pause);
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let (done, scores) = self.progress().await?;
            trial.progress(|| format!("{scores} scores, {kills} kills"));
            if done && kills >= KILLS_MIN {
                break;
            }
            self.no_job_is_dead().await?;
            ensure(self.began.elapsed() < limit, || {
                format!("after {limit:?} and {kills} kills there are {scores} scores")
            })?;
            if !done && scores == scores_before {
                continue;
            }
            scores_before = scores;
            let which = self.rng.random_range(0..2_usize);
            self.workers[which].signal("KILL")?;
            self.workers[which] = Souk::work(&self.url, LEASE_SECONDS)?;
            kills += 1;
        }
        self.until_nothing_is_due(limit).await?;
        self.no_job_is_dead().await?;
        Ok(kills)
    }

    /// Returns whether all epochs before the current one are done, and the number of scores.
    async fn progress(&mut self) -> Result<(bool, i64), Failure> {
        Ok(sqlx::query_as(
            "SELECT (SELECT count(*) FROM trust_epoch
                     WHERE epoch >= $1 AND epoch < $2
                       AND position = 'ffffffff-ffff-ffff-ffff-ffffffffffff') = $2::bigint - $1::bigint,
                    (SELECT count(*) FROM trust_score)",
        )
        .bind(self.first.0)
        .bind(self.current.0)
        .fetch_one(&mut self.sql)
        .await?)
    }

    async fn no_job_is_dead(&mut self) -> Result<(), Failure> {
        let dead: Option<(String, i32)> =
            sqlx::query_as("SELECT kind, crashes FROM dead_job WHERE kind = 'trust.score' LIMIT 1")
                .fetch_optional(&mut self.sql)
                .await?;
        ensure(dead.is_none(), || {
            format!("a job that makes progress is quarantined after kills: {dead:?}")
        })
    }

    /// Waits until the slots of the current epoch that are due are computed as well.
    async fn until_nothing_is_due(&mut self, limit: Duration) -> Result<(), Failure> {
        let reading = Reading::for_platform(&self.database);
        loop {
            let status: TrustStatus = trust::status(&reading).await?;
            // A slot becomes due every minute, and is computed within some seconds.
            if status.late_epochs == 0 && status.slots_done + 1 >= status.slots_due {
                return Ok(());
            }
            ensure(self.began.elapsed() < limit, || format!("still due: {status:?}"))?;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn verify(&mut self) -> Result<Counted, Failure> {
        let scores = self.one_score_each().await?;
        self.current_epoch_is_complete().await?;
        let standings = self.standings_are_newest().await?;
        let suspensions = self.suspensions_are_told_once().await?;
        self.scores_follow_from_evidence().await?;
        Ok(Counted { scores, standings, suspensions })
    }

    /// Counts the scores. Each store has one of every late epoch at whose begin it existed, and no other.
    async fn one_score_each(&mut self) -> Result<i64, Failure> {
        let (wrong, example): (i64, Option<String>) = sqlx::query_as(
            "WITH expected AS (
                 SELECT store.merchant_id, epoch FROM store, generate_series($1::bigint, $2::bigint - 1) AS epoch
                 WHERE store.member_since <= to_timestamp(epoch * 21600)),
             stored AS (
                 SELECT merchant_id, epoch, count(*) AS rows, max(revision) AS revision
                 FROM trust_score WHERE epoch < $2 GROUP BY merchant_id, epoch)
             SELECT count(*), min(merchant_id::text || ' at ' || epoch::text || ': ' || coalesce(rows, 0)::text || ' scores')
             FROM expected FULL JOIN stored USING (merchant_id, epoch)
             WHERE stored.rows IS DISTINCT FROM 1 OR stored.revision <> 0 OR expected.merchant_id IS NULL",
        )
        .bind(self.first.0)
        .bind(self.current.0)
        .fetch_one(&mut self.sql)
        .await?;
        ensure(wrong == 0, || format!("{wrong} merchants and epochs, such as {example:?}"))?;
        Ok(sqlx::query_scalar("SELECT count(*) FROM trust_score").fetch_one(&mut self.sql).await?)
    }

    /// Every store whose minute of the current epoch was two minutes ago has a score of it, also if the epoch has ended since.
    async fn current_epoch_is_complete(&mut self) -> Result<(), Failure> {
        let (order_key, now): (Uuid, i64) = sqlx::query_as(
            "SELECT order_key, extract(epoch FROM now())::bigint FROM trust_epoch WHERE epoch = $1",
        )
        .bind(self.current.0)
        .fetch_one(&mut self.sql)
        .await?;
        let unscored: Vec<Uuid> = sqlx::query_scalar(
            "SELECT merchant_id FROM store
             WHERE member_since <= to_timestamp($1::bigint * 21600)
               AND NOT EXISTS (SELECT FROM trust_score AS scored
                               WHERE scored.merchant_id = store.merchant_id AND scored.epoch = $1)",
        )
        .bind(self.current.0)
        .fetch_all(&mut self.sql)
        .await?;
        let is_missing = |id: &&Uuid| {
            let due = trust::due_time(self.current, order_key, MerchantId::from_uuid(**id));
            due.unix_seconds() + 120 <= now
        };
        let missing = unscored.iter().filter(is_missing).count();
        ensure(missing == 0, || format!("{missing} scores of the current epoch are missing"))
    }

    /// The standing of each store is its newest score.
    async fn standings_are_newest(&mut self) -> Result<i64, Failure> {
        let (all, wrong): (i64, i64) = sqlx::query_as(
            "WITH newest AS (
                 SELECT DISTINCT ON (merchant_id) merchant_id, score, provisional, computed_at FROM trust_score
                 ORDER BY merchant_id, epoch DESC, revision DESC)
             SELECT count(*), count(*) FILTER (
                 WHERE standing.merchant_id IS NULL
                    OR (standing.score, standing.provisional, standing.computed_at)
                       IS DISTINCT FROM (newest.score, newest.provisional, newest.computed_at))
             FROM newest LEFT JOIN standing USING (merchant_id)",
        )
        .fetch_one(&mut self.sql)
        .await?;
        ensure(wrong == 0, || format!("{wrong} of {all} standings are not the newest score"))?;
        // Stores that began a while ago may have their first minute ahead.
        let least = i64::from(self.merchants) * 9 / 10;
        ensure(all >= least, || format!("only {all} merchants have a score"))?;
        Ok(all)
    }

    /// Each poor store was suspended, and told so once: notices are posted in the transaction of the score.
    async fn suspensions_are_told_once(&mut self) -> Result<i64, Failure> {
        let (suspended, told, most): (i64, i64, i64) = sqlx::query_as(
            "SELECT (SELECT count(*) FROM standing WHERE score < 0.2),
                    (SELECT count(DISTINCT merchant_id) FROM merchant_notice WHERE kind = 'trust_suspended'),
                    (SELECT coalesce(max(number), 0) FROM (
                         SELECT count(*) AS number FROM merchant_notice WHERE kind = 'trust_suspended' GROUP BY merchant_id)
                         AS of_merchant)",
        )
        .fetch_one(&mut self.sql)
        .await?;
        let poor = i64::from(self.merchants / POOR_EVERY) * 9 / 10;
        ensure(suspended >= poor && told == suspended && most == 1, || {
            format!("{suspended} suspended of {poor} poor ones, {told} told, one {most} times")
        })?;
        Ok(suspended)
    }

    /// Scores of some merchants are computed again, from the evidence that is stored with them.
    async fn scores_follow_from_evidence(&mut self) -> Result<(), Failure> {
        let merchants: Vec<MerchantId> =
            sqlx::query_scalar("SELECT merchant_id FROM standing ORDER BY merchant_id LIMIT $1")
                .bind(SAMPLE)
                .fetch_all(&mut self.sql)
                .await?;
        for merchant in merchants {
            let reading = Reading::for_store(&self.database, merchant)?;
            let stored =
                trust::latest(&reading, merchant).await?.ok_or("a store without a score")?;
            let record = trust::evidence_record(&reading, merchant).await?;
            let again = trust::score(&record.evidence).score;
            let is_equal = again.map(f64::to_bits) == stored.score.map(f64::to_bits);
            let hash = trust::evidence_hash(&record.evidence)?;
            ensure(is_equal && stored.evidence_hash == Some(hash), || {
                format!("{merchant}: stored {:?}, computed again {again:?}", stored.score)
            })?;
        }
        Ok(())
    }
}
