//! Souk's search in the benchmarks: a writer and a server with one object store.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::measure::{
    ByKind, MIXED, Round, as_float, cpu_nanos, directory_bytes, micros_per_query,
};
use super::synthetic_catalog::Query;
use crate::http::{Client, Delivery};
use crate::report::{Failure, grouped};
use crate::souk::Souk;

/// Number of keep-alive connections, enough to keep the server busy.
const CONNECTIONS: usize = 4;
const SEARCH: &str = "/api/v1/search";

/// The work budget of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Budget {
    /// All hits are visited, so totals are exact.
    Unlimited,
    /// The budget of production: totals may be estimates.
    Default,
}

/// The number of hits that a search reports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Total {
    pub(crate) count: u64,
    pub(crate) is_estimate: bool,
}

/// `souk index` and `souk serve` with private directories, removed when dropped.
pub(crate) struct SoukSearch {
    database_url: String,
    directory: PathBuf,
    documents: u32,
    _writer: Souk,
    server: Souk,
    /// Time from the start of the writer until all documents were searchable.
    pub(crate) build: Duration,
}

impl SoukSearch {
    /// Starts the writer and the server and waits until all documents are searchable.
    pub(crate) async fn start(
        database_url: &str,
        documents: u32,
        budget: Budget,
    ) -> Result<Self, Failure> {
        let name = format!("souk-proof-search-{}-{documents}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory)?;
        let since = Instant::now();
        let settings = settings(&directory, "writer", budget);
        let writer = Souk::index(database_url, &settings)?;
        let settings = self::settings(&directory, "reader", budget);
        let server = Souk::serve_with(database_url, &[], &settings).await?;
        let mut souk = Self {
            database_url: database_url.to_owned(),
            directory,
            documents,
            _writer: writer,
            server,
            build: Duration::ZERO,
        };
        souk.wait().await?;
        souk.build = since.elapsed();
        Ok(souk)
    }

    /// Restarts the server with another budget.
    pub(crate) async fn restart_server(&mut self, budget: Budget) -> Result<(), Failure> {
        self.server.signal("TERM")?;
        self.server.wait(Duration::from_secs(40)).await?;
        let settings = settings(&self.directory, "reader", budget);
        self.server = Souk::serve_with(&self.database_url, &[], &settings).await?;
        self.wait().await
    }

    /// Waits until the server reports that search is healthy and that it has all documents.
    async fn wait(&self) -> Result<(), Failure> {
        let timeout = Duration::from_secs(120 + u64::from(self.documents / 2_000));
        let since = Instant::now();
        let mut client = Client::new(self.server.port);
        let mut operator = Client::for_operators(self.server.port);
        let mut found = 0.0;
        while since.elapsed() < timeout {
            found = documents(&mut operator).await;
            if found >= f64::from(self.documents) && is_healthy(&mut client).await {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let (all, seconds) = (grouped(self.documents), timeout.as_secs());
        Err(format!("{found} of {all} documents were searchable after {seconds} s").into())
    }

    /// Returns the port of the server.
    pub(crate) fn port(&self) -> u16 {
        self.server.port
    }

    /// Returns the size of the server's copy of the index.
    pub(crate) fn bytes(&self) -> Result<u64, Failure> {
        directory_bytes(&self.directory.join("reader"))
    }

    /// Returns the total that a search reports.
    pub(crate) async fn total(&self, query: &Query) -> Result<Total, Failure> {
        let body = post_search(&mut Client::new(self.server.port), &query.body()).await?;
        let response: Value = serde_json::from_str(&body)?;
        let meta = &response["meta"];
        let count =
            meta["total"].as_u64().ok_or_else(|| format!("the response has no total: {body}"))?;
        Ok(Total { count, is_estimate: meta["total_is_estimate"] == true })
    }

    /// Runs all queries through `/search`.
    pub(crate) async fn round(&self, queries: &[Query]) -> Result<Round, Failure> {
        self.run_requests(queries.iter().map(Query::body).map(SearchRequest::search).collect())
            .await
    }

    /// Runs queries within one store each through the MCP endpoint of the store.
    pub(crate) async fn tool_call_round(&self, queries: &[Query]) -> Result<Round, Failure> {
        self.run_requests(queries.iter().filter_map(SearchRequest::tool_call).collect()).await
    }

    async fn run_requests(&self, requests: Arc<[SearchRequest]>) -> Result<Round, Failure> {
        let next = Arc::new(AtomicUsize::new(0));
        let before = cpu_nanos(self.server.pid())?;
        let since = Instant::now();
        let mut clients = tokio::task::JoinSet::new();
        for _ in 0..CONNECTIONS {
            let (requests, next) = (Arc::clone(&requests), Arc::clone(&next));
            let mut client = Client::new(self.server.port);
            clients.spawn(async move {
                while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    request.send(&mut client).await?;
                }
                Ok::<_, Failure>(())
            });
        }
        while let Some(ended) = clients.join_next().await {
            ended??;
        }
        let per_second = as_float(requests.len()) / since.elapsed().as_secs_f64();
        let nanos = cpu_nanos(self.server.pid())?.saturating_sub(before);
        Ok(Round { per_second, cpu_micros: micros_per_query(nanos, requests.len()) })
    }

    /// Returns the CPU time per query of each kind, of the server process alone.
    pub(crate) async fn by_kind(&self, kinds: &[(String, Vec<Query>)]) -> Result<ByKind, Failure> {
        let mut client = Client::new(self.server.port);
        let (mut by_kind, mut all_nanos, mut all_queries) = (ByKind::new(), 0, 0);
        for (kind, queries) in kinds {
            let bodies: Vec<String> = queries.iter().map(Query::body).collect();
            let before = cpu_nanos(self.server.pid())?;
            for body in &bodies {
                post_search(&mut client, body).await?;
            }
            let nanos = cpu_nanos(self.server.pid())?.saturating_sub(before);
            by_kind.insert(kind.clone(), micros_per_query(nanos, queries.len()));
            all_nanos += nanos;
            all_queries += queries.len();
        }
        by_kind.insert(String::from(MIXED), micros_per_query(all_nanos, all_queries));
        Ok(by_kind)
    }
}

impl Drop for SoukSearch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn settings(
    directory: &std::path::Path,
    role: &str,
    budget: Budget,
) -> Vec<(&'static str, String)> {
    let path = |part: &str| directory.join(part).to_string_lossy().into_owned();
    let mut settings =
        vec![("SOUK_SEARCH_OBJECTS", path("objects")), ("SOUK_SEARCH_DIRECTORY", path(role))];
    if budget == Budget::Unlimited {
        settings.push(("SOUK_SEARCH_BUDGET", String::from("0")));
    }
    settings
}

async fn post_search(client: &mut Client, body: &str) -> Result<String, Failure> {
    SearchRequest::search(body.to_owned()).send(client).await
}

/// A search request.
struct SearchRequest {
    path: String,
    body: String,
}

impl SearchRequest {
    fn search(body: String) -> Self {
        Self { path: String::from(SEARCH), body }
    }

    fn tool_call(query: &Query) -> Option<Self> {
        let (_, slug) = query.store.as_ref()?;
        Some(Self { path: format!("/{slug}/mcp"), body: query.tool_call() })
    }

    async fn send(&self, client: &mut Client) -> Result<String, Failure> {
        match client.post(&self.path, &self.body).await {
            Delivery::Answered { status: 200, body } => Ok(body),
            other => Err(format!("the search {} failed: {other:?}", self.body).into()),
        }
    }
}

/// Returns the number of searchable documents, over all shards.
async fn documents(client: &mut Client) -> f64 {
    let Delivery::Answered { status: 200, body } = client.get("/metrics").await else { return 0.0 };
    let lines = body.lines().filter(|line| line.starts_with("souk_search_documents"));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

async fn is_healthy(client: &mut Client) -> bool {
    let Delivery::Answered { body, .. } = client.get("/health").await else { return false };
    let health: Value = serde_json::from_str(&body).unwrap_or(Value::Null);
    health["checks"]["search"] == "ok"
}
