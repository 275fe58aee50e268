//! `address-sites`: a client with a /48 of IPv6 addresses, thus 65,536 networks, calls from a new one each time. The
//! networks of a site share a quota.

use tokio::task::JoinSet;

use super::deployment::Deployment;
use crate::http::{Client, Delivery};
use crate::limits::Redis;
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::Souk;

/// Calls per minute of one network on public routes, and of all networks of a site.
const NETWORK: usize = 30;
const SITE: usize = 16 * NETWORK;
const CLIENTS: usize = 8;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let deployment = Deployment::of(&trial).await?;
    let redis = Redis::start().await?;
    let settings = [
        ("SOUK_LIMITS", String::from("on")),
        ("REDIS_URL", redis.url()),
        ("SOUK_TRUSTED_PROXIES", String::from("127.0.0.1")),
    ];
    let souk = Souk::serve_with(&deployment.url(), &[], &settings).await?;
    // More than two windows admit: the minute may end meanwhile.
    let calls = 2 * SITE + 80;
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        clients.spawn(call_from_networks(souk.port, client * calls / CLIENTS, calls / CLIENTS));
    }
    let mut admitted = 0;
    while let Some(count) = clients.join_next().await {
        admitted += count??;
    }
    ensure((1..=2 * SITE).contains(&admitted), || {
        format!("{admitted} of {calls} calls from as many networks of one site were admitted")
    })?;
    let elsewhere = call(souk.port, "2001:db8:2::1").await?;
    ensure(elsewhere, || String::from("a client of another site was rejected"))?;
    Ok(format!(
        "{} calls, each from another network of one site: {admitted} admitted, at most {SITE} per minute; another site is \
         not affected",
        grouped(calls)
    ))
}

/// Calls from so many networks and returns the number of admitted calls.
async fn call_from_networks(port: u16, first: usize, count: usize) -> Result<usize, Failure> {
    let mut admitted = 0;
    for network in first..first + count {
        admitted += usize::from(call(port, &format!("2001:db8:1:{network:x}::1")).await?);
    }
    Ok(admitted)
}

/// Calls from an address and returns whether the call was admitted.
async fn call(port: u16, address: &str) -> Result<bool, Failure> {
    let mut client = Client::new(port).with_header("X-Forwarded-For", address);
    match client.get("/api/v1/trust/methodology").await {
        Delivery::Answered { status: 200, .. } => Ok(true),
        Delivery::Answered { status: 429, .. } => Ok(false),
        other => Err(format!("a call from {address}: {other:?}").into()),
    }
}
