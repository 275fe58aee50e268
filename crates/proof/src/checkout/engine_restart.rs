//! `engine-restart`: PostgreSQL is restarted with `-m immediate` during purchases: no call gets a 500,
//! purchases succeed again within five seconds, and all invariants hold.

use std::time::{Duration, Instant};

use rand::RngExt;
use testkit::TestDatabase;

use super::chaos::AgentPool;
use super::invariants;
use super::store::{Agent, Reply, TestStore};
use crate::engines::Engines;
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, stable_port};

/// Maximum time between the restart of PostgreSQL and the first successful purchase.
const RECOVERY_MAX: Duration = Duration::from_secs(5);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let engines = Engines::start()?;
    let test = TestDatabase::on(&engines.database_url).await;
    let store = TestStore::create_in(test, &[400, 4_000, 40_000]).await?;
    let ports = [stable_port()?, stable_port()?];
    let mut servers = Vec::new();
    for port in ports {
        servers.push(Souk::serve_on(&store.url(), port, &[])?.ready().await?);
    }
    let worker = Souk::work(&store.url(), 1)?;
    let buyer = store.agent(&servers[0], "bob").await?;
    let agents = AgentPool::start(&store, &servers[0], ports, trial.rng(1).random()).await?;
    let (restarts, most) = (trial.by_tier(1, 5), trial.time_max(RECOVERY_MAX));
    let mut slowest = Duration::ZERO;
    for round in 0..restarts {
        trial.progress(|| format!("restart {} of {restarts}", round + 1));
        tokio::time::sleep(Duration::from_secs(2)).await;
        engines.restart_immediately().await?;
        for port in ports {
            slowest = slowest.max(recovery(&store, &buyer, port, most).await?);
        }
    }
    let carts = agents.stop().await?;
    drop((servers, worker));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let totals = invariants::check(&store).await?;
    Ok(format!(
        "{restarts} restarts, {carts} carts, no 500; purchases succeeded again after at most {:.1} s: \
         {} sessions, {} orders, {} abandoned; all invariants hold",
        slowest.as_secs_f64(),
        totals.sessions,
        totals.orders,
        totals.abandoned
    ))
}

/// Returns the time until a purchase succeeds.
async fn recovery(
    store: &TestStore,
    buyer: &Agent,
    port: u16,
    most: Duration,
) -> Result<Duration, Failure> {
    let up = Instant::now();
    loop {
        let mut client = buyer.client(port);
        if let Ok(cart) = buyer.cart(&mut client, &[(store.products[2], 1)]).await
            && let Reply::Success(_) = buyer.complete(&mut client, &cart, Some(&cart)).await
        {
            return Ok(up.elapsed());
        }
        ensure(up.elapsed() < most, || format!("no purchase succeeded within {most:?}"))?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
