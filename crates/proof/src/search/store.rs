//! Stores that bring products in and change them all the time, over HTTP, with keys of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::balancer::{Balancer, Caller};
use crate::http::{Client, Fate};
use crate::report::Failure;
use crate::souk::store_key;

/// Stores of the demo world whose products change; together they lie in all shards.
pub(crate) const STORES: [&str; 6] =
    ["marrow-lane", "olaria-salgueira", "orelys", "skarvdal", "demo-store", "kivikiri"];
/// Products sent in one go.
const BATCH: usize = 250;

/// A store and its key.
#[derive(Clone)]
pub(crate) struct Shop {
    pub(crate) slug: &'static str,
    key: String,
    /// How many products it brings in beside those it has.
    size: usize,
}

/// One change as a request.
struct Change {
    method: &'static str,
    path: String,
    body: Value,
}

impl Shop {
    /// The stores of the proof, each with so many products of its own.
    pub(crate) async fn all(url: &str, size: usize) -> Result<Vec<Self>, Failure> {
        let mut shops = Vec::new();
        for slug in STORES {
            shops.push(Self { slug, key: store_key(url, slug).await?, size });
        }
        Ok(shops)
    }

    /// The SKU of a product that never changes.
    pub(crate) fn beacon(&self) -> String {
        format!("beacon-{}", self.slug)
    }

    /// Brings its products in.
    pub(crate) async fn fill(&self, port: u16) -> Result<(), Failure> {
        let mut client = Client::new(port).with_key(&self.key);
        let beacon = draft(&self.beacon(), "Beacon that stays as it is", 10);
        let things = (0..self.size).map(|number| thing(number, 0));
        let products: Vec<Value> = std::iter::once(beacon).chain(things).collect();
        for batch in products.chunks(BATCH) {
            let body = json!({ "products": batch }).to_string();
            match client.send("PATCH", "/api/v1/merchant/products", body.as_bytes()).await {
                Fate::Answered { status: 200, body } if body.contains("\"failed\":0") => {}
                other => return Err(format!("{} could not push: {other:?}", self.slug).into()),
            }
        }
        Ok(())
    }

    /// Sends one product.
    pub(crate) async fn push(&self, port: u16, id: &str, name: &str) -> Result<(), Failure> {
        let body = json!({ "products": [draft(id, name, 1_234)] }).to_string();
        let mut client = Client::new(port).with_key(&self.key);
        match client.send("PATCH", "/api/v1/merchant/products", body.as_bytes()).await {
            Fate::Answered { status: 200, body } if body.contains("\"failed\":0") => Ok(()),
            other => Err(format!("{} could not push: {other:?}", self.slug).into()),
        }
    }

    /// Something that changes: prices, stock, whole products, or one taken off the shelf.
    fn change(&self, dice: &mut StdRng) -> Change {
        let ids: Vec<usize> = (0..8).map(|_| dice.random_range(0..self.size)).collect();
        let cents = dice.random_range(100..90_000);
        match dice.random_range(0..8) {
            0..=2 => {
                let price = format!("{}.{:02}", cents / 100, cents % 100);
                let item = |id: &usize| json!({ "external_id": name(*id), "price": price });
                let items: Vec<Value> = ids.iter().map(item).collect();
                Change::patch("prices", json!({ "items": items }))
            }
            3..=4 => {
                let item =
                    |id: &usize| json!({ "external_id": name(*id), "stock_quantity": cents % 7 });
                let items: Vec<Value> = ids.iter().map(item).collect();
                Change::patch("inventory", json!({ "items": items }))
            }
            5..=6 => {
                let mut ids = ids;
                ids.sort_unstable();
                ids.dedup();
                let products: Vec<Value> = ids.iter().map(|id| thing(*id, cents)).collect();
                Change::patch("products", json!({ "products": products }))
            }
            _ => Change {
                method: "DELETE",
                path: format!("/api/v1/merchant/products/{}", name(ids[0])),
                body: Value::Null,
            },
        }
    }
}

impl Change {
    fn patch(what: &str, body: Value) -> Self {
        Self { method: "PATCH", path: format!("/api/v1/merchant/{what}"), body }
    }
}

fn name(number: usize) -> String {
    format!("thing-{number:05}")
}

fn thing(number: usize, version: i64) -> Value {
    let id = name(number);
    let title = format!("Thing {number} of make {version} for every kitchen");
    draft(&id, &title, 500 + version)
}

fn draft(id: &str, title: &str, cents: i64) -> Value {
    json!({
        "external_id": id,
        "name": title,
        "description": "A thing that is sold again and again, in many versions.",
        "category": ["Things"],
        "price": format!("{}.{:02}", cents / 100, cents % 100),
        "stock_quantity": 7,
        "images": [{ "url": format!("https://things.example/{id}.jpg") }],
    })
}

/// Changes that flow until they are stopped.
pub(crate) struct Flow {
    over: Arc<AtomicBool>,
    task: JoinHandle<Result<u64, Failure>>,
}

impl Flow {
    /// Lets the stores change something, one after another, with a pause between two requests.
    pub(crate) fn start(
        shops: &[Shop],
        balancer: &Arc<Balancer>,
        dice: StdRng,
        pause: Duration,
    ) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let flowing = flow(shops.to_vec(), Arc::clone(balancer), dice, pause, Arc::clone(&over));
        Self { over, task: tokio::spawn(flowing) }
    }

    /// Stops; answers how many changes were confirmed.
    pub(crate) async fn stop(self) -> Result<u64, Failure> {
        self.over.store(true, Ordering::SeqCst);
        self.task.await?
    }
}

async fn flow(
    shops: Vec<Shop>,
    balancer: Arc<Balancer>,
    mut dice: StdRng,
    pause: Duration,
    over: Arc<AtomicBool>,
) -> Result<u64, Failure> {
    let mut callers: Vec<Caller> =
        shops.iter().map(|shop| balancer.caller(Some(&shop.key))).collect();
    let mut changes = 0;
    while !over.load(Ordering::SeqCst) {
        for (shop, caller) in shops.iter().zip(&mut callers) {
            let change = shop.change(&mut dice);
            let body = change.body.to_string();
            let body = if change.body.is_null() { "" } else { &body };
            let answered = balancer.send(caller, change.method, &change.path, body).await;
            match answered {
                Some((200, body)) => changes += confirmed(&body),
                // A product that is off the shelf already, or a database that was away: merchants
                // try again, and here there is always a next one.
                Some((404 | 503, _)) | None => {}
                Some((status, body)) => {
                    return Err(format!("a change met {status} {body}").into());
                }
            }
            tokio::time::sleep(pause).await;
        }
    }
    Ok(changes)
}

/// How many products a request changed.
fn confirmed(body: &str) -> u64 {
    let answer: Value = serde_json::from_str(body).unwrap_or_default();
    let count = |field: &str| answer["data"][field].as_u64().unwrap_or(0);
    let retired = u64::from(answer["data"]["status"] == "retired");
    count("created") + count("updated") + retired
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use primitives::{Id, MerchantId};

    use super::*;
    use crate::search::house::SHARDS;

    #[test]
    fn every_shard_has_stores_that_change() {
        let world = demo::world();
        let chosen = world.stores.iter().filter(|store| STORES.contains(&store.slug));
        assert!(chosen.clone().all(|store| store.active && store.trust_score >= Some(0.7)));
        let virtual_shard = |id| usize::from(database::shard_of(MerchantId::from_uuid(id)));
        let shard = |id| virtual_shard(id) * SHARDS / usize::from(database::SHARDS);
        let shards: BTreeSet<usize> = chosen.map(|store| shard(store.id)).collect();
        assert_eq!(shards.len(), SHARDS);
    }
}
