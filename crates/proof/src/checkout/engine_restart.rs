//! (h) F9: PostgreSQL is restarted with `-m immediate` while agents buy: nobody meets a 500, buying works again by itself within
//! five seconds, and the books balance.

use std::time::{Duration, Instant};

use rand::RngExt;
use testkit::TestDatabase;

use super::checker;
use super::shop::{Agent, Said, Shop};
use super::storm::Crowd;
use crate::engines::Engines;
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, lasting_port};

/// How long after the engine is up again somebody can buy.
const RECOVERY_MAX: Duration = Duration::from_secs(5);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let engines = Engines::start()?;
    let test = TestDatabase::on(&engines.database_url).await;
    let shop = Shop::open_in(test, &[400, 4_000, 40_000]).await?;
    let ports = [lasting_port()?, lasting_port()?];
    let mut servers = Vec::new();
    for port in ports {
        servers.push(Souk::serve_on(&shop.url(), port, &[])?.opened().await?);
    }
    let worker = Souk::work(&shop.url(), 1)?;
    let buyer = shop.agent(&servers[0], "bob").await?;
    let crowd = Crowd::gather(&shop, &servers[0], ports, trial.dice(1).random()).await?;
    let restarts = trial.by_tier(1, 5);
    let mut slowest = Duration::ZERO;
    for round in 0..restarts {
        trial.progress(|| format!("restart {} of {restarts}", round + 1));
        tokio::time::sleep(Duration::from_secs(2)).await;
        engines.restart_immediately().await?;
        for port in ports {
            slowest = slowest.max(bought(&shop, &buyer, port).await?);
        }
    }
    let acts = crowd.end().await?;
    drop((servers, worker));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let books = checker::check(&shop).await?;
    Ok(format!(
        "{restarts} restarts, {acts} acts, no 500; somebody bought again after {:.1} s at the most: {} sessions, {} orders, \
         {} abandoned; the books balance",
        slowest.as_secs_f64(),
        books.sessions,
        books.orders,
        books.abandoned
    ))
}

/// How long it takes until somebody can buy.
async fn bought(shop: &Shop, buyer: &Agent, port: u16) -> Result<Duration, Failure> {
    let up = Instant::now();
    loop {
        let mut client = buyer.client(port);
        if let Ok(cart) = buyer.cart(&mut client, &[(shop.products[2], 1)]).await
            && let Said::Done(_) = buyer.complete(&mut client, &cart, Some(&cart)).await
        {
            return Ok(up.elapsed());
        }
        ensure(up.elapsed() < RECOVERY_MAX, || String::from("nobody could buy for five seconds"))?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
