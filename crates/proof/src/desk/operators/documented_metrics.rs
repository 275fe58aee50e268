//! `documented-metrics`: a server, a worker and an index writer serve every metric of `docs/metrics.md` that is theirs, each
//! with a help text, and no others.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::Scratch;
use crate::hardening::demo_database;
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{OPERATOR_ADDRESS, Souk, free_port};

/// The document, as it was when this binary was built.
const DOCUMENT: &str = include_str!("../../../../../docs/metrics.md");
const TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) async fn prove(_: Trial) -> Verdict {
    let test = demo_database().await;
    let scratch = Scratch::new("documented-metrics")?;
    let with = |port: u16, directory: &str| {
        vec![
            ("SOUK_SEARCH_OBJECTS", scratch.text("objects")),
            ("SOUK_SEARCH_DIRECTORY", scratch.text(directory)),
            ("SOUK_OPERATOR_LISTEN", format!("{OPERATOR_ADDRESS}:{port}")),
        ]
    };
    let (work, index) = (free_port()?, free_port()?);
    let _worker = Souk::work_with(&test.url(), &with(work, "work"))?;
    let _writer = Souk::index(&test.url(), &with(index, "index"))?;
    let serving = with(0, "serve");
    let souk = Souk::serve_with(&test.url(), &[], &serving[..2]).await?;
    let mut found = 0;
    for (process, port) in [("serve", souk.port), ("work", work), ("index", index)] {
        found += compare(process, port).await?;
    }
    Ok(format!("{found} metrics of three processes, each documented and with a help text"))
}

/// Waits until a process serves exactly its documented metrics, and returns their number.
async fn compare(process: &str, port: u16) -> Result<usize, Failure> {
    let documented = documented(process);
    let since = Instant::now();
    loop {
        let served = served(port).await?;
        let missing: Vec<&String> = documented.difference(&served.0).collect();
        let unknown: Vec<&String> = served.0.difference(&documented).collect();
        let helpless: Vec<&String> = served.0.difference(&served.1).collect();
        if missing.is_empty() && unknown.is_empty() && helpless.is_empty() {
            return Ok(documented.len());
        }
        ensure(since.elapsed() < TIMEOUT, || {
            format!(
                "{process}: missing {missing:?}, not documented {unknown:?}, without help {helpless:?}"
            )
        })?;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Returns the metrics of a process in the document.
fn documented(process: &str) -> BTreeSet<String> {
    let rows = DOCUMENT.lines().filter(|line| line.starts_with("| `souk_"));
    let of_process = rows.filter_map(|row| {
        let columns: Vec<&str> = row.split('|').map(str::trim).collect();
        let is_its = columns.get(4)?.split(", ").any(|other| other == process);
        is_its.then(|| columns[1].trim_matches('`').to_owned())
    });
    of_process.collect()
}

/// Returns the metrics that a process serves, and those with a help text.
async fn served(port: u16) -> Result<(BTreeSet<String>, BTreeSet<String>), Failure> {
    let since = Instant::now();
    loop {
        if let Delivery::Answered { status: 200, body } =
            Client::for_operators(port).get("/metrics").await
        {
            let names = |prefix: &str| {
                let lines = body.lines().filter_map(|line| line.strip_prefix(prefix));
                lines.filter_map(|rest| Some(rest.split(' ').next()?.to_owned())).collect()
            };
            return Ok((names("# TYPE "), names("# HELP ")));
        }
        ensure(since.elapsed() < TIMEOUT, || String::from("GET /metrics fails"))?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
