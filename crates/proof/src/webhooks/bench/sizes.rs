//! The cost of a delivery with more and more endpoints in the table: to one endpoint, and to a thousand endpoints in turn.
//!
//! Each size has a database, a worker and a receiver of its own, and the rounds of the sizes alternate, so that a slow minute of
//! the machine affects all. The workers of the other sizes are idle meanwhile; what they cost is part of what is measured.

use primitives::MerchantId;

use super::load::Load;
use super::{ROUNDS, Round};
use crate::engines::Engines;
use crate::report::{Failure, grouped};
use crate::table_print::{Spread, Table};
use crate::webhooks::site::merchant;

/// Endpoints in each table.
const SIZES: [u32; 3] = [1, 1_000, 100_000];
/// Endpoints of a store.
const PER_STORE: u32 = 20;
/// Endpoints that receive something, in the tables that have as many.
const IN_TURN: u32 = 1_000;
/// Deliveries in a round.
const DELIVERIES: u32 = 5_000;
/// How much the cost may grow.
const GROWTH_MAX: f64 = 1.5;

/// Endpoints that are never sent anything, with their stores, healthy and idle. `$1` is their number.
const FILL: [&str; 3] = [
    "INSERT INTO webhook_endpoint (merchant_id, endpoint_id, slot, url, description, kinds, status, from_settings, secret, version,
                                   created_at, updated_at)
     SELECT md5('store ' || number / 20)::uuid, md5('endpoint ' || number)::uuid, number % 20 + 1, 'https://1.1.1.1/' || number, '',
            ARRAY['order.created'], 'enabled', false, '\\x01'::bytea, 1, now(), now()
     FROM generate_series(0, $1::integer - 1) AS number",
    "INSERT INTO webhook_health (merchant_id, endpoint_id, last_attempt_at, last_success_at, consecutive_failures)
     SELECT md5('store ' || number / 20)::uuid, md5('endpoint ' || number)::uuid, now(), now(), 0
     FROM generate_series(0, $1::integer - 1) AS number",
    "INSERT INTO webhook_queue (merchant_id)
     SELECT md5('store ' || number)::uuid FROM generate_series(0, ($1::integer + 19) / 20 - 1) AS number",
];

pub(super) async fn measure(engines: &Engines) -> Result<(), Failure> {
    let mut tables = Vec::new();
    for size in SIZES {
        tables.push(Filled::open(engines, size).await?);
    }
    for round in 0..=ROUNDS {
        for turn in 0..tables.len() {
            let at = (round + turn) % tables.len();
            tables[at].round(engines).await?;
        }
    }
    println!(
        "{} deliveries, synchronous_commit = on; median of {ROUNDS} rounds of the three sizes in turn (min–max)",
        grouped(DELIVERIES)
    );
    print(&tables);
    Ok(())
}

/// A table of endpoints, and the rounds that were measured with it.
struct Filled {
    load: Load,
    /// Stores whose endpoints receive something in turn; empty in the smallest table.
    stores: Vec<MerchantId>,
    one: Vec<Round>,
    in_turn: Vec<Round>,
}

impl Filled {
    async fn open(engines: &Engines, size: u32) -> Result<Self, Failure> {
        let load = Load::open(engines, 1).await?;
        let mut stores = Vec::new();
        if size >= IN_TURN {
            stores = register(&load, IN_TURN - 1).await?;
            fill(&load, size - IN_TURN).await?;
        }
        let vacuum = "VACUUM ANALYZE webhook_endpoint, webhook_health, webhook_queue";
        sqlx::raw_sql(vacuum).execute(&mut load.site.raw().await).await?;
        Ok(Self { load, stores, one: Vec::new(), in_turn: Vec::new() })
    }

    async fn round(&mut self, engines: &Engines) -> Result<(), Failure> {
        let load = &self.load;
        self.one.push(load.deliver_to(engines, &load.merchants, DELIVERIES).await?);
        if !self.stores.is_empty() {
            self.in_turn.push(load.deliver_to(engines, &self.stores, DELIVERIES).await?);
        }
        Ok(())
    }
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

/// Returns what is shown of a round.
type PartOf = fn(&Round) -> f64;

/// Returns the rounds of one kind.
type RoundsOf = fn(&Filled) -> &Vec<Round>;

/// What is shown of a round: microseconds of CPU for a delivery.
const PARTS: [(&str, PartOf); 3] = [
    ("worker", |round| round.sender),
    ("PostgreSQL", |round| round.postgres),
    ("both", |round| round.sender + round.postgres),
];

fn print(tables: &[Filled]) {
    let sizes: Vec<String> =
        SIZES.iter().map(|size| format!("{} endpoints", grouped(*size))).collect();
    let head = ["CPU per delivery, µs", "of"].into_iter().chain(sizes.iter().map(String::as_str));
    let head: Vec<&str> = head.chain(["largest / smallest", "within 1.5"]).collect();
    let mut table = Table::new(&head);
    let rounds: [(&str, RoundsOf); 2] =
        [("to one endpoint", |table| &table.one), ("to 999 in turn", |table| &table.in_turn)];
    for (name, rounds) in rounds {
        for (part, of) in PARTS {
            // The first round of each is a warm-up.
            let spread = |table: &Filled| {
                let measured = rounds(table).get(1..)?;
                Some(Spread::of(measured.iter().map(of)))
            };
            let spreads: Vec<Option<Spread>> = tables.iter().map(spread).collect();
            let medians = spreads.iter().flatten().map(|spread| spread.median);
            let growth = medians.clone().fold(f64::NEG_INFINITY, f64::max)
                / medians.fold(f64::INFINITY, f64::min);
            let mut row = vec![name.to_owned(), part.to_owned()];
            let show = |spread: &Option<Spread>| {
                spread.map_or_else(|| String::from("–"), |spread| spread.show(0))
            };
            row.extend(spreads.iter().map(show));
            row.push(format!("{growth:.2}"));
            row.push(String::from(if growth <= GROWTH_MAX { "yes" } else { "NO" }));
            table.add(row);
        }
    }
    table.print();
}
