//! (b) Sixty-four clients with one key, all through the end of a window: each window lets in its figure and not one more, over two
//! processes that share nothing but Redis.

use std::collections::BTreeMap;
use std::time::Duration;

use testkit::TestDatabase;
use tokio::task::JoinSet;

use super::{Redis, now};
use crate::http::{Client, Fate};
use crate::identity::{Account, agent_key, figure};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, command};

const CLIENTS: usize = 64;
/// Of a key of the free plan.
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
    let mut sure = 0;
    for round in 0..trial.by_tier(4, 6) {
        if sure == trial.by_tier(1, 3) {
            break;
        }
        // A free account has only so many keys.
        let email = format!("ada-{round}@example.com");
        let account = Account::create(&test.url(), &email, "FREE").await?;
        let token = account.log_in(servers[0].port).await?;
        // The end of a window depends on the key: of some, that one is tried whose end is near.
        let (key, reset) = soonest(servers[0].port, &token).await?;
        tokio::time::sleep(Duration::from_secs(reset.saturating_sub(now() + 2))).await;
        let alone = counted_alone(&servers).await?;
        let windows = hammer(&servers, &key, reset).await?;
        if counted_alone(&servers).await? > alone {
            // The machine was late and a process counted for itself: that is another check's promise.
            found.push(String::from("one round given up"));
            continue;
        }
        sure += 1;
        for (end, admitted) in &windows {
            ensure(*admitted <= LIMIT, || format!("{admitted} in the window until {end}"))?;
        }
        let after = windows.iter().find(|(end, _)| **end > reset);
        let after = after.map(|(_, admitted)| *admitted);
        ensure(after == Some(LIMIT), || format!("the next window let in {after:?}"))?;
        found.push(windows.values().map(u32::to_string).collect::<Vec<_>>().join("+"));
    }
    ensure(sure > 0, || String::from("the machine was late in every round"))?;
    Ok(format!(
        "{CLIENTS} clients at two processes through the end of a window: {} of {LIMIT} let in",
        found.join(", ")
    ))
}

/// Calls that the processes counted by themselves so far.
async fn counted_alone(servers: &[Souk; 2]) -> Result<f64, Failure> {
    let mut all = 0.0;
    for server in servers {
        all += figure(server.port, "souk_limits_alone_total").await?;
    }
    Ok(all)
}

/// Of a few keys the one whose window ends next, in more than three seconds.
async fn soonest(port: u16, token: &str) -> Result<(String, u64), Failure> {
    let mut keys = Vec::new();
    for _ in 0..3 {
        let (_, key) = agent_key(port, token).await?;
        let mut client = Client::new(port).with_agent_key(&key);
        client.get("/api/v1/stores/directory").await;
        let reset = client.figure("x-ratelimit-reset").ok_or("no reset in the head")?;
        keys.push((key, if reset > now() + 3 { reset } else { reset + 60 }));
    }
    keys.into_iter().min_by_key(|(_, reset)| *reset).ok_or_else(|| "no keys".into())
}

/// All clients until some seconds after the window's end; how many were let in, by window.
async fn hammer(servers: &[Souk; 2], key: &str, reset: u64) -> Result<BTreeMap<u64, u32>, Failure> {
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let mut client = Client::new(servers[number % 2].port).with_agent_key(key);
        clients.spawn(async move {
            let mut admitted: BTreeMap<u64, u32> = BTreeMap::new();
            while now() < reset + 3 {
                match client.get("/api/v1/stores/directory").await {
                    Fate::Answered { status: 200, .. } => {
                        let window = client.figure("x-ratelimit-reset").ok_or("no reset")?;
                        *admitted.entry(window).or_default() += 1;
                    }
                    Fate::Answered { status: 429, .. } => {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    other => return Err(Failure::from(format!("a call met {other:?}"))),
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
    // The call by which the window's end was found.
    if let Some(first) = windows.get_mut(&reset) {
        *first += 1;
    }
    Ok(windows)
}
