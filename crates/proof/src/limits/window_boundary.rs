//! `window-boundary`: sixty-four clients with one key call across the end of a window: each window
//! admits its limit and not one more, with two processes that share only Redis.

use std::collections::BTreeMap;
use std::time::Duration;

use testkit::TestDatabase;
use tokio::task::JoinSet;

use super::{Redis, now};
use crate::http::{Client, Delivery};
use crate::identity::{Account, agent_key, metric};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, command};

const CLIENTS: usize = 64;
/// The limit of a key of the free plan.
const LIMIT: u32 = 30;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    command(&test.url(), &["seed"])?;
    let redis = Redis::start().await?;
    let settings = [("SOUK_LIMITS", String::from("on")), ("REDIS_URL", redis.url())];
    let servers = [
        Souk::serve_with(&test.url(), &[], &settings).await?,
        Souk::serve_with(&test.url(), &[], &settings).await?,
    ];
    let mut found = Vec::new();
    let mut conclusive = 0;
    for round in 0..trial.by_tier(4, 6) {
        if conclusive == trial.by_tier(1, 3) {
            break;
        }
        // A new account per round, because the number of keys of a free account is limited.
        let email = format!("ada-{round}@example.com");
        let account = Account::create(&test.url(), &email, "FREE").await?;
        let token = account.log_in(servers[0].port).await?;
        // The end of a window depends on the key; the key whose window ends first is used.
        let (key, reset) = soonest_reset(servers[0].port, &token).await?;
        tokio::time::sleep(Duration::from_secs(reset.saturating_sub(now() + 2))).await;
        let degraded = degraded_calls(&servers).await?;
        let windows = call_across_boundary(&servers, &key, reset).await?;
        if degraded_calls(&servers).await? > degraded {
            // Redis was too slow and a process counted locally, which `redis-outage` checks.
            found.push(String::from("one round discarded"));
            continue;
        }
        conclusive += 1;
        for (end, admitted) in &windows {
            ensure(*admitted <= LIMIT, || format!("{admitted} in the window until {end}"))?;
        }
        let after = windows.iter().find(|(end, _)| **end > reset);
        let after = after.map(|(_, admitted)| *admitted);
        ensure(after == Some(LIMIT), || format!("the next window admitted {after:?}"))?;
        found.push(windows.values().map(u32::to_string).collect::<Vec<_>>().join("+"));
    }
    ensure(conclusive > 0, || String::from("Redis was too slow in every round"))?;
    Ok(format!(
        "{CLIENTS} clients at two processes across the end of a window: {} of {LIMIT} admitted",
        found.join(", ")
    ))
}

/// Returns the number of calls that the processes counted locally so far.
async fn degraded_calls(servers: &[Souk; 2]) -> Result<f64, Failure> {
    let mut all = 0.0;
    for server in servers {
        all += metric(server.port, "souk_limits_degraded_calls_total").await?;
    }
    Ok(all)
}

/// Creates a few keys and returns the one whose window ends first, but not within three seconds, with
/// the end of its window.
async fn soonest_reset(port: u16, token: &str) -> Result<(String, u64), Failure> {
    let mut keys = Vec::new();
    for _ in 0..3 {
        let (_, key) = agent_key(port, token).await?;
        let mut client = Client::new(port).with_agent_key(&key);
        client.get("/api/v1/stores/directory").await;
        let reset =
            client.header_number("x-ratelimit-reset").ok_or("no X-RateLimit-Reset header")?;
        keys.push((key, if reset > now() + 3 { reset } else { reset + 60 }));
    }
    keys.into_iter().min_by_key(|(_, reset)| *reset).ok_or_else(|| "no keys".into())
}

/// Calls with all clients until some seconds after the end of the window. Returns the number of
/// admitted calls by window.
async fn call_across_boundary(
    servers: &[Souk; 2],
    key: &str,
    reset: u64,
) -> Result<BTreeMap<u64, u32>, Failure> {
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let mut client = Client::new(servers[number % 2].port).with_agent_key(key);
        clients.spawn(async move {
            let mut admitted: BTreeMap<u64, u32> = BTreeMap::new();
            while now() < reset + 3 {
                match client.get("/api/v1/stores/directory").await {
                    Delivery::Answered { status: 200, .. } => {
                        let window = client
                            .header_number("x-ratelimit-reset")
                            .ok_or("no X-RateLimit-Reset header")?;
                        *admitted.entry(window).or_default() += 1;
                    }
                    Delivery::Answered { status: 429, .. } => {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    other => return Err(Failure::from(format!("a call failed: {other:?}"))),
                }
            }
            Ok(admitted)
        });
    }
    let mut windows: BTreeMap<u64, u32> = BTreeMap::new();
    while let Some(ended) = clients.join_next().await {
        for (window, admitted) in ended?? {
            *windows.entry(window).or_default() += admitted;
        }
    }
    // Includes the call that read the end of the window.
    if let Some(first) = windows.get_mut(&reset) {
        *first += 1;
    }
    Ok(windows)
}
