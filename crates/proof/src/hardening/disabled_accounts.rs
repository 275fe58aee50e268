//! `disabled-accounts`: a disabled account's tokens and agent keys stop working everywhere within five seconds.

use std::time::{Duration, Instant};

use serde_json::json;

use super::shop::{Shop, call};
use crate::http::{Client, Delivery};
use crate::identity::agent_key;
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::output;

const EFFECT_MAX: Duration = Duration::from_secs(5);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let shop = Shop::open(&trial).await?;
    let (url, here) = (&shop.url(), shop.port());
    let there = shop.deployment.other_port().await?;
    let account = shop.deployment.account("GROWTH").await?;
    let token = account.log_in(here).await?;
    let (_, key) = agent_key(here, &token).await?;
    for port in [here, there] {
        ensure(works(&shop, port, &token, &key).await? == (true, true), || {
            String::from("a new account does not work")
        })?;
    }
    let arguments = |verb| ["people", verb, account.email.as_str(), "--reason", "stolen laptop"];
    output(url, &arguments("disable")).await?;
    let since = Instant::now();
    for port in [here, there] {
        while works(&shop, port, &token, &key).await? != (false, false) {
            ensure(since.elapsed() < EFFECT_MAX, || {
                String::from("a credential of a disabled account works after 5 s")
            })?;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    let after = since.elapsed();
    ensure(account.log_in(here).await.is_err(), || String::from("a disabled account logs in"))?;
    output(url, &arguments("enable")).await?;
    // Until no cache has the state from before; in the short form, that of this process is read at once.
    tokio::time::sleep(Duration::from_secs(trial.by_tier(0, 3))).await;
    let token_works = call(here, &token, "GET", "/agent-keys", &json!(null)).await?.0 == 200;
    ensure(!token_works, || String::from("a token from before works again"))?;
    account.log_in(here).await?;
    Ok(format!(
        "token and agent key rejected by two processes after {:.1} s, no login; enabled again, former tokens stay invalid",
        after.as_secs_f64()
    ))
}

/// Returns whether the token and the agent key work.
async fn works(shop: &Shop, port: u16, token: &str, key: &str) -> Result<(bool, bool), Failure> {
    let (status, _) = call(port, token, "GET", "/agent-keys", &json!(null)).await?;
    let mut client = Client::new(port).with_agent_key(key);
    let with_key = client.get(&format!("/api/v1/agent/merchants/{}", shop.slug)).await;
    Ok((status == 200, matches!(with_key, Delivery::Answered { status: 200, .. })))
}
