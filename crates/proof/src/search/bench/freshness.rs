//! Time from a pushed change until a search returns it, under a load of pushes and searches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::fixture::Fixture;
use crate::http::{Client, Delivery};
use crate::report::{Failure, ensure, grouped};
use crate::search::souk_search::SoukSearch;
use crate::search::synthetic_catalog::{Merchant, Query, external_id};
use crate::souk::store_key;

/// Load of changes, in requests of `CHANGES_PER_CALL`.
const CHANGES_PER_SECOND: u64 = 200;
const CHANGES_PER_CALL: u64 = 20;
/// Number of probes: each makes one change and searches until the result shows it.
const PROBES: u32 = 90;
const PROBE_EVERY: Duration = Duration::from_millis(500);
/// Target of the 95th percentile.
const TARGET: Duration = Duration::from_secs(2);

/// A store that pushes changes.
struct Pusher {
    slug: String,
    key: String,
    first: u32,
    count: u32,
}

/// Measures the delay of probes while changes are pushed and searches run at half of the server's capacity.
pub(super) async fn run(
    fixture: &Fixture,
    souk: &SoukSearch,
    capacity: f64,
) -> Result<(), Failure> {
    let pushers = pushers(fixture).await?;
    let stop = Arc::new(AtomicBool::new(false));
    let changes = Arc::new(AtomicU64::new(0));
    let searches = Arc::new(AtomicU64::new(0));
    let port = souk.port();
    let mut others = tokio::task::JoinSet::new();
    others.spawn(push(port, Arc::clone(&pushers), Arc::clone(&stop), Arc::clone(&changes)));
    let bodies: Arc<[String]> = fixture.queries.iter().map(Query::body).collect();
    for _ in 0..2 {
        let pause = Duration::from_secs_f64(4.0 / capacity);
        let work = (Arc::clone(&bodies), Arc::clone(&stop), Arc::clone(&searches));
        others.spawn(search(port, work.0, pause, work.1, work.2));
    }
    let since = Instant::now();
    let mut waits = Vec::new();
    let mut probes = tokio::task::JoinSet::new();
    for number in 0..PROBES {
        probes.spawn(probe(port, Arc::clone(&pushers), number));
        tokio::time::sleep(PROBE_EVERY).await;
    }
    while let Some(probed) = probes.join_next().await {
        waits.push(probed??);
    }
    let seconds = since.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    while let Some(ended) = others.join_next().await {
        ended??;
    }
    waits.sort_unstable();
    let percentile =
        |percent: usize| waits[(waits.len() * percent / 100).min(waits.len() - 1)].as_secs_f64();
    let rate = |count: &AtomicU64| {
        #[expect(clippy::cast_precision_loss, reason = "counts of a minute")]
        let count = count.load(Ordering::Relaxed) as f64;
        count / seconds
    };
    println!();
    println!(
        "{} products, {:.0} changes/s and {:.0} searches/s (half of {capacity:.0}): a change is visible after \
         {:.2} s (p50), {:.2} s (p95), {:.2} s (max of {}); target: p95 within {} s",
        grouped(fixture.catalog.size),
        rate(&changes),
        rate(&searches),
        percentile(50),
        percentile(95),
        percentile(100),
        waits.len(),
        TARGET.as_secs()
    );
    Ok(())
}

/// Returns the ten largest stores that allow agent checkout.
async fn pushers(fixture: &Fixture) -> Result<Arc<[Pusher]>, Failure> {
    let mut merchants: Vec<&Merchant> =
        fixture.catalog.merchants.iter().filter(|merchant| merchant.trust >= 0.7).collect();
    merchants.sort_by_key(|merchant| std::cmp::Reverse(merchant.count));
    let mut pushers = Vec::new();
    for merchant in merchants.into_iter().take(10) {
        pushers.push(Pusher {
            slug: merchant.slug.clone(),
            key: store_key(&fixture.url, &merchant.slug).await?,
            first: merchant.first,
            count: merchant.count,
        });
    }
    ensure(!pushers.is_empty(), || String::from("no store is trusted enough"))?;
    Ok(pushers.into())
}

/// Pushes changes of prices and stock, ten requests per second.
async fn push(
    port: u16,
    pushers: Arc<[Pusher]>,
    stop: Arc<AtomicBool>,
    changes: Arc<AtomicU64>,
) -> Result<(), Failure> {
    let mut clients: Vec<Client> =
        pushers.iter().map(|pusher| Client::new(port).with_key(&pusher.key)).collect();
    let since = Instant::now();
    for call in 0_u64.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let due = Duration::from_millis(call * 1_000 * CHANGES_PER_CALL / CHANGES_PER_SECOND);
        tokio::time::sleep(due.saturating_sub(since.elapsed())).await;
        let number = usize::try_from(call).unwrap_or(0) % pushers.len();
        let pusher = &pushers[number];
        // The first hundred products of a store are reserved for the probes.
        let id = |index: u64| {
            let available = u64::from(pusher.count.saturating_sub(100).max(1));
            let index = (call * CHANGES_PER_CALL + index) % available;
            external_id(
                pusher.first + 100.min(pusher.count - 1) + u32::try_from(index).unwrap_or(0),
            )
        };
        let items: Vec<Value> = (0..CHANGES_PER_CALL)
            .map(|index| match call % 2 {
                0 => json!({ "external_id": id(index), "price": format!("{}.50", 10 + call % 90) }),
                _ => json!({ "external_id": id(index), "stock_quantity": call % 50 }),
            })
            .collect();
        let path =
            ["/api/v1/merchant/prices", "/api/v1/merchant/inventory"][usize::from(call % 2 == 1)];
        let body = json!({ "items": items }).to_string();
        match clients[number].send("PATCH", path, body.as_bytes()).await {
            Delivery::Answered { status: 200, .. } => {
                changes.fetch_add(CHANGES_PER_CALL, Ordering::Relaxed);
            }
            other => return Err(format!("a push failed: {other:?}").into()),
        }
    }
    Ok(())
}

async fn search(
    port: u16,
    bodies: Arc<[String]>,
    pause: Duration,
    stop: Arc<AtomicBool>,
    searches: Arc<AtomicU64>,
) -> Result<(), Failure> {
    let mut client = Client::new(port);
    let since = Instant::now();
    for (number, body) in (0_u32..).zip(bodies.iter().cycle()) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        tokio::time::sleep((pause * number).saturating_sub(since.elapsed())).await;
        match client.post("/api/v1/search", body).await {
            Delivery::Answered { status: 200, .. } => searches.fetch_add(1, Ordering::Relaxed),
            other => return Err(format!("a search failed: {other:?}").into()),
        };
    }
    Ok(())
}

/// Changes one product and searches until the result shows the change; price, stock and name in turn.
async fn probe(port: u16, pushers: Arc<[Pusher]>, number: u32) -> Result<Duration, Failure> {
    let index = usize::try_from(number).unwrap_or(0) % pushers.len();
    let pusher = &pushers[index];
    let id = external_id(pusher.first + (number / 10) % pusher.count.min(100));
    let mut client = Client::new(port).with_key(&pusher.key);
    let price = f64::from(20_000 + number) + 0.25;
    let (path, body, expected): (_, _, (&str, Value)) = match number % 3 {
        0 => (
            "/api/v1/merchant/prices",
            json!({ "items": [{ "external_id": id, "price": format!("{price:.2}") }] }),
            ("price", json!(price)),
        ),
        1 => (
            "/api/v1/merchant/inventory",
            json!({ "items": [{ "external_id": id, "stock_quantity": 50_000 + number }] }),
            ("available_quantity", json!(50_000 + number)),
        ),
        _ => {
            let name = format!("Renamed for the {number}th time");
            let product = json!({
                "external_id": id, "name": name, "price": "12.50", "category": ["Probes"], "stock_quantity": 3,
            });
            ("/api/v1/merchant/products", json!({ "products": [product] }), ("name", json!(name)))
        }
    };
    let body = body.to_string();
    let delivery = client.send("PATCH", path, body.as_bytes()).await;
    let since = Instant::now();
    ensure(matches!(delivery, Delivery::Answered { status: 200, .. }), || {
        format!("the push of a probe failed: {delivery:?}")
    })?;
    let body = json!({ "query": id, "merchants": [pusher.slug], "limit": 1 }).to_string();
    let mut client = Client::new(port);
    while since.elapsed() < Duration::from_secs(30) {
        let Delivery::Answered { status: 200, body } = client.post("/api/v1/search", &body).await
        else {
            return Err("the search of a probe failed".into());
        };
        let response: Value = serde_json::from_str(&body)?;
        if response["data"][0][expected.0] == expected.1 {
            return Ok(since.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err(format!("the change of {id} of {} was not visible within 30 s", pusher.slug).into())
}
