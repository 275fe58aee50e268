//! Looks at the engines each second, so that probes and scrapes only read.

use std::time::{Duration, Instant};

use database::{Database, Reading};
use metrics_exporter_prometheus::PrometheusHandle;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use rest::{CheckState, Health};
use search::Search;
use tokio::sync::watch;

/// How often the engines are looked at, and how long a look may take.
const EVERY: Duration = Duration::from_secs(1);
const LOOK_MAX: Duration = Duration::from_secs(1);
/// How often the queue is measured and the directory of cells read again.
const SLOW_EVERY: Duration = Duration::from_secs(5);
/// How long a process that begins waits for its index before it is ready without it.
const INDEX_WAIT_MAX: Duration = Duration::from_secs(30);
/// A due job that has waited this long means that the workers do not keep up.
const JOB_WAIT_MAX_SECONDS: f64 = 60.0;

/// The monitor.
pub struct Monitor {
    database: Database,
    redis_url: String,
    search: Search,
    redis: Option<ConnectionManager>,
    draining: watch::Receiver<bool>,
    metrics: PrometheusHandle,
    migrated: bool,
    jobs: CheckState,
    slow_done: Option<Instant>,
    began: Instant,
    searched: bool,
}

impl Monitor {
    /// A monitor that has seen nothing yet.
    #[must_use]
    pub fn new(
        database: Database,
        redis_url: String,
        search: Search,
        draining: watch::Receiver<bool>,
        metrics: PrometheusHandle,
    ) -> Self {
        let (redis, migrated, jobs, slow_done) = (None, false, CheckState::Down, None);
        Self {
            database,
            redis_url,
            search,
            redis,
            draining,
            metrics,
            migrated,
            jobs,
            slow_done,
            began: Instant::now(),
            searched: false,
        }
    }

    /// Looks once, then goes on looking. Answers where it shows what it sees.
    pub async fn start(mut self) -> watch::Receiver<Health> {
        let first = self.look().await;
        let (sender, receiver) = watch::channel(first);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = tokio::time::sleep(EVERY) => {}
                    _ = self.draining.changed() => {}
                }
                let health = self.look().await;
                if sender.send(health).is_err() {
                    return;
                }
            }
        });
        receiver
    }

    async fn look(&mut self) -> Health {
        let slow = self.slow_done.is_none_or(|done| done.elapsed() >= SLOW_EVERY);
        let database = self.look_at_database(slow).await;
        let redis = self.look_at_redis().await;
        if slow && database == CheckState::Ok {
            self.slow_done = Some(Instant::now());
        }
        let jobs = if database == CheckState::Ok { self.jobs } else { CheckState::Down };
        self.metrics.run_upkeep();
        self.show(database, redis);
        let search = self.look_at_search();
        let well = database == CheckState::Ok && self.migrated;
        let ready = well && self.may_search(search).await && !*self.draining.borrow();
        Health { database, redis, search, jobs, ready }
    }

    async fn look_at_database(&mut self, slow: bool) -> CheckState {
        let look = async {
            if !self.migrated {
                self.migrated = self.database.is_migrated().await?;
            }
            if slow && self.migrated {
                self.database.refresh_directory().await?;
                self.jobs = self.measure_jobs().await?;
            } else {
                Reading::for_platform(&self.database).open().await?.close().await?;
            }
            Ok::<(), jobs::QueueError>(())
        };
        match tokio::time::timeout(LOOK_MAX, look).await {
            Ok(Ok(())) if self.migrated => CheckState::Ok,
            Ok(Ok(())) => CheckState::Degraded,
            Ok(Err(_)) | Err(_) => CheckState::Down,
        }
    }

    fn look_at_search(&self) -> CheckState {
        let state = self.search.state();
        // The replica shows the age of each shard.
        metrics::gauge!("souk_search_documents")
            .set(as_f64(i64::try_from(state.documents).unwrap_or(i64::MAX)));
        metrics::gauge!("souk_search_roster_age_seconds").set(state.roster_age.as_secs_f64());
        match state {
            state if state.is_well() => CheckState::Ok,
            state if state.answers() => CheckState::Degraded,
            _ => CheckState::Down,
        }
    }

    /// A process that has just begun waits for its index if there is one, so that it is not asked before
    /// it can answer; but not for ever: one store can be searched without it.
    async fn may_search(&mut self, search: CheckState) -> bool {
        if !self.searched {
            let is_open = search != CheckState::Down;
            let is_late = self.began.elapsed() > INDEX_WAIT_MAX;
            let there_is_none =
                search::is_published(&self.database).await.is_ok_and(|there| !there);
            self.searched = is_open || is_late || there_is_none;
        }
        self.searched
    }

    async fn measure_jobs(&self) -> Result<CheckState, jobs::QueueError> {
        let measures = jobs::measure(&Reading::for_platform(&self.database)).await?;
        let set = |name: &'static str, value: f64| metrics::gauge!(name).set(value);
        set("souk_jobs_due", as_f64(measures.due));
        set("souk_jobs_oldest_due_seconds", measures.oldest_due_seconds);
        set("souk_jobs_leased", as_f64(measures.leased));
        set("souk_jobs_suspects", as_f64(measures.suspects));
        set("souk_jobs_dead", as_f64(measures.dead));
        set("souk_xmin_age_transactions", as_f64(measures.xmin_age_transactions));
        set("souk_xmin_age_seconds", measures.xmin_age_seconds);
        for cursor in measures.cursors {
            metrics::gauge!("souk_outbox_lag_seconds", "cursor" => cursor.name).set(cursor.seconds);
        }
        let keeps_up = measures.oldest_due_seconds < JOB_WAIT_MAX_SECONDS;
        Ok(if keeps_up { CheckState::Ok } else { CheckState::Degraded })
    }

    async fn look_at_redis(&mut self) -> CheckState {
        let look = async {
            let mut connection = self.redis_connection().await?;
            redis::cmd("PING").query_async::<String>(&mut connection).await
        };
        match tokio::time::timeout(LOOK_MAX, look).await {
            Ok(Ok(_)) => CheckState::Ok,
            Ok(Err(_)) | Err(_) => CheckState::Down,
        }
    }

    async fn redis_connection(&mut self) -> redis::RedisResult<ConnectionManager> {
        if let Some(connection) = &self.redis {
            return Ok(connection.clone());
        }
        let client = redis::Client::open(self.redis_url.as_str())?;
        let config = ConnectionManagerConfig::new().set_number_of_retries(1);
        let connection = ConnectionManager::new_with_config(client, config).await?;
        self.redis = Some(connection.clone());
        Ok(connection)
    }

    fn show(&self, database: CheckState, redis: CheckState) {
        let up = |state| if state == CheckState::Ok { 1.0 } else { 0.0 };
        metrics::gauge!("souk_engine_up", "engine" => "postgresql").set(up(database));
        metrics::gauge!("souk_engine_up", "engine" => "redis").set(up(redis));
        let pool = self.database.pool_state();
        metrics::gauge!("souk_database_connections", "state" => "open").set(f64::from(pool.open));
        metrics::gauge!("souk_database_connections", "state" => "idle").set(f64::from(pool.idle));
    }
}

/// Counts stay far below where a float loses whole numbers.
fn as_f64(count: i64) -> f64 {
    f64::from(i32::try_from(count).unwrap_or(i32::MAX))
}
