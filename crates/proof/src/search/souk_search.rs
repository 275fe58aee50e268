//! Our own side of it: a writer and a server over one object store.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::measure::{ByKind, MIXED, Round, bytes_below, cpu_nanos, figure, micros_each};
use super::world::Query;
use crate::http::{Client, Fate};
use crate::report::{Failure, grouped};
use crate::souk::Souk;

/// Connections that are kept open: enough that the server is never without work.
const CONNECTIONS: usize = 4;
const SEARCH: &str = "/api/v1/search";

/// Whether totals are exact at any price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Budget {
    /// All hits are looked at.
    None,
    /// The work one query may make is bounded, as in production.
    Ordinary,
}

/// What one search answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Total {
    pub(crate) count: u64,
    pub(crate) is_estimate: bool,
}

/// `souk index` and `souk serve` in directories of their own, removed when dropped.
pub(crate) struct Site {
    database_url: String,
    directory: PathBuf,
    documents: u32,
    _writer: Souk,
    server: Souk,
    /// From the start of the writer until all of it could be searched.
    pub(crate) build: Duration,
}

impl Site {
    /// Lets the writer build the index and waits until the server has all of it.
    pub(crate) async fn open(
        database_url: &str,
        documents: u32,
        budget: Budget,
    ) -> Result<Self, Failure> {
        let name = format!("souk-site-{}-{documents}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory)?;
        let since = Instant::now();
        let settings = settings(&directory, "writer", budget);
        let writer = Souk::index(database_url, &settings)?;
        let settings = self::settings(&directory, "reader", budget);
        let server = Souk::serve_with(database_url, &[], &settings).await?;
        let mut site = Self {
            database_url: database_url.to_owned(),
            directory,
            documents,
            _writer: writer,
            server,
            build: Duration::ZERO,
        };
        site.wait().await?;
        site.build = since.elapsed();
        Ok(site)
    }

    /// Starts the server again, with another budget.
    pub(crate) async fn serve_again(&mut self, budget: Budget) -> Result<(), Failure> {
        self.server.signal("TERM")?;
        self.server.wait(Duration::from_secs(40)).await?;
        let settings = settings(&self.directory, "reader", budget);
        self.server = Souk::serve_with(&self.database_url, &[], &settings).await?;
        self.wait().await
    }

    /// Until the server says that search is well and that it has all documents.
    async fn wait(&self) -> Result<(), Failure> {
        let patience = Duration::from_secs(120 + u64::from(self.documents / 2_000));
        let since = Instant::now();
        let mut client = Client::new(self.server.port);
        let mut seen = 0.0;
        while since.elapsed() < patience {
            seen = documents(&mut client).await;
            if seen >= f64::from(self.documents) && is_well(&mut client).await {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let (all, seconds) = (grouped(self.documents), patience.as_secs());
        Err(format!("{seen} of {all} documents could be searched after {seconds} s").into())
    }

    /// Where the server listens.
    pub(crate) fn port(&self) -> u16 {
        self.server.port
    }

    /// Bytes of what the server keeps.
    pub(crate) fn bytes(&self) -> Result<u64, Failure> {
        bytes_below(&self.directory.join("reader"))
    }

    /// What a search counts.
    pub(crate) async fn total(&self, query: &Query) -> Result<Total, Failure> {
        let body = answer(&mut Client::new(self.server.port), &query.body()).await?;
        let answer: Value = serde_json::from_str(&body)?;
        let meta = &answer["meta"];
        let count = meta["total"].as_u64().ok_or_else(|| format!("no total in {body}"))?;
        Ok(Total { count, is_estimate: meta["total_is_estimate"] == true })
    }

    /// All queries, on connections that are kept.
    pub(crate) async fn round(&self, queries: &[Query]) -> Result<Round, Failure> {
        self.asked(queries.iter().map(Query::body).map(Ask::search).collect()).await
    }

    /// Queries of one store each, asked of its endpoint for agents.
    pub(crate) async fn round_of_calls(&self, queries: &[Query]) -> Result<Round, Failure> {
        self.asked(queries.iter().filter_map(Ask::call).collect()).await
    }

    async fn asked(&self, asks: Arc<[Ask]>) -> Result<Round, Failure> {
        let next = Arc::new(AtomicUsize::new(0));
        let before = cpu_nanos(self.server.pid())?;
        let since = Instant::now();
        let mut clients = tokio::task::JoinSet::new();
        for _ in 0..CONNECTIONS {
            let (asks, next) = (Arc::clone(&asks), Arc::clone(&next));
            let mut client = Client::new(self.server.port);
            clients.spawn(async move {
                while let Some(ask) = asks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    ask.answer(&mut client).await?;
                }
                Ok::<_, Failure>(())
            });
        }
        while let Some(ended) = clients.join_next().await {
            ended??;
        }
        let per_second = figure(asks.len()) / since.elapsed().as_secs_f64();
        let nanos = cpu_nanos(self.server.pid())?.saturating_sub(before);
        Ok(Round { per_second, cpu_micros: micros_each(nanos, asks.len()) })
    }

    /// CPU of each kind of query, of the server's process alone.
    pub(crate) async fn by_kind(&self, kinds: &[(String, Vec<Query>)]) -> Result<ByKind, Failure> {
        let mut client = Client::new(self.server.port);
        let (mut by_kind, mut all_nanos, mut all_queries) = (ByKind::new(), 0, 0);
        for (kind, queries) in kinds {
            let bodies: Vec<String> = queries.iter().map(Query::body).collect();
            let before = cpu_nanos(self.server.pid())?;
            for body in &bodies {
                answer(&mut client, body).await?;
            }
            let nanos = cpu_nanos(self.server.pid())?.saturating_sub(before);
            by_kind.insert(kind.clone(), micros_each(nanos, queries.len()));
            all_nanos += nanos;
            all_queries += queries.len();
        }
        by_kind.insert(String::from(MIXED), micros_each(all_nanos, all_queries));
        Ok(by_kind)
    }
}

impl Drop for Site {
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
    if budget == Budget::None {
        settings.push(("SOUK_SEARCH_BUDGET", String::from("0")));
    }
    settings
}

async fn answer(client: &mut Client, body: &str) -> Result<String, Failure> {
    Ask::search(body.to_owned()).answer(client).await
}

/// A search as it is sent.
struct Ask {
    path: String,
    body: String,
}

impl Ask {
    fn search(body: String) -> Self {
        Self { path: String::from(SEARCH), body }
    }

    fn call(query: &Query) -> Option<Self> {
        let (_, slug) = query.store.as_ref()?;
        Some(Self { path: format!("/{slug}/mcp"), body: query.call() })
    }

    async fn answer(&self, client: &mut Client) -> Result<String, Failure> {
        match client.post(&self.path, &self.body).await {
            Fate::Answered { status: 200, body } => Ok(body),
            other => Err(format!("the search {} met {other:?}", self.body).into()),
        }
    }
}

/// How many documents the server can search in, over all shards.
async fn documents(client: &mut Client) -> f64 {
    let Fate::Answered { status: 200, body } = client.get("/metrics").await else { return 0.0 };
    let lines = body.lines().filter(|line| line.starts_with("souk_search_documents"));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

async fn is_well(client: &mut Client) -> bool {
    let Fate::Answered { body, .. } = client.get("/health").await else { return false };
    let health: Value = serde_json::from_str(&body).unwrap_or(Value::Null);
    health["checks"]["search"] == "ok"
}
