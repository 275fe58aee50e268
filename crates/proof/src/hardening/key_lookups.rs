//! `key-lookups`: while PostgreSQL is away, calls with unknown keys are answered within seconds and do not queue up.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::engines::Engines;
use crate::http::{Client, Delivery};
use crate::report::{Trial, Verdict, ensure};
use crate::souk::{Souk, command};

/// A lookup waits for a connection for three seconds at most, and for its turn for two.
const ANSWER_MAX: Duration = Duration::from_secs(15);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let engines = Engines::start()?;
    command(&engines.database_url, &["migrate"])?;
    let souk = Souk::serve(&engines.database_url, &[]).await?;
    let port = souk.port;
    engines.stop_postgres().await?;
    let calls = trial.by_tier(900_u32, 4_000);
    let mut answers = JoinSet::new();
    for number in 0..calls {
        // A third of all calls from one address, the others from many.
        let network = if number % 3 == 0 { 1 } else { number };
        let [_, _, high, low] = network.to_be_bytes();
        let mut client = Client::new(port)
            .from(Ipv4Addr::new(127, 1, high, low.max(1)))
            .with_agent_key(&format!("agnt_{number:064x}"));
        answers.spawn(async move {
            let since = Instant::now();
            let path = "/api/v1/agent/merchants/demo-store";
            let answer = tokio::time::timeout(ANSWER_MAX * 4, client.get(path)).await;
            (since.elapsed(), answer.ok())
        });
    }
    let (mut slowest, mut at_once) = (Duration::ZERO, 0);
    while let Some(answer) = answers.join_next().await {
        let (time, answer) = answer?;
        let is_unavailable = matches!(answer, Some(Delivery::Answered { status: 503, .. }));
        ensure(is_unavailable && time < ANSWER_MAX, || {
            format!("after {:.1} s: {answer:?}", time.as_secs_f64())
        })?;
        slowest = slowest.max(time);
        at_once += u32::from(time < Duration::from_secs(1));
    }
    Ok(format!(
        "{calls} calls with unknown keys without PostgreSQL: all 503, {at_once} within a second, the slowest after {:.1} s",
        slowest.as_secs_f64()
    ))
}
