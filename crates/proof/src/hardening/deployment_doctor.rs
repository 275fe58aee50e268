//! `deployment-doctor`: `souk doctor` finds what is wrong with a broken deployment, says what to do, and fails; on a working
//! one it succeeds.

use std::process::Stdio;
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use testkit::TestDatabase;

use crate::engines::Engines;
use crate::limits::Redis;
use crate::report::{Failure, Tier, Trial, Verdict, ensure};
use crate::souk::{Souk, command, required_env};

const TIMEOUT: Duration = Duration::from_mins(1);
/// Removes the record of the last migration, as if the schema were older, and restores it.
const FORGET: &str = "
    CREATE TABLE forgotten AS SELECT * FROM _sqlx_migrations ORDER BY version DESC LIMIT 1;
    DELETE FROM _sqlx_migrations WHERE version = (SELECT version FROM forgotten)";
const REMEMBER: &str = "
    INSERT INTO _sqlx_migrations SELECT * FROM forgotten;
    DROP TABLE forgotten";

pub(crate) async fn prove(trial: Trial) -> Verdict {
    // The short form saves the time that engines take to start, and has no products to index.
    if trial.tier == Tier::Fast {
        let (test, redis) = (TestDatabase::new().await, Redis::start().await?);
        sqlx::raw_sql(FORGET).execute(&mut test.raw().await).await?;
        return examine(&test.url(), &redis.url(), Tier::Fast).await;
    }
    let engines = Engines::start()?;
    examine(&engines.database_url, &engines.redis_url, Tier::Full).await
}

/// Examines a deployment whose schema is missing or older, then broken, then working. The PostgreSQL of the short form may run
/// without `fsync`, which has to be found as well.
async fn examine(url: &str, redis: &str, tier: Tier) -> Verdict {
    let directory = std::env::temp_dir().join(format!("souk-doctor-{}", std::process::id()));
    let path = |name: &str| directory.join(name).display().to_string();
    let settings = [
        ("DATABASE_URL", url.to_owned()),
        ("REDIS_URL", redis.to_owned()),
        ("SOUK_SECRET", "s".repeat(40)),
        ("SOUK_SEARCH_DIRECTORY", path("index")),
        ("SOUK_SEARCH_OBJECTS", path("objects")),
    ];
    std::fs::create_dir_all(&directory)?;
    let missing = doctor(&settings).await?;
    missing.must_find("schema", "souk migrate")?;
    let mut sql = PgConnection::connect(url).await?;
    repair_schema(&mut sql, url, tier).await?;
    break_deployment(&mut sql).await?;
    let changes = [
        ("SOUK_SECRET", String::new()),
        ("SOUK_SITE_URL", String::from("http://souk.example")),
        ("REDIS_URL", String::from("redis://127.0.0.1:1")),
        ("SOUK_SEARCH_DIRECTORY", String::from("/nowhere/at/all/index")),
    ];
    let broken = doctor(&[&settings[..], &changes].concat()).await?;
    let expected = [
        ("secret", "SOUK_SECRET"),
        ("site URL", "https"),
        ("Redis", "REDIS_URL"),
        ("search index", "souk index"),
        ("jobs", "souk work"),
        ("jobs", "souk jobs list"),
        ("jobs", "souk jobs rows"),
        ("schema", "invalid indexes"),
        ("disk", "SOUK_SEARCH_DIRECTORY"),
    ];
    for (subject, remedy) in expected {
        broken.must_find(subject, remedy)?;
    }
    let unreachable =
        doctor(&[("DATABASE_URL", String::from("postgres://souk@127.0.0.1:1/souk"))]).await?;
    unreachable.must_find("PostgreSQL", "DATABASE_URL")?;
    mend_deployment(&mut sql).await?;
    let _worker = Souk::work(url, 30)?;
    let _index = Souk::index(url, &settings[3..])?;
    let fsync: String = sqlx::query_scalar("SHOW fsync").fetch_one(&mut sql).await?;
    let remaining = usize::from(fsync == "off");
    let since = Instant::now();
    loop {
        let report = doctor(&settings).await?;
        if remaining > 0 {
            report.must_find("durability", "fsync")?;
        }
        if report.problems() == remaining {
            ensure(report.is_healthy == (remaining == 0), || report.text.clone())?;
            break;
        }
        ensure(since.elapsed() < TIMEOUT, || format!("a working deployment: {}", report.text))?;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    std::fs::remove_dir_all(&directory)?;
    Ok(format!(
        "{} problems of a broken deployment found with their remedies; none on a working one",
        expected.len() + 2
    ))
}

/// Applies the migrations; in the short form, only records the one that was forgotten.
async fn repair_schema(sql: &mut PgConnection, url: &str, tier: Tier) -> Result<(), Failure> {
    if tier == Tier::Full {
        command(url, &["migrate"])?;
        return command(url, &["seed"]);
    }
    sqlx::raw_sql(REMEMBER).execute(sql).await?;
    Ok(())
}

/// Adds a late job, a dead letter, a failed row and an invalid index.
async fn break_deployment(sql: &mut PgConnection) -> Result<(), Failure> {
    let statements = "
        INSERT INTO job (id, kind, payload, run_at, enqueued_at)
            VALUES (gen_random_uuid(), 'test', '{}', now() - interval '10 minutes', now());
        INSERT INTO dead_job (id, kind, payload, reason, attempts, crashes, enqueued_at, died_at)
            VALUES (gen_random_uuid(), 'test', '{}', 'failed', 1, 0, now(), now());
        INSERT INTO sweep_failure (sweep, row_id, merchant_id, attempts, retry_at, last_error, failed_at)
            VALUES ('test', gen_random_uuid(), gen_random_uuid(), 1, now(), 'test', now());
        UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'cart_by_id'::regclass";
    sqlx::raw_sql(statements).execute(sql).await?;
    Ok(())
}

async fn mend_deployment(sql: &mut PgConnection) -> Result<(), Failure> {
    let statements = "
        DELETE FROM job WHERE kind = 'test';
        UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'cart_by_id'::regclass";
    sqlx::raw_sql(statements).execute(sql).await?;
    Ok(())
}

/// The output of `souk doctor`.
struct Report {
    text: String,
    is_healthy: bool,
}

impl Report {
    fn problems(&self) -> usize {
        self.text.lines().filter(|line| line.starts_with("PROBLEM")).count()
    }

    /// Fails unless there is a finding about the subject that contains the text, here or in its remedy.
    fn must_find(&self, subject: &str, text: &str) -> Result<(), Failure> {
        let lines: Vec<&str> = self.text.lines().collect();
        let is_it = |(number, line): (usize, &&str)| {
            let remedy = lines.get(number + 1).copied().unwrap_or_default();
            let is_bad = line.starts_with("PROBLEM") || line.starts_with("warning");
            is_bad && line[9..].starts_with(subject) && format!("{line}{remedy}").contains(text)
        };
        let found = lines.iter().enumerate().any(is_it);
        ensure(found && !self.is_healthy, || {
            format!("`souk doctor` does not find `{subject}` with `{text}`: {}", self.text)
        })
    }
}

async fn doctor(settings: &[(&'static str, String)]) -> Result<Report, Failure> {
    let mut command = tokio::process::Command::new(required_env("SOUK_BIN")?);
    command.arg("doctor").env("SOUK_LOG", "off").env_remove("SOUK_SECRET");
    command.envs(settings.iter().map(|(name, value)| (*name, value)));
    let output = command.stdin(Stdio::null()).output().await?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(Report { text, is_healthy: output.status.success() })
}
