//! `search_products` at the MCP endpoints of single stores compared with the same queries through `/search`
//! and tantivy called in-process: the overhead of MCP.

use super::fixture::{Contenders, Fixture};
use crate::report::{Failure, grouped};
use crate::search::measure::Round;
use crate::search::synthetic_catalog::Query;
use crate::table_print::{Spread, Table};

const ROUNDS: usize = 5;

pub(super) async fn run(fixture: &Fixture, contenders: &Contenders) -> Result<(), Failure> {
    let Contenders { souk: Some(souk), bare: Some(bare) } = contenders else { return Ok(()) };
    // The endpoint of a suspended store rejects calls.
    let is_open = |query: &&Query| {
        let merchant = query.store.as_ref().and_then(|(number, _)| {
            fixture.catalog.merchants.get(usize::try_from(*number).unwrap_or(usize::MAX))
        });
        merchant.is_some_and(|merchant| !merchant.is_suspended())
    };
    let queries: Vec<Query> = fixture.queries.iter().filter(is_open).cloned().collect();
    let mut rows: [(&str, Vec<Round>); 3] = [
        ("search_products over MCP", Vec::new()),
        ("/search over HTTP", Vec::new()),
        ("tantivy in-process", Vec::new()),
    ];
    for round in 0..=ROUNDS {
        let measured = [
            souk.tool_call_round(&queries).await?,
            souk.round(&queries).await?,
            tokio::task::block_in_place(|| bare.round(&queries))?,
        ];
        // The first round is for warm-up.
        for ((_, rounds), measured) in rows.iter_mut().zip(measured).filter(|_| round > 0) {
            rounds.push(measured);
        }
    }
    println!();
    println!(
        "{} queries within one store each over {} products: first 20 hits, exact total, filters",
        grouped(queries.len()),
        grouped(fixture.catalog.size)
    );
    println!("median of {ROUNDS} interleaved rounds (min–max); CPU of the server process alone");
    let head = ["", "searches/s", "CPU µs/search", "overhead over tantivy, µs"];
    let mut table = Table::new(&head);
    let tantivy: Vec<f64> = rows[2].1.iter().map(|round| round.cpu_micros).collect();
    for (name, rounds) in &rows {
        let overhead = rounds.iter().zip(&tantivy).map(|(round, base)| round.cpu_micros - base);
        table.add(vec![
            (*name).to_owned(),
            Spread::of(rounds.iter().map(|round| round.per_second)).show(0),
            Spread::of(rounds.iter().map(|round| round.cpu_micros)).show(0),
            Spread::of(overhead).show(0),
        ]);
    }
    table.print();
    Ok(())
}
