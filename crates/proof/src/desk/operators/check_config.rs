//! `check-config`: `souk check-config` finds a misspelt variable, invalid values, unreachable engines and unusable paths at
//! once, shows no secret, and succeeds on a working configuration.

use std::time::{Duration, Instant};

use testkit::TestDatabase;

use super::{Printed, Scratch, souk};
use crate::limits::Redis;
use crate::report::{Failure, Trial, Verdict, ensure};

/// Longest time for a configuration with unreachable engines.
const TIME_MAX: Duration = Duration::from_secs(20);
const SECRET: &str = "hush-hush-hush-hush-hush-hush-hush-hush";

pub(crate) async fn prove(_: Trial) -> Verdict {
    let (test, redis) = (TestDatabase::new().await, Redis::start().await?);
    let scratch = Scratch::new("check-config")?;
    let working = [
        ("DATABASE_URL", test.url()),
        ("REDIS_URL", redis.url()),
        ("SOUK_SECRET", SECRET.to_owned()),
        ("SOUK_SEARCH_DIRECTORY", scratch.text("index")),
        ("SOUK_SEARCH_OBJECTS", scratch.text("objects")),
    ];
    let good = souk(&["check-config"], &working).await?;
    ensure(good.is_success, || format!("a working configuration: {}", good.text))?;
    must_have(&good, "SOUK_SECRET", "set", "ok")?;
    must_have(&good, "SOUK_CELL", "default", "ok")?;
    std::fs::write(scratch.path("file"), "")?;
    let changes = [
        ("DATABASE_URL", format!("postgres://souk:{SECRET}@127.0.0.1:1/souk")),
        ("REDIS_URL", format!("redis://:{SECRET}@127.0.0.1:1")),
        ("SOUK_SITEURL", String::from("https://souk.example")),
        ("SOUK_DRAIN_SECONDS", String::from("soon")),
        ("SOUK_LIMITS", String::from("maybe")),
        ("SOUK_SEARCH_DIRECTORY", String::from("/nowhere/at/all/index")),
        ("SOUK_SEARCH_OBJECTS", scratch.text("file")),
        ("SOUK_LISTEN", String::from("192.0.2.1:80")),
        ("SOUK_LOG", String::from("info,[")),
    ];
    let since = Instant::now();
    let bad = souk(&["check-config"], &[&working[..], &changes].concat()).await?;
    ensure(since.elapsed() < TIME_MAX, || format!("it took {:?}", since.elapsed()))?;
    ensure(!bad.is_success, || String::from("a broken configuration succeeds"))?;
    for (setting, _) in &changes {
        must_have(&bad, setting, "environment", "PROBLEM")?;
    }
    ensure(bad.text.contains("did you mean SOUK_SITE_URL?"), || bad.text.clone())?;
    for printed in [&good, &bad] {
        ensure(!printed.text.contains("hush"), || format!("a secret: {}", printed.text))?;
    }
    // Each mistake fails by itself.
    for (setting, value) in changes.iter().filter(|(name, _)| !name.ends_with("BASE_URL")) {
        let one = [&working[..], &[(*setting, value.clone())]].concat();
        let printed = souk(&["check-config"], &one).await?;
        ensure(!printed.is_success, || format!("{setting}={value} succeeds: {}", printed.text))?;
    }
    Ok(format!(
        "{} mistakes found in one run of {:.1} s, and each by itself; none on a working configuration",
        changes.len(),
        since.elapsed().as_secs_f64()
    ))
}

/// Fails unless the row of a setting contains these words.
fn must_have(printed: &Printed, setting: &str, source: &str, verdict: &str) -> Result<(), Failure> {
    let row = printed.text.lines().find(|line| line.split_whitespace().next() == Some(setting));
    let is_there = row.is_some_and(|row| row.contains(source) && row.contains(verdict));
    ensure(is_there, || format!("{setting} is not `{source}`, `{verdict}`: {}", printed.text))
}
