//! `second-implementation`: `dev/trust/recompute.py` computes scores again. It knows nothing but the methodology document of a
//! running server and exported evidence: of thousands of random merchants, and of the demo stores, as `souk trust export` and the
//! merchant's own endpoint export them.
//!
//! A record whose score is wrong by two billionths must be found: otherwise the comparison compares nothing.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rand::rngs::StdRng;
use serde_json::{Value, json};
use trust::{Evidence, EvidenceRecord};

use super::random_evidence::evidence;
use crate::hardening::deployment::demo_database;
use crate::hardening::shop::call;
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, output, required_env, store_key};

/// Demo stores whose evidence is exported in the short form, besides the next one.
const STORES: usize = 5;
/// The demo store whose merchant exports its evidence. It has more rows of days than a page.
const OWN_STORE: &str = "skarvdal";
/// Rows of days on a page of its evidence.
const PAGE_ROWS: usize = 50;
/// A difference that has to be found: twice the tolerance.
const WRONG_BY: f64 = 2e-9;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let merchants = trial.by_tier(500, 10_000);
    let folder = Folder::create()?;
    let test = demo_database().await;
    let server = Souk::serve(&test.url(), &[]).await?;
    folder.write("methodology.json", &methodology(server.port).await?)?;

    let (random, rng) = (folder.path("random.ndjson"), trial.rng(1));
    let written = tokio::task::spawn_blocking(move || write_random(&random, merchants, rng));
    let scored = written.await??;
    let agreed = folder.recompute("random.ndjson").await?;
    ensure(agreed == Agreement::all(merchants), || format!("random merchants: {agreed:?}"))?;

    let Exported { lines, pages } = Exported::of(&trial, &test.url(), server.port).await?;
    folder.write("stores.ndjson", &lines.join("\n"))?;
    let agreed = folder.recompute("stores.ndjson").await?;
    ensure(agreed == Agreement::all(lines.len()), || format!("real stores: {agreed:?}"))?;
    folder.write("pages.ndjson", &pages.join("\n"))?;
    let agreed = folder.recompute("pages.ndjson").await?;
    ensure(agreed == Agreement::all(1), || format!("pages of a real store: {agreed:?}"))?;
    folder.write("missing.ndjson", &pages[..pages.len() - 1].join("\n"))?;
    let found = folder.recompute("missing.ndjson").await?;
    ensure(found.disagreements == 1, || format!("a missing page was not found: {found:?}"))?;

    folder.write("wrong.ndjson", &altered(&lines)?)?;
    let found = folder.recompute("wrong.ndjson").await?;
    ensure(found.disagreements == 1, || format!("a wrong score was not found: {found:?}"))?;
    Ok(format!(
        "{} random merchants, {} of them with a score, and {} exports of demo stores, one of them in {} pages, agree to 1e-9; \
         a score that is wrong by 2e-9 and a missing page are found",
        grouped(merchants),
        grouped(scored),
        lines.len(),
        pages.len()
    ))
}

/// Returns the methodology document as a server publishes it.
async fn methodology(port: u16) -> Result<String, Failure> {
    match Client::new(port).get("/api/v1/trust/methodology").await {
        Delivery::Answered { status: 200, body } => Ok(body),
        other => Err(format!("no methodology: {other:?}").into()),
    }
}

/// Writes random merchants with their scores, one on each line. Returns how many have a score.
fn write_random(path: &Path, merchants: usize, mut rng: StdRng) -> Result<usize, Failure> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut scored = 0;
    for number in 0..merchants {
        let record = record(format!("random-{number}"), evidence(&mut rng));
        scored += usize::from(record.score.is_some());
        serde_json::to_writer(&mut file, &record)?;
        file.write_all(b"\n")?;
    }
    file.flush()?;
    Ok(scored)
}

fn record(slug: String, evidence: Evidence) -> EvidenceRecord {
    let computed = trust::score(&evidence);
    EvidenceRecord::of(slug, evidence, &computed)
}

/// The exports of demo stores: by the command, and for one of them, the first one, by the pages of its merchant's endpoint.
struct Exported {
    lines: Vec<String>,
    /// Responses, each on a line.
    pages: Vec<String>,
}

impl Exported {
    /// Exports demo stores. Fails unless command and endpoint say the same.
    async fn of(trial: &Trial, url: &str, port: u16) -> Result<Self, Failure> {
        output(url, &["trust", "recompute", "--all"]).await?;
        let slugs: Vec<String> =
            demo::world().stores.iter().map(|store| store.slug.clone()).collect();
        let mut lines = vec![export(url, OWN_STORE).await?];
        for slug in trial.rotate(slugs, STORES).iter().filter(|slug| *slug != OWN_STORE) {
            lines.push(export(url, slug).await?);
        }
        let pages = pages(port, &store_key(url, OWN_STORE).await?).await?;
        ensure(pages.len() > 1, || String::from("the evidence has one page only"))?;
        let printed: Value = serde_json::from_str(&lines[0])?;
        let served = joined(&pages);
        ensure(served == printed, || {
            format!("GET /merchant/trust/evidence: {served}, exported: {printed}")
        })?;
        Ok(Self { lines, pages: pages.iter().map(Value::to_string).collect() })
    }
}

/// Returns all pages of the evidence of a store, as its merchant reads them.
async fn pages(port: u16, key: &str) -> Result<Vec<Value>, Failure> {
    let first = format!("/merchant/trust/evidence?limit={PAGE_ROWS}");
    let (mut path, mut pages) = (first.clone(), Vec::new());
    loop {
        let (status, page) = call(port, key, "GET", &path, &Value::Null).await?;
        let rows = page["data"]["evidence"]["days"].as_array().map(Vec::len);
        ensure(status == 200 && rows.is_some_and(|rows| rows <= PAGE_ROWS), || {
            format!("GET {path}: {status} {page}")
        })?;
        let next = page["data"]["next_cursor"].as_str().map(str::to_owned);
        pages.push(page);
        let Some(next) = next else { return Ok(pages) };
        path = format!("{first}&cursor={next}");
    }
}

/// Returns the evidence of a store with the days of all pages.
fn joined(pages: &[Value]) -> Value {
    let rows = |page: &Value| page["data"]["evidence"]["days"].as_array().cloned();
    let days: Vec<Value> = pages.iter().filter_map(rows).flatten().collect();
    let mut record = pages.first().map_or(Value::Null, |page| page["data"].clone());
    record["evidence"]["days"] = days.into();
    if let Some(fields) = record.as_object_mut() {
        fields.remove("next_cursor");
    }
    record
}

async fn export(url: &str, slug: &str) -> Result<String, Failure> {
    let printed = output(url, &["trust", "export", "--store", slug]).await?;
    Ok(printed.trim().to_owned())
}

/// Returns the first record with a score that is not the right one.
fn altered(lines: &[String]) -> Result<String, Failure> {
    for line in lines {
        let mut record: Value = serde_json::from_str(line)?;
        if let Some(score) = record["score"].as_f64() {
            let other = if score > 0.5 { score - WRONG_BY } else { score + WRONG_BY };
            record["score"] = json!(other);
            return Ok(record.to_string());
        }
    }
    Err("no demo store has a score".into())
}

/// What the program printed last.
#[derive(Debug, PartialEq, Eq)]
struct Agreement {
    merchants: usize,
    disagreements: usize,
    /// The first disagreements.
    examples: Vec<String>,
}

impl Agreement {
    fn all(merchants: usize) -> Self {
        Self { merchants, disagreements: 0, examples: Vec::new() }
    }

    /// Parses the output: disagreements, and a line such as `500 merchants, 0 with a disagreement above 1e-09`.
    fn parse(printed: &str) -> Option<Self> {
        let lines: Vec<&str> = printed.lines().collect();
        let (last, found) = lines.split_last()?;
        let mut numbers = last.split(' ').filter_map(|word| word.parse::<usize>().ok());
        let examples = found.iter().take(3).map(|line| (*line).to_owned()).collect();
        Some(Self { merchants: numbers.next()?, disagreements: numbers.next()?, examples })
    }
}

/// A folder with documents, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn create() -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("souk-trust-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        Ok(std::fs::write(self.path(name), text)?)
    }

    /// Lets the program compute the scores of a file again.
    async fn recompute(&self, name: &str) -> Result<Agreement, Failure> {
        let program = format!("{}/../trust/recompute.py", required_env("SOUK_CLIENTS")?);
        let mut command = tokio::process::Command::new("python3");
        command.arg(program).arg(self.path("methodology.json")).arg(self.path(name));
        let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let agreement = Agreement::parse(&printed).ok_or_else(|| {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            format!("the program printed no result: {printed}{why}")
        })?;
        let says_so = output.status.success() == (agreement.disagreements == 0);
        ensure(says_so, || format!("exit status {}: {agreement:?}", output.status))?;
        Ok(agreement)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_read_from_the_last_line() {
        let printed = "x.ndjson:1: attic: score 0.5, computed 0.4\n12 merchants, 1 with a disagreement above 1e-09\n";
        let read = Agreement::parse(printed).unwrap();
        assert_eq!((read.merchants, read.disagreements, read.examples.len()), (12, 1, 1));
        assert_eq!(Agreement::parse(""), None);
        assert_eq!(Agreement::parse("Traceback"), None);
    }
}
