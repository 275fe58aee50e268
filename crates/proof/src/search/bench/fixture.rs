//! One world with all that is measured on it.

use std::sync::Arc;
use std::time::Instant;

use database::Dice;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::Parts;
use crate::report::{Failure, grouped};
use crate::search::bare::Bare;
use crate::search::site::{Budget, Site};
use crate::search::world::{Class, Query, SEED, World, kind_name, load, queries};
use crate::worker::open;

/// A world in a database of its own, and what is asked of it.
pub(super) struct Stage {
    pub(super) world: Arc<World>,
    pub(super) url: String,
    name: String,
    /// All queries, mixed.
    pub(super) queries: Vec<Query>,
    /// The same by kind.
    pub(super) kinds: Vec<(String, Vec<Query>)>,
}

/// Those who answer.
pub(super) struct Sides {
    pub(super) site: Option<Site>,
    pub(super) bare: Option<Bare>,
}

impl Stage {
    /// Makes a database, migrates it and loads the world.
    pub(super) async fn set(server: &str, size: u32, of_each: u32) -> Result<Self, Failure> {
        let name = format!("world_{size}");
        let mut admin = PgConnection::connect(server).await?;
        sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&mut admin).await?;
        let (base, _) = server.rsplit_once('/').ok_or("DATABASE_URL ends with /<database>")?;
        let url = format!("{base}/{name}");
        let database = open(url.clone(), 2, Dice::real())?;
        database.migrate().await?;
        database.close().await;
        let world = Arc::new(World::new(size, SEED));
        let took = load(&url, &world).await?;
        println!(
            "{} products of {} merchants loaded in {:.1} s, {:.0} a second",
            grouped(size),
            grouped(world.merchants.len()),
            took.as_secs_f64(),
            f64::from(size) / took.as_secs_f64()
        );
        let since = Instant::now();
        let asked = Arc::clone(&world);
        let make = move || queries(&asked, &asked.frequencies(), of_each);
        let queries = tokio::task::spawn_blocking(make).await?;
        let seconds = since.elapsed().as_secs_f64();
        println!("{} queries chosen in {seconds:.1} s", grouped(queries.len()));
        let kinds = by_kind(&queries);
        Ok(Self { world, url, name, queries, kinds })
    }

    /// Builds the indexes of those who take part.
    pub(super) async fn sides(&self, parts: Parts) -> Result<Sides, Failure> {
        let bare = if parts.bare {
            Some(tokio::task::block_in_place(|| Bare::build(&self.world))?)
        } else {
            None
        };
        let site = if parts.souk {
            Some(Site::open(&self.url, self.world.size, Budget::None).await?)
        } else {
            None
        };
        Ok(Sides { site, bare })
    }

    /// Gives the room back.
    pub(super) async fn clear(self, server: &str) -> Result<(), Failure> {
        let mut admin = PgConnection::connect(server).await?;
        let statement = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut admin).await?;
        Ok(())
    }
}

/// In the order of the classes, those in all stores first.
fn by_kind(queries: &[Query]) -> Vec<(String, Vec<Query>)> {
    let mut kinds = Vec::new();
    for in_store in [false, true] {
        for class in Class::ALL {
            let name = kind_name(class, in_store);
            let of_kind = queries.iter().filter(|query| query.kind() == name).cloned();
            let of_kind = of_kind.collect();
            kinds.push((name, of_kind));
        }
    }
    kinds
}
