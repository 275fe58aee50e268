//! `concurrent-completion`: a hundred concurrent completions of one cart at two processes: with one
//! idempotency key, with different keys, with one key and another body.

use std::collections::BTreeSet;

use tokio::task::JoinSet;

use super::invariants;
use super::store::{Agent, Reply, TestStore};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::Souk;

/// Number of concurrent completions.
const CONCURRENCY: usize = 100;

pub(crate) async fn prove(_: Trial) -> Verdict {
    let store = TestStore::create(&[1_000]).await?;
    let servers = [Souk::serve(&store.url(), &[]).await?, Souk::serve(&store.url(), &[]).await?];
    let ports = [servers[0].port, servers[1].port];
    let agent = store.agent(&servers[0], "ada").await?;
    let mut client = agent.client(ports[0]);
    let mut found = Vec::new();
    for kind in [Kind::SameKey, Kind::DifferentKeys, Kind::OtherBody] {
        let cart = agent.cart(&mut client, &[(store.products[0], 1)]).await?;
        let other = agent.cart(&mut client, &[(store.products[0], 1)]).await?;
        found.push(complete_concurrently(&agent, ports, kind, &cart, &other).await?);
    }
    let totals = invariants::check(&store).await?;
    let found = found.join("; ");
    Ok(format!("{found}; {} sessions, {} holds", totals.sessions, totals.holding))
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    SameKey,
    DifferentKeys,
    OtherBody,
}

async fn complete_concurrently(
    agent: &Agent,
    ports: [u16; 2],
    kind: Kind,
    cart: &str,
    other: &str,
) -> Result<String, Failure> {
    let mut calls = JoinSet::new();
    for number in 0..CONCURRENCY {
        let (agent, port) = (agent.clone(), ports[number % 2]);
        let key = match kind {
            Kind::SameKey => String::from("same"),
            Kind::DifferentKeys => format!("own-{number}"),
            Kind::OtherBody => String::from("other-body"),
        };
        // One in ten sends another body with the same key.
        let is_other = matches!(kind, Kind::OtherBody) && number % 10 == 0;
        let cart = if is_other { other } else { cart }.to_owned();
        calls.spawn(async move {
            // On a slow machine a hundred requests for one cart take longer than one of them waits for its turn.
            agent.complete_with_retries(port, &cart, Some(&key)).await
        });
    }
    let (mut urls, mut conflicts) = (BTreeSet::new(), 0);
    while let Some(done) = calls.join_next().await {
        match done? {
            Reply::Success(session) => {
                urls.insert(session["checkout_url"].as_str().unwrap_or_default().to_owned());
            }
            Reply::Error(409, code) if code == "idempotency_conflict" => conflicts += 1,
            other => return Err(format!("{kind:?}: {other:?}").into()),
        }
    }
    ensure(urls.len() == 1, || format!("{kind:?}: {} checkout URLs", urls.len()))?;
    let expected = if matches!(kind, Kind::OtherBody) { [10, 90].to_vec() } else { vec![0] };
    ensure(expected.contains(&conflicts), || format!("{kind:?}: {conflicts} conflicts"))?;
    let succeeded = CONCURRENCY - conflicts;
    Ok(format!("{kind:?}: {succeeded} succeeded, one checkout URL, {conflicts} conflicts"))
}
