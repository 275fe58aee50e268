//! The commands.

use std::sync::Arc;
use std::time::Duration;

use database::{Clock, Database, DatabaseError, Dice, Settings};
use merchants::StoreCache;
use tokio::net::TcpListener;

use crate::app::{App, AppSettings};
use crate::cli::{CatalogCommand, Cli, Command};
use crate::config::{Config, Counting, GateFault, SecretFault};
use crate::stop::Stop;
use crate::{
    Monitor, banner, generate, import, indexing, keys, listen, people, stop, telemetry, worker,
};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The database could not be used.
    #[error("the database at {address}: {error}; cause: {}", cause(.error))]
    Database {
        /// Where it is.
        address: String,
        /// What it said.
        error: DatabaseError,
    },
    /// The demo world could not be put in.
    #[error("the demo world: {}; cause: {}", .0, cause(.0))]
    Seed(#[from] demo::SeedError),
    /// The address could not be listened on.
    #[error("cannot listen on {0}: {1}")]
    Listen(std::net::SocketAddr, std::io::Error),
    /// A key could not be made, listed or revoked.
    #[error(transparent)]
    Keys(#[from] keys::KeysError),
    /// Something about people could not be done.
    #[error(transparent)]
    People(#[from] people::PeopleError),
    /// A feed could not be imported.
    #[error("the import: {}; cause: {}", .0, cause(.0))]
    Import(#[from] import::ImportError),
    /// The search index could not be written or read.
    #[error("the search index: {}; cause: {}", .0, cause(.0))]
    Index(#[from] search::IndexError),
    /// There is nothing to keep credentials under.
    #[error(transparent)]
    Secret(#[from] SecretFault),
    /// Calls cannot be counted.
    #[error(transparent)]
    Gate(#[from] GateFault),
    /// Something about files or signals.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Generated files differ from the code.
    #[error("not up to date: {}; run `just generate`", .0.join(", "))]
    Drift(Vec<&'static str>),
    /// The schema is older than this binary.
    #[error("the schema is not up to date; run `souk migrate`")]
    NotMigrated,
}

fn cause(error: &dyn std::error::Error) -> String {
    let mut source = error.source();
    let mut text = String::from("none");
    while let Some(error) = source {
        text = error.to_string();
        source = error.source();
    }
    text
}

/// Carries out a command.
pub async fn run(cli: Cli) -> Result<(), CommandError> {
    telemetry::log(&cli.config);
    let config = cli.config;
    match cli.command {
        Command::Serve => serve(&config).await,
        Command::Work => work(&config).await,
        Command::Index { rebuild } => index(&config, rebuild).await,
        Command::Dev { empty } => dev(&config, empty).await,
        Command::Migrate => migrate(&config, &connect(&config)?).await,
        Command::Seed => seed(&connect(&config)?).await,
        Command::Keys { command } => {
            let secret = credential_secret(&config)?;
            let database = connect(&config)?;
            say(&keys::run(&database, &secret, command).await?);
            Ok(())
        }
        Command::Admin { command } => {
            let secret = credential_secret(&config)?;
            let database = connect(&config)?;
            say(&people::run(&database, &secret, command).await?);
            Ok(())
        }
        Command::Catalog { command: CatalogCommand::Import(arguments) } => {
            let database = connect(&config)?;
            say(&import::run(&database, &config, arguments).await?);
            Ok(())
        }
        Command::CheckConfig => check_config(&config).await,
        Command::Generate { check, root } => {
            let differing = generate::generate(&root, check)?;
            if check && !differing.is_empty() {
                Err(CommandError::Drift(differing))
            } else {
                Ok(())
            }
        }
    }
}

fn connect(config: &Config) -> Result<Database, CommandError> {
    let settings = Settings {
        url: config.database_url.reveal().to_owned(),
        connections_max: config.database_connections,
        acquire_timeout: Duration::from_secs(3),
        cell: config.cell.clone(),
        clock: Clock::real(),
        dice: Dice::real(),
    };
    Database::prepare(settings).map_err(|error| at_database(config, error))
}

fn at_database(config: &Config, error: DatabaseError) -> CommandError {
    CommandError::Database { address: config.database_url.public_part().to_owned(), error }
}

/// What credentials are kept under. Said aloud when it protects nothing.
fn credential_secret(config: &Config) -> Result<identity::Secret, CommandError> {
    let secret = config.credential_secret()?;
    if config.has_development_secret() {
        tracing::warn!(
            "SOUK_SECRET is not set: credentials are kept under a secret that is public"
        );
    }
    Ok(secret)
}

async fn serve(config: &Config) -> Result<(), CommandError> {
    let secret = credential_secret(config)?;
    let stop = stop::on_signal(Duration::from_secs(config.drain_seconds))?;
    let database = connect(config)?;
    serve_until(config, database, secret, stop, None).await
}

/// Serves the doors until told to stop; says `hello` when they are open.
async fn serve_until(
    config: &Config,
    database: Database,
    secret: identity::Secret,
    stop: Stop,
    hello: Option<String>,
) -> Result<(), CommandError> {
    let listening = TcpListener::bind(config.listen).await;
    let listener = listening.map_err(|error| CommandError::Listen(config.listen, error))?;
    let metrics = telemetry::figures();
    let gate = config.gate()?;
    gate.connect().await;
    if config.limits == Counting::Off {
        tracing::warn!("calls are not limited: SOUK_LIMITS is off");
    }
    let redis_url = config.redis_url.reveal().to_owned();
    let stores = StoreCache::new(database.clone(), StoreCache::AGE_MAX);
    let search = indexing::search(config, &database, &stores)?;
    let monitor = Monitor::new(
        database.clone(),
        redis_url,
        search.clone(),
        stop.draining.clone(),
        metrics.clone(),
    );
    let app = App {
        database: database.clone(),
        stores,
        search,
        dice: Dice::real(),
        health: monitor.start().await,
        draining: stop.draining,
        metrics,
        secret,
        gate,
        till: config.till(),
        settings: app_settings(config),
    };
    tracing::info!(address = %config.listen, cell = %config.cell, "serving");
    if let Some(hello) = hello {
        say(&hello);
    }
    listen::serve(listener, app.into_router(), stop.stopped).await;
    database.close().await;
    tracing::info!("stopped");
    Ok(())
}

fn app_settings(config: &Config) -> AppSettings {
    AppSettings {
        site_url: Arc::from(config.site_url.as_str()),
        allowed_hosts: config.hosts(),
        allowed_origins: config.origins(),
        body_bytes_max: config.body_bytes_max,
        request_max: Duration::from_secs(config.request_seconds_max),
        upload_bytes_max: config.upload_bytes_max,
        store_concurrency: config.store_concurrency,
        key_age_max: identity::AGE_MAX,
        secure: config.site_url.is_secure(),
        trusted_proxies: config.trusted_proxies.clone().into(),
    }
}

async fn work(config: &Config) -> Result<(), CommandError> {
    // Jobs that sign what they send will use it; a worker without one should fail now, not then.
    credential_secret(config)?;
    // A worker has no clients to wait for: it stops starting jobs at once.
    let stop = stop::on_signal(Duration::ZERO)?;
    let database = connect(config)?;
    tracing::info!(cell = %config.cell, concurrency = config.job_concurrency, "working");
    let directory = tokio::spawn(worker::follow_directory(database.clone()));
    worker::runner(database.clone(), config).run(stop.stopped).await;
    directory.abort();
    database.close().await;
    Ok(())
}

/// Writes the search index until told to stop.
async fn index(config: &Config, rebuild: bool) -> Result<(), CommandError> {
    let stop = stop::on_signal(Duration::ZERO)?;
    let database = connect(config)?;
    if rebuild {
        search::rebuild(&database, config.search_shards).await?;
    }
    tracing::info!(cell = %config.cell, objects = config.search_objects, "indexing");
    let directory = tokio::spawn(worker::follow_directory(database.clone()));
    indexing::writer(config, database.clone(), stop.stopped)?.await;
    directory.abort();
    database.close().await;
    Ok(())
}

async fn dev(config: &Config, empty: bool) -> Result<(), CommandError> {
    let secret = credential_secret(config)?;
    let database = connect(config)?;
    migrate(config, &database).await?;
    let mut key = None;
    if !empty {
        seed(&database).await?;
        key = keys::for_development(&database, &secret).await?;
    }
    // Nobody balances load before a developer's machine.
    let stop = stop::on_signal(Duration::from_millis(100))?;
    let runner = worker::runner(database.clone(), config);
    let jobs = tokio::spawn(runner.run(stop.stopped.clone()));
    let writer = indexing::writer(config, database.clone(), stop.stopped.clone())?;
    let index = tokio::spawn(writer);
    let hello = banner::banner(config, !empty, key.as_ref());
    let served = serve_until(config, database, secret, stop, Some(hello)).await;
    if served.is_ok() {
        let _ = jobs.await;
        let _ = index.await;
    }
    served
}

async fn migrate(config: &Config, database: &Database) -> Result<(), CommandError> {
    tracing::info!(database = config.database_url.public_part(), "migrating");
    database.migrate().await.map_err(|error| at_database(config, error))
}

async fn seed(database: &Database) -> Result<(), CommandError> {
    let world = demo::world();
    let seeded = demo::seed(database, &world, |store| {
        tracing::info!(store = store.slug, products = store.products.len(), "seeded");
    });
    let seeded = seeded.await?;
    tracing::info!(
        stores = seeded.stores,
        products = seeded.products,
        changed = seeded.changed,
        "the demo world is in"
    );
    Ok(())
}

async fn check_config(config: &Config) -> Result<(), CommandError> {
    say(&format!("{config:#?}"));
    credential_secret(config)?;
    config.gate()?;
    let database = connect(config)?;
    let migrated = database.is_migrated().await.map_err(|error| at_database(config, error))?;
    database.close().await;
    if migrated { Ok(()) } else { Err(CommandError::NotMigrated) }
}

#[expect(clippy::print_stdout, reason = "this is what the command answers")]
fn say(text: &str) {
    println!("{text}");
}
