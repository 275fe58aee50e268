//! (c) F23: a hundred completes of one cart at once, at two processes: with one key, with keys of their own, with one key and
//! another body.

use std::collections::BTreeSet;

use serde_json::json;
use tokio::task::JoinSet;

use super::checker;
use super::shop::{Agent, Said, Shop};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::Souk;

/// How many at once.
const AT_ONCE: usize = 100;

pub(crate) async fn prove(_: Trial) -> Verdict {
    let shop = Shop::open(&[1_000]).await?;
    let servers = [Souk::serve(&shop.url(), &[]).await?, Souk::serve(&shop.url(), &[]).await?];
    let ports = [servers[0].port, servers[1].port];
    let agent = shop.agent(&servers[0], "ada").await?;
    let mut client = agent.client(ports[0]);
    let mut found = Vec::new();
    for kind in [Kind::SameKey, Kind::OwnKeys, Kind::OtherBody] {
        let cart = agent.cart(&mut client, &[(shop.products[0], 1)]).await?;
        let other = agent.cart(&mut client, &[(shop.products[0], 1)]).await?;
        found.push(all_at_once(&agent, ports, kind, &cart, &other).await?);
    }
    let books = checker::check(&shop).await?;
    let told = found.join("; ");
    Ok(format!("{told}; {} sessions, {} holds", books.sessions, books.holding))
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    SameKey,
    OwnKeys,
    OtherBody,
}

async fn all_at_once(
    agent: &Agent,
    ports: [u16; 2],
    kind: Kind,
    cart: &str,
    other: &str,
) -> Result<String, Failure> {
    let mut calls = JoinSet::new();
    for number in 0..AT_ONCE {
        let (agent, port) = (agent.clone(), ports[number % 2]);
        let key = match kind {
            Kind::SameKey => String::from("same"),
            Kind::OwnKeys => format!("own-{number}"),
            Kind::OtherBody => String::from("other-body"),
        };
        // One in ten sends another body under the same key.
        let is_other = matches!(kind, Kind::OtherBody) && number % 10 == 0;
        let cart = if is_other { other } else { cart }.to_owned();
        calls.spawn(async move {
            let mut client = agent.client(port);
            let arguments = json!({ "cart_id": cart, "idempotency_key": key });
            (is_other, agent.call(&mut client, "complete_checkout", arguments).await)
        });
    }
    let (mut urls, mut conflicts) = (BTreeSet::new(), 0);
    while let Some(done) = calls.join_next().await {
        match done? {
            (_, Said::Done(session)) => {
                urls.insert(session["checkout_url"].as_str().unwrap_or_default().to_owned());
            }
            (_, Said::Refused(409, code)) if code == "idempotency_conflict" => conflicts += 1,
            (_, other) => return Err(format!("{kind:?}: {other:?}").into()),
        }
    }
    ensure(urls.len() == 1, || format!("{kind:?}: {} addresses", urls.len()))?;
    let expected = if matches!(kind, Kind::OtherBody) { [10, 90].to_vec() } else { vec![0] };
    ensure(expected.contains(&conflicts), || format!("{kind:?}: {conflicts} conflicts"))?;
    Ok(format!("{kind:?}: {} answers, one address, {conflicts} conflicts", AT_ONCE - conflicts))
}
