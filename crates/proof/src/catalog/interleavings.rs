//! (d) Pushes, feeds, revisions and retirements collide; the catalog is what it would be had they
//! come one after another.
//!
//! A history is two to four operations on the same few products, started together, each in a work of
//! its own, on top of whatever the histories before left behind. After it there has to be, for each
//! product, an order of the operations in which a model that knows no locks comes to the same: the
//! same answers, the same product as the catalog shows it, the same lines of the price history in the
//! same order, and one event from each operation that changed it, told in that order. An operation
//! that had ended before another began has to come before it. A deadlock, or any other error, is a
//! failure.
//!
//! A batch is many products and not one thing: what it finds in order it does not hold, so another
//! operation may come behind it with one product and before it with another. How often that happened
//! is printed; where operations have one product in common it cannot.
//!
//! Several tables of products play at once, so that histories also get in the way of those they have
//! nothing to do with: they make the same new categories.

mod act;
mod deal;
mod judge;
mod seen;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use database::{Database, Dice, Reading};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use testkit::TestDatabase;
use tokio::task::JoinSet;

use self::act::{Acted, Pauses, act};
use self::judge::{explain, possible_orders};
use self::seen::{Eye, Seen};
use crate::catalog::model::{Operation, World};
use crate::catalog::shop::{merchant, open_store};
use crate::report::{Failure, Trial, Verdict, grouped};
use crate::worker::open;

const TABLES: u64 = 8;
/// Operations of one table at the most, and one look.
const CONNECTIONS: u32 = 40;
/// So many histories of a table share a category that is new.
const SHELF_LASTS: u64 = 4;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let per_table = trial.by_tier(500_u64, 10_000).div_ceil(TABLES);
    let test = TestDatabase::new().await;
    let database = open(test.url(), CONNECTIONS, Dice::real())?;
    database.refresh_directory().await?;
    open_store(&database).await;
    let figures = Arc::new(Figures::default());
    let mut dice = trial.dice(11);
    let mut tables = JoinSet::new();
    for number in 0..TABLES {
        let table = Table::set(&test, &database, number, dice.next_u64()).await?;
        let figures = Arc::clone(&figures);
        tables.spawn(table.play(per_table, figures));
    }
    while let Some(played) = tables.join_next().await {
        played??;
        trial.progress(|| format!("{} histories", figures.histories.load(Ordering::Relaxed)));
    }
    database.close().await;
    Ok(figures.say())
}

/// What is counted.
#[derive(Default)]
struct Figures {
    histories: AtomicU64,
    operations: AtomicU64,
    overlapped: AtomicU64,
    reordered: AtomicU64,
    torn: AtomicU64,
    backdated: AtomicU64,
}

impl Figures {
    fn say(&self) -> String {
        let count = |figure: &AtomicU64| grouped(figure.load(Ordering::Relaxed));
        format!(
            "{} histories of {} operations in all, {} overlapped; {} are explained only by another \
             order than that of their beginnings, {} only product by product; {} prices bear an \
             earlier moment than the one before",
            count(&self.histories),
            count(&self.operations),
            count(&self.overlapped),
            count(&self.reordered),
            count(&self.torn),
            count(&self.backdated),
        )
    }
}

/// Products that histories are played on, one history after another.
struct Table {
    number: usize,
    database: Database,
    dice: StdRng,
    eye: Eye,
    /// What each product may be by now.
    worlds: BTreeMap<usize, Vec<World>>,
}

impl Table {
    async fn set(
        test: &TestDatabase,
        database: &Database,
        number: u64,
        seed: u64,
    ) -> Result<Self, Failure> {
        let number = usize::try_from(number)?;
        let eye = Eye {
            table: number,
            sql: test.raw().await,
            reading: Reading::for_store(database, merchant())?,
            ids: BTreeMap::new(),
            last_line: 0,
            last_event: 0,
        };
        let dice = StdRng::seed_from_u64(seed);
        Ok(Self { number, database: database.clone(), dice, eye, worlds: BTreeMap::new() })
    }

    async fn play(mut self, histories: u64, figures: Arc<Figures>) -> Result<(), Failure> {
        for number in 0..histories {
            let first_shelf = u32::try_from(number / SHELF_LASTS)?;
            let operations = deal::history(&mut self.dice, first_shelf);
            self.play_one(&operations, &figures)
                .await
                .map_err(|failure| format!("table {}, history {number}: {failure}", self.number))?;
        }
        Ok(())
    }

    async fn play_one(&mut self, operations: &[Operation], to: &Figures) -> Result<(), Failure> {
        let acted = self.act_together(operations).await?;
        let seen = self.eye.look(&products_of(operations), &acted).await?;
        let mut explained = BTreeMap::new();
        for product in products_of(operations) {
            let found = explain(self.worlds(product), product, operations, &acted, &seen);
            if found.worlds.is_empty() {
                return Err(self.complaint(product, operations, &seen, &acted).into());
            }
            explained.insert(product, found);
        }
        let mut begun: Vec<usize> = (0..acted.len()).collect();
        begun.sort_by_key(|index| acted.get(*index).map(|acted| acted.began));
        let fits = |order: &Vec<usize>| explained.values().all(|found| found.holds_in(order));
        let (as_begun, as_a_whole) = (fits(&begun), possible_orders(&acted).iter().any(fits));
        for (product, found) in explained {
            self.worlds.insert(product, found.worlds);
        }
        let add = |figure: &AtomicU64, by: u64| figure.fetch_add(by, Ordering::Relaxed);
        add(&to.histories, 1);
        add(&to.operations, u64::try_from(operations.len())?);
        add(&to.overlapped, u64::from(overlapped(&acted)));
        add(&to.reordered, u64::from(!as_begun && as_a_whole));
        add(&to.torn, u64::from(!as_a_whole));
        add(&to.backdated, seen.backdated);
        Ok(())
    }

    fn worlds(&mut self, product: usize) -> &[World] {
        self.worlds.entry(product).or_insert_with(|| vec![World::default()])
    }

    /// What happened, for people.
    fn complaint(
        &mut self,
        product: usize,
        operations: &[Operation],
        seen: &Seen,
        acted: &[Acted],
    ) -> String {
        let mut lines = vec![format!("no order explains what became of {product}")];
        let worlds = self.worlds(product).iter();
        lines.extend(worlds.map(|world| format!("before: {:?}", world.products)));
        let done = operations.iter().zip(acted);
        lines.extend(done.map(|(operation, acted)| format!("done: {operation:?}\n  {acted:?}")));
        lines.push(format!("seen: {:?}", seen.products.get(&product)));
        lines.push(format!("  {:?}", seen.lines.get(&product)));
        lines.push(format!("  {:?}", seen.told.get(&product)));
        lines.join("\n")
    }

    async fn act_together(&mut self, operations: &[Operation]) -> Result<Vec<Acted>, Failure> {
        let mut tasks = Vec::new();
        for operation in operations {
            let pauses = Pauses {
                before_micros: self.dice.random_range(0..300),
                inside_micros: self.dice.random_range(0..300),
            };
            let task = act(self.database.clone(), self.number, operation.clone(), pauses);
            tasks.push(tokio::spawn(task));
        }
        let mut acted = Vec::new();
        for task in tasks {
            acted.push(task.await??);
        }
        Ok(acted)
    }
}

fn products_of(operations: &[Operation]) -> BTreeSet<usize> {
    let mut products = BTreeSet::new();
    for operation in operations {
        match operation {
            Operation::Put { drafts, .. } => {
                products.extend(drafts.iter().map(|(product, _)| product));
            }
            Operation::Revise(revisions) => products.extend(revisions.iter().map(|it| it.product)),
            Operation::Retire { products: named, .. } => products.extend(named),
        }
    }
    products
}

/// Whether one began before another ended, and the other way round.
fn overlapped(acted: &[Acted]) -> bool {
    let overlap = |(at, one): (usize, &Acted)| {
        let others = acted.get(at + 1..).unwrap_or_default();
        others.iter().any(|other| one.began < other.ended && other.began < one.ended)
    };
    acted.iter().enumerate().any(overlap)
}
