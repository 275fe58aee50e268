//! (d) F24: the last unit and two hundred carts; carts of two articles in opposite order.

use std::time::Duration;

use tokio::task::JoinSet;

use super::checker;
use super::shop::{Agent, Said, Shop};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::Souk;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let many = trial.by_tier(60, 200);
    let shop = Shop::open(&[1, 10_000, 10_000]).await?;
    let servers = [Souk::serve(&shop.url(), &[]).await?, Souk::serve(&shop.url(), &[]).await?];
    let ports = [servers[0].port, servers[1].port];
    let agent = shop.agent(&servers[0], "ada").await?;
    let [last, one, two] = shop.products[..] else { return Err("three articles".into()) };
    let mut client = agent.client(ports[0]);
    let (mut single, mut double) = (Vec::new(), Vec::new());
    for number in 0..many {
        single.push(agent.cart(&mut client, &[(last, 1)]).await?);
        let items = if number % 2 == 0 { [(one, 1), (two, 1)] } else { [(two, 1), (one, 1)] };
        double.push(agent.cart(&mut client, &items).await?);
    }
    let (sold, refused) = all(&agent, ports, single).await?;
    ensure(sold == 1 && refused == many - 1, || format!("{sold} sold the last unit"))?;
    let (sold, refused) = all(&agent, ports, double).await?;
    ensure(sold == many && refused == 0, || format!("{refused} of {many} were refused"))?;
    let books = checker::check(&shop).await?;
    // Statistics are told a little later than what they count.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let circles = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    let circles: i64 = sqlx::query_scalar(circles).fetch_one(&mut shop.test.raw().await).await?;
    ensure(circles == 0, || format!("PostgreSQL had to break {circles} circles"))?;
    Ok(format!(
        "{many} carts for the last unit: 1 got it; {many} carts of two articles in opposite order: all got them, \
         PostgreSQL had no deadlock to break; {} holds",
        books.holding
    ))
}

/// All at once: how many got it, and how many were told that there is none.
async fn all(
    agent: &Agent,
    ports: [u16; 2],
    carts: Vec<String>,
) -> Result<(usize, usize), Failure> {
    let mut calls = JoinSet::new();
    for (number, cart) in carts.into_iter().enumerate() {
        let (agent, port) = (agent.clone(), ports[number % 2]);
        calls.spawn(async move { agent.insist(port, &cart, None).await });
    }
    let (mut sold, mut refused) = (0, 0);
    while let Some(said) = calls.join_next().await {
        match said? {
            Said::Done(_) => sold += 1,
            Said::Refused(409, code) if code == "out_of_stock" => refused += 1,
            other => return Err(format!("{other:?}").into()),
        }
    }
    Ok((sold, refused))
}
