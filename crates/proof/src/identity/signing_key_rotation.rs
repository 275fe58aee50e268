//! `signing-key-rotation`: the signing key is rotated while people log in at one process and call at
//! another: no call fails.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use testkit::TestDatabase;

use super::accounts::Account;
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, output};

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    let account = Account::create(&test.url(), "ada@example.com", "FREE").await?;
    // Two processes of one service: issuer and audience of a token are its URL.
    let site = [("SOUK_SITE_URL", String::from("http://127.0.0.1:8080"))];
    let servers = [
        Souk::serve_with(&test.url(), &[], &site).await?,
        Souk::serve_with(&test.url(), &[], &site).await?,
    ];
    // A new key is used to sign one minute after it was published.
    let duration = trial.by_tier(Duration::from_secs(8), Duration::from_secs(85));
    let since = Instant::now();
    let (mut tokens, mut names, mut calls) = (Vec::new(), BTreeSet::new(), 0_usize);
    let mut rotated = false;
    while since.elapsed() < duration {
        trial.progress(|| format!("{} s, {} calls", since.elapsed().as_secs(), grouped(calls)));
        if !rotated && since.elapsed() > Duration::from_secs(3) {
            output(&test.url(), &["admin", "rotate-signing-key"]).await?;
            rotated = true;
        }
        for (at, other) in [(0, 1), (1, 0)] {
            let token = account.log_in(servers[at].port).await?;
            names.insert(token.split('.').next().unwrap_or_default().to_owned());
            call(servers[other].port, &token).await?;
            tokens.push(token);
            calls += 1;
        }
        // Earlier tokens are still accepted by both processes.
        for (number, token) in tokens.iter().rev().step_by(7).take(10).enumerate() {
            call(servers[number % 2].port, token).await?;
            calls += 1;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let wanted = trial.by_tier(1, 2);
    ensure(names.len() == wanted, || {
        format!("tokens were signed with {} keys, expected {wanted}", names.len())
    })?;
    Ok(format!(
        "{} calls at two processes with tokens signed by {wanted} keys, none failed",
        grouped(calls)
    ))
}

async fn call(port: u16, token: &str) -> Result<(), Failure> {
    match Client::new(port).with_key(token).get("/api/v1/agent-keys").await {
        Delivery::Answered { status: 200, .. } => Ok(()),
        other => Err(format!("a call with a valid token failed: {other:?}").into()),
    }
}
