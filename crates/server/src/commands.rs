//! Runs the commands of the command line.

use std::io::{ErrorKind, Write};
use std::sync::Arc;
use std::time::Duration;

use database::{Clock, Database, DatabaseError, RandomSource, Settings};
use merchants::StoreCache;

use crate::app::{App, AppSettings};
use crate::cli::{CatalogCommand, Cli, Command};
use crate::config::{AdmissionError, Config, LimitsMode, SecretError, TestPayments};
use crate::listen::ConnectionLimits;
use crate::metric_list::Process;
use crate::shutdown::Shutdown;
use crate::webhooks::WebhooksCommand;
use crate::{
    Monitor, admin, after_restore, banner, check_config, checkouts, doctor, file_limit, generate,
    import, keys, listen, operator, people, queue, search_index, shutdown, stores, telemetry,
    trust, webhooks, worker,
};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("database at {address} failed: {error}; cause: {}", cause(.error))]
    Database {
        /// Host, port and database name, without credentials.
        address: String,
        error: DatabaseError,
    },
    #[error("loading the demo data failed: {}; cause: {}", .0, cause(.0))]
    Seed(#[from] demo::SeedError),
    #[error("cannot listen on {0}: {1}")]
    Listen(std::net::SocketAddr, std::io::Error),
    #[error(transparent)]
    AfterRestore(#[from] after_restore::AfterRestoreError),
    #[error(transparent)]
    Keys(#[from] keys::KeysError),
    #[error(transparent)]
    Stores(#[from] stores::StoresError),
    #[error(transparent)]
    Checkouts(#[from] checkouts::CheckoutsError),
    #[error(transparent)]
    People(#[from] people::PersonCommandError),
    #[error(transparent)]
    Admin(#[from] admin::AdminError),
    #[error(transparent)]
    Jobs(#[from] queue::JobsError),
    #[error(transparent)]
    Webhooks(#[from] webhooks::WebhooksCommandError),
    #[error(transparent)]
    Trust(#[from] trust::TrustCommandError),
    #[error("import failed: {}; cause: {}", .0, cause(.0))]
    Import(#[from] import::ImportError),
    #[error("search index failed: {}; cause: {}", .0, cause(.0))]
    Index(#[from] search::IndexError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Admission(#[from] AdmissionError),
    #[error("{}; cause: {}", .0, cause(.0))]
    Outbound(#[from] outbound::ClientError),
    /// A file operation or the registration of a signal handler failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Generated files differ from the code.
    #[error("out of date: {}; run `just generate`", .0.join(", "))]
    Drift(Vec<&'static str>),
    /// `souk doctor` found a problem.
    #[error("the deployment has problems; see the report")]
    Unhealthy,
    /// The command line is invalid.
    #[error(transparent)]
    Usage(#[from] clap::Error),
    /// `souk check-config` found a problem.
    #[error("the configuration has problems; see the table")]
    Misconfigured,
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

/// Runs a command.
pub async fn run(cli: Cli) -> Result<(), CommandError> {
    telemetry::init_logging(&cli.config);
    let mut config = cli.config;
    match cli.command {
        Command::Serve => serve(&config).await,
        Command::Work => work(&config).await,
        Command::Index { rebuild } => index(&config, rebuild).await,
        Command::Dev { empty } => {
            config.test_payments.get_or_insert(TestPayments::On);
            dev(&config, empty).await
        }
        Command::Migrate => migrate(&config, &connect(&config)?).await,
        Command::Seed => {
            let database = connect(&config)?;
            seed(&config, &database).await?;
            let retired = demo::retire_others(&database, &demo::world()).await?;
            tracing::info!(retired, "other products of the demo stores were retired");
            Ok(())
        }
        Command::CheckConfig => {
            let checked = check_config::run(std::env::args_os(), connect).await?;
            print(&checked.to_string())?;
            if checked.is_usable() { Ok(()) } else { Err(CommandError::Misconfigured) }
        }
        Command::Doctor => {
            let report = doctor::run(&config, connect(&config)?).await;
            print(&report.to_string())?;
            if report.is_healthy() { Ok(()) } else { Err(CommandError::Unhealthy) }
        }
        Command::Generate { check, root } => {
            let differing = generate::generate(&root, check)?;
            if check && !differing.is_empty() {
                Err(CommandError::Drift(differing))
            } else {
                Ok(())
            }
        }
        Command::Webhooks { command: WebhooksCommand::Listen(arguments) } => {
            Ok(webhooks::listen(&config, arguments).await?)
        }
        other => Ok(print(&administer(&config, other).await?)?),
    }
}

/// Runs a command that changes or shows data, and returns its output.
async fn administer(config: &Config, command: Command) -> Result<String, CommandError> {
    let database = connect(config)?;
    Ok(match command {
        Command::AfterRestore { yes } => {
            let secret = credential_secret(config)?;
            after_restore::run(&database, &secret, config.search_shards, yes).await?
        }
        Command::Keys { command } => {
            keys::run(&database, &credential_secret(config)?, command).await?
        }
        Command::Stores { command } => stores::run(&database, command).await?,
        Command::Checkouts { command } => checkouts::run(&database, command).await?,
        Command::People { command } => people::run(&database, command).await?,
        Command::Admin { command } => {
            admin::run(&database, &credential_secret(config)?, command).await?
        }
        Command::Jobs { command } => queue::run(&database, command).await?,
        Command::Webhooks { command: WebhooksCommand::Status } => {
            webhooks::status(&database).await?
        }
        Command::Webhooks { command: WebhooksCommand::Probe(arguments) } => {
            webhooks::probe(&database, arguments).await?
        }
        Command::Trust { command } => trust::run(&database, config.methodology(), command).await?,
        Command::Catalog { command: CatalogCommand::Import(arguments) } => {
            import::run(&database, config, arguments).await?
        }
        // Handled by `run`.
        Command::Serve
        | Command::Work
        | Command::Index { .. }
        | Command::Dev { .. }
        | Command::Migrate
        | Command::Seed
        | Command::CheckConfig
        | Command::Doctor
        | Command::Webhooks { command: WebhooksCommand::Listen(_) }
        | Command::Generate { .. } => String::new(),
    })
}

fn connect(config: &Config) -> Result<Database, CommandError> {
    let settings = Settings {
        url: config.database_url.reveal().to_owned(),
        connections_max: config.database_connections,
        acquire_timeout: Duration::from_secs(3),
        cell: config.cell.clone(),
        clock: Clock::system(),
        random_source: RandomSource::system(),
    };
    Database::connect_lazy(settings).map_err(|error| database_error(config, error))
}

fn database_error(config: &Config, error: DatabaseError) -> CommandError {
    CommandError::Database { address: config.database_url.public_part().to_owned(), error }
}

/// Returns the secret that protects credentials. Logs a warning if it is the public development secret.
fn credential_secret(config: &Config) -> Result<identity::Secret, CommandError> {
    let secret = config.credential_secret()?;
    if config.has_development_secret() {
        tracing::warn!(
            "SOUK_SECRET is not set: credentials are protected only by the public development secret"
        );
    }
    Ok(secret)
}

async fn serve(config: &Config) -> Result<(), CommandError> {
    let secret = credential_secret(config)?;
    let shutdown = shutdown::on_signal(Duration::from_secs(config.drain_seconds))?;
    let database = connect(config)?;
    serve_until(config, database, secret, shutdown, None).await
}

/// Runs the HTTP server until shutdown; prints `startup_message` once it accepts connections.
async fn serve_until(
    config: &Config,
    database: Database,
    secret: identity::Secret,
    shutdown: Shutdown,
    startup_message: Option<String>,
) -> Result<(), CommandError> {
    let bound = listen::bind(config.listen);
    let listener = bound.map_err(|error| CommandError::Listen(config.listen, error))?;
    let metrics = telemetry::install_metrics(&[Process::Serve]);
    let admission = config.admission()?;
    admission.connect().await;
    if config.limits == LimitsMode::Off {
        tracing::warn!("rate limits are disabled: SOUK_LIMITS is off");
    }
    let redis_url = config.redis_url.reveal().to_owned();
    let stores = StoreCache::new(database.clone(), StoreCache::AGE_MAX);
    let search = search_index::search(config, &database, &stores)?;
    let monitor = Monitor::new(
        database.clone(),
        redis_url,
        search.clone(),
        shutdown.draining.clone(),
        metrics.clone(),
    );
    operator::start(config, metrics, shutdown.stopped.clone()).await;
    let limits = connection_limits(config);
    let app = App {
        database: database.clone(),
        stores,
        search,
        random_source: RandomSource::system(),
        health: monitor.start().await,
        draining: shutdown.draining,
        secret,
        admission,
        payment_gateway: config.payment_gateway(),
        uploads: config.upload_gate(),
        outbound: config.outbound_client()?,
        settings: app_settings(config),
    };
    tracing::info!(address = %config.listen, cell = %config.cell, "HTTP server started");
    if let Some(message) = startup_message {
        print(&message)?;
    }
    listen::serve(listener, app.into_router(), limits, shutdown.stopped).await;
    database.close().await;
    tracing::info!("HTTP server stopped");
    Ok(())
}

fn connection_limits(config: &Config) -> ConnectionLimits {
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    ConnectionLimits {
        total: file_limit::connections_max(count(config.connections_max)),
        per_network: count(config.address_connections_max),
        trusted_proxies: config.trusted_proxies.clone().into(),
    }
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
        key_age_max: identity::CACHE_AGE_MAX,
        secure: config.site_url.is_secure(),
        trust_methodology: config.methodology(),
        trusted_proxies: config.trusted_proxies.clone().into(),
    }
}

async fn work(config: &Config) -> Result<(), CommandError> {
    let secret = credential_secret(config)?;
    let client = config.outbound_client()?;
    // A worker has no clients to drain: it stops claiming jobs and starting webhooks immediately.
    let shutdown = shutdown::on_signal(Duration::ZERO)?;
    let database = connect(config)?;
    tracing::info!(cell = %config.cell, concurrency = config.job_concurrency, "worker started");
    let metrics = telemetry::install_metrics(&[Process::Work]);
    operator::start(config, metrics, shutdown.stopped.clone()).await;
    let directory = tokio::spawn(worker::refresh_directory(database.clone()));
    let dispatcher = worker::dispatcher(database.clone(), config, &secret, client);
    let webhooks = tokio::spawn(dispatcher.run(shutdown.stopped.clone()));
    worker::runner(database.clone(), config).run(shutdown.stopped).await;
    let _ = webhooks.await;
    directory.abort();
    database.close().await;
    Ok(())
}

/// Runs the search index writer until shutdown.
async fn index(config: &Config, rebuild: bool) -> Result<(), CommandError> {
    let shutdown = shutdown::on_signal(Duration::ZERO)?;
    let database = connect(config)?;
    if rebuild {
        search::rebuild(&database, config.search_shards).await?;
    }
    tracing::info!(cell = %config.cell, objects = config.search_objects, "search index writer started");
    let metrics = telemetry::install_metrics(&[Process::Index]);
    operator::start(config, metrics, shutdown.stopped.clone()).await;
    let directory = tokio::spawn(worker::refresh_directory(database.clone()));
    search_index::writer(config, database.clone(), shutdown.stopped)?.await;
    directory.abort();
    database.close().await;
    Ok(())
}

async fn dev(config: &Config, empty: bool) -> Result<(), CommandError> {
    let secret = credential_secret(config)?;
    telemetry::install_metrics(Process::ALL);
    let database = connect(config)?;
    migrate(config, &database).await?;
    let mut key = None;
    if !empty {
        seed(config, &database).await?;
        key = keys::for_development(&database, &secret).await?;
    }
    // No load balancer has to notice the shutdown of a development server.
    let shutdown = shutdown::on_signal(Duration::from_millis(100))?;
    let runner = worker::runner(database.clone(), config);
    let jobs = tokio::spawn(runner.run(shutdown.stopped.clone()));
    // With connections of its own: it records its last results after the server has closed the others.
    let client = config.outbound_client()?;
    let dispatcher = worker::dispatcher(connect(config)?, config, &secret, client);
    let webhooks = tokio::spawn(dispatcher.run(shutdown.stopped.clone()));
    let writer = search_index::writer(config, database.clone(), shutdown.stopped.clone())?;
    let index = tokio::spawn(writer);
    let message = banner::banner(config, !empty, key.as_ref());
    let served = serve_until(config, database, secret, shutdown, Some(message)).await;
    if served.is_ok() {
        let _ = jobs.await;
        let _ = webhooks.await;
        let _ = index.await;
    }
    served
}

async fn migrate(config: &Config, database: &Database) -> Result<(), CommandError> {
    tracing::info!(database = config.database_url.public_part(), "applying migrations");
    database.migrate().await.map_err(|error| database_error(config, error))
}

async fn seed(config: &Config, database: &Database) -> Result<(), CommandError> {
    database.refresh_directory().await.map_err(|error| database_error(config, error))?;
    let world = demo::world();
    let seeded = demo::seed_by(database, &world, config.methodology(), |store| {
        tracing::info!(store = store.slug, products = store.products.len(), "store seeded");
    });
    let seeded = seeded.await?;
    tracing::info!(
        stores = seeded.stores,
        products = seeded.products,
        changed = seeded.changed,
        "demo data loaded"
    );
    Ok(())
}

/// Writes the output of a command. A reader that closes the pipe, such as `head`, has read what it wants: this is no error.
pub(crate) fn print(text: &str) -> std::io::Result<()> {
    write_line(&mut std::io::stdout().lock(), text)
}

fn write_line(output: &mut dyn Write, text: &str) -> std::io::Result<()> {
    let written = writeln!(output, "{text}").and_then(|()| output.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    struct Failing(ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        assert!(write_line(&mut Failing(ErrorKind::BrokenPipe), "store").is_ok());
        assert!(write_line(&mut Failing(ErrorKind::StorageFull), "store").is_err());
        let mut output = Vec::new();
        write_line(&mut output, "store").unwrap();
        assert_eq!(output, b"store\n");
    }
}
