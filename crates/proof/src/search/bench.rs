//! How fast search is, beside bare tantivy and PostgreSQL, and how that grows with the catalog.

mod calls;
mod compare;
mod freshness;
mod growth;
mod stage;

use crate::engines::Engines;
use crate::report::{Failure, ensure};
use growth::Growth;
use stage::Stage;

/// Products in the comparison, unless another number is asked for.
const SIZE: u32 = 1_000_000;
/// Products of the largest world, for those who have time.
const SOAK_SIZE: u32 = 5_000_000;
/// Queries of each kind: eight classes, in all stores and in one.
const QUERIES_OF_EACH: u32 = 150;

/// Who takes part.
#[derive(Debug, Clone, Copy)]
struct Parts {
    souk: bool,
    bare: bool,
    postgres: bool,
}

impl Parts {
    fn of(only: &[String]) -> Result<Self, Failure> {
        let known = ["souk", "bare", "postgres"];
        let unknown = only.iter().find(|part| !known.contains(&part.as_str()));
        ensure(unknown.is_none(), || format!("the parts are {known:?}, not {only:?}"))?;
        let wanted = |part: &str| only.is_empty() || only.iter().any(|asked| asked == part);
        Ok(Self { souk: wanted("souk"), bare: wanted("bare"), postgres: wanted("postgres") })
    }
}

/// The comparison, and the growth up to its size.
pub(crate) async fn bench(size: Option<u32>, only: &[String]) -> Result<(), Failure> {
    let size = size.unwrap_or(SIZE);
    run(&[size / 100, size / 10, size], size, Parts::of(only)?).await
}

/// The same, and the growth beyond.
pub(crate) async fn soak(size: Option<u32>) -> Result<(), Failure> {
    let size = size.unwrap_or(SOAK_SIZE);
    let compared = SIZE.min(size);
    let sizes = [compared / 100, compared / 10, compared, size];
    let sizes = if size > compared { &sizes[..] } else { &sizes[..3] };
    run(sizes, compared, Parts::of(&[])?).await
}

/// `search_products` of single stores, beside `/search` and bare tantivy.
pub(crate) async fn calls(size: Option<u32>) -> Result<(), Failure> {
    let engines = Engines::start()?;
    let stage = Stage::set(&engines.database_url, size.unwrap_or(SIZE), QUERIES_OF_EACH).await?;
    let sides = stage.sides(Parts { souk: true, bare: true, postgres: false }).await?;
    calls::run(&stage, &sides).await?;
    drop(sides);
    stage.clear(&engines.database_url).await
}

async fn run(sizes: &[u32], compared: u32, parts: Parts) -> Result<(), Failure> {
    let engines = Engines::start()?;
    let mut growth = Growth::default();
    for size in sizes {
        let stage = Stage::set(&engines.database_url, *size, QUERIES_OF_EACH).await?;
        let mut rivals = stage.sides(parts).await?;
        if *size == compared {
            let capacity = compare::run(&stage, &mut rivals, parts).await?;
            if let (Some(site), Some(capacity)) = (&rivals.site, capacity) {
                freshness::run(&stage, site, capacity).await?;
            }
        }
        growth.measure(&stage, &mut rivals).await?;
        drop(rivals);
        stage.clear(&engines.database_url).await?;
    }
    growth.print();
    Ok(())
}
