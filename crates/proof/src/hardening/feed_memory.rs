//! `feed-memory`: a merchant uploads the feeds that take the most memory for their size, as many at once as its quota allows:
//! endless lines, deep nesting, as many fields, variants or columns as fit. Neither the server that receives them nor the
//! worker that imports them grows beyond a bound, and a valid product after the worst rows is imported.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::deployment::demo_database;
use crate::catalog::merchant::Merchant;
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, peak_kilobytes, reset_peak_kilobytes, store_key};

const STORE: &str = "orto-lucido";
/// Feeds of one kind that are imported at the same time: as many as jobs of one merchant run.
const AT_ONCE: usize = 4;
/// The longest row that is read as a whole.
const ROW_BYTES: usize = 1 << 20;
/// Largest growth of the resident memory of a process: 64 MB for each import.
const GROWTH_MAX_KIB: u64 = 256 * 1024;
/// The longest body of a push, and the most items.
const PUSH_BYTES: usize = 16 << 20;
const PUSH_ITEMS: usize = 500;

/// A kind of feed: its name, its format, and the rows that fill it.
struct Kind {
    name: &'static str,
    format: &'static str,
    feed: fn(usize) -> String,
}

/// The valid row at the end of a feed of lines.
const VALID: &str = r#"{"external_id":"valid","name":"A valid product","price":"1.00"}"#;

static KINDS: [Kind; 10] = [
    Kind {
        name: "one endless line",
        format: "ndjson",
        feed: |bytes| line(r#""name":""#, "a", "", bytes),
    },
    Kind {
        name: "deep nesting",
        format: "ndjson",
        feed: |bytes| lines(r#""name":"#, "[", "0", bytes),
    },
    Kind {
        name: "unknown fields",
        format: "ndjson",
        feed: |bytes| lines("", r#""KEY":0,"#, r#""z":0"#, bytes),
    },
    Kind {
        name: "attributes",
        format: "ndjson",
        feed: |bytes| lines(r#""attributes":{"#, r#""KEY":"","#, r#""z":""}"#, bytes),
    },
    Kind {
        name: "variants",
        format: "ndjson",
        feed: |bytes| lines(r#""variants":["#, r#"{"sku":""},"#, r#"{"sku":""}]"#, bytes),
    },
    Kind {
        name: "categories",
        format: "ndjson",
        feed: |bytes| lines(r#""category":["#, r#""","#, r#"""]"#, bytes),
    },
    Kind { name: "elements", format: "google_xml", feed: |bytes| items("<g:KEY>a</g:KEY>", bytes) },
    Kind { name: "open elements", format: "google_xml", feed: |bytes| items("<a>", bytes) },
    Kind { name: "separated groups", format: "google_xml", feed: groups },
    Kind { name: "columns", format: "google_tsv", feed: columns },
];

/// Returns a line with one field: its beginning, a part as often as it fits, its end. Then the valid line.
fn line(first: &str, part: &str, last: &str, bytes: usize) -> String {
    let mut line = format!(r#"{{"external_id":"a",{first}"#);
    for number in 0.. {
        // Fields of an object need names of their own.
        let part = part.replace("KEY", &format!("{number:x}"));
        if line.len() + part.len() + last.len() + 2 > bytes {
            break;
        }
        line.push_str(&part);
    }
    format!("{line}{last}}}\n{VALID}\n")
}

/// Returns lines of the greatest length that is read, each of another product.
fn lines(first: &str, part: &str, last: &str, bytes: usize) -> String {
    let line = line(first, part, last, ROW_BYTES - 10);
    (0..(bytes / line.len()).max(1)).map(|number| with_id(&line, r#""a""#, number)).collect()
}

/// Returns a row with another id than `"a"`.
fn with_id(row: &str, id: &str, number: usize) -> String {
    row.replacen(id, &id.replace('a', &format!("a{number}")), 1)
}

/// Returns an RSS document of items of the greatest length that is read.
fn items(part: &str, bytes: usize) -> String {
    let mut item = String::from("<item><g:id>a</g:id>");
    for number in 0.. {
        let part = part.replace("KEY", &format!("a{number:x}"));
        if item.len() + part.len() + 20 > ROW_BYTES {
            break;
        }
        item.push_str(&part);
    }
    item.push_str("</item>\n");
    let items = 0..(bytes / item.len()).max(1);
    rss(&items.map(|number| with_id(&item, ">a<", number)).collect::<String>())
}

/// Returns a document in which the rows of each product are far apart.
fn groups(bytes: usize) -> String {
    let mut rows = String::new();
    // As long as texts may be, so that few rows fill the buffer.
    let text = "long ".repeat(900);
    let products = (bytes / 10_000).max(10);
    for number in 0.. {
        if rows.len() > bytes {
            break;
        }
        let product = number % products;
        // Writing to a string cannot fail.
        let _ = writeln!(
            rows,
            "<item><g:id>v{number}</g:id><g:item_group_id>p{product}</g:item_group_id><g:title>p{product}</g:title>\
             <g:price>1.00 EUR</g:price><g:size>{number}</g:size><g:description>{text}</g:description></item>"
        );
    }
    rss(&rows)
}

fn rss(items: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?><rss xmlns:g=\"http://base.google.com/ns/1.0\"><channel>{items}\
         <item><g:id>valid</g:id><g:title>A valid product</g:title><g:price>1.00 EUR</g:price></item></channel></rss>"
    )
}

/// Returns a table of which each row has as many columns as fit.
fn columns(bytes: usize) -> String {
    let names: Vec<String> = (0..4_000).map(|number| format!("c{number}")).collect();
    let header = format!("id\ttitle\tprice\t{}\n", names.join("\t"));
    let cells = vec!["a".repeat(200); names.len()].join("\t");
    let row = format!("a\tA product\t1.00 EUR\t{cells}\n");
    let rows = 0..(bytes / row.len()).max(1);
    let rows: String = rows.map(|number| with_id(&row, "a\t", number)).collect();
    format!("{header}{rows}valid\tA valid product\t1.00 EUR\n")
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = demo_database().await;
    let key = store_key(&test.url(), STORE).await?;
    let server = Souk::serve(&test.url(), &["--request-seconds-max", "300"]).await?;
    let worker = Souk::work(&test.url(), 30)?;
    let case = Case { merchant: Merchant::new(key.clone()), key, server, worker };
    // Connections and caches are filled first.
    case.import(&KINDS[0], 1 << 20, 1).await?;
    let before = case.reset_peaks()?;
    let bytes = trial.by_tier(1, 8) << 20;
    let mut kinds = 0;
    let (mut largest, mut at) = ([0, 0], "");
    for kind in trial.rotate(KINDS.iter().collect(), 2) {
        trial.progress(|| kind.name.to_owned());
        case.import(kind, bytes, AT_ONCE).await.map_err(|why| format!("{}: {why}", kind.name))?;
        let growth = case.growth(before, kind.name)?;
        if growth[1] > largest[1] {
            at = kind.name;
        }
        largest = [largest[0].max(growth[0]), largest[1].max(growth[1])];
        kinds += 1;
    }
    let pushed = case.push(trial.by_tier(3, 48)).await?;
    let growth = case.growth(before, "pushes")?;
    Ok(format!(
        "{kinds} kinds of feeds of {} MiB, {AT_ONCE} at once: memory of the server grew by {} MB, of the worker by {} MB ({at}); \
         {pushed} pushes of {} MiB at once: {} MB",
        bytes >> 20,
        largest[0] / 1024,
        largest[1] / 1024,
        PUSH_BYTES >> 20,
        growth[0] / 1024,
    ))
}

/// A store, a server that receives its feeds and a worker that imports them.
struct Case {
    merchant: Merchant,
    key: String,
    server: Souk,
    worker: Souk,
}

impl Case {
    fn reset_peaks(&self) -> Result<[u64; 2], Failure> {
        Ok([reset_peak_kilobytes(self.server.pid())?, reset_peak_kilobytes(self.worker.pid())?])
    }

    /// Returns by how much the memory of both processes grew; fails if it grew too much.
    fn growth(&self, before: [u64; 2], what: &str) -> Result<[u64; 2], Failure> {
        let peaks = [peak_kilobytes(self.server.pid())?, peak_kilobytes(self.worker.pid())?];
        let growth = [peaks[0].saturating_sub(before[0]), peaks[1].saturating_sub(before[1])];
        ensure(growth.iter().all(|growth| *growth < GROWTH_MAX_KIB), || {
            let [server, worker] = growth.map(|kib| kib / 1024);
            format!(
                "{what}: memory of the server grew by {server} MB, of the worker by {worker} MB"
            )
        })?;
        Ok(growth)
    }

    /// Imports feeds of a kind at the same time: all but one only check them, because one run at a time changes a catalog.
    async fn import(&self, kind: &Kind, bytes: usize, count: usize) -> Result<(), Failure> {
        let feed = (kind.feed)(bytes);
        let port = self.server.port;
        let mut jobs = Vec::new();
        for number in 0..count {
            let path = format!(
                "/api/v1/merchant/imports?format={}&dry_run={}",
                kind.format,
                number + 1 < count
            );
            let job = self.merchant.send(port, "POST", &path, feed.as_bytes()).await?;
            jobs.push(job.ok_or("the upload was not accepted")?);
        }
        for job in &jobs {
            let end = self.merchant.wait_for_job(|| port, job, |_| {}).await?;
            ensure(end["status"] == "completed", || format!("the import ended as {end}"))?;
            let done = |field: &str| end[field].as_i64().unwrap_or(0);
            let valid = done("created") + done("updated") + done("unchanged");
            ensure(valid >= 1, || format!("the valid product was not imported: {end}"))?;
        }
        Ok(())
    }

    /// Pushes the largest bodies at once and returns how many were sent. Some are accepted, the others have to wait or are sent
    /// away.
    async fn push(&self, count: usize) -> Result<usize, Failure> {
        let description = "d".repeat(PUSH_BYTES / PUSH_ITEMS - 200);
        let item = json!({ "external_id": "valid", "name": "A valid product", "price": "1.00",
            "description": description });
        let items = vec![item.to_string(); PUSH_ITEMS].join(",");
        let body = std::sync::Arc::new(format!(r#"{{"products":[{items}]}}"#));
        let mut pushes = tokio::task::JoinSet::new();
        for _ in 0..count {
            let (port, body) = (self.server.port, std::sync::Arc::clone(&body));
            let mut client = Client::new(port).with_key(&self.key);
            pushes.spawn(async move {
                client.send("PATCH", "/api/v1/merchant/products", body.as_bytes()).await
            });
        }
        let mut accepted = 0;
        while let Some(delivery) = pushes.join_next().await {
            match delivery? {
                Delivery::Answered { status: 200, body } => {
                    let answer: Value = serde_json::from_str(&body)?;
                    let results = answer["data"]["results"].as_array().map_or(0, Vec::len);
                    ensure(results > 0, || format!("a push without results: {body}"))?;
                    accepted += 1;
                }
                // Sent away before or while the body arrived.
                Delivery::Answered { status: 429 | 503, .. } | Delivery::Interrupted(_) => {}
                other => return Err(format!("a large push: {other:?}").into()),
            }
        }
        ensure(accepted > 0, || String::from("no large push was accepted"))?;
        Ok(count)
    }
}
