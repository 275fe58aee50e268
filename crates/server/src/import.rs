//! `souk catalog import`: imports a product feed from a file and waits until the run has ended.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use catalog::{
    CatalogError, FeedFormat, FeedRun, FeedRunMode, FeedRunState, NewFeedRun, Upload, UploadGate,
};
use clap::Args;
use database::{Database, DatabaseError, Reading};
use indicatif::{ProgressBar, ProgressStyle};
use merchants::StoreError;
use primitives::{FeedRunId, MerchantId, StoreSlug};
use tokio::sync::watch;

use crate::{Config, worker};

/// The arguments of `souk catalog import`.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// Path of the feed file
    pub file: PathBuf,
    /// Slug of the store
    #[arg(long)]
    pub store: StoreSlug,
    /// Feed format; detected by default
    #[arg(
        long,
        value_parser = format,
        help = "Feed format: ndjson, google_xml, google_tsv, shopify_csv, acp_json or csv; detected by default"
    )]
    pub format: Option<FeedFormat>,
    /// Retire products that are not in the file, after all rows are imported
    #[arg(long)]
    pub replace: bool,
    /// With --replace: continue even if more than half of the catalog would be retired
    #[arg(long)]
    pub force: bool,
    /// Validate the feed and report the changes without applying them
    #[arg(long)]
    pub dry_run: bool,
    /// File to write row errors to, tab-separated
    #[arg(long)]
    pub errors: Option<PathBuf>,
}

fn format(name: &str) -> Result<FeedFormat, String> {
    FeedFormat::parse(name).ok_or_else(|| {
        let names: Vec<&str> = FeedFormat::ALL.iter().map(|format| format.as_str()).collect();
        format!("must be one of {}", names.join(", "))
    })
}

/// Why a feed could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The feed cannot be read, or the row errors cannot be written.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    #[error("the feed format could not be detected; pass --format")]
    UnknownFormat,
    #[error("store lookup failed: {0}")]
    Store(#[from] StoreError),
    #[error("the catalog refused the feed: {0}")]
    Catalog(#[from] CatalogError),
    #[error("database failed: {0}")]
    Database(#[from] DatabaseError),
    /// The run ended without completing.
    #[error("the run ended as {state}: {reason}")]
    Ended { state: FeedRunState, reason: String },
}

/// Imports a file and returns the summary to print. The process runs a worker meanwhile. If an
/// unfinished run of the same file exists, it waits for that run instead of starting another.
pub(crate) async fn run(
    database: &Database,
    config: &Config,
    arguments: ImportArguments,
) -> Result<String, ImportError> {
    database.refresh_directory().await?;
    let merchant = merchants::merchant_of(database, &arguments.store).await?;
    let reading = Reading::for_store(database, merchant)?;
    let (stop, stopped) = watch::channel(false);
    let worker = tokio::spawn(worker::runner(database.clone(), config).run(stopped));
    let imported = async {
        let run = start(database, &reading, merchant, &arguments).await?;
        wait(&reading, merchant, run).await
    };
    let run = imported.await;
    stop.send_replace(true);
    let _ = worker.await;
    let run = run?;
    if let Some(path) = &arguments.errors {
        write_errors(&reading, merchant, &run, path).await?;
    }
    if run.state == FeedRunState::Completed {
        Ok(summary(&run, arguments.errors.as_deref()))
    } else {
        Err(ImportError::Ended { state: run.state, reason: run.reason.unwrap_or_default() })
    }
}

async fn start(
    database: &Database,
    reading: &Reading,
    merchant: MerchantId,
    arguments: &ImportArguments,
) -> Result<FeedRunId, ImportError> {
    let failed = |error| ImportError::File(arguments.file.clone(), error);
    let mut file = File::open(&arguments.file).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let hash = catalog::content_hash(&mut file).map_err(failed)?;
    if let Some(run) = catalog::unfinished_feed_run(reading, merchant, &hash).await? {
        return Ok(run);
    }
    file.rewind().map_err(failed)?;
    let mut buffer = vec![0; 256 * 1024];
    let mut length = file.read(&mut buffer).map_err(failed)?;
    let name = arguments.file.file_name().map(|name| name.to_string_lossy().into_owned());
    let detected = || connectors::detect(name.as_deref(), None, &buffer[..length]);
    let request = NewFeedRun {
        format: arguments.format.or_else(detected).ok_or(ImportError::UnknownFormat)?,
        mode: if arguments.replace { FeedRunMode::Replace } else { FeedRunMode::Merge },
        dry_run: arguments.dry_run,
        force: arguments.force,
        file_name: name.clone(),
        columns: None,
    };
    let bar = bar("{spinner} uploading    {bar:30} {bytes}/{total_bytes} {eta}", size);
    // An operator's import is subject to the quotas of the store too, but takes no place of the server's uploads.
    let gate = UploadGate::without_disk();
    let mut upload = Upload::begin(database, &gate, merchant, &request, Some(size)).await?;
    while length > 0 {
        upload.write(&buffer[..length]).await?;
        bar.inc(u64::try_from(length).unwrap_or(0));
        length = file.read(&mut buffer).map_err(failed)?;
    }
    bar.finish_and_clear();
    Ok(upload.finish().await?)
}

/// Waits until a run has ended.
async fn wait(
    reading: &Reading,
    merchant: MerchantId,
    job: FeedRunId,
) -> Result<FeedRun, ImportError> {
    let bar = bar("{spinner} {msg:12} {bar:30} {percent}% {eta}", 1_000);
    loop {
        // The database may be briefly unavailable; the run continues when it is back.
        if let Ok(run) = catalog::feed_run(reading, merchant, job).await {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "0 to 1000"
            )]
            bar.set_position((run.progress() * 1_000.0) as u64);
            bar.set_message(run.state.as_str());
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

fn summary(run: &FeedRun, errors: Option<&Path>) -> String {
    let counts = run.counts;
    let dry_run = if run.request.dry_run { "Dry run: nothing was changed.\n" } else { "" };
    let hint = match (counts.failed + counts.skipped + counts.warnings, errors) {
        (0, _) => String::new(),
        (_, Some(path)) => format!("\nRow errors are in {}.", path.display()),
        (_, None) => String::from("\nUse --errors FILE to write the row errors to a file."),
    };
    let reason = run.reason.as_ref().map(|reason| format!("\nNote: {reason}")).unwrap_or_default();
    let absent = match (run.request.dry_run, run.request.mode, run.absent) {
        (true, FeedRunMode::Replace, Some(absent)) => format!(", {absent} would be retired"),
        _ => format!(", {} retired", counts.retired),
    };
    format!(
        "{dry_run}{} rows: {} created, {} updated, {} unchanged, {} superseded by a newer push, {} failed, {} skipped{absent}; {} warnings.{reason}{hint}",
        run.rows_total.unwrap_or(0),
        counts.created,
        counts.updated,
        counts.unchanged,
        counts.outdated,
        counts.failed,
        counts.skipped,
        counts.warnings,
    )
}

async fn write_errors(
    reading: &Reading,
    merchant: MerchantId,
    run: &FeedRun,
    path: &Path,
) -> Result<(), ImportError> {
    let failed = |error| ImportError::File(path.to_owned(), error);
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    writeln!(file, "line\texternal_id\tfield\tcode\treason\tkind").map_err(failed)?;
    let mut after = 0;
    loop {
        let rows = catalog::row_errors(reading, merchant, run.id, None, after, 1_000).await?;
        let Some(last) = rows.last() else { break };
        after = last.line;
        for row in &rows {
            let error = &row.error;
            let id = row.external_id.as_deref().unwrap_or_default().replace(['\t', '\n'], " ");
            let (code, kind) = (error.code, row.kind);
            let (line, field, reason) = (row.line, &error.field, &error.reason);
            writeln!(file, "{line}\t{id}\t{field}\t{code}\t{reason}\t{kind}").map_err(failed)?;
        }
    }
    file.flush().map_err(failed)
}
