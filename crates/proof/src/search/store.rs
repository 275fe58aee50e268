//! Stores that push products and change them continuously, stopped HTTP, each with its own key.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::balancer::{BalancedClient, Balancer};
use crate::http::{Client, Delivery};
use crate::report::Failure;
use crate::souk::store_key;

/// Demo stores whose products change; together they cover all shards.
pub(crate) const STORES: [&str; 6] =
    ["marrow-lane", "olaria-salgueira", "orelys", "skarvdal", "demo-store", "kivikiri"];
/// Products per request.
const BATCH: usize = 250;

/// An HTTP client with the key of a store.
#[derive(Clone)]
pub(crate) struct StoreClient {
    pub(crate) slug: &'static str,
    key: String,
    /// Number of products that it pushes in addition to the seeded ones.
    size: usize,
}

/// A request that changes products.
struct Change {
    method: &'static str,
    path: String,
    body: Value,
}

impl StoreClient {
    /// Creates a client for each store, with `size` additional products each.
    pub(crate) async fn all(url: &str, size: usize) -> Result<Vec<Self>, Failure> {
        let mut stores = Vec::new();
        for slug in STORES {
            stores.push(Self { slug, key: store_key(url, slug).await?, size });
        }
        Ok(stores)
    }

    /// Returns the SKU of a product that never changes.
    pub(crate) fn sentinel_sku(&self) -> String {
        format!("sentinel-{}", self.slug)
    }

    /// Pushes its products.
    pub(crate) async fn push_catalog(&self, port: u16) -> Result<(), Failure> {
        let mut client = Client::new(port).with_key(&self.key);
        let sentinel = draft(&self.sentinel_sku(), "Sentinel that never changes", 10);
        let products = (0..self.size).map(|number| product(number, 0));
        let products: Vec<Value> = std::iter::once(sentinel).chain(products).collect();
        for batch in products.chunks(BATCH) {
            let body = json!({ "products": batch }).to_string();
            match client.send("PATCH", "/api/v1/merchant/products", body.as_bytes()).await {
                Delivery::Answered { status: 200, body } if body.contains("\"failed\":0") => {}
                other => return Err(format!("a push of {} failed: {other:?}", self.slug).into()),
            }
        }
        Ok(())
    }

    /// Pushes one product.
    pub(crate) async fn push(&self, port: u16, id: &str, name: &str) -> Result<(), Failure> {
        let body = json!({ "products": [draft(id, name, 1_234)] }).to_string();
        let mut client = Client::new(port).with_key(&self.key);
        match client.send("PATCH", "/api/v1/merchant/products", body.as_bytes()).await {
            Delivery::Answered { status: 200, body } if body.contains("\"failed\":0") => Ok(()),
            other => Err(format!("a push of {} failed: {other:?}", self.slug).into()),
        }
    }

    /// Returns a random change: prices, stock, whole products, or the retirement of one product.
    fn change(&self, rng: &mut StdRng) -> Change {
        let ids: Vec<usize> = (0..8).map(|_| rng.random_range(0..self.size)).collect();
        let cents = rng.random_range(100..90_000);
        match rng.random_range(0..8) {
            0..=2 => {
                let price = format!("{}.{:02}", cents / 100, cents % 100);
                let item = |id: &usize| json!({ "external_id": external_id(*id), "price": price });
                let items: Vec<Value> = ids.iter().map(item).collect();
                Change::patch("prices", json!({ "items": items }))
            }
            3..=4 => {
                let item = |id: &usize| json!({ "external_id": external_id(*id), "stock_quantity": cents % 7 });
                let items: Vec<Value> = ids.iter().map(item).collect();
                Change::patch("inventory", json!({ "items": items }))
            }
            5..=6 => {
                let mut ids = ids;
                ids.sort_unstable();
                ids.dedup();
                let products: Vec<Value> = ids.iter().map(|id| product(*id, cents)).collect();
                Change::patch("products", json!({ "products": products }))
            }
            _ => Change {
                method: "DELETE",
                path: format!("/api/v1/merchant/products/{}", external_id(ids[0])),
                body: Value::Null,
            },
        }
    }
}

impl Change {
    fn patch(resource: &str, body: Value) -> Self {
        Self { method: "PATCH", path: format!("/api/v1/merchant/{resource}"), body }
    }
}

fn external_id(number: usize) -> String {
    format!("thing-{number:05}")
}

fn product(number: usize, version: i64) -> Value {
    let id = external_id(number);
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

/// A continuous load of changes.
pub(crate) struct ChangeLoad {
    stopped: Arc<AtomicBool>,
    task: JoinHandle<Result<u64, Failure>>,
}

impl ChangeLoad {
    /// Starts a task in which the stores send changes in turn, with a pause between two requests.
    pub(crate) fn start(
        stores: &[StoreClient],
        balancer: &Arc<Balancer>,
        rng: StdRng,
        pause: Duration,
    ) -> Self {
        let stopped = Arc::new(AtomicBool::new(false));
        let task =
            send_changes(stores.to_vec(), Arc::clone(balancer), rng, pause, Arc::clone(&stopped));
        Self { stopped, task: tokio::spawn(task) }
    }

    /// Stops the load and returns the number of confirmed changes.
    pub(crate) async fn stop(self) -> Result<u64, Failure> {
        self.stopped.store(true, Ordering::SeqCst);
        self.task.await?
    }
}

async fn send_changes(
    stores: Vec<StoreClient>,
    balancer: Arc<Balancer>,
    mut rng: StdRng,
    pause: Duration,
    stopped: Arc<AtomicBool>,
) -> Result<u64, Failure> {
    let mut clients: Vec<BalancedClient> =
        stores.iter().map(|store| balancer.client(Some(&store.key))).collect();
    let mut changes = 0;
    while !stopped.load(Ordering::SeqCst) {
        for (store, client) in stores.iter().zip(&mut clients) {
            let change = store.change(&mut rng);
            let body = change.body.to_string();
            let body = if change.body.is_null() { "" } else { &body };
            let response = balancer.send(client, change.method, &change.path, body).await;
            match response {
                Some((200, body)) => changes += confirmed(&body),
                // The product is already retired, or the database was not available. There is no retry:
                // another change follows.
                Some((404 | 503, _)) | None => {}
                Some((status, body)) => {
                    return Err(format!("a change returned {status} {body}").into());
                }
            }
            tokio::time::sleep(pause).await;
        }
    }
    Ok(changes)
}

/// Returns the number of products that a request changed.
fn confirmed(body: &str) -> u64 {
    let response: Value = serde_json::from_str(body).unwrap_or_default();
    let count = |field: &str| response["data"][field].as_u64().unwrap_or(0);
    let retired = u64::from(response["data"]["status"] == "retired");
    count("created") + count("updated") + retired
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use primitives::{Id, MerchantId};

    use super::*;
    use crate::search::deployment::SHARDS;

    #[test]
    fn every_shard_has_stores_that_change() {
        let world = demo::world();
        let chosen = world.stores.iter().filter(|store| STORES.contains(&store.slug.as_str()));
        assert!(chosen.clone().all(|store| store.active && store.trust_score >= Some(0.7)));
        let virtual_shard = |id| usize::from(database::shard_of(MerchantId::from_uuid(id)));
        let shard = |id| virtual_shard(id) * SHARDS / usize::from(database::SHARDS);
        let shards: BTreeSet<usize> = chosen.map(|store| shard(store.id)).collect();
        assert_eq!(shards.len(), SHARDS);
    }
}
