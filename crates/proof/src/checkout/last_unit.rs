//! `last-unit`: two hundred carts for the last unit; carts with two products in opposite order.

use std::time::Duration;

use tokio::task::JoinSet;

use super::invariants;
use super::store::{Agent, Reply, TestStore};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::Souk;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let many = trial.by_tier(60, 200);
    let store = TestStore::create(&[1, 10_000, 10_000]).await?;
    let servers = [Souk::serve(&store.url(), &[]).await?, Souk::serve(&store.url(), &[]).await?];
    let ports = [servers[0].port, servers[1].port];
    let agent = store.agent(&servers[0], "ada").await?;
    let [last, one, two] = store.products[..] else { return Err("expected three products".into()) };
    let mut client = agent.client(ports[0]);
    let (mut single, mut double) = (Vec::new(), Vec::new());
    for number in 0..many {
        single.push(agent.cart(&mut client, &[(last, 1)]).await?);
        let items = if number % 2 == 0 { [(one, 1), (two, 1)] } else { [(two, 1), (one, 1)] };
        double.push(agent.cart(&mut client, &items).await?);
    }
    let (reserved, out_of_stock) = complete_all(&agent, ports, single).await?;
    ensure(reserved == 1 && out_of_stock == many - 1, || {
        format!("{reserved} carts reserved the last unit")
    })?;
    let (reserved, out_of_stock) = complete_all(&agent, ports, double).await?;
    ensure(reserved == many && out_of_stock == 0, || {
        format!("{out_of_stock} of {many} carts were out of stock")
    })?;
    let totals = invariants::check(&store).await?;
    // PostgreSQL reports statistics with a delay.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    let deadlocks: i64 =
        sqlx::query_scalar(deadlocks).fetch_one(&mut store.test.raw().await).await?;
    ensure(deadlocks == 0, || format!("{deadlocks} deadlocks in PostgreSQL"))?;
    Ok(format!(
        "{many} carts for the last unit: 1 reserved it; {many} carts with two products in opposite order: \
         all reserved, no deadlock; {} holds",
        totals.holding
    ))
}

/// Completes all carts concurrently. Returns how many reserved their units and how many were out of
/// stock.
async fn complete_all(
    agent: &Agent,
    ports: [u16; 2],
    carts: Vec<String>,
) -> Result<(usize, usize), Failure> {
    let mut calls = JoinSet::new();
    for (number, cart) in carts.into_iter().enumerate() {
        let (agent, port) = (agent.clone(), ports[number % 2]);
        calls.spawn(async move { agent.complete_with_retries(port, &cart, None).await });
    }
    let (mut reserved, mut out_of_stock) = (0, 0);
    while let Some(reply) = calls.join_next().await {
        match reply? {
            Reply::Success(_) => reserved += 1,
            Reply::Error(409, code) if code == "out_of_stock" => out_of_stock += 1,
            other => return Err(format!("{other:?}").into()),
        }
    }
    Ok((reserved, out_of_stock))
}
