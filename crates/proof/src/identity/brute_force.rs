//! `brute-force`: thousands of wrong passwords and keys, from one address and from hundreds, with
//! and without Redis. The number of verified credentials stays bounded, and other callers are not
//! affected.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::TestDatabase;
use tokio::task::JoinSet;

use super::accounts::{Account, agent_key, metric};
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, command};

/// Wrong credentials of one address that are verified per minute.
const PER_MINUTE: f64 = 5.0;
const ATTACKERS: usize = 16;

/// The result of one attack.
struct Attack {
    attempts: usize,
    addresses: usize,
    seconds: f64,
    /// Passwords that were compared.
    passwords: f64,
    /// Keys that were looked up.
    keys: f64,
    /// Maximum number of concurrent password comparisons.
    comparing: f64,
    /// The slowest call of the other caller.
    slowest: Duration,
    /// Number of calls of the other caller.
    calls: usize,
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    command(&test.url(), &["seed"])?;
    let account = Account::create(&test.url(), "ada@example.com", "ENTERPRISE").await?;
    let on = ("SOUK_LIMITS", String::from("on"));
    let mut results = Vec::new();
    let many = trial.by_tier(100, 500);
    for (redis, addresses) in [(true, 1), (true, many), (false, 1), (false, many)] {
        let unreachable = ("REDIS_URL", String::from("redis://127.0.0.1:1"));
        let mut settings = vec![on.clone()];
        if !redis {
            settings.push(unreachable);
        }
        // A new server for each attack, because a process keeps counts.
        let souk = Souk::serve_with(&test.url(), &[], &settings).await?;
        let attempts =
            if addresses == 1 { trial.by_tier(2_000, 10_000) } else { trial.by_tier(300, 5_000) };
        let block = results.len() + 1;
        let attack = attack(&souk, &account, attempts, addresses, u8::try_from(block)?).await?;
        verify(&attack)?;
        let name = if redis { "with Redis" } else { "without Redis" };
        results.push(format!(
            "{name}, {} attempts from {} addresses: {} passwords and {} keys verified, at most {} \
             passwords concurrently, the slowest of {} other calls {} ms",
            grouped(attack.attempts),
            attack.addresses,
            attack.passwords,
            attack.keys,
            attack.comparing,
            grouped(attack.calls),
            attack.slowest.as_millis(),
        ));
    }
    Ok(results.join("; "))
}

fn verify(attack: &Attack) -> Result<(), Failure> {
    let windows = (attack.seconds / 60.0).ceil() + 1.0;
    #[expect(clippy::cast_precision_loss, reason = "hundreds")]
    let most = PER_MINUTE * attack.addresses as f64 * windows;
    ensure(attack.passwords <= most, || format!("{} passwords were compared", attack.passwords))?;
    // The valid key of the other caller is looked up every two seconds.
    ensure(attack.keys <= most + attack.seconds / 2.0 + 2.0, || {
        format!("{} keys were looked up", attack.keys)
    })?;
    let cores = std::thread::available_parallelism()?.get();
    #[expect(clippy::cast_precision_loss, reason = "a few")]
    let cores = cores as f64;
    ensure(attack.comparing <= cores, || {
        format!("{} passwords were compared concurrently", attack.comparing)
    })?;
    ensure(attack.calls > 20, || format!("only {} other calls", attack.calls))
}

async fn attack(
    souk: &Souk,
    account: &Account,
    attempts: usize,
    addresses: usize,
    block: u8,
) -> Result<Attack, Failure> {
    let port = souk.port;
    let token = account.log_in(port).await?;
    let (_, key) = agent_key(port, &token).await?;
    let over = Arc::new(AtomicBool::new(false));
    let other = tokio::spawn(call_continuously(port, key, Arc::clone(&over)));
    let watcher = tokio::spawn(watch(port, Arc::clone(&over)));
    let (passwords, keys) = (
        metric(port, "souk_password_verifications_total").await?,
        metric(port, "souk_key_lookups_total").await?,
    );
    let since = Instant::now();
    let mut attackers = JoinSet::new();
    for attacker in 0..ATTACKERS {
        attackers.spawn(async move {
            for number in (attacker..attempts).step_by(ATTACKERS) {
                let address = u16::try_from(number % addresses)?.to_be_bytes();
                let source = Ipv4Addr::new(127, block, address[0] + 1, address[1].max(1));
                try_one(port, source, number).await?;
            }
            Ok::<_, Failure>(())
        });
    }
    while let Some(ended) = attackers.join_next().await {
        ended??;
    }
    over.store(true, Ordering::Relaxed);
    let (slowest, calls) = other.await??;
    Ok(Attack {
        attempts,
        addresses,
        seconds: since.elapsed().as_secs_f64(),
        passwords: metric(port, "souk_password_verifications_total").await? - passwords,
        keys: metric(port, "souk_key_lookups_total").await? - keys,
        comparing: watcher.await??,
        slowest,
        calls,
    })
}

/// Sends a wrong password or a wrong key, alternately.
async fn try_one(port: u16, source: Ipv4Addr, number: usize) -> Result<(), Failure> {
    let delivery = if number.is_multiple_of(2) {
        let email = format!("unknown-{number}@example.com");
        let body = json!({ "email": email, "password": "not the password" }).to_string();
        Client::new(port).from(source).post("/api/v1/auth/login", &body).await
    } else {
        let key = format!("agnt_{number:064x}");
        Client::new(port).from(source).with_agent_key(&key).get("/api/v1/stores/directory").await
    };
    match delivery {
        Delivery::Answered { status: 401 | 429 | 503, .. } => Ok(()),
        other => Err(format!("unexpected response to a wrong credential: {other:?}").into()),
    }
}

/// Calls with a valid key from another address; no call may fail. Returns the duration of the slowest
/// call and the number of calls.
async fn call_continuously(
    port: u16,
    key: String,
    over: Arc<AtomicBool>,
) -> Result<(Duration, usize), Failure> {
    let mut client = Client::new(port).from(Ipv4Addr::new(127, 9, 9, 9)).with_agent_key(&key);
    let (mut slowest, mut calls) = (Duration::ZERO, 0);
    while !over.load(Ordering::Relaxed) || calls < 30 {
        let since = Instant::now();
        let delivery = client.get("/api/v1/stores/directory").await;
        ensure(matches!(delivery, Delivery::Answered { status: 200, .. }), || {
            format!("a call with a valid key failed: {delivery:?}")
        })?;
        slowest = slowest.max(since.elapsed());
        calls += 1;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok((slowest, calls))
}

/// Polls a metric and returns the maximum number of concurrent password comparisons.
async fn watch(port: u16, over: Arc<AtomicBool>) -> Result<f64, Failure> {
    let mut most: f64 = 0.0;
    while !over.load(Ordering::Relaxed) {
        most = most.max(metric(port, "souk_password_verifications_in_progress").await?);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(most)
}
