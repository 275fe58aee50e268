//! `silent-connections`: thousands of connections that send nothing, the beginning of a request, or the preface of HTTP/2
//! and nothing after it. Other callers are served, and the silent connections are closed.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::deployment::Deployment;
use crate::http::{Client, Delivery};
use crate::report::{Failure, Tier, Trial, Verdict, ensure, grouped};
use crate::souk::Souk;

/// What a silent connection sends.
const BEGINNINGS: [&[u8]; 4] =
    [b"", b"P", b"GET / HTTP/1.1\r\nHost: ", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"];
/// Addresses that open connections.
const ADDRESSES: usize = 10;
/// Time after which all silent connections are closed, from the last one: the timeout and some slack for a loaded machine.
const CLOSED_MAX: Duration = Duration::from_secs(20);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let deployment = Deployment::of(&trial).await?;
    let count = trial.by_tier(400, 5_000);
    // In the short form, fewer connections are allowed instead of more being opened.
    let allowed = trial.by_tier(200_usize, 10_000);
    let settings = [("SOUK_CONNECTIONS_MAX", allowed.to_string())];
    let souk = Souk::serve_with(&deployment.url(), &[], &settings).await?;
    raise_file_limit()?;
    let mut silent = Vec::new();
    for number in 0..count {
        silent.push(open(souk.port, number).await?);
    }
    let opened = Instant::now();
    let slowest = serve_others(souk.port).await?;
    let closed = match trial.tier {
        Tier::Fast => {
            let closed = closed(&mut silent, Duration::from_millis(1)).await;
            ensure(closed >= count - allowed, || {
                format!("{closed} of {count} silent connections gave way; {allowed} are allowed")
            })?;
            closed
        }
        Tier::Full => {
            tokio::time::sleep(CLOSED_MAX.saturating_sub(opened.elapsed())).await;
            let closed = closed(&mut silent, Duration::from_millis(1)).await;
            ensure(closed == count, || {
                format!(
                    "{} of {count} silent connections are open after {CLOSED_MAX:?}",
                    count - closed
                )
            })?;
            closed
        }
    };
    Ok(format!(
        "{} silent connections from {ADDRESSES} addresses: other callers served within {} ms; {} of the silent ones closed",
        grouped(count),
        slowest.as_millis(),
        grouped(closed),
    ))
}

/// Raises the limit of open files of this process. The server has been started: it raises its own.
fn raise_file_limit() -> Result<(), Failure> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    Ok(())
}

async fn open(port: u16, number: usize) -> Result<TcpStream, Failure> {
    let socket = TcpSocket::new_v4()?;
    let host = u8::try_from(number % ADDRESSES)? + 10;
    socket.bind((Ipv4Addr::new(127, 0, 1, host), 0).into())?;
    let connecting = socket.connect((Ipv4Addr::LOCALHOST, port).into());
    let mut stream = tokio::time::timeout(Duration::from_secs(5), connecting)
        .await
        .map_err(|_| format!("connection {number} was not accepted within five seconds"))??;
    // One that was closed already, to make place for others, cannot be written to.
    let _ = stream.write_all(BEGINNINGS[number % BEGINNINGS.len()]).await;
    Ok(stream)
}

/// Calls from an address without silent connections, and from one with many. Returns the longest time of a call.
async fn serve_others(port: u16) -> Result<Duration, Failure> {
    let mut slowest = Duration::ZERO;
    for source in [Ipv4Addr::new(127, 0, 2, 1), Ipv4Addr::new(127, 0, 1, 10)] {
        for _ in 0..20 {
            let since = Instant::now();
            let mut client = Client::new(port).from(source);
            let call = client.get("/api/v1/stores/directory?limit=1");
            let delivery = tokio::time::timeout(Duration::from_secs(5), call).await;
            ensure(matches!(delivery, Ok(Delivery::Answered { status: 200, .. })), || {
                format!("a caller from {source} was not served: {delivery:?}")
            })?;
            slowest = slowest.max(since.elapsed());
        }
    }
    Ok(slowest)
}

/// Returns the number of connections that the server has closed.
async fn closed(connections: &mut [TcpStream], wait: Duration) -> usize {
    let mut closed = 0;
    for connection in connections {
        let mut buffer = [0; 256];
        let is_open = loop {
            // The server may have sent an error, or settings of HTTP/2, before it closed the connection.
            match tokio::time::timeout(wait, connection.read(&mut buffer)).await {
                Ok(Ok(0) | Err(_)) => break false,
                Ok(Ok(_)) => {}
                Err(_) => break true,
            }
        };
        closed += usize::from(!is_open);
    }
    closed
}
