//! `key-revocation`: a key revoked at one process stops working at another within five seconds.

use std::time::{Duration, Instant};

use testkit::TestDatabase;

use super::accounts::{Account, agent_key};
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, command};
use crate::table_print::Spread;

const REVOCATION_MAX: Duration = Duration::from_secs(5);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    command(&test.url(), &["seed"])?;
    let account = Account::create(&test.url(), "ada@example.com", "GROWTH").await?;
    let here = Souk::serve(&test.url(), &[]).await?;
    let there = Souk::serve(&test.url(), &[]).await?;
    let token = account.log_in(here.port).await?;
    let keys = trial.by_tier(3, 15);
    let mut seconds = Vec::new();
    for number in 0..keys {
        trial.progress(|| format!("key {} of {keys}", number + 1));
        let (id, key) = agent_key(here.port, &token).await?;
        let mut clients = [&here, &there].map(|souk| Client::new(souk.port).with_agent_key(&key));
        for client in &mut clients {
            ensure(works(client).await?, || String::from("a new key did not work"))?;
        }
        let path = format!("/api/v1/agent-keys/{id}");
        let delivery = Client::new(here.port).with_key(&token).send("DELETE", &path, b"").await;
        ensure(matches!(delivery, Delivery::Answered { status: 200, .. }), || {
            format!("{delivery:?}")
        })?;
        let since = Instant::now();
        for client in &mut clients {
            while works(client).await? {
                ensure(since.elapsed() < REVOCATION_MAX, || {
                    String::from("a revoked key still works after 5 s")
                })?;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        seconds.push(since.elapsed().as_secs_f64());
    }
    let spread = Spread::of(seconds);
    Ok(format!(
        "{keys} keys revoked at one of two processes, rejected by both after {} s",
        spread.show(2)
    ))
}

async fn works(client: &mut Client) -> Result<bool, Failure> {
    match client.get("/api/v1/agent/merchants/demo-store").await {
        Delivery::Answered { status: 200, .. } => Ok(true),
        Delivery::Answered { status: 401, .. } => Ok(false),
        other => Err(format!("unexpected response to a call with a key: {other:?}").into()),
    }
}
