//! `backup-and-restore`: a deployment is backed up with `pg_dump`, changed, and restored on another cluster, as
//! `docs/how-to/operate.md` says. After `souk after-restore` the changes are gone from the database and from the search index,
//! sessions have ended, keys and accounts work, and new changes reach the index.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::PgConnection;

use super::{Scratch, souk};
use crate::engines::Engines;
use crate::hardening::demo_database;
use crate::http::{Client, Delivery};
use crate::identity::Account;
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, store_key};

const STORE: &str = "kivikiri";
const TIMEOUT: Duration = Duration::from_secs(90);
/// Transaction ids that the first cluster uses up, so that it is ahead of a new one.
const TRANSACTIONS: usize = 3_000;

pub(crate) async fn prove(_: Trial) -> Verdict {
    let test = demo_database().await;
    let scratch = Scratch::new("backup")?;
    use_up_transactions(&mut test.raw().await).await?;
    let first = Deployment::start(&test.url(), &scratch).await?;
    let key = store_key(&test.url(), STORE).await?;
    let account = Account::create(&test.url(), "ada@example.com", "GROWTH").await?;
    first.push(&key, "before-1", "Quillon before the backup").await?;
    first.wait_for("quillon", 1).await?;
    let dump = scratch.text("dump");
    run("pg_dump", &["--format=custom", "--file", &dump, &test.url()]).await?;
    first.push(&key, "after-1", "Quillon after the backup").await?;
    first.wait_for("quillon", 2).await?;
    let token = account.log_in(first.souk.port).await?;
    drop(first);

    let engines = Engines::start()?;
    let url = &engines.database_url;
    restore(&test.url(), url, &dump).await?;
    let settings = settings(url, &scratch);
    let doctor = souk(&["doctor"], &settings).await?;
    ensure(doctor.text.contains("souk after-restore"), || {
        format!("`souk doctor` does not find the restored database: {}", doctor.text)
    })?;
    let prepared = souk(&["after-restore"], &settings).await?;
    ensure(prepared.is_success, || format!("`souk after-restore`: {}", prepared.text))?;
    let second = Deployment::start(url, &scratch).await?;
    second.wait_for("quillon", 1).await?;
    let me = Client::new(second.souk.port).with_key(&token).get("/api/v1/agent-keys").await;
    ensure(matches!(me, Delivery::Answered { status: 401, .. }), || {
        format!("a session of the time after the backup: {me:?}")
    })?;
    let since = Instant::now();
    second.push(&key, "new-1", "Quillon after the restore").await?;
    second.wait_for("quillon", 2).await?;
    let seconds = since.elapsed().as_secs_f64();
    let doctor = souk(&["doctor"], &settings).await?;
    ensure(!doctor.text.contains("souk after-restore"), || doctor.text.clone())?;
    Ok(format!(
        "restored on another cluster: the later product is gone, the session has ended, a new product is found after {seconds:.1} s"
    ))
}

async fn use_up_transactions(sql: &mut PgConnection) -> Result<(), Failure> {
    for _ in 0..TRANSACTIONS {
        sqlx::query("SELECT pg_current_xact_id()").execute(&mut *sql).await?;
    }
    Ok(())
}

fn settings(url: &str, scratch: &Scratch) -> Vec<(&'static str, String)> {
    vec![
        ("DATABASE_URL", url.to_owned()),
        ("SOUK_SEARCH_OBJECTS", scratch.text("objects")),
        ("SOUK_SEARCH_DIRECTORY", scratch.text("index")),
        ("SOUK_SEARCH_LEASE_SECONDS", String::from("2")),
    ]
}

/// Restores roles and database, as the runbook says.
async fn restore(from: &str, to: &str, dump: &str) -> Result<(), Failure> {
    let roles =
        run("pg_dumpall", &["--roles-only", "--no-role-passwords", "--dbname", from]).await?;
    let file = format!("{dump}-roles.sql");
    std::fs::write(&file, roles)?;
    // The role that restores exists already, which is an error that `psql` reports and ignores.
    run("psql", &["--quiet", "--no-psqlrc", "--file", &file, to]).await?;
    let how = ["--no-owner", "--role=souk", "--single-transaction", "--exit-on-error"];
    let arguments = [&how[..], &["--dbname", to, dump]].concat();
    run("pg_restore", &arguments).await?;
    Ok(())
}

/// Runs a program to its end and returns its output.
async fn run(program: &str, arguments: &[&str]) -> Result<String, Failure> {
    let mut command = tokio::process::Command::new(program);
    let output = command.args(arguments).stdin(Stdio::null()).output().await?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure(output.status.success(), || format!("{program} {arguments:?} failed: {why}"))?;
    Ok(text)
}

/// A server and an index writer. Both clusters use the same object store and the same directories.
struct Deployment {
    souk: Souk,
    _writer: Souk,
}

impl Deployment {
    async fn start(url: &str, scratch: &Scratch) -> Result<Self, Failure> {
        let settings = settings(url, scratch);
        let writer = Souk::index(url, &settings)?;
        let souk = Souk::serve_with(url, &[], &settings).await?;
        Ok(Self { souk, _writer: writer })
    }

    async fn push(&self, key: &str, id: &str, name: &str) -> Result<(), Failure> {
        let product =
            json!({ "external_id": id, "name": name, "price": "9.00", "category": ["Other"] });
        let body = json!({ "products": [product] }).to_string();
        let mut client = Client::new(self.souk.port).with_key(key);
        match client.send("PATCH", "/api/v1/merchant/products", body.as_bytes()).await {
            Delivery::Answered { status: 200, body } if body.contains("\"failed\":0") => Ok(()),
            other => Err(format!("pushing {name}: {other:?}").into()),
        }
    }

    /// Waits until a search across all stores finds this many products.
    async fn wait_for(&self, query: &str, count: usize) -> Result<(), Failure> {
        let since = Instant::now();
        let body = json!({ "query": query }).to_string();
        loop {
            let found = Client::new(self.souk.port).post("/api/v1/search", &body).await;
            if let Delivery::Answered { status: 200, body } = &found {
                let matches = body.to_lowercase().matches("\"name\":\"quillon").count();
                if matches == count {
                    return Ok(());
                }
            }
            ensure(since.elapsed() < TIMEOUT, || {
                format!("a search for {query} does not find {count} products: {found:?}")
            })?;
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }
}
