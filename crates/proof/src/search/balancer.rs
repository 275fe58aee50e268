//! A client that behaves as a load balancer does: it looks at `/health/ready` of all readers, sends
//! to one that is ready, and turns to another when a connection breaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::house::{SEARCH, is_ready};
use super::shop::Shop;
use crate::http::{Client, Fate};
use crate::report::{Failure, ensure};

/// How often readiness is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// A request without an answer after this has failed.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// The readers, and what is known of them.
pub(crate) struct Balancer {
    readers: Vec<(u16, AtomicBool)>,
    over: AtomicBool,
    retried: AtomicU64,
}

/// Somebody who asks through the balancer, on connections of its own.
pub(crate) struct Caller {
    clients: Vec<Client>,
    key: Option<String>,
    turn: usize,
}

impl Balancer {
    /// Starts to look at the readers.
    pub(crate) fn start(ports: &[u16]) -> Arc<Self> {
        let readers = ports.iter().map(|port| (*port, AtomicBool::new(false))).collect();
        let (over, retried) = (AtomicBool::new(false), AtomicU64::new(0));
        let balancer = Arc::new(Self { readers, over, retried });
        for reader in 0..ports.len() {
            tokio::spawn(Arc::clone(&balancer).look(reader));
        }
        balancer
    }

    async fn look(self: Arc<Self>, reader: usize) {
        let (port, ready) = &self.readers[reader];
        let mut client = Client::new(*port);
        while !self.over.load(Ordering::SeqCst) {
            let is_ready = is_ready(&mut client).await;
            if !is_ready {
                client = Client::new(*port);
            }
            ready.store(is_ready, Ordering::SeqCst);
            tokio::time::sleep(LOOK).await;
        }
    }

    fn is_ready(&self, reader: usize) -> bool {
        self.readers[reader].1.load(Ordering::SeqCst)
    }

    pub(crate) fn caller(&self, key: Option<&str>) -> Caller {
        let key = key.map(str::to_owned);
        let clients = self.readers.iter().map(|(port, _)| connection(*port, key.as_deref()));
        Caller { clients: clients.collect(), key, turn: 0 }
    }

    /// Requests that were sent a second time, because a connection broke.
    pub(crate) fn retried(&self) -> u64 {
        self.retried.load(Ordering::SeqCst)
    }

    /// Sends a request to whoever is ready. Nothing, if no answer came in time.
    pub(crate) async fn send(
        &self,
        caller: &mut Caller,
        method: &str,
        path: &str,
        body: &str,
    ) -> Option<(u16, String)> {
        let since = Instant::now();
        while let Some(left) = ANSWER_MAX.checked_sub(since.elapsed()) {
            caller.turn += 1;
            let places =
                (0..self.readers.len()).map(|place| (place + caller.turn) % self.readers.len());
            let Some(reader) = places.into_iter().find(|reader| self.is_ready(*reader)) else {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let sent = caller.clients[reader].send(method, path, body.as_bytes());
            match tokio::time::timeout(left, sent).await {
                Ok(Fate::Answered { status, body }) => return Some((status, body)),
                Ok(Fate::NotSent | Fate::Cut(_)) => {
                    self.retried.fetch_add(1, Ordering::SeqCst);
                    self.readers[reader].1.store(false, Ordering::SeqCst);
                }
                Err(_) => break,
            }
            caller.clients[reader] = connection(self.readers[reader].0, caller.key.as_deref());
        }
        None
    }
}

fn connection(port: u16, key: Option<&str>) -> Client {
    let client = Client::new(port);
    if let Some(key) = key { client.with_key(key) } else { client }
}

/// What searches came to.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Searched {
    pub(crate) requests: u64,
    pub(crate) slowest: Duration,
}

/// People who search all the time. Each search must be answered, and rightly.
pub(crate) struct Searchers {
    balancer: Arc<Balancer>,
    over: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<Result<Searched, Failure>>>,
}

impl Searchers {
    pub(crate) fn start(balancer: &Arc<Balancer>, shops: &[Shop], people: usize) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let beacons: Arc<[String]> = shops.iter().map(Shop::beacon).collect();
        let start = |number: usize| {
            let (balancer, over) = (Arc::clone(balancer), Arc::clone(&over));
            tokio::spawn(search_on(balancer, Arc::clone(&beacons), number, over))
        };
        Self { balancer: Arc::clone(balancer), tasks: (0..people).map(start).collect(), over }
    }

    /// Fails as soon as a search has.
    pub(crate) fn is_well(&self) -> bool {
        !self.tasks.iter().any(JoinHandle::is_finished)
    }

    /// Stops; what they met in all.
    pub(crate) async fn stop(self) -> Result<Searched, Failure> {
        self.over.store(true, Ordering::SeqCst);
        let mut all = Searched::default();
        for task in self.tasks {
            let one = task.await??;
            all.requests += one.requests;
            all.slowest = all.slowest.max(one.slowest);
        }
        self.balancer.over.store(true, Ordering::SeqCst);
        Ok(all)
    }
}

async fn search_on(
    balancer: Arc<Balancer>,
    beacons: Arc<[String]>,
    number: usize,
    over: Arc<AtomicBool>,
) -> Result<Searched, Failure> {
    let mut caller = balancer.caller(None);
    let (mut searched, mut turn) = (Searched::default(), number);
    while !over.load(Ordering::SeqCst) {
        turn += 1;
        let beacon = (!turn.is_multiple_of(3)).then(|| &beacons[(turn + turn / 3) % beacons.len()]);
        let query = beacon.map_or("thing kitchen", String::as_str);
        let body = json!({ "query": query, "limit": 10 }).to_string();
        let since = Instant::now();
        let answered = balancer.send(&mut caller, "POST", SEARCH, &body).await;
        let took = since.elapsed();
        searched.requests += 1;
        searched.slowest = searched.slowest.max(took);
        let (status, body) =
            answered.ok_or_else(|| format!("no answer to {query} after {took:?}"))?;
        ensure(status == 200, || format!("the search {query} met {status} {body}"))?;
        judge(&body, beacon)?;
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    Ok(searched)
}

/// What never changes is always found, under its name and first.
fn judge(body: &str, beacon: Option<&String>) -> Result<(), Failure> {
    let answer: Value = serde_json::from_str(body)?;
    let first = &answer["data"][0]["sku"];
    match beacon {
        Some(beacon) => ensure(first == beacon, || format!("{beacon} was not found: {body}")),
        None => ensure(first.is_string(), || format!("nothing was found: {body}")),
    }
}
