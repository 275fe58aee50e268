//! The writer and two readers of a sharded index are killed at random times, and PostgreSQL crashes in
//! between, while stores change their products and clients search through a load balancer. No search
//! fails, and once the index has caught up it equals PostgreSQL.
//!
//! The check detects a document lost or duplicated by a restart, a cursor ahead of what is published, a
//! partially downloaded file that is opened, and a reader that reports readiness too early.

use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

use super::balancer::{Balancer, SearchLoad};
use super::deployment::{Deployment, metric, wait_ready};
use super::store::{ChangeLoad, StoreClient};
use crate::engines::Engines;
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, command, stable_port};

/// The writer and reader processes, with the load balancer.
struct Processes {
    deployment: Deployment,
    balancer: Arc<Balancer>,
    ports: [u16; 2],
    writer: Option<Souk>,
    readers: [Option<Souk>; 2],
}

/// Number of kills of each process.
#[derive(Default)]
struct Kills {
    writer: usize,
    readers: usize,
    postgres: usize,
}

pub(super) async fn prove(trial: Trial) -> Verdict {
    let (kills, restarts, size) = trial.by_tier((8, 1, 60), (50, 5, 600));
    let engines = Engines::start()?;
    command(&engines.database_url, &["migrate"])?;
    command(&engines.database_url, &["seed"])?;
    engines.delay_wal_writes().await?;
    let mut processes = Processes::start(&engines.database_url).await?;
    let stores = StoreClient::all(&engines.database_url, size).await?;
    for store in &stores {
        store.push_catalog(processes.ports[0]).await?;
    }
    let replica = processes.deployment.replica("compare")?;
    processes.deployment.compare(&replica).await?;
    let change_load =
        ChangeLoad::start(&stores, &processes.balancer, trial.rng(40), Duration::from_millis(30));
    let searches = SearchLoad::start(&processes.balancer, &stores, 2);
    let mut rng = trial.rng(41);
    let mut counts = Kills::default();
    for kill in 1..=kills {
        trial.progress(|| format!("kill {kill} of {kills}"));
        let pause = rng.random_range(100..trial.by_tier(800, 4_000));
        tokio::time::sleep(Duration::from_millis(pause)).await;
        if kill % (kills / restarts).max(1) == kills / restarts / 2 {
            engines.restart_immediately().await?;
            counts.postgres += 1;
        }
        processes.kill(&mut rng, &mut counts).await?;
        if !searches.is_running() {
            break;
        }
    }
    let changes = change_load.stop().await?;
    let (comparison, took) = processes.deployment.compare(&replica).await?;
    let totals = searches.stop().await?;
    for port in processes.ports {
        wait_ready(port).await?;
        processes.deployment.compare_reader(port).await?;
    }
    let damage = metric(processes.ports[0], "souk_search_damage_total").await
        + metric(processes.ports[1], "souk_search_damage_total").await;
    let Kills { writer, readers, postgres } = counts;
    ensure(writer + readers == kills && postgres == restarts, || {
        String::from("fewer kills than planned")
    })?;
    ensure(changes > 0, || String::from("no product changed"))?;
    Ok(format!(
        "{writer} kills of the writer, {readers} of readers, {postgres} crashes of PostgreSQL: none of {} searches \
         failed ({} requests retried, slowest {:.1} s, {damage} corrupt files detected), {} products changed; caught up \
         {:.1} s after the last change, {} products compared, no difference",
        grouped(totals.requests),
        grouped(processes.balancer.retried()),
        totals.slowest.as_secs_f64(),
        grouped(changes),
        took.as_secs_f64(),
        grouped(comparison.products),
    ))
}

impl Processes {
    async fn start(url: &str) -> Result<Self, Failure> {
        let deployment = Deployment::new(url, "kills").await?;
        let writer = Some(deployment.writer()?);
        let ports = [stable_port()?, stable_port()?];
        let readers = [
            Some(deployment.reader(ports[0], "readers")?),
            Some(deployment.reader(ports[1], "readers")?),
        ];
        wait_ready(ports[0]).await?;
        wait_ready(ports[1]).await?;
        let balancer = Balancer::start(&ports);
        Ok(Self { deployment, balancer, ports, writer, readers })
    }

    /// Kills a random process and restarts it at once. A reader is killed only while the other is ready, as
    /// in a rolling deployment.
    async fn kill(&mut self, rng: &mut StdRng, counts: &mut Kills) -> Result<(), Failure> {
        self.ensure_running()?;
        if rng.random_bool(0.5) {
            counts.writer += 1;
            // Dropping it kills the process with SIGKILL.
            self.writer = None;
            self.writer = Some(self.deployment.writer()?);
            return Ok(());
        }
        let reader = rng.random_range(0..2);
        wait_ready(self.ports[1 - reader]).await?;
        counts.readers += 1;
        self.readers[reader] = None;
        self.readers[reader] = Some(self.deployment.reader(self.ports[reader], "readers")?);
        Ok(())
    }

    /// Fails if a process has exited without being killed.
    fn ensure_running(&mut self) -> Result<(), Failure> {
        for souk in self.readers.iter_mut().chain([&mut self.writer]).flatten() {
            let pid = souk.pid();
            ensure(!souk.has_ended()?, || format!("process {pid} exited unexpectedly"))?;
        }
        Ok(())
    }
}
