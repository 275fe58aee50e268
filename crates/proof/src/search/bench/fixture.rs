//! A synthetic catalog in a database, the queries, and the engines that are measured.

use std::sync::Arc;
use std::time::Instant;

use database::RandomSource;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::Selection;
use crate::report::{Failure, grouped};
use crate::search::bare_tantivy::BareTantivy;
use crate::search::souk_search::{Budget, SoukSearch};
use crate::search::synthetic_catalog::{
    Class, Query, SEED, SyntheticCatalog, kind_name, load, queries,
};
use crate::worker::open;

/// A synthetic catalog in its own database, and the queries.
pub(super) struct Fixture {
    pub(super) catalog: Arc<SyntheticCatalog>,
    pub(super) url: String,
    name: String,
    /// All queries, shuffled.
    pub(super) queries: Vec<Query>,
    /// The same queries by kind.
    pub(super) kinds: Vec<(String, Vec<Query>)>,
}

/// The engines that are compared; `None` if not selected.
pub(super) struct Contenders {
    pub(super) souk: Option<SoukSearch>,
    pub(super) bare: Option<BareTantivy>,
}

impl Fixture {
    /// Creates a database, migrates it and loads the catalog.
    pub(super) async fn create(server: &str, size: u32, of_each: u32) -> Result<Self, Failure> {
        let name = format!("catalog_{size}");
        let mut admin = PgConnection::connect(server).await?;
        sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&mut admin).await?;
        let (base, _) = server.rsplit_once('/').ok_or("DATABASE_URL must end with /<database>")?;
        let url = format!("{base}/{name}");
        let database = open(url.clone(), 2, RandomSource::system())?;
        database.migrate().await?;
        database.close().await;
        let catalog = Arc::new(SyntheticCatalog::new(size, SEED));
        let took = load(&url, &catalog).await?;
        println!(
            "{} products of {} merchants loaded in {:.1} s ({:.0}/s)",
            grouped(size),
            grouped(catalog.merchants.len()),
            took.as_secs_f64(),
            f64::from(size) / took.as_secs_f64()
        );
        let since = Instant::now();
        let shared = Arc::clone(&catalog);
        let generate = move || queries(&shared, &shared.frequencies(), of_each);
        let queries = tokio::task::spawn_blocking(generate).await?;
        let seconds = since.elapsed().as_secs_f64();
        println!("{} queries generated in {seconds:.1} s", grouped(queries.len()));
        let kinds = by_kind(&queries);
        Ok(Self { catalog, url, name, queries, kinds })
    }

    /// Builds the indexes of the selected engines.
    pub(super) async fn contenders(&self, selection: Selection) -> Result<Contenders, Failure> {
        let bare = if selection.bare {
            Some(tokio::task::block_in_place(|| BareTantivy::build(&self.catalog))?)
        } else {
            None
        };
        let souk = if selection.souk {
            Some(SoukSearch::start(&self.url, self.catalog.size, Budget::Unlimited).await?)
        } else {
            None
        };
        Ok(Contenders { souk, bare })
    }

    /// Drops the database.
    pub(super) async fn drop_database(self, server: &str) -> Result<(), Failure> {
        let mut admin = PgConnection::connect(server).await?;
        let statement = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut admin).await?;
        Ok(())
    }
}

/// Groups the queries by kind, in the order of the classes, those in all stores first.
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
