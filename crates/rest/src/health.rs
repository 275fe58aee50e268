//! Health checks, for people, monitoring and orchestrators.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, HeaderName};
use axum::response::IntoResponse;
use primitives::{ErrorCode, Problem, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Access, Endpoint, ErrorResponse, Rest, RestState, Routes};

/// The last known state of the service's dependencies. The server publishes it and the door only reads it, so a probe
/// is cheap and cannot hang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    /// State of PostgreSQL.
    pub database: CheckState,
    pub redis: CheckState,
    /// State of the search index.
    pub search: CheckState,
    /// State of the job workers.
    pub jobs: CheckState,
    /// Whether this process accepts requests.
    pub ready: bool,
}

impl Health {
    /// The state before the first check: not ready, and no dependency known to work.
    pub const STARTING: Self = Self {
        database: CheckState::Down,
        redis: CheckState::Down,
        search: CheckState::NotConfigured,
        jobs: CheckState::Down,
        ready: false,
    };

    fn status(self) -> Status {
        let is_healthy = |check| matches!(check, CheckState::Ok | CheckState::NotConfigured);
        let checks = [self.database, self.redis, self.search, self.jobs];
        if checks.into_iter().all(is_healthy) { Status::Ok } else { Status::Degraded }
    }
}

/// State of one dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// Working.
    Ok,
    /// Working, but slow, with failures, or read-only.
    Degraded,
    /// Not reachable.
    Down,
    /// Not part of this installation.
    NotConfigured,
}

/// Overall state of the service.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "HealthStatus")]
enum Status {
    /// All dependencies work.
    Ok,
    /// At least one dependency does not; see `checks`.
    Degraded,
}

// docs/contract/rest.md#health
/// The health of the service.
#[derive(Debug, Serialize, JsonSchema)]
struct HealthResponse {
    /// Overall state.
    status: Status,
    /// Version of the running release.
    version: &'static str,
    /// Seconds since the process started.
    uptime_seconds: u64,
    /// State of each dependency.
    checks: ChecksRecord,
    /// Seconds by which the search index lags behind the database; omitted while no index is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    search_index_age_seconds: Option<f64>,
    /// Current time of the server.
    time: Timestamp,
}

/// State of each dependency.
#[derive(Debug, Serialize, JsonSchema)]
struct ChecksRecord {
    /// PostgreSQL.
    database: CheckState,
    /// Redis.
    redis: CheckState,
    /// The search index.
    search: CheckState,
    /// The job workers.
    jobs: CheckState,
}

/// A successful probe.
#[derive(Debug, Serialize, JsonSchema)]
struct ProbeResponse {
    /// Always `ok`; a failed probe has another HTTP status.
    #[schemars(extend("enum" = ["ok"]))]
    status: &'static str,
}

/// Prevents caches from storing the response.
const UNCACHED: [(HeaderName, &str); 1] = [(CACHE_CONTROL, "no-store")];

pub(crate) fn endpoints() -> Routes<RestState> {
    let health = Endpoint::get("/health", Access::Public, health).unmetered()
        .operation_id("getHealth")
        .tag("service")
        .summary("Get service health")
        .description("The status is 200 even when a dependency is degraded; `checks` names it. The health paths also exist at the site root.")
        .response::<HealthResponse>(200);
    let live = Endpoint::get("/health/live", Access::Public, live)
        .unmetered()
        .operation_id("checkLiveness")
        .tag("service")
        .summary("Check liveness")
        .description("For orchestrators: restart the process if it does not respond.")
        .response::<ProbeResponse>(200);
    let ready = Endpoint::get("/health/ready", Access::Public, ready)
        .unmetered()
        .operation_id("checkReadiness")
        .tag("service")
        .summary("Check readiness")
        .description(
            "For orchestrators: 503 while the process starts, stops or cannot reach its database.",
        )
        .response::<ProbeResponse>(200);
    Routes::new().with(health).with(live).with(ready)
}

async fn health(
    State(rest): State<Arc<Rest>>,
    State(started_at): State<Instant>,
) -> impl IntoResponse {
    let health = *rest.health.borrow();
    let Health { database, redis, search, jobs, .. } = health;
    let answer = HealthResponse {
        status: health.status(),
        version: env!("CARGO_PKG_VERSION"),
        uptime_seconds: started_at.elapsed().as_secs(),
        checks: ChecksRecord { database, redis, search, jobs },
        search_index_age_seconds: rest.search.state().age.map(|age| age.as_secs_f64()),
        time: rest.database.local_now(),
    };
    (UNCACHED, axum::Json(answer))
}

async fn live() -> impl IntoResponse {
    (UNCACHED, axum::Json(ProbeResponse { status: "ok" }))
}

async fn ready(State(rest): State<Arc<Rest>>) -> Result<impl IntoResponse, ErrorResponse> {
    if !rest.health.borrow().ready {
        return Err(NotReady.into());
    }
    Ok((UNCACHED, axum::Json(ProbeResponse { status: "ok" })))
}

/// The server has not reported readiness.
#[derive(Debug, thiserror::Error)]
#[error("the service is not ready")]
struct NotReady;

impl Problem for NotReady {
    fn code(&self) -> ErrorCode {
        ErrorCode::ServiceUnavailable
    }
}
