//! (b) The writer and two readers of a sharded index are killed at random moments, and PostgreSQL
//! crashes in between, while stores change their products and people search through a load balancer.
//! No search fails, and when it is quiet every product is in the index as it is in PostgreSQL.
//!
//! What would be caught: a document lost or doubled by a restart, a cursor that runs ahead of what is
//! published, a half-fetched file that is opened, a reader that says it is ready before it is.

use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

use super::balancer::{Balancer, Searchers};
use super::house::{House, metric, wait_ready};
use super::shop::{Flow, Shop};
use crate::engines::Engines;
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, command, lasting_port};

/// The processes.
struct Cast {
    house: House,
    balancer: Arc<Balancer>,
    ports: [u16; 2],
    writer: Option<Souk>,
    readers: [Option<Souk>; 2],
}

/// Who was killed how often.
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
    engines.write_late().await?;
    let mut cast = Cast::enter(&engines.database_url).await?;
    let shops = Shop::all(&engines.database_url, size).await?;
    for shop in &shops {
        shop.fill(cast.ports[0]).await?;
    }
    let replica = cast.house.replica("compare")?;
    cast.house.compare(&replica).await?;
    let flow = Flow::start(&shops, &cast.balancer, trial.dice(40), Duration::from_millis(30));
    let searchers = Searchers::start(&cast.balancer, &shops, 2);
    let mut dice = trial.dice(41);
    let mut tally = Kills::default();
    for kill in 1..=kills {
        trial.progress(|| format!("kill {kill} of {kills}"));
        let pause = dice.random_range(100..trial.by_tier(800, 4_000));
        tokio::time::sleep(Duration::from_millis(pause)).await;
        if kill % (kills / restarts).max(1) == kills / restarts / 2 {
            engines.restart_immediately().await?;
            tally.postgres += 1;
        }
        cast.kill(&mut dice, &mut tally).await?;
        if !searchers.is_well() {
            break;
        }
    }
    let changes = flow.stop().await?;
    let (comparison, took) = cast.house.compare(&replica).await?;
    let searched = searchers.stop().await?;
    for port in cast.ports {
        wait_ready(port).await?;
        cast.house.compare_reader(port).await?;
    }
    let damage = metric(cast.ports[0], "souk_search_damage_total").await
        + metric(cast.ports[1], "souk_search_damage_total").await;
    let Kills { writer, readers, postgres } = tally;
    ensure(writer + readers == kills && postgres == restarts, || {
        String::from("not all was killed")
    })?;
    ensure(changes > 0, || String::from("nothing changed"))?;
    Ok(format!(
        "{writer} kills of the writer, {readers} of readers, {postgres} crashes of PostgreSQL: of {} searches none \
         failed ({} requests sent again, slowest {:.1} s, {damage} damages noted), {} products changed; caught up \
         {:.1} s after the last, {} products compared, no difference",
        grouped(searched.requests),
        grouped(cast.balancer.retried()),
        searched.slowest.as_secs_f64(),
        grouped(changes),
        took.as_secs_f64(),
        grouped(comparison.products),
    ))
}

impl Cast {
    async fn enter(url: &str) -> Result<Self, Failure> {
        let house = House::open(url, "kills").await?;
        let writer = Some(house.writer()?);
        let ports = [lasting_port()?, lasting_port()?];
        let readers =
            [Some(house.reader(ports[0], "readers")?), Some(house.reader(ports[1], "readers")?)];
        wait_ready(ports[0]).await?;
        wait_ready(ports[1]).await?;
        let balancer = Balancer::start(&ports);
        Ok(Self { house, balancer, ports, writer, readers })
    }

    /// Kills somebody, and starts it again at once. A reader only while the other is ready: nobody
    /// who rolls out would do otherwise.
    async fn kill(&mut self, dice: &mut StdRng, tally: &mut Kills) -> Result<(), Failure> {
        self.are_there()?;
        if dice.random_bool(0.5) {
            tally.writer += 1;
            // Dropping it kills it with a signal it cannot catch.
            self.writer = None;
            self.writer = Some(self.house.writer()?);
            return Ok(());
        }
        let reader = dice.random_range(0..2);
        wait_ready(self.ports[1 - reader]).await?;
        tally.readers += 1;
        self.readers[reader] = None;
        self.readers[reader] = Some(self.house.reader(self.ports[reader], "readers")?);
        Ok(())
    }

    /// Nobody ends who was not killed.
    fn are_there(&mut self) -> Result<(), Failure> {
        for souk in self.readers.iter_mut().chain([&mut self.writer]).flatten() {
            let pid = souk.pid();
            ensure(!souk.has_ended()?, || format!("process {pid} ended by itself"))?;
        }
        Ok(())
    }
}
