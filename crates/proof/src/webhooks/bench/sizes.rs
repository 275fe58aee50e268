//! The cost of a delivery with more and more endpoints in the table: to one endpoint, and to a thousand endpoints in turn.

use primitives::MerchantId;

use super::Round;
use super::load::Load;
use crate::engines::Engines;
use crate::report::{Failure, grouped};
use crate::table_print::{Spread, Table};
use crate::webhooks::site::merchant;

/// Endpoints in the table.
const SIZES: [u32; 3] = [1, 1_000, 100_000];
/// Endpoints of a store.
const PER_STORE: u32 = 20;
/// Deliveries in a round.
const DELIVERIES: u32 = 5_000;
const ROUNDS: usize = 5;
/// How much the cost may grow.
const GROWTH_MAX: f64 = 1.5;

/// Endpoints that are never sent anything, with their stores, healthy and idle. `$1` is their number.
const FILL: [&str; 3] = [
    "INSERT INTO webhook_endpoint (merchant_id, endpoint_id, slot, url, description, kinds, status, from_settings, secret, version,
                                   created_at, updated_at)
     SELECT md5('store ' || number / 20)::uuid, md5('endpoint ' || number)::uuid, number % 20 + 1, 'https://1.1.1.1/' || number, '',
            ARRAY['order.created'], 'enabled', false, '\\x01'::bytea, 1, now(), now()
     FROM generate_series(0, $1::integer - 1) AS number",
    "INSERT INTO webhook_health (merchant_id, endpoint_id, last_attempt_at, last_success_at, consecutive_failures, updated_at)
     SELECT md5('store ' || number / 20)::uuid, md5('endpoint ' || number)::uuid, now(), now(), 0, now()
     FROM generate_series(0, $1::integer - 1) AS number",
    "INSERT INTO webhook_queue (merchant_id)
     SELECT md5('store ' || number)::uuid FROM generate_series(0, ($1::integer - 1) / 20) AS number",
];

pub(super) async fn measure(engines: &Engines) -> Result<(), Failure> {
    let load = Load::open(engines, 1).await?;
    let mut one: Vec<Cost> = Vec::new();
    let mut spread: Vec<Option<Cost>> = Vec::new();
    let mut stores: Vec<MerchantId> = Vec::new();
    for size in SIZES {
        match size {
            1 => {}
            1_000 => stores = register(&load, size - 1).await?,
            _ => fill(&load, size - 1_000).await?,
        }
        sqlx::raw_sql("VACUUM ANALYZE webhook_endpoint, webhook_health, webhook_queue")
            .execute(&mut load.site.raw().await)
            .await?;
        one.push(Cost::measure(engines, &load, &load.merchants).await?);
        spread.push(match stores.as_slice() {
            [] => None,
            stores => Some(Cost::measure(engines, &load, stores).await?),
        });
    }
    print(&one, &spread);
    Ok(())
}

/// Registers endpoints of stores with twenty each.
async fn register(load: &Load, count: u32) -> Result<Vec<MerchantId>, Failure> {
    let mut stores = Vec::new();
    for number in 0..count {
        let store = merchant(usize::try_from(100 + number / PER_STORE)?);
        let host = format!("127.60.{}.{}", number / 250, number % 250 + 1);
        load.site.endpoint_at(store, load.site.receiver.url_at(&host, "/ok")).await?;
        if stores.last() != Some(&store) {
            stores.push(store);
        }
    }
    Ok(stores)
}

async fn fill(load: &Load, count: u32) -> Result<(), Failure> {
    let mut sql = load.site.raw().await;
    for statement in FILL {
        sqlx::query(statement).bind(i32::try_from(count)?).execute(&mut sql).await?;
    }
    Ok(())
}

/// Microseconds of CPU for a delivery: of the worker and of PostgreSQL.
struct Cost {
    worker: f64,
    postgres: f64,
}

impl Cost {
    async fn measure(
        engines: &Engines,
        load: &Load,
        merchants: &[MerchantId],
    ) -> Result<Self, Failure> {
        // A warm-up: the endpoints are known to work, and statements are prepared.
        load.deliver_to(engines, merchants, DELIVERIES).await?;
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push(load.deliver_to(engines, merchants, DELIVERIES).await?);
        }
        let median = |of: fn(&Round) -> f64| Spread::of(rounds.iter().map(of)).median;
        Ok(Self { worker: median(|round| round.sender), postgres: median(|round| round.postgres) })
    }

    fn total(&self) -> f64 {
        self.worker + self.postgres
    }
}

fn print(one: &[Cost], spread: &[Option<Cost>]) {
    let sizes: Vec<String> = SIZES.iter().map(|size| grouped(*size)).collect();
    let head = ["CPU per delivery, µs", "of"].into_iter().chain(sizes.iter().map(String::as_str));
    let head: Vec<&str> = head.chain(["largest / smallest", "within 1.5"]).collect();
    let mut table = Table::new(&head);
    let one: Vec<Option<&Cost>> = one.iter().map(Some).collect();
    let spread: Vec<Option<&Cost>> = spread.iter().map(Option::as_ref).collect();
    for (name, costs) in [("to one endpoint", one), ("to 999 endpoints in turn", spread)] {
        let parts: [(&str, fn(&Cost) -> f64); 3] = [
            ("worker", |cost| cost.worker),
            ("PostgreSQL", |cost| cost.postgres),
            ("both", Cost::total),
        ];
        for (part, of) in parts {
            let known: Vec<f64> = costs.iter().flatten().map(|cost| of(cost)).collect();
            let growth = known.iter().copied().fold(f64::NEG_INFINITY, f64::max)
                / known.iter().copied().fold(f64::INFINITY, f64::min);
            let mut row = vec![name.to_owned(), part.to_owned()];
            let show = |cost: &Option<&Cost>| {
                cost.map_or(String::from("–"), |cost| format!("{:.0}", of(cost)))
            };
            row.extend(costs.iter().map(show));
            row.push(format!("{growth:.2}"));
            row.push(String::from(if growth <= GROWTH_MAX { "yes" } else { "NO" }));
            table.add(row);
        }
    }
    table.print();
}
