//! `key-lookups`: while PostgreSQL is away, calls with unknown keys are answered within seconds and do not queue up.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use testkit::TestDatabase;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::engines::Engines;
use crate::http::{Client, Delivery};
use crate::report::{Failure, Tier, Trial, Verdict, ensure};
use crate::souk::{Souk, command};

/// A lookup waits for a connection for three seconds at most, and for its turn for two.
const ANSWER_MAX: Duration = Duration::from_secs(15);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    // The short form saves the time that engines take to start: only the way to PostgreSQL ends.
    if trial.tier == Tier::Fast {
        let test = TestDatabase::new().await;
        let (url, forwarder) = Forwarder::start(&test.url()).await?;
        let souk = Souk::serve(&url, &[]).await?;
        drop(forwarder);
        return look_up(souk.port, 300).await;
    }
    let engines = Engines::start()?;
    command(&engines.database_url, &["migrate"])?;
    let souk = Souk::serve(&engines.database_url, &[]).await?;
    engines.stop_postgres().await?;
    look_up(souk.port, 2_000).await
}

/// Forwards connections to PostgreSQL until it is dropped.
struct Forwarder(JoinHandle<()>);

impl Forwarder {
    /// Starts it, and returns the URL of the database through it.
    async fn start(url: &str) -> Result<(String, Self), Failure> {
        let target = url.split_once('@').and_then(|(_, rest)| rest.split_once('/'));
        let target = target.ok_or("the URL of the database has no host")?.0.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = url.replace(&target, &listener.local_addr()?.to_string());
        let forward = async move {
            let mut connections = JoinSet::new();
            while let Ok((mut client, _)) = listener.accept().await {
                let target = target.clone();
                connections.spawn(async move {
                    let mut server = TcpStream::connect(target).await?;
                    tokio::io::copy_bidirectional(&mut client, &mut server).await
                });
            }
        };
        Ok((url, Self(tokio::spawn(forward))))
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Calls with unknown keys from many addresses.
async fn look_up(port: u16, calls: u32) -> Verdict {
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
