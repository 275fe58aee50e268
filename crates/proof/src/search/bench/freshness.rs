//! How long a pushed change takes until a search shows it, while others push and search.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::stage::Stage;
use crate::http::{Client, Fate};
use crate::report::{Failure, ensure, grouped};
use crate::search::site::Site;
use crate::search::world::{Merchant, Query, external_id};
use crate::souk::store_key;

/// Changes that flow each second, in calls of so many.
const CHANGES_PER_SECOND: u64 = 200;
const CHANGES_PER_CALL: u64 = 20;
/// Probes: one change each, watched until a search shows it.
const PROBES: u32 = 90;
const PROBE_EVERY: Duration = Duration::from_millis(500);
/// What is promised of 95 in 100.
const TARGET: Duration = Duration::from_secs(2);

/// A store's program.
struct Pusher {
    slug: String,
    key: String,
    first: u32,
    count: u32,
}

/// Pushes, searches at half of what the server can do, and watches.
pub(super) async fn run(stage: &Stage, site: &Site, capacity: f64) -> Result<(), Failure> {
    let pushers = pushers(stage).await?;
    let stop = Arc::new(AtomicBool::new(false));
    let changes = Arc::new(AtomicU64::new(0));
    let searches = Arc::new(AtomicU64::new(0));
    let port = site.port();
    let mut others = tokio::task::JoinSet::new();
    others.spawn(push(port, Arc::clone(&pushers), Arc::clone(&stop), Arc::clone(&changes)));
    let bodies: Arc<[String]> = stage.queries.iter().map(Query::body).collect();
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
    let at = |share: usize| waits[(waits.len() * share / 100).min(waits.len() - 1)].as_secs_f64();
    let rate = |count: &AtomicU64| {
        #[expect(clippy::cast_precision_loss, reason = "counts of a minute")]
        let count = count.load(Ordering::Relaxed) as f64;
        count / seconds
    };
    println!();
    println!(
        "{} products, {:.0} changes/s and {:.0} searches/s (half of {capacity:.0}): a change shows after \
         {:.2} s (median), {:.2} s (95 of 100), {:.2} s (longest of {}); promised: 95 of 100 within {} s",
        grouped(stage.world.size),
        rate(&changes),
        rate(&searches),
        at(50),
        at(95),
        at(100),
        waits.len(),
        TARGET.as_secs()
    );
    Ok(())
}

/// The programs of the largest stores agents may check out at.
async fn pushers(stage: &Stage) -> Result<Arc<[Pusher]>, Failure> {
    let mut merchants: Vec<&Merchant> =
        stage.world.merchants.iter().filter(|merchant| merchant.trust >= 0.7).collect();
    merchants.sort_by_key(|merchant| std::cmp::Reverse(merchant.count));
    let mut pushers = Vec::new();
    for merchant in merchants.into_iter().take(10) {
        pushers.push(Pusher {
            slug: merchant.slug.clone(),
            key: store_key(&stage.url, &merchant.slug).await?,
            first: merchant.first,
            count: merchant.count,
        });
    }
    ensure(!pushers.is_empty(), || String::from("no store may push"))?;
    Ok(pushers.into())
}

/// Prices, stock and names change, ten calls a second.
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
        // The first hundred products of a store are for the probes.
        let id = |place: u64| {
            let room = u64::from(pusher.count.saturating_sub(100).max(1));
            let place = (call * CHANGES_PER_CALL + place) % room;
            external_id(
                pusher.first + 100.min(pusher.count - 1) + u32::try_from(place).unwrap_or(0),
            )
        };
        let items: Vec<Value> = (0..CHANGES_PER_CALL)
            .map(|place| match call % 2 {
                0 => json!({ "external_id": id(place), "price": format!("{}.50", 10 + call % 90) }),
                _ => json!({ "external_id": id(place), "stock_quantity": call % 50 }),
            })
            .collect();
        let path =
            ["/api/v1/merchant/prices", "/api/v1/merchant/inventory"][usize::from(call % 2 == 1)];
        let body = json!({ "items": items }).to_string();
        match clients[number].send("PATCH", path, body.as_bytes()).await {
            Fate::Answered { status: 200, .. } => {
                changes.fetch_add(CHANGES_PER_CALL, Ordering::Relaxed);
            }
            other => return Err(format!("a push met {other:?}").into()),
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
            Fate::Answered { status: 200, .. } => searches.fetch_add(1, Ordering::Relaxed),
            other => return Err(format!("a search met {other:?}").into()),
        };
    }
    Ok(())
}

/// Changes one product and asks until a search shows it. Every third time another fact.
async fn probe(port: u16, pushers: Arc<[Pusher]>, number: u32) -> Result<Duration, Failure> {
    let place = usize::try_from(number).unwrap_or(0) % pushers.len();
    let pusher = &pushers[place];
    let id = external_id(pusher.first + (number / 10) % pusher.count.min(100));
    let mut client = Client::new(port).with_key(&pusher.key);
    let price = f64::from(20_000 + number) + 0.25;
    let (path, body, shown): (_, _, (&str, Value)) = match number % 3 {
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
    let fate = client.send("PATCH", path, body.as_bytes()).await;
    let since = Instant::now();
    ensure(matches!(fate, Fate::Answered { status: 200, .. }), || format!("a probe met {fate:?}"))?;
    let wanted = json!({ "query": id, "merchants": [pusher.slug], "limit": 1 }).to_string();
    let mut client = Client::new(port);
    while since.elapsed() < Duration::from_secs(30) {
        let Fate::Answered { status: 200, body } = client.post("/api/v1/search", &wanted).await
        else {
            return Err("a search of a probe was not answered".into());
        };
        let answer: Value = serde_json::from_str(&body)?;
        if answer["data"][0][shown.0] == shown.1 {
            return Ok(since.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err(format!("{id} of {} did not change within 30 s", pusher.slug).into())
}
