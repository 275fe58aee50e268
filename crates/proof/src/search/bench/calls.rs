//! `search_products` at the endpoints of single stores against the same through `/search` and tantivy
//! called in-process: what the door for agents adds.

use super::stage::{Sides, Stage};
use crate::report::{Failure, grouped};
use crate::search::measure::Round;
use crate::search::world::Query;
use crate::table_print::{Spread, Table};

const ROUNDS: usize = 5;

pub(super) async fn run(stage: &Stage, sides: &Sides) -> Result<(), Failure> {
    let Sides { site: Some(site), bare: Some(bare) } = sides else { return Ok(()) };
    // The endpoint of a suspended store refuses.
    let is_open = |query: &&Query| {
        let merchant = query.store.as_ref().and_then(|(number, _)| {
            stage.world.merchants.get(usize::try_from(*number).unwrap_or(usize::MAX))
        });
        merchant.is_some_and(|merchant| !merchant.is_suspended())
    };
    let queries: Vec<Query> = stage.queries.iter().filter(is_open).cloned().collect();
    let mut rows: [(&str, Vec<Round>); 3] = [
        ("search_products over MCP", Vec::new()),
        ("/search over HTTP", Vec::new()),
        ("tantivy in-process", Vec::new()),
    ];
    for round in 0..=ROUNDS {
        let measured = [
            site.round_of_calls(&queries).await?,
            site.round(&queries).await?,
            tokio::task::block_in_place(|| bare.round(&queries))?,
        ];
        // The first round warms all of them.
        for ((_, rounds), measured) in rows.iter_mut().zip(measured).filter(|_| round > 0) {
            rounds.push(measured);
        }
    }
    println!();
    println!(
        "{} queries of one store each over {} products: the best 20, the exact total, filters",
        grouped(queries.len()),
        grouped(stage.world.size)
    );
    println!("median of {ROUNDS} interleaved rounds (least–most); CPU of the server process alone");
    let head = ["", "searches/s", "CPU µs/search", "beyond tantivy, µs"];
    let mut table = Table::new(&head);
    let tantivy: Vec<f64> = rows[2].1.iter().map(|round| round.cpu_micros).collect();
    for (name, rounds) in &rows {
        let beyond = rounds.iter().zip(&tantivy).map(|(round, least)| round.cpu_micros - least);
        table.add(vec![
            (*name).to_owned(),
            Spread::of(rounds.iter().map(|round| round.per_second)).show(0),
            Spread::of(rounds.iter().map(|round| round.cpu_micros)).show(0),
            Spread::of(beyond).show(0),
        ]);
    }
    table.print();
    Ok(())
}
