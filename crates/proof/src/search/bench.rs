//! Search performance compared with bare tantivy and PostgreSQL, and its growth with the catalog size.

mod calls;
mod compare;
mod fixture;
mod freshness;
mod growth;

use crate::engines::Engines;
use crate::report::{Failure, ensure};
use fixture::Fixture;
use growth::Growth;

/// Default number of products in the comparison.
const SIZE: u32 = 1_000_000;
/// Default number of products in the soak.
const SOAK_SIZE: u32 = 5_000_000;
/// Queries of each kind: eight classes, each in all stores and within one.
const QUERIES_OF_EACH: u32 = 150;

/// The engines that `--only` selects; all if it is absent.
#[derive(Debug, Clone, Copy)]
struct Selection {
    souk: bool,
    bare: bool,
    postgres: bool,
}

impl Selection {
    fn of(only: &[String]) -> Result<Self, Failure> {
        let known = ["souk", "bare", "postgres"];
        let unknown = only.iter().find(|name| !known.contains(&name.as_str()));
        ensure(unknown.is_none(), || {
            format!("unknown engine in {only:?}; the engines are {known:?}")
        })?;
        let selected = |name: &str| only.is_empty() || only.iter().any(|other| other == name);
        Ok(Self { souk: selected("souk"), bare: selected("bare"), postgres: selected("postgres") })
    }
}

/// Runs the comparison, and the growth up to its size.
pub(crate) async fn bench(size: Option<u32>, only: &[String]) -> Result<(), Failure> {
    let size = size.unwrap_or(SIZE);
    run(&[size / 100, size / 10, size], size, Selection::of(only)?).await
}

/// Runs the same, and the growth beyond that size.
pub(crate) async fn soak(size: Option<u32>) -> Result<(), Failure> {
    let size = size.unwrap_or(SOAK_SIZE);
    let compared = SIZE.min(size);
    let sizes = [compared / 100, compared / 10, compared, size];
    let sizes = if size > compared { &sizes[..] } else { &sizes[..3] };
    run(sizes, compared, Selection::of(&[])?).await
}

/// Compares `search_products` within single stores with `/search` and bare tantivy.
pub(crate) async fn calls(size: Option<u32>) -> Result<(), Failure> {
    let engines = Engines::start()?;
    let fixture =
        Fixture::create(&engines.database_url, size.unwrap_or(SIZE), QUERIES_OF_EACH).await?;
    let contenders =
        fixture.contenders(Selection { souk: true, bare: true, postgres: false }).await?;
    calls::run(&fixture, &contenders).await?;
    drop(contenders);
    fixture.drop_database(&engines.database_url).await
}

async fn run(sizes: &[u32], compared: u32, selection: Selection) -> Result<(), Failure> {
    let engines = Engines::start()?;
    let mut growth = Growth::default();
    for size in sizes {
        let fixture = Fixture::create(&engines.database_url, *size, QUERIES_OF_EACH).await?;
        let mut contenders = fixture.contenders(selection).await?;
        if *size == compared {
            let capacity = compare::run(&fixture, &mut contenders, selection).await?;
            if let (Some(souk), Some(capacity)) = (&contenders.souk, capacity) {
                freshness::run(&fixture, souk, capacity).await?;
            }
        }
        growth.measure(&fixture, &mut contenders).await?;
        drop(contenders);
        fixture.drop_database(&engines.database_url).await?;
    }
    growth.print();
    Ok(())
}
