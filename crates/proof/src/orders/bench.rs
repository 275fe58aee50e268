//! Reading and changing orders over HTTP, against pgbench sending the same statements, with up to ten million orders of ten
//! thousand stores; and what each costs as the table grows.
//!
//! The orders are copies of two that were bought: one to which nothing has happened, and one that was shipped, delivered and
//! completed, with its history and its shipment. They are spread over stores and keys so that every page is full at every
//! size: a store has at least a hundred orders, and each of its five agents at least twenty of them.

mod load;
mod operations;

use std::time::Instant;

use self::load::Loader;
use self::operations::{Operation, Workbench};
use crate::report::{Failure, grouped};
use crate::table_print::{Spread, Table};

const ROUNDS: usize = 5;
/// Orders in the table, unless an option says otherwise.
const SIZE: u32 = 10_000_000;
/// Sizes at which the cost is measured, and the one that was asked for.
const SIZES: [u32; 2] = [10_000, 1_000_000];
/// Target of the ratio to pgbench.
const TARGET: f64 = 0.6;
/// How much the cost may grow with the table.
const GROWTH_MAX: f64 = 1.5;

pub(crate) async fn bench(size: Option<u32>) -> Result<(), Failure> {
    let size = size.unwrap_or(SIZE);
    let mut sizes: Vec<u32> = SIZES.into_iter().filter(|smaller| *smaller < size).collect();
    sizes.push(size);
    let mut workbench = Workbench::open().await?;
    let mut loader = Loader::new(&workbench).await?;
    let mut costs = Costs::default();
    for orders in &sizes {
        let since = Instant::now();
        loader.load(&workbench, *orders).await?;
        let (bytes, seconds) = (loader.bytes().await?, since.elapsed().as_secs());
        println!(
            "{} orders of {} stores after {seconds} s, {:.1} GB with history and indexes",
            grouped(*orders),
            grouped(load::stores(*orders)),
            f64::from(u32::try_from(bytes / 1_000_000).unwrap_or(u32::MAX)) / 1_000.0,
        );
        costs.measure(&mut workbench).await?;
    }
    compare(&mut workbench).await?;
    costs.print(&sizes);
    Ok(())
}

/// Alternates rounds of Souk and pgbench, so that a slow minute of the machine affects both.
async fn compare(workbench: &mut Workbench) -> Result<(), Failure> {
    println!(
        "{} clients, limits off, synchronous_commit = on; median of {ROUNDS} interleaved rounds (min–max)",
        operations::CLIENTS
    );
    let mut rates = Table::new(&["calls per second", "souk", "pgbench", "ratio", "target"]);
    let mut cpu = Table::new(&[
        "CPU per call, µs",
        "souk",
        "PostgreSQL with souk",
        "PostgreSQL with pgbench",
    ]);
    for operation in Operation::ALL {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            for turn in 0..2 {
                if (round + turn) % 2 == 0 {
                    ours.push(workbench.souk_round(operation).await?);
                } else {
                    theirs.push(workbench.pgbench_round(operation).await?);
                }
            }
        }
        // The first round of each is a warm-up.
        let (ours, theirs) = (ours.split_off(1), theirs.split_off(1));
        let ratios = ours.iter().zip(&theirs).map(|(ours, theirs)| ours.rate / theirs.rate);
        let show = |rounds: &[operations::Round], of: fn(&operations::Round) -> f64| {
            Spread::of(rounds.iter().map(of)).show(0)
        };
        let name = operation.name().to_owned();
        rates.add(vec![
            name.clone(),
            show(&ours, |round| round.rate),
            show(&theirs, |round| round.rate),
            Spread::of(ratios).show(2),
            format!("{TARGET}"),
        ]);
        cpu.add(vec![
            name,
            show(&ours, |round| round.souk),
            show(&ours, |round| round.postgres),
            show(&theirs, |round| round.postgres),
        ]);
    }
    rates.print();
    cpu.print();
    Ok(())
}

/// Milliseconds of each operation at each size, for one client: over HTTP, and of the statements alone.
#[derive(Default)]
struct Costs(Vec<[[f64; 2]; Operation::ALL.len()]>);

impl Costs {
    async fn measure(&mut self, workbench: &mut Workbench) -> Result<(), Failure> {
        let mut costs = [[0.0; 2]; Operation::ALL.len()];
        for (cost, operation) in costs.iter_mut().zip(Operation::ALL) {
            workbench.record(operation).await?;
            let (mut calls, mut statements) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                calls.push(workbench.call_millis(operation).await?);
                statements.push(workbench.statement_millis(operation).await?);
            }
            *cost = [Spread::of(calls).median, Spread::of(statements).median];
        }
        self.0.push(costs);
        Ok(())
    }

    fn print(&self, sizes: &[u32]) {
        let sizes: Vec<String> = sizes.iter().map(|size| grouped(*size)).collect();
        let head =
            ["ms for one client", "measured"].into_iter().chain(sizes.iter().map(String::as_str));
        let head: Vec<&str> = head.chain(["largest / smallest", "within 1.5"]).collect();
        let mut table = Table::new(&head);
        for (at, operation) in Operation::ALL.into_iter().enumerate() {
            for (kind, name) in ["over HTTP", "statements"].into_iter().enumerate() {
                let costs: Vec<f64> = self.0.iter().map(|of_size| of_size[at][kind]).collect();
                let growth = costs.iter().copied().fold(f64::NEG_INFINITY, f64::max)
                    / costs.iter().copied().fold(f64::INFINITY, f64::min);
                let mut row = vec![operation.name().to_owned(), name.to_owned()];
                row.extend(costs.iter().map(|cost| format!("{cost:.3}")));
                row.push(format!("{growth:.2}"));
                row.push(String::from(if growth <= GROWTH_MAX { "yes" } else { "NO" }));
                table.add(row);
            }
        }
        table.print();
    }
}
