//! `/search` over HTTP against tantivy called in-process, in turn; PostgreSQL beside them.

use super::Parts;
use super::stage::{Sides, Stage};
use crate::report::{Failure, grouped};
use crate::search::bare::Bare;
use crate::search::measure::{ByKind, MIXED, Round, bytes_each};
use crate::search::postgres::FullText;
use crate::search::site::Site;
use crate::table_print::{Spread, Table};

const ROUNDS: usize = 5;
/// What we promise: at least so much of what tantivy itself can do.
const TARGET: f64 = 0.8;

/// The comparison. Answers how many searches a second ours did, if it took part.
pub(super) async fn run(
    stage: &Stage,
    sides: &mut Sides,
    parts: Parts,
) -> Result<Option<f64>, Failure> {
    let capacity = rounds(stage, sides).await?;
    if let Sides { site: Some(site), bare: Some(bare) } = sides {
        compare_totals(stage, site, bare).await?;
    }
    let mut text = if parts.postgres { Some(FullText::build(&stage.url).await?) } else { None };
    if let (Some(text), Some(bare)) = (&mut text, &sides.bare) {
        compare_with_postgres(stage, text, bare).await?;
    }
    print_kinds(stage, sides, text.as_mut()).await?;
    print_sizes(stage, sides, text.as_ref())?;
    Ok(capacity)
}

/// Rounds of the one and the other in turn, so that a slow minute hits both. The first is thrown away.
async fn rounds(stage: &Stage, sides: &Sides) -> Result<Option<f64>, Failure> {
    let (mut ours, mut theirs): (Vec<Round>, Vec<Round>) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        for turn in 0..2 {
            if (round + turn) % 2 == 0 {
                if let Some(site) = &sides.site {
                    ours.push(site.round(&stage.queries).await?);
                }
            } else if let Some(bare) = &sides.bare {
                theirs.push(tokio::task::block_in_place(|| bare.round(&stage.queries))?);
            }
        }
    }
    let (ours, theirs) = (ours.get(1..).unwrap_or(&[]), theirs.get(1..).unwrap_or(&[]));
    println!();
    println!(
        "{} queries a round over {} products: the best 20, the exact total, filters and trust",
        grouped(stage.queries.len()),
        grouped(stage.world.size)
    );
    println!("median of {ROUNDS} interleaved rounds (least–most); the ratio's target is {TARGET}");
    let mut table = Table::new(&["", "searches/s", "CPU µs/search"]);
    for (name, rounds) in
        [("souk over HTTP, 4 connections", ours), ("tantivy in-process, 2 threads", theirs)]
    {
        if !rounds.is_empty() {
            table.add(vec![
                name.to_owned(),
                Spread::of(rounds.iter().map(|round| round.per_second)).show(0),
                Spread::of(rounds.iter().map(|round| round.cpu_micros)).show(0),
            ]);
        }
    }
    if !ours.is_empty() && !theirs.is_empty() {
        let pairs = || ours.iter().zip(theirs);
        let speed = pairs().map(|(our, their)| our.per_second / their.per_second);
        let cpu = pairs().map(|(our, their)| our.cpu_micros / their.cpu_micros);
        let ratio = String::from("ratio");
        table.add(vec![ratio, Spread::of(speed).show(2), Spread::of(cpu).show(2)]);
    }
    table.print();
    let mut speeds: Vec<f64> = ours.iter().map(|round| round.per_second).collect();
    speeds.sort_by(f64::total_cmp);
    Ok(speeds.get(speeds.len() / 2).copied())
}

/// Whether both did the same work: whether they count the same.
async fn compare_totals(stage: &Stage, site: &Site, bare: &Bare) -> Result<(), Failure> {
    let (mut same, mut estimates) = (0_u32, 0_u32);
    let mut differing = None;
    for query in &stage.queries {
        let total = site.total(query).await?;
        let (_, expected) = bare.search(query)?;
        estimates += u32::from(total.is_estimate);
        if total.count == expected {
            same += 1;
        } else if differing.is_none() {
            differing = Some(format!("{} and {expected} for {}", total.count, query.body()));
        }
    }
    let all = grouped(stage.queries.len());
    println!("{} of {all} totals are the same, {estimates} are estimates", grouped(same));
    if let Some(differing) = differing {
        println!("the first that differs: {differing}");
    }
    Ok(())
}

/// The same for a few queries of each kind, because they take long.
async fn compare_with_postgres(
    stage: &Stage,
    text: &mut FullText,
    bare: &Bare,
) -> Result<(), Failure> {
    const OF_EACH: usize = 5;
    let (mut same, mut all) = (0_u32, 0_u32);
    for query in stage.kinds.iter().flat_map(|(_, queries)| queries.iter().take(OF_EACH)) {
        same += u32::from(text.search(query).await? == bare.search(query)?.1);
        all += 1;
    }
    println!("{same} of {all} totals of PostgreSQL are those of tantivy");
    Ok(())
}

/// CPU milliseconds of each kind of query.
async fn print_kinds(
    stage: &Stage,
    sides: &Sides,
    text: Option<&mut FullText>,
) -> Result<(), Failure> {
    let ours = match &sides.site {
        Some(site) => Some(site.by_kind(&stage.kinds).await?),
        None => None,
    };
    let theirs = match &sides.bare {
        Some(bare) => Some(tokio::task::block_in_place(|| bare.by_kind(&stage.kinds))?),
        None => None,
    };
    let postgres = match text {
        Some(text) => Some(text.by_kind(&stage.kinds).await?),
        None => None,
    };
    println!();
    println!("CPU ms of a search by kind; PostgreSQL on as many as it answers in 8 s");
    let head = ["kind", "hits", "souk", "tantivy", "PostgreSQL", "souk/tantivy"];
    let mut table = Table::new(&head);
    for kind in stage.kinds.iter().map(|(kind, _)| kind.as_str()).chain([MIXED]) {
        let micros = |by_kind: &Option<ByKind>| by_kind.as_ref()?.get(kind).copied();
        let ratio = micros(&ours).zip(micros(&theirs)).map(|(our, their)| our / their);
        table.add(vec![
            kind.to_owned(),
            hits(stage, sides.bare.as_ref(), kind)?,
            millis(micros(&ours)),
            millis(micros(&theirs)),
            millis(micros(&postgres)),
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        ]);
    }
    table.print();
    Ok(())
}

/// The middle number of hits of a kind.
fn hits(stage: &Stage, bare: Option<&Bare>, kind: &str) -> Result<String, Failure> {
    let of_kind = stage.kinds.iter().find(|(name, _)| name == kind);
    let (Some(bare), Some((_, queries))) = (bare, of_kind) else { return Ok(String::new()) };
    let mut totals = Vec::new();
    for query in queries {
        totals.push(bare.search(query)?.1);
    }
    totals.sort_unstable();
    Ok(totals.get(totals.len() / 2).map_or_else(String::new, |middle| grouped(*middle)))
}

fn millis(micros: Option<f64>) -> String {
    micros.map_or_else(String::new, |micros| format!("{:.2}", micros / 1_000.0))
}

/// What the indexes weigh and how long they took.
fn print_sizes(stage: &Stage, sides: &Sides, text: Option<&FullText>) -> Result<(), Failure> {
    println!();
    let mut table = Table::new(&["index", "bytes/product", "built in s"]);
    let mut add = |name: &str, bytes: u64, build: std::time::Duration| {
        let bytes = format!("{:.0}", bytes_each(bytes, stage.world.size));
        table.add(vec![name.to_owned(), bytes, format!("{:.1}", build.as_secs_f64())]);
    };
    if let Some(site) = &sides.site {
        add("souk, from PostgreSQL until it is served", site.bytes()?, site.build);
    }
    if let Some(bare) = &sides.bare {
        add("tantivy, from memory", bare.bytes()?, bare.build);
    }
    if let Some(text) = text {
        add("PostgreSQL, a side table and its index", text.bytes, text.build);
    }
    table.print();
    Ok(())
}
