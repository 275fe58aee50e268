//! A client-side load balancer: polls `/health/ready` of all readers, sends each request to a ready one,
//! and retries at another if the connection breaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::deployment::{SEARCH, is_ready};
use super::store::StoreClient;
use crate::http::{Client, Delivery};
use crate::report::{Failure, ensure};

/// Interval between readiness checks of a reader.
const READINESS_INTERVAL: Duration = Duration::from_millis(100);
/// A request without a response after this time has failed.
const RESPONSE_MAX: Duration = Duration::from_secs(10);

/// The readers and their readiness.
pub(crate) struct Balancer {
    readers: Vec<(u16, AtomicBool)>,
    stopped: AtomicBool,
    retried: AtomicU64,
}

/// A client of the balancer with its own connections.
pub(crate) struct BalancedClient {
    clients: Vec<Client>,
    key: Option<String>,
    turn: usize,
}

impl Balancer {
    /// Starts polling the readers.
    pub(crate) fn start(ports: &[u16]) -> Arc<Self> {
        let readers = ports.iter().map(|port| (*port, AtomicBool::new(false))).collect();
        let (stopped, retried) = (AtomicBool::new(false), AtomicU64::new(0));
        let balancer = Arc::new(Self { readers, stopped, retried });
        for reader in 0..ports.len() {
            tokio::spawn(Arc::clone(&balancer).poll(reader));
        }
        balancer
    }

    async fn poll(self: Arc<Self>, reader: usize) {
        let (port, ready) = &self.readers[reader];
        let mut client = Client::new(*port);
        while !self.stopped.load(Ordering::SeqCst) {
            let is_ready = is_ready(&mut client).await;
            if !is_ready {
                client = Client::new(*port);
            }
            ready.store(is_ready, Ordering::SeqCst);
            tokio::time::sleep(READINESS_INTERVAL).await;
        }
    }

    fn is_ready(&self, reader: usize) -> bool {
        self.readers[reader].1.load(Ordering::SeqCst)
    }

    pub(crate) fn client(&self, key: Option<&str>) -> BalancedClient {
        let key = key.map(str::to_owned);
        let clients = self.readers.iter().map(|(port, _)| connection(*port, key.as_deref()));
        BalancedClient { clients: clients.collect(), key, turn: 0 }
    }

    /// Returns the number of requests that were retried because a connection broke.
    pub(crate) fn retried(&self) -> u64 {
        self.retried.load(Ordering::SeqCst)
    }

    /// Sends a request to a ready reader. Returns `None` if there was no response in time.
    pub(crate) async fn send(
        &self,
        client: &mut BalancedClient,
        method: &str,
        path: &str,
        body: &str,
    ) -> Option<(u16, String)> {
        let since = Instant::now();
        while let Some(left) = RESPONSE_MAX.checked_sub(since.elapsed()) {
            client.turn += 1;
            let count = self.readers.len();
            let rotated = (0..count).map(|index| (index + client.turn) % count);
            let Some(reader) = rotated.into_iter().find(|reader| self.is_ready(*reader)) else {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let sent = client.clients[reader].send(method, path, body.as_bytes());
            match tokio::time::timeout(left, sent).await {
                Ok(Delivery::Answered { status, body }) => return Some((status, body)),
                Ok(Delivery::NotSent | Delivery::Interrupted(_)) => {
                    self.retried.fetch_add(1, Ordering::SeqCst);
                    self.readers[reader].1.store(false, Ordering::SeqCst);
                }
                Err(_) => break,
            }
            client.clients[reader] = connection(self.readers[reader].0, client.key.as_deref());
        }
        None
    }
}

fn connection(port: u16, key: Option<&str>) -> Client {
    let client = Client::new(port);
    if let Some(key) = key { client.with_key(key) } else { client }
}

/// Totals of a search load.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct SearchTotals {
    pub(crate) requests: u64,
    pub(crate) slowest: Duration,
}

/// Clients that search continuously. Every search must get a correct response.
pub(crate) struct SearchLoad {
    balancer: Arc<Balancer>,
    stopped: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<Result<SearchTotals, Failure>>>,
}

impl SearchLoad {
    pub(crate) fn start(balancer: &Arc<Balancer>, stores: &[StoreClient], clients: usize) -> Self {
        let stopped = Arc::new(AtomicBool::new(false));
        let sentinels: Arc<[String]> = stores.iter().map(StoreClient::sentinel_sku).collect();
        let start = |number: usize| {
            let (balancer, stopped) = (Arc::clone(balancer), Arc::clone(&stopped));
            tokio::spawn(search_until_stopped(balancer, Arc::clone(&sentinels), number, stopped))
        };
        Self { balancer: Arc::clone(balancer), tasks: (0..clients).map(start).collect(), stopped }
    }

    /// Returns whether no search has failed yet.
    pub(crate) fn is_running(&self) -> bool {
        !self.tasks.iter().any(JoinHandle::is_finished)
    }

    /// Stops the load and returns its totals.
    pub(crate) async fn stop(self) -> Result<SearchTotals, Failure> {
        self.stopped.store(true, Ordering::SeqCst);
        let mut all = SearchTotals::default();
        for task in self.tasks {
            let one = task.await??;
            all.requests += one.requests;
            all.slowest = all.slowest.max(one.slowest);
        }
        self.balancer.stopped.store(true, Ordering::SeqCst);
        Ok(all)
    }
}

async fn search_until_stopped(
    balancer: Arc<Balancer>,
    sentinels: Arc<[String]>,
    number: usize,
    stopped: Arc<AtomicBool>,
) -> Result<SearchTotals, Failure> {
    let mut client = balancer.client(None);
    let (mut totals, mut turn) = (SearchTotals::default(), number);
    while !stopped.load(Ordering::SeqCst) {
        turn += 1;
        let sentinel =
            (!turn.is_multiple_of(3)).then(|| &sentinels[(turn + turn / 3) % sentinels.len()]);
        let query = sentinel.map_or("thing kitchen", String::as_str);
        let body = json!({ "query": query, "limit": 10 }).to_string();
        let since = Instant::now();
        let response = balancer.send(&mut client, "POST", SEARCH, &body).await;
        let took = since.elapsed();
        totals.requests += 1;
        totals.slowest = totals.slowest.max(took);
        let (status, body) =
            response.ok_or_else(|| format!("no response to the search {query} after {took:?}"))?;
        ensure(status == 200, || format!("the search {query} returned {status} {body}"))?;
        verify(&body, sentinel)?;
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    Ok(totals)
}

/// Verifies a response: a product that never changes must be the first hit for its SKU.
fn verify(body: &str, sentinel: Option<&String>) -> Result<(), Failure> {
    let response: Value = serde_json::from_str(body)?;
    let first = &response["data"][0]["sku"];
    match sentinel {
        Some(sentinel) => {
            ensure(first == sentinel, || format!("{sentinel} is not the first hit: {body}"))
        }
        None => ensure(first.is_string(), || format!("the search found no product: {body}")),
    }
}
