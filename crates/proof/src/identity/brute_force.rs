//! (b) Somebody tries passwords and keys by the thousand, from one address and from five hundred, with Redis and without.
//! What is looked at stays bounded, and nobody else notices.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::TestDatabase;
use tokio::task::JoinSet;

use super::accounts::{Account, agent_key, figure};
use crate::http::{Client, Fate};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, command};

/// Wrong ones of one address that are looked at within a minute.
const PER_MINUTE: f64 = 5.0;
const ATTACKERS: usize = 16;

/// What one attack came to.
struct Attack {
    tried: usize,
    addresses: usize,
    seconds: f64,
    passwords: f64,
    keys: f64,
    comparing: f64,
    slowest: Duration,
    calls: usize,
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    command(&test.url(), &["seed"])?;
    let account = Account::create(&test.url(), "ada@example.com", "ENTERPRISE").await?;
    let on = ("SOUK_LIMITS", String::from("on"));
    let mut told = Vec::new();
    for (redis, addresses) in [(true, 1), (true, 500), (false, 1), (false, 500)] {
        let nowhere = ("REDIS_URL", String::from("redis://127.0.0.1:1"));
        let mut settings = vec![on.clone()];
        if !redis {
            settings.push(nowhere);
        }
        // A server of its own for each: counts are of a process or of PostgreSQL.
        let souk = Souk::serve_with(&test.url(), &[], &settings).await?;
        let tries =
            if addresses == 1 { trial.by_tier(2_000, 10_000) } else { trial.by_tier(1_500, 5_000) };
        let first = told.len() + 1;
        let attack = attack(&souk, &account, tries, addresses, u8::try_from(first)?).await?;
        judge(&attack)?;
        let name = if redis { "with Redis" } else { "without Redis" };
        told.push(format!(
            "{name}, {} tries from {}: {} passwords and {} keys looked at, at most {} at once, \
             the slowest of {} other calls {} ms",
            grouped(attack.tried),
            attack.addresses,
            attack.passwords,
            attack.keys,
            attack.comparing,
            grouped(attack.calls),
            attack.slowest.as_millis(),
        ));
    }
    Ok(told.join("; "))
}

fn judge(attack: &Attack) -> Result<(), Failure> {
    let windows = (attack.seconds / 60.0).ceil() + 1.0;
    #[expect(clippy::cast_precision_loss, reason = "hundreds")]
    let most = PER_MINUTE * attack.addresses as f64 * windows;
    ensure(attack.passwords <= most, || format!("{} passwords were compared", attack.passwords))?;
    // The good key is looked up again every two seconds.
    ensure(attack.keys <= most + attack.seconds / 2.0 + 2.0, || {
        format!("{} keys were looked up", attack.keys)
    })?;
    let cores = std::thread::available_parallelism()?.get();
    #[expect(clippy::cast_precision_loss, reason = "a few")]
    let cores = cores as f64;
    ensure(attack.comparing <= cores, || format!("{} at once", attack.comparing))?;
    ensure(attack.calls > 20, || format!("only {} other calls", attack.calls))
}

async fn attack(
    souk: &Souk,
    account: &Account,
    tries: usize,
    addresses: usize,
    block: u8,
) -> Result<Attack, Failure> {
    let port = souk.port;
    let token = account.log_in(port).await?;
    let (_, key) = agent_key(port, &token).await?;
    let over = Arc::new(AtomicBool::new(false));
    let other = tokio::spawn(call_all_along(port, key, Arc::clone(&over)));
    let watcher = tokio::spawn(watch(port, Arc::clone(&over)));
    let (passwords, keys) = (
        figure(port, "souk_passwords_compared_total").await?,
        figure(port, "souk_key_lookups_total").await?,
    );
    let since = Instant::now();
    let mut attackers = JoinSet::new();
    for attacker in 0..ATTACKERS {
        attackers.spawn(async move {
            for number in (attacker..tries).step_by(ATTACKERS) {
                let place = u16::try_from(number % addresses)?.to_be_bytes();
                let source = Ipv4Addr::new(127, block, place[0] + 1, place[1].max(1));
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
        tried: tries,
        addresses,
        seconds: since.elapsed().as_secs_f64(),
        passwords: figure(port, "souk_passwords_compared_total").await? - passwords,
        keys: figure(port, "souk_key_lookups_total").await? - keys,
        comparing: watcher.await??,
        slowest,
        calls,
    })
}

/// A password or a key, by turns, and never the right one.
async fn try_one(port: u16, source: Ipv4Addr, number: usize) -> Result<(), Failure> {
    let fate = if number.is_multiple_of(2) {
        let email = format!("somebody{number}@example.com");
        let body = json!({ "email": email, "password": "not the password" }).to_string();
        Client::new(port).from(source).post("/api/v1/auth/login", &body).await
    } else {
        let key = format!("agnt_{number:064x}");
        Client::new(port).from(source).with_agent_key(&key).get("/api/v1/stores/directory").await
    };
    match fate {
        Fate::Answered { status: 401 | 429 | 503, .. } => Ok(()),
        other => Err(format!("a wrong credential met {other:?}").into()),
    }
}

/// Somebody else, with a key of their own: no call fails. How long the slowest took, and how many there were.
async fn call_all_along(
    port: u16,
    key: String,
    over: Arc<AtomicBool>,
) -> Result<(Duration, usize), Failure> {
    let mut client = Client::new(port).from(Ipv4Addr::new(127, 9, 9, 9)).with_agent_key(&key);
    let (mut slowest, mut calls) = (Duration::ZERO, 0);
    while !over.load(Ordering::Relaxed) || calls < 30 {
        let since = Instant::now();
        let fate = client.get("/api/v1/stores/directory").await;
        ensure(matches!(fate, Fate::Answered { status: 200, .. }), || {
            format!("a caller with a good key met {fate:?}")
        })?;
        slowest = slowest.max(since.elapsed());
        calls += 1;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok((slowest, calls))
}

/// The most passwords that were compared at once, as far as it could be seen.
async fn watch(port: u16, over: Arc<AtomicBool>) -> Result<f64, Failure> {
    let mut most: f64 = 0.0;
    while !over.load(Ordering::Relaxed) {
        most = most.max(figure(port, "souk_passwords_comparing").await?);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(most)
}
