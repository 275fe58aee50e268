//! Server, worker and PostgreSQL are killed at random times during full replacements. Each job completes
//! without intervention, no reader ever sees a mixed catalog reported as complete, and in the end the
//! catalog equals the last feed.

mod reader;
mod version;

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use rand::RngExt;

use crate::catalog::kills::reader::Reader;
use crate::catalog::kills::version::Version;
use crate::catalog::merchant::Merchant;
use crate::engines::Engines;
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, command, store_key};

/// The store whose catalog is replaced.
const STORE: &str = "orto-lucido";
/// Job lease of the worker: how long the jobs of a killed worker stay claimed.
const LEASE_SECONDS: u32 = 1;

/// The process to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Server,
    Worker,
    Postgres,
}

/// The service: a server, a worker and a private PostgreSQL.
struct Deployment {
    engines: Engines,
    server: Option<Souk>,
    worker: Option<Souk>,
    port: Arc<AtomicU16>,
    merchant: Merchant,
}

/// Totals of the whole check.
#[derive(Default)]
struct Counts {
    kills: [usize; 3],
    during: std::collections::BTreeMap<String, usize>,
    uploads_retried: usize,
    slowest: Duration,
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let mut rng = trial.rng(30);
    let (rounds, rows) = trial.by_tier((3, 1_000), (30, 4_000));
    let mut deployment = Deployment::start().await?;
    let mut counts = Counts::default();
    deployment.replace(&Version::new(0, rows), true, None, &mut counts).await?;
    // One replacement without a kill, to measure how long it takes.
    let mut newest = Version::new(1, rows);
    let began = Instant::now();
    deployment.replace(&newest, false, None, &mut counts).await?;
    let span = began.elapsed();
    let reader = Reader::start(&deployment.engines.database_url, vec![newest.clone()]);
    for round in 1..=rounds {
        trial.progress(|| format!("kill {round} of {rounds}"));
        let target = [Target::Server, Target::Worker, Target::Postgres][round % 3];
        let version = Version::new(round + 1, rows);
        reader.register(&version);
        let began = Instant::now();
        let delay = span.mul_f64(rng.random::<f64>());
        deployment.replace(&version, false, Some((target, delay)), &mut counts).await?;
        counts.slowest = counts.slowest.max(began.elapsed());
        newest = version;
    }
    let observations = reader.stop().await?;
    let [server, worker, postgres] = counts.kills;
    ensure(server + worker + postgres == rounds, || String::from("fewer kills than rounds"))?;
    let during: Vec<String> =
        counts.during.iter().map(|(state, count)| format!("{count} while {state}")).collect();
    Ok(format!(
        "{server} kills of the server, {worker} of the worker, {postgres} of PostgreSQL during replacements of {} \
         products ({}; {} uploads retried): all completed, the slowest after {:.1} s; {} snapshots read, {} of them \
         during an update, all consistent; the catalog equals feed {}",
        grouped(rows),
        during.join(", "),
        counts.uploads_retried,
        counts.slowest.as_secs_f64(),
        grouped(observations.snapshots),
        grouped(observations.updating),
        newest.number,
    ))
}

impl Deployment {
    async fn start() -> Result<Self, Failure> {
        let engines = Engines::start()?;
        let url = engines.database_url.clone();
        command(&url, &["migrate"])?;
        command(&url, &["seed"])?;
        let merchant = Merchant::new(store_key(&url, STORE).await?);
        let server = Souk::serve(&url, &[]).await?;
        let port = Arc::new(AtomicU16::new(server.port));
        let worker = Souk::work(&url, LEASE_SECONDS)?;
        Ok(Self { engines, server: Some(server), worker: Some(worker), port, merchant })
    }

    fn port(&self) -> u16 {
        self.port.load(Ordering::SeqCst)
    }

    /// Replaces the catalog, and kills and restarts a process meanwhile. The merchant's client retries the
    /// upload until it is accepted.
    async fn replace(
        &mut self,
        version: &Version,
        force: bool,
        kill: Option<(Target, Duration)>,
        counts: &mut Counts,
    ) -> Result<(), Failure> {
        let feed = version.feed();
        let path = format!("/api/v1/merchant/products?force={force}");
        let began = Instant::now();
        let mut killed = kill.is_none();
        let mut job = None;
        let mut sent = 0;
        while job.is_none() || !killed {
            let due = |(_, delay): &(Target, Duration)| !killed && began.elapsed() >= *delay;
            if let Some((target, _)) = kill.filter(due) {
                let state = self.state(job.as_deref()).await;
                *counts.during.entry(state).or_default() += 1;
                counts.kills[target as usize] += 1;
                self.kill(target).await?;
                killed = true;
            }
            if job.is_none() {
                sent += 1;
                let left = kill
                    .filter(|_| !killed)
                    .map(|(_, delay)| delay.saturating_sub(began.elapsed()));
                let sending = self.merchant.send(self.port(), "PUT", &path, &feed);
                // The upload is interrupted when the kill is due.
                job = match left {
                    Some(left) => {
                        tokio::time::timeout(left, sending).await.ok().transpose()?.flatten()
                    }
                    None => sending.await?,
                };
            }
            if job.is_none() || !killed {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            ensure(began.elapsed() < Duration::from_mins(2), || {
                String::from("no upload was accepted")
            })?;
        }
        counts.uploads_retried += sent - 1;
        let job = job.ok_or("no job")?;
        let port = Arc::clone(&self.port);
        let end =
            self.merchant.wait_for_job(move || port.load(Ordering::SeqCst), &job, |_| {}).await?;
        let is_complete = end["status"] == "completed" && end["complete"] == true;
        ensure(is_complete, || format!("unexpected final state of the job: {end}"))
    }

    /// Returns the current state of the job, for the report.
    async fn state(&self, job: Option<&str>) -> String {
        let Some(job) = job else { return String::from("uploading") };
        let state = self.merchant.job(self.port(), job).await;
        state.and_then(|state| state["status"].as_str().map(str::to_owned)).unwrap_or_default()
    }

    async fn kill(&mut self, target: Target) -> Result<(), Failure> {
        let url = self.engines.database_url.clone();
        match target {
            Target::Server => {
                // Dropping it kills the process with SIGKILL.
                self.server = None;
                let server = Souk::serve(&url, &[]).await?;
                self.port.store(server.port, Ordering::SeqCst);
                self.server = Some(server);
            }
            Target::Worker => {
                self.worker = None;
                self.worker = Some(Souk::work(&url, LEASE_SECONDS)?);
            }
            Target::Postgres => self.engines.kill_postgres().await?,
        }
        Ok(())
    }
}
