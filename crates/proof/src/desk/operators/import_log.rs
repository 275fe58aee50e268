//! `import-log`: the worker logs the end of each import with its state, its counts and its reason, and nothing that the merchant
//! wrote but what the reason names.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{StoreBuilder, TestDatabase};

use super::Scratch;
use crate::catalog::merchant::Merchant;
use crate::report::{Trial, Verdict, ensure};
use crate::souk::{Souk, store_key};

const STORE: &str = "imports";
const TIMEOUT: Duration = Duration::from_secs(10);

/// A database of its own, because the worker of another check would take the jobs.
pub(crate) async fn prove(_: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    StoreBuilder::new(STORE).build(test.database()).await;
    let souk = Souk::serve(&test.url(), &[]).await?;
    let scratch = Scratch::new("import-log")?;
    let log = scratch.path("log");
    let settings = [("SOUK_LOG", String::from("info")), ("SOUK_LOG_FORMAT", String::from("json"))];
    let _worker = Souk::work_logging(&test.url(), &settings, &log)?;
    let (merchant, port) = (Merchant::new(store_key(&test.url(), STORE).await?), souk.port);
    let files = [
        ("format=csv", "id,name,price\nlog-1,Cup,5.00\nlog-2,Cup,\n"),
        ("format=csv", "id,name,cost\nlog-3,Cup,5.00\n"),
    ];
    let mut jobs = Vec::new();
    for (query, file) in files {
        let path = format!("/api/v1/merchant/imports?{query}");
        let job = merchant.send(port, "POST", &path, file.as_bytes()).await?;
        let job = job.ok_or("the upload failed")?;
        merchant.wait_for_job(|| port, &job, |_| {}).await?;
        jobs.push(job);
    }
    let expected = [
        json!({ "state": "completed", "created": 1, "failed": 1, "format": "csv", "level": "INFO" }),
        json!({ "state": "failed", "created": 0, "failed": 1 }),
    ];
    let since = Instant::now();
    let lines = loop {
        let logged = std::fs::read_to_string(&log)?;
        let lines: Vec<Value> = logged
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter(|line: &Value| jobs.iter().any(|job| line["job"] == job.as_str()))
            .filter(|line: &Value| line["message"] == "import ended")
            .collect();
        if lines.len() >= jobs.len() || since.elapsed() > TIMEOUT {
            break lines;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    for (job, fields) in jobs.iter().zip(&expected) {
        let line = lines.iter().find(|line| line["job"] == job.as_str());
        let line = line.ok_or_else(|| format!("no line on {job}: {lines:?}"))?;
        let mut fields = fields.as_object().into_iter().flatten();
        ensure(fields.all(|(name, value)| line[name] == *value), || {
            format!("{line} instead of {expected:?}")
        })?;
    }
    let reason = lines.last().and_then(|line| line["reason"].as_str()).unwrap_or_default();
    ensure(reason.contains("price"), || format!("the reason of the failure: {reason:?}"))?;
    Ok(String::from("one line for each import: state, counts and reason"))
}
