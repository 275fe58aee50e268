//! `souk catalog import`: a feed from a file, followed until it is in.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use catalog::{CatalogError, FeedFormat, NewRun, Run, RunMode, RunState, Upload};
use clap::Args;
use database::{Database, DatabaseError, Reading};
use indicatif::{ProgressBar, ProgressStyle};
use merchants::{StoreCache, StoreError};
use primitives::{JobId, MerchantId, StoreSlug};
use tokio::sync::watch;

use crate::{Config, worker};

/// What to import, and how.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// The file
    pub file: PathBuf,
    /// The store it belongs to
    #[arg(long)]
    pub store: StoreSlug,
    /// Its format; found out if left out
    #[arg(
        long,
        value_parser = format,
        help = "Its format: ndjson, google_xml, google_tsv, shopify_csv or acp_json; found out if left out"
    )]
    pub format: Option<FeedFormat>,
    /// Retire products that the file does not name, once all of it is in
    #[arg(long)]
    pub replace: bool,
    /// With --replace: go on even if more than half of the catalog would be retired
    #[arg(long)]
    pub force: bool,
    /// Only find out what would happen
    #[arg(long)]
    pub dry_run: bool,
    /// Where to write the rows that were not taken, tab-separated
    #[arg(long)]
    pub errors: Option<PathBuf>,
}

fn format(name: &str) -> Result<FeedFormat, String> {
    FeedFormat::from_name(name).ok_or_else(|| {
        format!("it is none of {}", FeedFormat::ALL.map(|(_, name)| name).join(", "))
    })
}

/// Why a feed could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read, or the errors cannot be written.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    /// Neither the file nor the command says what it is.
    #[error("the format of the file is not known; name it with --format")]
    UnknownFormat,
    /// There is no such store.
    #[error("the store: {0}")]
    Store(#[from] StoreError),
    /// The catalog did not take it.
    #[error("the catalog: {0}")]
    Catalog(#[from] CatalogError),
    /// The database was in the way.
    #[error("the database: {0}")]
    Database(#[from] DatabaseError),
    /// It ended, and not well.
    #[error("the import was {}: {reason}", .state.name())]
    Ended {
        /// How.
        state: RunState,
        /// Why.
        reason: String,
    },
}

/// Imports a file and answers what to say. This process works as a worker meanwhile; a feed of the
/// same bytes that was begun before and is not done is followed instead of begun again.
pub(crate) async fn run(
    database: &Database,
    config: &Config,
    arguments: ImportArguments,
) -> Result<String, ImportError> {
    database.refresh_directory().await?;
    let stores = StoreCache::new(database.clone(), Duration::ZERO);
    let merchant = stores.find(&arguments.store).await?.merchant;
    let reading = Reading::for_store(database, merchant)?;
    let (stop, stopped) = watch::channel(false);
    let worker = tokio::spawn(worker::runner(database.clone(), config).run(stopped));
    let imported = async {
        let job = begin(database, &reading, merchant, &arguments).await?;
        follow(&reading, merchant, job).await
    };
    let run = imported.await;
    stop.send_replace(true);
    let _ = worker.await;
    let run = run?;
    if let Some(path) = &arguments.errors {
        write_errors(&reading, merchant, &run, path).await?;
    }
    if run.state == RunState::Completed {
        Ok(summary(&run, arguments.errors.as_deref()))
    } else {
        Err(ImportError::Ended { state: run.state, reason: run.reason.unwrap_or_default() })
    }
}

async fn begin(
    database: &Database,
    reading: &Reading,
    merchant: MerchantId,
    arguments: &ImportArguments,
) -> Result<JobId, ImportError> {
    let failed = |error| ImportError::File(arguments.file.clone(), error);
    let mut file = File::open(&arguments.file).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let hash = catalog::content_hash(&mut file).map_err(failed)?;
    if let Some(job) = catalog::unfinished_run(reading, merchant, &hash).await? {
        return Ok(job);
    }
    file.rewind().map_err(failed)?;
    let mut piece = vec![0; 256 * 1024];
    let mut length = file.read(&mut piece).map_err(failed)?;
    let name = arguments.file.file_name().map(|name| name.to_string_lossy().into_owned());
    let found = || connectors::detect(name.as_deref(), None, &piece[..length]);
    let asked = NewRun {
        format: arguments.format.or_else(found).ok_or(ImportError::UnknownFormat)?,
        mode: if arguments.replace { RunMode::Replace } else { RunMode::Merge },
        dry_run: arguments.dry_run,
        force: arguments.force,
        file_name: name.clone(),
    };
    let bar = bar("{spinner} taking in  {bar:30} {bytes}/{total_bytes} {eta}", size);
    let mut upload = Upload::begin(database, merchant, &asked).await?;
    while length > 0 {
        upload.write(&piece[..length]).await?;
        bar.inc(u64::try_from(length).unwrap_or(0));
        length = file.read(&mut piece).map_err(failed)?;
    }
    bar.finish_and_clear();
    Ok(upload.finish().await?)
}

/// Watches a run until it has ended.
async fn follow(reading: &Reading, merchant: MerchantId, job: JobId) -> Result<Run, ImportError> {
    let bar = bar("{spinner} {msg:12} {bar:30} {percent}% {eta}", 1_000);
    loop {
        // The database may be away for a moment; the import goes on when it is back.
        if let Ok(run) = catalog::run(reading, merchant, job).await {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "0 to 1000"
            )]
            bar.set_position((run.progress() * 1_000.0) as u64);
            bar.set_message(run.state.name());
            if run.state.is_final() {
                bar.finish_and_clear();
                return Ok(run);
            }
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn bar(template: &str, length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(template);
    let bar = ProgressBar::new(length);
    style.map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style))
}

fn summary(run: &Run, errors: Option<&Path>) -> String {
    let tally = run.tally;
    let would = if run.asked.dry_run { "A dry run: nothing was changed.\n" } else { "" };
    let hint = match (tally.failed, errors) {
        (0, _) => String::new(),
        (_, Some(path)) => format!("\nThe rows that were not taken are in {}.", path.display()),
        (_, None) => String::from("\n--errors FILE writes the rows that were not taken."),
    };
    let reason = run.reason.as_ref().map(|reason| format!("\nNote: {reason}.")).unwrap_or_default();
    let absent = match (run.asked.dry_run, run.asked.mode, run.absent) {
        (true, RunMode::Replace, Some(absent)) => format!(", {absent} would be retired"),
        _ => format!(", {} retired", tally.retired),
    };
    format!(
        "{would}{} rows: {} created, {} updated, {} unchanged, {} newer by push, {} not taken{absent}.{reason}{hint}",
        run.rows_total.unwrap_or(0),
        tally.created,
        tally.updated,
        tally.unchanged,
        tally.outdated,
        tally.failed,
    )
}

async fn write_errors(
    reading: &Reading,
    merchant: MerchantId,
    run: &Run,
    path: &Path,
) -> Result<(), ImportError> {
    let failed = |error| ImportError::File(path.to_owned(), error);
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    writeln!(file, "line\texternal_id\tfield\tcode\treason").map_err(failed)?;
    let mut after = 0;
    loop {
        let faults = catalog::row_faults(reading, merchant, run.id, after, 1_000).await?;
        let Some(last) = faults.last() else { break };
        after = last.line;
        for row in &faults {
            let fault = &row.fault;
            let id = row.external_id.as_deref().unwrap_or_default().replace(['\t', '\n'], " ");
            let code = fault.code.name();
            writeln!(file, "{}\t{id}\t{}\t{code}\t{}", row.line, fault.field, fault.reason)
                .map_err(failed)?;
        }
    }
    file.flush().map_err(failed)
}
