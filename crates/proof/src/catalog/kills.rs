//! (c) Server, worker and PostgreSQL are killed at random moments of full replacements. Each job ends by
//! itself, nobody ever sees a catalog that is partly old and partly new and counts as complete, and in
//! the end it is what the feed says.

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
/// A worker that does not come back is missed after this.
const LEASE_SECONDS: u32 = 1;

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Server,
    Worker,
    Postgres,
}

/// The service in three processes.
struct House {
    engines: Engines,
    server: Option<Souk>,
    worker: Option<Souk>,
    port: Arc<AtomicU16>,
    merchant: Merchant,
}

/// What happened in all.
#[derive(Default)]
struct Tally {
    kills: [usize; 3],
    during: std::collections::BTreeMap<String, usize>,
    uploads_again: usize,
    slowest: Duration,
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let mut dice = trial.dice(30);
    let (rounds, rows) = trial.by_tier((3, 1_000), (30, 4_000));
    let mut house = House::open().await?;
    let mut tally = Tally::default();
    house.replace(&Version::new(0, rows), true, None, &mut tally).await?;
    // Once without a kill, to know how long a replacement takes.
    let mut newest = Version::new(1, rows);
    let began = Instant::now();
    house.replace(&newest, false, None, &mut tally).await?;
    let span = began.elapsed();
    let reader = Reader::start(&house.engines.database_url, vec![newest.clone()]);
    for round in 1..=rounds {
        trial.progress(|| format!("kill {round} of {rounds}"));
        let victim = [Victim::Server, Victim::Worker, Victim::Postgres][round % 3];
        let version = Version::new(round + 1, rows);
        reader.expect(&version);
        let began = Instant::now();
        let moment = span.mul_f64(dice.random::<f64>());
        house.replace(&version, false, Some((victim, moment)), &mut tally).await?;
        tally.slowest = tally.slowest.max(began.elapsed());
        newest = version;
    }
    let seen = reader.stop().await?;
    let [server, worker, postgres] = tally.kills;
    ensure(server + worker + postgres == rounds, || String::from("not every kill was made"))?;
    let during: Vec<String> =
        tally.during.iter().map(|(state, count)| format!("{count} while {state}")).collect();
    Ok(format!(
        "{server} kills of the server, {worker} of the worker, {postgres} of PostgreSQL, while {} products were \
         replaced each time ({}; {} uploads sent again): all ended by themselves, the slowest after {:.1} s; \
         {} looks, {} of them at a catalog on its way, none at a wrong one; the end is feed {} exactly",
        grouped(rows),
        during.join(", "),
        tally.uploads_again,
        tally.slowest.as_secs_f64(),
        grouped(seen.looks),
        grouped(seen.updating),
        newest.number,
    ))
}

impl House {
    async fn open() -> Result<Self, Failure> {
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

    /// Replaces the catalog; meanwhile somebody is killed and started again. A merchant's program
    /// sends its feed again until it hears that it was accepted.
    async fn replace(
        &mut self,
        version: &Version,
        force: bool,
        kill: Option<(Victim, Duration)>,
        tally: &mut Tally,
    ) -> Result<(), Failure> {
        let feed = version.feed();
        let path = format!("/api/v1/merchant/products?force={force}");
        let began = Instant::now();
        let mut killed = kill.is_none();
        let mut job = None;
        let mut sent = 0;
        while job.is_none() || !killed {
            let due = |(_, moment): &(Victim, Duration)| !killed && began.elapsed() >= *moment;
            if let Some((victim, _)) = kill.filter(due) {
                let state = self.state(job.as_deref()).await;
                *tally.during.entry(state).or_default() += 1;
                tally.kills[victim as usize] += 1;
                self.kill(victim).await?;
                killed = true;
            }
            if job.is_none() {
                sent += 1;
                let left = kill
                    .filter(|_| !killed)
                    .map(|(_, moment)| moment.saturating_sub(began.elapsed()));
                let sending = self.merchant.send(self.port(), "PUT", &path, &feed);
                // Killed in the middle of the upload, if that is when the moment comes.
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
        tally.uploads_again += sent - 1;
        let job = job.ok_or("no job")?;
        let port = Arc::clone(&self.port);
        let end = self.merchant.follow(move || port.load(Ordering::SeqCst), &job, |_| {}).await?;
        let well = end["status"] == "completed" && end["complete"] == true;
        ensure(well, || format!("the job ended as {end}"))
    }

    /// How far the work is at this moment, for the figures.
    async fn state(&self, job: Option<&str>) -> String {
        let Some(job) = job else { return String::from("uploading") };
        let state = self.merchant.job(self.port(), job).await;
        state.and_then(|state| state["status"].as_str().map(str::to_owned)).unwrap_or_default()
    }

    async fn kill(&mut self, victim: Victim) -> Result<(), Failure> {
        let url = self.engines.database_url.clone();
        match victim {
            Victim::Server => {
                // Dropping it kills it with a signal it cannot catch.
                self.server = None;
                let server = Souk::serve(&url, &[]).await?;
                self.port.store(server.port, Ordering::SeqCst);
                self.server = Some(server);
            }
            Victim::Worker => {
                self.worker = None;
                self.worker = Some(Souk::work(&url, LEASE_SECONDS)?);
            }
            Victim::Postgres => self.engines.kill_postgres().await?,
        }
        Ok(())
    }
}
