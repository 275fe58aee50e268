//! `/search` over HTTP compared with tantivy called in-process and with PostgreSQL.

use super::Selection;
use super::fixture::{Contenders, Fixture};
use crate::report::{Failure, grouped};
use crate::search::bare_tantivy::BareTantivy;
use crate::search::measure::{ByKind, MIXED, Round, bytes_per_product};
use crate::search::postgres::FullText;
use crate::search::souk_search::SoukSearch;
use crate::table_print::{Spread, Table};

const ROUNDS: usize = 5;
/// Minimum ratio of Souk's throughput to tantivy's.
const TARGET: f64 = 0.8;

/// Runs the comparison. Returns the searches per second of Souk, or `None` if it is not selected.
pub(super) async fn run(
    fixture: &Fixture,
    contenders: &mut Contenders,
    selection: Selection,
) -> Result<Option<f64>, Failure> {
    let capacity = rounds(fixture, contenders).await?;
    if let Contenders { souk: Some(souk), bare: Some(bare) } = contenders {
        compare_totals(fixture, souk, bare).await?;
    }
    let mut text =
        if selection.postgres { Some(FullText::build(&fixture.url).await?) } else { None };
    if let (Some(text), Some(bare)) = (&mut text, &contenders.bare) {
        compare_with_postgres(fixture, text, bare).await?;
    }
    print_kinds(fixture, contenders, text.as_mut()).await?;
    print_sizes(fixture, contenders, text.as_ref())?;
    Ok(capacity)
}

/// Runs rounds of Souk and tantivy in turn, so that a temporary slowdown affects both. The first round is
/// discarded.
async fn rounds(fixture: &Fixture, contenders: &Contenders) -> Result<Option<f64>, Failure> {
    let (mut souk_rounds, mut tantivy_rounds): (Vec<Round>, Vec<Round>) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        for turn in 0..2 {
            if (round + turn) % 2 == 0 {
                if let Some(souk) = &contenders.souk {
                    souk_rounds.push(souk.round(&fixture.queries).await?);
                }
            } else if let Some(bare) = &contenders.bare {
                tantivy_rounds.push(tokio::task::block_in_place(|| bare.round(&fixture.queries))?);
            }
        }
    }
    let souk = souk_rounds.get(1..).unwrap_or(&[]);
    let tantivy = tantivy_rounds.get(1..).unwrap_or(&[]);
    println!();
    println!(
        "{} queries per round over {} products: first 20 hits, exact total, filters and trust",
        grouped(fixture.queries.len()),
        grouped(fixture.catalog.size)
    );
    println!("median of {ROUNDS} interleaved rounds (min–max); target ratio: {TARGET}");
    let mut table = Table::new(&["", "searches/s", "CPU µs/search"]);
    for (name, rounds) in
        [("souk over HTTP, 4 connections", souk), ("tantivy in-process, 2 threads", tantivy)]
    {
        if !rounds.is_empty() {
            table.add(vec![
                name.to_owned(),
                Spread::of(rounds.iter().map(|round| round.per_second)).show(0),
                Spread::of(rounds.iter().map(|round| round.cpu_micros)).show(0),
            ]);
        }
    }
    if !souk.is_empty() && !tantivy.is_empty() {
        let pairs = || souk.iter().zip(tantivy);
        let speed = pairs().map(|(souk, tantivy)| souk.per_second / tantivy.per_second);
        let cpu = pairs().map(|(souk, tantivy)| souk.cpu_micros / tantivy.cpu_micros);
        let ratio = String::from("ratio");
        table.add(vec![ratio, Spread::of(speed).show(2), Spread::of(cpu).show(2)]);
    }
    table.print();
    let mut speeds: Vec<f64> = souk.iter().map(|round| round.per_second).collect();
    speeds.sort_by(f64::total_cmp);
    Ok(speeds.get(speeds.len() / 2).copied())
}

/// Compares the totals of Souk and tantivy, to verify that both do the same work.
async fn compare_totals(
    fixture: &Fixture,
    souk: &SoukSearch,
    bare: &BareTantivy,
) -> Result<(), Failure> {
    let (mut same, mut estimates) = (0_u32, 0_u32);
    let mut differing = None;
    for query in &fixture.queries {
        let total = souk.total(query).await?;
        let (_, expected) = bare.search(query)?;
        estimates += u32::from(total.is_estimate);
        if total.count == expected {
            same += 1;
        } else if differing.is_none() {
            differing = Some(format!("{} and {expected} for {}", total.count, query.body()));
        }
    }
    let all = grouped(fixture.queries.len());
    println!("{} of {all} totals are equal, {estimates} are estimates", grouped(same));
    if let Some(differing) = differing {
        println!("first difference: {differing}");
    }
    Ok(())
}

/// Compares the totals of PostgreSQL and tantivy for a few queries of each kind, because PostgreSQL is slow.
async fn compare_with_postgres(
    fixture: &Fixture,
    text: &mut FullText,
    bare: &BareTantivy,
) -> Result<(), Failure> {
    const OF_EACH: usize = 5;
    let (mut same, mut all) = (0_u32, 0_u32);
    for query in fixture.kinds.iter().flat_map(|(_, queries)| queries.iter().take(OF_EACH)) {
        same += u32::from(text.search(query).await? == bare.search(query)?.1);
        all += 1;
    }
    println!("{same} of {all} totals of PostgreSQL equal those of tantivy");
    Ok(())
}

/// Prints the CPU milliseconds per query of each kind.
async fn print_kinds(
    fixture: &Fixture,
    contenders: &Contenders,
    text: Option<&mut FullText>,
) -> Result<(), Failure> {
    let souk = match &contenders.souk {
        Some(souk) => Some(souk.by_kind(&fixture.kinds).await?),
        None => None,
    };
    let tantivy = match &contenders.bare {
        Some(bare) => Some(tokio::task::block_in_place(|| bare.by_kind(&fixture.kinds))?),
        None => None,
    };
    let postgres = match text {
        Some(text) => Some(text.by_kind(&fixture.kinds).await?),
        None => None,
    };
    println!();
    println!("CPU ms per search by kind; PostgreSQL: as many queries as it completes in 8 s");
    let head = ["kind", "hits", "souk", "tantivy", "PostgreSQL", "souk/tantivy"];
    let mut table = Table::new(&head);
    for kind in fixture.kinds.iter().map(|(kind, _)| kind.as_str()).chain([MIXED]) {
        let micros = |by_kind: &Option<ByKind>| by_kind.as_ref()?.get(kind).copied();
        let ratio = micros(&souk).zip(micros(&tantivy)).map(|(souk, tantivy)| souk / tantivy);
        table.add(vec![
            kind.to_owned(),
            hits(fixture, contenders.bare.as_ref(), kind)?,
            millis(micros(&souk)),
            millis(micros(&tantivy)),
            millis(micros(&postgres)),
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        ]);
    }
    table.print();
    Ok(())
}

/// Returns the median number of hits of a kind.
fn hits(fixture: &Fixture, bare: Option<&BareTantivy>, kind: &str) -> Result<String, Failure> {
    let of_kind = fixture.kinds.iter().find(|(name, _)| name == kind);
    let (Some(bare), Some((_, queries))) = (bare, of_kind) else { return Ok(String::new()) };
    let mut totals = Vec::new();
    for query in queries {
        totals.push(bare.search(query)?.1);
    }
    totals.sort_unstable();
    Ok(totals.get(totals.len() / 2).map_or_else(String::new, |median| grouped(*median)))
}

fn millis(micros: Option<f64>) -> String {
    micros.map_or_else(String::new, |micros| format!("{:.2}", micros / 1_000.0))
}

/// Prints the size and build time of the indexes.
fn print_sizes(
    fixture: &Fixture,
    contenders: &Contenders,
    text: Option<&FullText>,
) -> Result<(), Failure> {
    println!();
    let mut table = Table::new(&["index", "bytes/product", "build time, s"]);
    let mut add = |name: &str, bytes: u64, build: std::time::Duration| {
        let bytes = format!("{:.0}", bytes_per_product(bytes, fixture.catalog.size));
        table.add(vec![name.to_owned(), bytes, format!("{:.1}", build.as_secs_f64())]);
    };
    if let Some(souk) = &contenders.souk {
        add("souk, from PostgreSQL until searchable", souk.bytes()?, souk.build);
    }
    if let Some(bare) = &contenders.bare {
        add("tantivy, from memory", bare.bytes()?, bare.build);
    }
    if let Some(text) = text {
        add("PostgreSQL, full-text table and index", text.bytes, text.build);
    }
    table.print();
    Ok(())
}
