//! How the service is, for people, monitors and orchestrators.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, HeaderName};
use axum::response::IntoResponse;
use primitives::{ErrorCode, Problem, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Access, Endpoint, Opened, Refusal, Rest, Routes};

/// What the server last saw of its engines. It publishes this; the door only reads it, so a probe
/// costs nothing and cannot hang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    /// PostgreSQL.
    pub database: CheckState,
    /// Redis.
    pub redis: CheckState,
    /// The search engine.
    pub search: CheckState,
    /// The workers of the job queue.
    pub jobs: CheckState,
    /// Whether requests should be sent here.
    pub ready: bool,
}

impl Health {
    /// Before anything was looked at: not ready, and nothing known to work.
    pub const STARTING: Self = Self {
        database: CheckState::Down,
        redis: CheckState::Down,
        search: CheckState::NotConfigured,
        jobs: CheckState::Down,
        ready: false,
    };

    fn status(self) -> Status {
        let well = |check| matches!(check, CheckState::Ok | CheckState::NotConfigured);
        let checks = [self.database, self.redis, self.search, self.jobs];
        if checks.into_iter().all(well) { Status::Ok } else { Status::Degraded }
    }
}

/// How one engine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// It works.
    Ok,
    /// It works, but slowly or with failures.
    Degraded,
    /// It does not answer.
    Down,
    /// This installation has none.
    NotConfigured,
}

/// The whole.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "HealthStatus")]
enum Status {
    /// All is well.
    Ok,
    /// Something is not; `checks` says what.
    Degraded,
}

// decisions §2
/// The answer of the health check.
#[derive(Debug, Serialize, JsonSchema)]
struct HealthAnswer {
    /// The whole.
    status: Status,
    /// The release that runs.
    version: &'static str,
    /// Seconds since it started.
    uptime_seconds: u64,
    /// The engines.
    checks: ChecksRecord,
    /// How much older than the database the search index is; left out while none is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    search_index_age_seconds: Option<f64>,
    /// The server's time.
    time: Timestamp,
}

/// The engines, each on its own.
#[derive(Debug, Serialize, JsonSchema)]
struct ChecksRecord {
    /// PostgreSQL.
    database: CheckState,
    /// Redis.
    redis: CheckState,
    /// The search engine.
    search: CheckState,
    /// The workers of the job queue.
    jobs: CheckState,
}

/// The answer of a probe.
#[derive(Debug, Serialize, JsonSchema)]
struct ProbeAnswer {
    /// Always `ok`; what is not well answers with another HTTP status.
    #[schemars(extend("enum" = ["ok"]))]
    status: &'static str,
}

/// No cache may answer for the service.
const UNCACHED: [(HeaderName, &str); 1] = [(CACHE_CONTROL, "no-store")];

pub(crate) fn endpoints() -> Routes<Opened> {
    let health = Endpoint::get("/health", Access::Public, health).uncounted()
        .name("readHealth")
        .tag("service")
        .summary("How the service is")
        .explanation("Answers 200 even when something is degraded; the body says what. The health addresses also answer at the site root.")
        .answer::<HealthAnswer>(200);
    let live = Endpoint::get("/health/live", Access::Public, live)
        .uncounted()
        .name("probeLive")
        .tag("service")
        .summary("Whether the process runs")
        .explanation("For orchestrators: no answer means that the process should be restarted.")
        .answer::<ProbeAnswer>(200);
    let ready = Endpoint::get("/health/ready", Access::Public, ready)
        .uncounted()
        .name("probeReady")
        .tag("service")
        .summary("Whether requests should be sent here")
        .explanation(
            "For orchestrators: 503 while the service starts, stops or lacks its database.",
        )
        .answer::<ProbeAnswer>(200);
    Routes::new().with(health).with(live).with(ready)
}

async fn health(State(rest): State<Arc<Rest>>, State(since): State<Instant>) -> impl IntoResponse {
    let health = *rest.health.borrow();
    let Health { database, redis, search, jobs, .. } = health;
    let answer = HealthAnswer {
        status: health.status(),
        version: env!("CARGO_PKG_VERSION"),
        uptime_seconds: since.elapsed().as_secs(),
        checks: ChecksRecord { database, redis, search, jobs },
        search_index_age_seconds: rest.search.state().age.map(|age| age.as_secs_f64()),
        time: rest.database.local_now(),
    };
    (UNCACHED, axum::Json(answer))
}

async fn live() -> impl IntoResponse {
    (UNCACHED, axum::Json(ProbeAnswer { status: "ok" }))
}

async fn ready(State(rest): State<Arc<Rest>>) -> Result<impl IntoResponse, Refusal> {
    if !rest.health.borrow().ready {
        return Err(NotReady.into());
    }
    Ok((UNCACHED, axum::Json(ProbeAnswer { status: "ok" })))
}

/// The server said so.
#[derive(Debug, thiserror::Error)]
#[error("the service is not ready")]
struct NotReady;

impl Problem for NotReady {
    fn code(&self) -> ErrorCode {
        ErrorCode::ServiceUnavailable
    }
}
