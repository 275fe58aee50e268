//! Compares the file of the receiver with the events in the database.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use super::PATHS;
use crate::report::{Failure, ensure};
use crate::webhooks::evidence::{body_of, check_request};
use crate::webhooks::receiver::{Line, Request};
use crate::webhooks::site::{Registered, Site};

/// What was counted.
pub(super) struct Books {
    pub(super) events: usize,
    /// Events that an endpoint received more than once.
    pub(super) repeated: usize,
}

/// An event in the database, and how often each endpoint received it.
struct Stored {
    body: String,
    received: [u32; PATHS.len()],
}

/// The sequences that an endpoint received of each order.
type Sequences = HashMap<String, BTreeSet<i64>>;

impl Books {
    /// Compares; `accepted` are the orders that buyers were told.
    pub(super) async fn compare(
        site: &Site,
        endpoints: &[Registered],
        accepted: &[String],
    ) -> Result<Self, Failure> {
        let mut sql = site.raw().await;
        let mut events = events(&mut sql).await?;
        let mut sequences: [Sequences; PATHS.len()] = Default::default();
        let mut outcome = Ok(());
        site.receiver.each(|line| {
            if let Line::Request(request) = line
                && outcome.is_ok()
            {
                outcome = enter(&request, endpoints, &mut events, &mut sequences);
            }
        })?;
        outcome?;
        for (id, stored) in &events {
            let is_received = stored.received.iter().all(|count| *count > 0);
            ensure(is_received, || format!("{id} was received {:?} times", stored.received))?;
        }
        check_orders(&mut sql, &sequences, accepted).await?;
        let is_repeated = |stored: &&Stored| stored.received.iter().any(|count| *count > 1);
        Ok(Self { events: events.len(), repeated: events.values().filter(is_repeated).count() })
    }
}

/// Returns the events in the database, by their id in requests.
async fn events(sql: &mut PgConnection) -> Result<HashMap<String, Stored>, Failure> {
    let rows: Vec<(Uuid, Vec<u8>)> = sqlx::query_as(
        "SELECT event_id, stored.body FROM webhook_event JOIN webhook_body AS stored USING (merchant_id, event_id)",
    )
    .fetch_all(&mut *sql)
    .await?;
    let all: i64 = sqlx::query_scalar("SELECT count(*) FROM webhook_event").fetch_one(sql).await?;
    ensure(usize::try_from(all)? == rows.len(), || String::from("an event without its body"))?;
    let mut events = HashMap::with_capacity(rows.len());
    for (id, body) in rows {
        let stored = Stored { body: String::from_utf8(body)?, received: [0; PATHS.len()] };
        events.insert(format!("evt_{}", id.simple()), stored);
    }
    Ok(events)
}

/// Enters a request: it is signed, its event exists, and its body is the stored one.
fn enter(
    request: &Request,
    endpoints: &[Registered],
    events: &mut HashMap<String, Stored>,
    sequences: &mut [Sequences; PATHS.len()],
) -> Result<(), Failure> {
    let at = PATHS.iter().position(|path| *path == request.path);
    let at = at.ok_or_else(|| format!("a request to {}", request.path))?;
    check_request(request, &endpoints[at].secret)?;
    let stored = events.get_mut(request.event());
    let stored = stored.ok_or_else(|| format!("an event that does not exist: {request:?}"))?;
    ensure(stored.body == request.body, || format!("stored: {}, sent: {request:?}", stored.body))?;
    stored.received[at] += 1;
    let body: Value = body_of(request)?;
    if let Some((order, sequence)) = body["orderId"].as_str().zip(body["sequence"].as_i64()) {
        sequences[at].entry(order.to_owned()).or_default().insert(sequence);
    }
    Ok(())
}

/// Checks that each order has all its sequences at each endpoint, and that each order that buyers were told about exists.
async fn check_orders(
    sql: &mut PgConnection,
    sequences: &[Sequences; PATHS.len()],
    accepted: &[String],
) -> Result<(), Failure> {
    let orders: Vec<(Uuid, i32)> =
        sqlx::query_as("SELECT order_id, version FROM placed_order").fetch_all(sql).await?;
    let mut expected: Sequences = HashMap::with_capacity(orders.len());
    for (id, version) in orders {
        expected.insert(format!("ord_{}", id.simple()), (1..=i64::from(version)).collect());
    }
    for order in accepted {
        ensure(expected.contains_key(order), || format!("{order} was accepted and is lost"))?;
    }
    for received in sequences {
        for (order, complete) in &expected {
            let received = received.get(order);
            ensure(received == Some(complete), || {
                format!("{order} has the sequences {complete:?}, received: {received:?}")
            })?;
        }
        ensure(received.len() == expected.len(), || String::from("an order that does not exist"))?;
    }
    Ok(())
}
