//! Checks PostgreSQL, Redis, the search index and the queue every second. Health probes and metric
//! scrapes only read the latest result.

mod outage;
mod webhook_gauges;

use std::time::{Duration, Instant};

use database::{Database, Reading};
use metrics_exporter_prometheus::PrometheusHandle;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use rest::{CheckState, Health};
use search::Search;
use tokio::sync::watch;

use outage::OutageLog;
use webhook_gauges::WebhookGauges;

const CHECK_INTERVAL: Duration = Duration::from_secs(1);
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval at which the queue is measured and the cell directory refreshed.
const SLOW_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Interval at which the standings of all stores are read.
const STANDINGS_INTERVAL: Duration = Duration::from_mins(5);
/// Time after startup for which the process is not ready while it has no search index.
const INDEX_WAIT_MAX: Duration = Duration::from_secs(30);
/// Age of the oldest due job from which the queue counts as degraded.
const JOB_WAIT_MAX_SECONDS: f64 = 60.0;

/// Checks the dependencies of the process.
pub struct Monitor {
    database: Database,
    redis: RedisCheck,
    search: Search,
    draining: watch::Receiver<bool>,
    metrics: PrometheusHandle,
    postgres_outage: OutageLog,
    redis_outage: OutageLog,
    migrated: bool,
    jobs: CheckState,
    slow_checked_at: Option<Instant>,
    webhooks: WebhookGauges,
    standings_checked_at: Option<Instant>,
    started_at: Instant,
    index_ready: bool,
}

impl Monitor {
    /// Creates a monitor that has checked nothing yet.
    #[must_use]
    pub fn new(
        database: Database,
        redis_url: String,
        search: Search,
        draining: watch::Receiver<bool>,
        metrics: PrometheusHandle,
    ) -> Self {
        let (migrated, jobs, slow_checked_at) = (false, CheckState::Down, None);
        Self {
            database,
            redis: RedisCheck { url: redis_url, connection: None },
            postgres_outage: OutageLog::new("PostgreSQL", "most requests get 503"),
            redis_outage: OutageLog::new("Redis", "each process counts rate limits on its own"),
            search,
            draining,
            metrics,
            migrated,
            jobs,
            slow_checked_at,
            webhooks: WebhookGauges::new(),
            standings_checked_at: None,
            started_at: Instant::now(),
            index_ready: false,
        }
    }

    /// Checks once, then periodically in a task. Returns the channel of results.
    pub async fn start(mut self) -> watch::Receiver<Health> {
        let first = self.check().await;
        let (sender, receiver) = watch::channel(first);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = tokio::time::sleep(CHECK_INTERVAL) => {}
                    _ = self.draining.changed() => {}
                }
                let health = self.check().await;
                if sender.send(health).is_err() {
                    return;
                }
            }
        });
        receiver
    }

    async fn check(&mut self) -> Health {
        let slow = self.slow_checked_at.is_none_or(|at| at.elapsed() >= SLOW_CHECK_INTERVAL);
        let (database, why) = self.check_database(slow).await;
        self.postgres_outage.record(database, why.as_deref());
        let (redis, why) = self.redis.check().await;
        self.redis_outage.record(redis, why.as_deref());
        if slow && database == CheckState::Ok {
            self.slow_checked_at = Some(Instant::now());
            self.measure_orders().await;
            self.webhooks.measure(&self.database).await;
            self.measure_trust().await;
            self.measure_standings();
        }
        let jobs = if database == CheckState::Ok { self.jobs } else { CheckState::Down };
        self.metrics.run_upkeep();
        self.record_gauges(database, redis);
        let search = self.check_search();
        let is_usable = database == CheckState::Ok && self.migrated;
        let ready = is_usable && self.is_index_ready(search).await && !*self.draining.borrow();
        Health { database, redis, search, jobs, ready }
    }

    /// Returns the state of PostgreSQL, and why it is not usable.
    async fn check_database(&mut self, slow: bool) -> (CheckState, Option<String>) {
        let check = async {
            if !self.migrated {
                self.migrated = self.database.is_migrated().await?;
            }
            if slow && self.migrated {
                self.database.refresh_directory().await?;
                self.jobs = self.measure_jobs().await?;
            } else {
                Reading::for_platform(&self.database)
                    .run(async |_| Ok::<(), jobs::QueueError>(()))
                    .await?;
            }
            Ok::<(), jobs::QueueError>(())
        };
        match tokio::time::timeout(CHECK_TIMEOUT, check).await {
            Ok(Ok(())) if self.migrated => (CheckState::Ok, None),
            Ok(Ok(())) => (CheckState::Degraded, Some(String::from("migrations are missing"))),
            Ok(Err(error)) => (CheckState::Down, Some(with_cause(&error))),
            Err(_) => (CheckState::Down, Some(String::from("it does not respond"))),
        }
    }

    fn check_search(&self) -> CheckState {
        let state = self.search.state();
        // The replica records the age of each shard.
        metrics::gauge!("souk_search_documents")
            .set(as_f64(i64::try_from(state.documents).unwrap_or(i64::MAX)));
        metrics::gauge!("souk_search_store_directory_age_seconds")
            .set(state.store_directory_age.as_secs_f64());
        match state {
            state if state.is_healthy() => CheckState::Ok,
            state if state.is_available() => CheckState::Degraded,
            _ => CheckState::Down,
        }
    }

    /// Whether the index is open, none is published, or the wait after startup is over: searches within
    /// one store work without an index. Once true, it stays true.
    async fn is_index_ready(&mut self, search: CheckState) -> bool {
        if !self.index_ready {
            let is_open = search != CheckState::Down;
            let is_late = self.started_at.elapsed() > INDEX_WAIT_MAX;
            let none_published =
                search::is_published(&self.database).await.is_ok_and(|published| !published);
            self.index_ready = is_open || is_late || none_published;
        }
        self.index_ready
    }

    async fn measure_jobs(&self) -> Result<CheckState, jobs::QueueError> {
        let stats = jobs::queue_stats(&Reading::for_platform(&self.database)).await?;
        let set = |name: &'static str, value: f64| metrics::gauge!(name).set(value);
        set("souk_jobs_due", as_f64(stats.due));
        set("souk_jobs_oldest_due_seconds", stats.oldest_due_seconds);
        set("souk_jobs_leased", as_f64(stats.leased));
        set("souk_jobs_suspects", as_f64(stats.suspects));
        set("souk_jobs_dead", as_f64(stats.dead));
        set("souk_jobs_failing_schedules", as_f64(stats.failing_schedules));
        set("souk_jobs_failed_rows", as_f64(stats.failed_rows));
        set("souk_xmin_age_transactions", as_f64(stats.xmin_age_transactions));
        set("souk_xmin_age_seconds", stats.xmin_age_seconds);
        for cursor in stats.cursors {
            metrics::gauge!("souk_outbox_lag_seconds", "cursor" => cursor.name).set(cursor.seconds);
        }
        let keeps_up = stats.oldest_due_seconds < JOB_WAIT_MAX_SECONDS;
        Ok(if keeps_up { CheckState::Ok } else { CheckState::Degraded })
    }

    /// Measures what waits for people. A failure leaves the former numbers: the process works without them.
    async fn measure_orders(&self) {
        let platform = Reading::for_platform(&self.database);
        match tokio::time::timeout(CHECK_TIMEOUT, orders::backlog(&platform)).await {
            Ok(Ok(backlog)) => {
                let set = |name: &'static str, value: i64| metrics::gauge!(name).set(as_f64(value));
                set("souk_disputes_under_review", backlog.disputes_under_review);
                set("souk_disputes_overdue", backlog.disputes_overdue);
                set("souk_returns_unanswered", backlog.returns_unanswered);
            }
            Ok(Err(error)) => tracing::warn!(%error, "disputes and returns cannot be counted"),
            Err(_) => tracing::warn!("disputes and returns cannot be counted in time"),
        }
    }

    /// Measures how late trust scores are. A failure leaves the former numbers.
    async fn measure_trust(&self) {
        let platform = Reading::for_platform(&self.database);
        match tokio::time::timeout(CHECK_TIMEOUT, trust::health(&platform)).await {
            Ok(Ok(health)) => {
                let set = |name: &'static str, value: f64| metrics::gauge!(name).set(value);
                set("souk_trust_lag_seconds", health.lag_seconds);
                set("souk_trust_oldest_stale_day_seconds", health.oldest_stale_day_seconds);
                set("souk_trust_failed_days", as_f64(health.failed_days));
                set("souk_trust_failing_stores", as_f64(health.failing_stores));
                set("souk_trust_skipped_epochs", as_f64(health.skipped_epochs));
            }
            Ok(Err(error)) => tracing::warn!(%error, "the lag of trust scores cannot be measured"),
            Err(_) => tracing::warn!("the lag of trust scores cannot be measured in time"),
        }
    }

    /// Counts old standings every few minutes, beside the checks: that takes seconds with millions of stores.
    fn measure_standings(&mut self) {
        if self.standings_checked_at.is_some_and(|at| at.elapsed() < STANDINGS_INTERVAL) {
            return;
        }
        self.standings_checked_at = Some(Instant::now());
        let platform = Reading::for_platform(&self.database);
        tokio::spawn(async move {
            match trust::old_standings(&platform).await {
                Ok(old) => metrics::gauge!("souk_trust_old_standings").set(as_f64(old)),
                Err(error) => tracing::warn!(%error, "old trust scores cannot be counted"),
            }
        });
    }

    fn record_gauges(&self, database: CheckState, redis: CheckState) {
        let up = |state| if state == CheckState::Ok { 1.0 } else { 0.0 };
        metrics::gauge!("souk_engine_up", "engine" => "postgresql").set(up(database));
        metrics::gauge!("souk_engine_up", "engine" => "redis").set(up(redis));
        metrics::gauge!("souk_limits_degraded").set(1.0 - up(redis));
        self.webhooks.record_age();
        let pool = self.database.pool_state();
        metrics::gauge!("souk_database_connections", "state" => "open").set(f64::from(pool.open));
        metrics::gauge!("souk_database_connections", "state" => "idle").set(f64::from(pool.idle));
    }
}

/// Checks Redis.
struct RedisCheck {
    url: String,
    connection: Option<ConnectionManager>,
}

impl RedisCheck {
    /// Writes a key that expires: a replica, or a server without memory, accepts connections and no writes. It counts as
    /// degraded, because rate limits are then counted by each process. Returns also why it is not usable.
    async fn check(&mut self) -> (CheckState, Option<String>) {
        match tokio::time::timeout(CHECK_TIMEOUT, self.write()).await {
            Ok(Ok(())) => (CheckState::Ok, None),
            Ok(Err(error)) if matches!(error.kind(), redis::ErrorKind::Server(_)) => {
                self.connection = None;
                (CheckState::Degraded, Some(error.to_string()))
            }
            Ok(Err(error)) => (CheckState::Down, Some(error.to_string())),
            Err(_) => (CheckState::Down, Some(String::from("it does not respond"))),
        }
    }

    async fn write(&mut self) -> redis::RedisResult<()> {
        let mut connection = self.connect().await?;
        let mut write = redis::cmd("SET");
        write.arg("souk:health").arg(1).arg("EX").arg(60).exec_async(&mut connection).await
    }

    async fn connect(&mut self) -> redis::RedisResult<ConnectionManager> {
        if let Some(connection) = &self.connection {
            return Ok(connection.clone());
        }
        let client = redis::Client::open(self.url.as_str())?;
        let config = ConnectionManagerConfig::new().set_number_of_retries(1);
        let connection = ConnectionManager::new_with_config(client, config).await?;
        self.connection = Some(connection.clone());
        Ok(connection)
    }
}

/// Returns an error with its innermost cause.
pub(crate) fn with_cause(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.last().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

/// Converts a count; counts above `i32::MAX` saturate.
fn as_f64(count: i64) -> f64 {
    f64::from(i32::try_from(count).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    /// Answers like Redis, and refuses to write while it is a replica.
    async fn answer(mut stream: TcpStream, is_replica: Arc<AtomicBool>) {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut buffer).await {
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            for command in text.split('*').skip(1) {
                let is_write = command.contains("souk:health");
                let response = if is_write && is_replica.load(Ordering::Relaxed) {
                    "-READONLY You can't write against a read only replica.\r\n"
                } else {
                    "+OK\r\n"
                };
                if stream.write_all(response.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    }

    #[tokio::test]
    async fn a_read_only_replica_is_degraded_until_it_accepts_writes() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("redis://{}", listener.local_addr().unwrap());
        let is_replica = Arc::new(AtomicBool::new(true));
        let role = Arc::clone(&is_replica);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&role)));
            }
        });
        let mut check = RedisCheck { url, connection: None };
        let (state, why) = check.check().await;
        assert_eq!(state, CheckState::Degraded);
        assert!(why.is_some_and(|why| why.contains("read only")));
        assert_eq!(check.check().await.0, CheckState::Degraded);
        is_replica.store(false, Ordering::Relaxed);
        assert_eq!(check.check().await, (CheckState::Ok, None));
        is_replica.store(true, Ordering::Relaxed);
        assert_eq!(check.check().await.0, CheckState::Degraded);
    }
}
