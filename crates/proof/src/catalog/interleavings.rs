//! (d) Pushes, feeds, revisions and retirements collide; the catalog is what it would be had they
//! come one after another.
//!
//! A history is two to four operations on the same few products, started together, each in a work of
//! its own, on top of whatever the histories before left behind. After it there has to be an order of
//! the operations in which a model that knows no locks comes to the same: the same answers, the same
//! products as the catalog shows them, the same lines of the price history in the same order, and one
//! event for each product an operation changed, told by that operation. An operation that had ended
//! before another began has to come before it. A deadlock, or any other error, is a failure.
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
use self::judge::explain;
use self::seen::Eye;
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
    let per_table = trial.by_tier(500, 10_000) / TABLES;
    let test = TestDatabase::new().await;
    let database = open(test.url(), CONNECTIONS, Dice::real())?;
    database.refresh_directory().await?;
    open_store(&database).await?;
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
    backdated: AtomicU64,
}

impl Figures {
    fn say(&self) -> String {
        let count = |figure: &AtomicU64| grouped(figure.load(Ordering::Relaxed));
        format!(
            "{} histories of {} operations, each as if one after another; in {} they overlapped, {} \
             are explained only by another order than that of their beginnings; {} prices bear an \
             earlier moment than the one before",
            count(&self.histories),
            count(&self.operations),
            count(&self.overlapped),
            count(&self.reordered),
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
    /// What the catalog may be by now.
    worlds: Vec<World>,
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
        Ok(Self { number, database: database.clone(), dice, eye, worlds: vec![World::default()] })
    }

    async fn play(mut self, histories: u64, figures: Arc<Figures>) -> Result<(), Failure> {
        for number in 0..histories {
            let shelf = u32::try_from(number / SHELF_LASTS)?;
            let operations = deal::history(&mut self.dice, shelf);
            self.play_one(&operations, &figures)
                .await
                .map_err(|failure| format!("table {}, history {number}: {failure}", self.number))?;
        }
        Ok(())
    }

    async fn play_one(&mut self, operations: &[Operation], to: &Figures) -> Result<(), Failure> {
        let acted = self.act_together(operations).await?;
        let seen = self.eye.look(&products_of(operations), &acted).await?;
        let mut begun: Vec<usize> = (0..acted.len()).collect();
        begun.sort_by_key(|index| acted.get(*index).map(|acted| acted.began));
        let before = |one: usize, other: usize| {
            let pair = acted.get(one).zip(acted.get(other));
            pair.is_some_and(|(one, other)| one.ended <= other.began)
        };
        let explained = explain(&self.worlds, operations, before, &begun, &seen);
        if explained.worlds.is_empty() {
            let worlds = &self.worlds;
            return Err(format!(
                "no order explains it\nbefore: {worlds:#?}\ndone: {operations:#?}\nseen: {seen:#?}\n{acted:#?}"
            )
            .into());
        }
        self.worlds = explained.worlds;
        let add = |figure: &AtomicU64, by: u64| figure.fetch_add(by, Ordering::Relaxed);
        add(&to.histories, 1);
        add(&to.operations, u64::try_from(operations.len())?);
        add(&to.overlapped, u64::from(overlapped(&acted)));
        add(&to.reordered, u64::from(!explained.as_begun));
        add(&to.backdated, seen.backdated);
        Ok(())
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
