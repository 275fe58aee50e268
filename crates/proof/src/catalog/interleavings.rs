//! Pushes, feeds, offer updates and retirements run concurrently; each product ends as if they had run
//! one after another.
//!
//! A history is two to four operations on the same few products, started together, each in its own
//! `Work`, on the state that the previous histories left. After a history there must be, for each
//! product, a serial order of the operations in which a model without locks gives the same: the same
//! results, the same product as the catalog returns it, the same entries of the price history in the same
//! order, and one event of each operation that changed the product, in that order. An operation that
//! ended before another began must precede it. A deadlock or any other error is a failure.
//!
//! A batch is not atomic with respect to all of its products: products that need no write are not
//! locked, so another operation may be ordered after the batch for one product and before it for another.
//! The check prints how often that happened; it cannot happen where operations share only one product.
//!
//! Several groups of products run at the same time, so that histories also contend with unrelated ones:
//! they create the same new categories.

mod execute;
mod generate;
mod observe;
mod serial_order;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use database::{Database, RandomSource, Reading};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use testkit::TestDatabase;
use tokio::task::JoinSet;

use self::execute::{Execution, Pauses, execute};
use self::observe::{Observed, Observer};
use self::serial_order::{find_serial_orders, possible_orders};
use crate::catalog::model::{CatalogModel, Operation};
use crate::catalog::store::{create_store, merchant};
use crate::report::{Failure, Trial, Verdict, grouped};
use crate::worker::open;

const GROUPS: u64 = 8;
/// Up to four operations of each group, and one connection to observe the result.
const CONNECTIONS: u32 = 40;
/// Number of consecutive histories of a group that use the same new category.
const HISTORIES_PER_CATEGORY: u64 = 4;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let per_group = trial.by_tier(500_u64, 10_000).div_ceil(GROUPS);
    let test = TestDatabase::new().await;
    let database = open(test.url(), CONNECTIONS, RandomSource::system())?;
    database.refresh_directory().await?;
    create_store(&database).await;
    let counters = Arc::new(Counters::default());
    let mut rng = trial.rng(11);
    let mut groups = JoinSet::new();
    for number in 0..GROUPS {
        let group = Group::new(&test, &database, number, rng.next_u64()).await?;
        let counters = Arc::clone(&counters);
        groups.spawn(group.run(per_group, counters));
    }
    while let Some(ended) = groups.join_next().await {
        ended??;
        trial.progress(|| format!("{} histories", counters.histories.load(Ordering::Relaxed)));
    }
    database.close().await;
    Ok(counters.summary())
}

/// Counters of the whole check.
#[derive(Default)]
struct Counters {
    histories: AtomicU64,
    operations: AtomicU64,
    overlapped: AtomicU64,
    reordered: AtomicU64,
    split: AtomicU64,
    backdated: AtomicU64,
}

impl Counters {
    fn summary(&self) -> String {
        let count = |counter: &AtomicU64| grouped(counter.load(Ordering::Relaxed));
        format!(
            "{} histories ({} operations), {} with overlapping operations; {} serializable only in an order \
             other than that of their start times, {} only product by product; {} prices with a \
             timestamp earlier than that of the previous price",
            count(&self.histories),
            count(&self.operations),
            count(&self.overlapped),
            count(&self.reordered),
            count(&self.split),
            count(&self.backdated),
        )
    }
}

/// A group of products on which histories run one after another.
struct Group {
    number: usize,
    database: Database,
    rng: StdRng,
    observer: Observer,
    /// The possible states of each product.
    states: BTreeMap<usize, Vec<CatalogModel>>,
}

impl Group {
    async fn new(
        test: &TestDatabase,
        database: &Database,
        number: u64,
        seed: u64,
    ) -> Result<Self, Failure> {
        let number = usize::try_from(number)?;
        let observer = Observer {
            group: number,
            sql: test.raw().await,
            reading: Reading::for_store(database, merchant())?,
            ids: BTreeMap::new(),
            last_price: 0,
            last_event: 0,
        };
        let rng = StdRng::seed_from_u64(seed);
        Ok(Self { number, database: database.clone(), rng, observer, states: BTreeMap::new() })
    }

    async fn run(mut self, histories: u64, counters: Arc<Counters>) -> Result<(), Failure> {
        for number in 0..histories {
            let first_category = u32::try_from(number / HISTORIES_PER_CATEGORY)?;
            let operations = generate::history(&mut self.rng, first_category);
            self.run_history(&operations, &counters)
                .await
                .map_err(|failure| format!("group {}, history {number}: {failure}", self.number))?;
        }
        Ok(())
    }

    async fn run_history(
        &mut self,
        operations: &[Operation],
        counters: &Counters,
    ) -> Result<(), Failure> {
        let executions = self.execute_concurrently(operations).await?;
        let observed = self.observer.observe(&products_of(operations), &executions).await?;
        let mut serial_orders = BTreeMap::new();
        for product in products_of(operations) {
            let found = find_serial_orders(
                self.states(product),
                product,
                operations,
                &executions,
                &observed,
            );
            if found.states.is_empty() {
                return Err(self
                    .describe_failure(product, operations, &observed, &executions)
                    .into());
            }
            serial_orders.insert(product, found);
        }
        let mut start_order: Vec<usize> = (0..executions.len()).collect();
        start_order.sort_by_key(|index| executions.get(*index).map(|execution| execution.began));
        let fits = |order: &Vec<usize>| serial_orders.values().all(|found| found.allows(order));
        let in_start_order = fits(&start_order);
        let in_some_order = possible_orders(&executions).iter().any(fits);
        for (product, found) in serial_orders {
            self.states.insert(product, found.states);
        }
        let add = |counter: &AtomicU64, by: u64| counter.fetch_add(by, Ordering::Relaxed);
        add(&counters.histories, 1);
        add(&counters.operations, u64::try_from(operations.len())?);
        add(&counters.overlapped, u64::from(overlapped(&executions)));
        add(&counters.reordered, u64::from(!in_start_order && in_some_order));
        add(&counters.split, u64::from(!in_some_order));
        add(&counters.backdated, observed.backdated);
        Ok(())
    }

    fn states(&mut self, product: usize) -> &[CatalogModel] {
        self.states.entry(product).or_insert_with(|| vec![CatalogModel::default()])
    }

    /// Describes a history for which no serial order was found.
    fn describe_failure(
        &mut self,
        product: usize,
        operations: &[Operation],
        observed: &Observed,
        executions: &[Execution],
    ) -> String {
        let mut lines =
            vec![format!("no serial order gives the observed state of product {product}")];
        let states = self.states(product).iter();
        lines.extend(states.map(|state| format!("before: {:?}", state.products)));
        let done = operations.iter().zip(executions);
        lines.extend(
            done.map(|(operation, execution)| format!("executed: {operation:?}\n  {execution:?}")),
        );
        lines.push(format!("observed: {:?}", observed.products.get(&product)));
        lines.push(format!("  {:?}", observed.prices.get(&product)));
        lines.push(format!("  {:?}", observed.events.get(&product)));
        lines.join("\n")
    }

    async fn execute_concurrently(
        &mut self,
        operations: &[Operation],
    ) -> Result<Vec<Execution>, Failure> {
        let mut tasks = Vec::new();
        for operation in operations {
            let pauses = Pauses {
                before_micros: self.rng.random_range(0..300),
                before_commit_micros: self.rng.random_range(0..300),
            };
            let task = execute(self.database.clone(), self.number, operation.clone(), pauses);
            tasks.push(tokio::spawn(task));
        }
        let mut executions = Vec::new();
        for task in tasks {
            executions.push(task.await??);
        }
        Ok(executions)
    }
}

fn products_of(operations: &[Operation]) -> BTreeSet<usize> {
    let mut products = BTreeSet::new();
    for operation in operations {
        match operation {
            Operation::Put { drafts, .. } => {
                products.extend(drafts.iter().map(|(product, _)| product));
            }
            Operation::UpdateOffers(updates) => {
                products.extend(updates.iter().map(|it| it.product));
            }
            Operation::Retire { products: named, .. } => products.extend(named),
        }
    }
    products
}

/// Returns whether at least two operations overlapped in time.
fn overlapped(executions: &[Execution]) -> bool {
    let overlap = |(at, one): (usize, &Execution)| {
        let others = executions.get(at + 1..).unwrap_or_default();
        others.iter().any(|other| one.began < other.ended && other.began < one.ended)
    };
    executions.iter().enumerate().any(overlap)
}
