//! `souk trust`: how far scores are, computing them again, their evidence, and both methodologies side by side.

mod shown;
#[cfg(test)]
mod tests;

use std::time::Duration;

use clap::{Args, Subcommand};
use database::{Database, DatabaseError, Reading};
use merchants::{StoreError, merchant_of};
use primitives::{MerchantId, StoreSlug};
use trust::{DayCounts, DayDifference, Differences, MethodologyVersion, Recomputed, TrustError};

use self::shown::{alerted, compared, scored, shown};
use crate::commands::print;

/// Stores that cannot be scored, of which the status shows the error.
const FAILURES_SHOWN: u16 = 10;

/// The commands of `souk trust`.
#[derive(Debug, Subcommand)]
pub enum TrustCommand {
    /// Show how far scores are, and how many stores are scored and suspended
    Status,
    /// Compute scores again, each as a new revision in the current epoch
    Recompute(RecomputedStores),
    /// Count the facts behind scores again, from orders, checkouts and reports of payments
    Rebuild {
        /// Slug of the store; by default all stores
        #[arg(long)]
        store: Option<StoreSlug>,
        /// Write nothing; fail if the counts differ from the facts
        #[arg(long)]
        check: bool,
    },
    /// Print the newest scores by methodology 2.0 with everything they are computed from, as JSON, a store on each line
    Export {
        /// Slug of the store; by default all stores
        #[arg(long)]
        store: Option<StoreSlug>,
    },
    /// Show the scores of methodology 2.0 beside those of 4.1.0
    Compare {
        /// Slug of a store; by default all stores, in the order of their slugs
        #[arg(long)]
        store: Option<StoreSlug>,
        /// Slug after which the list begins
        #[arg(long)]
        after: Option<StoreSlug>,
        /// Maximum number of stores
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=10_000))]
        limit: u16,
    },
    /// List scores that rose or fell by more than 0.1 in one computation
    Alerts {
        /// Age of the oldest alerts, in days
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3650))]
        days: u16,
        /// Maximum number of alerts
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=10_000))]
        limit: u16,
    },
}

/// Which scores are computed again.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct RecomputedStores {
    /// Slug of the store
    #[arg(long)]
    pub store: Option<StoreSlug>,
    /// All stores
    #[arg(long)]
    pub all: bool,
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum TrustCommandError {
    #[error("{0}")]
    Trust(#[from] TrustError),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("database failed: {0}")]
    Database(#[from] DatabaseError),
    /// `--check` found differences, one on each line.
    #[error("counts differ from the facts:\n{0}\nRun `souk trust rebuild`.")]
    Differs(String),
    /// Some stores failed, one on each line. The others are done.
    #[error("{done} {} stores failed:\n{}", .failed.len(), .failed.join("\n"))]
    Incomplete { done: String, failed: Vec<String> },
    #[error("the output cannot be written: {0}")]
    Output(#[from] std::io::Error),
    #[error("the evidence cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// Runs a command and returns its output.
pub(crate) async fn run(
    database: &Database,
    in_force: MethodologyVersion,
    command: TrustCommand,
) -> Result<String, TrustCommandError> {
    database.refresh_directory().await?;
    let platform = Reading::for_platform(database);
    match command {
        TrustCommand::Status => {
            let status = trust::status(&platform).await?;
            let failures = trust::failures(&platform, FAILURES_SHOWN).await?;
            Ok(shown(&status, in_force, &failures))
        }
        TrustCommand::Recompute(RecomputedStores { store: Some(slug), .. }) => {
            recompute(database, in_force, &slug).await
        }
        TrustCommand::Recompute(RecomputedStores { store: None, .. }) => {
            let Recomputed { scores, failed } = trust::recompute_all(database, in_force).await?;
            let failed = failed.iter().map(MerchantId::to_string).collect();
            unless_failed(format!("{scores} scores were computed again."), failed)
        }
        TrustCommand::Rebuild { store, check } => rebuild(database, store.as_ref(), check).await,
        TrustCommand::Export { store: Some(slug) } => {
            exported(&platform, merchant_of(database, &slug).await?).await
        }
        TrustCommand::Export { store: None } => export_all(&platform).await,
        TrustCommand::Compare { store, after, limit } => {
            let found = trust::compare(&platform, store.as_ref(), after.as_ref(), limit).await?;
            Ok(compared(&found))
        }
        TrustCommand::Alerts { days, limit } => {
            let period = Duration::from_hours(24 * u64::from(days));
            Ok(alerted(&trust::alerts(&platform, period, limit).await?))
        }
    }
}

async fn recompute(
    database: &Database,
    in_force: MethodologyVersion,
    slug: &StoreSlug,
) -> Result<String, TrustCommandError> {
    let merchant = merchant_of(database, slug).await?;
    let computed = trust::recompute_store(database, merchant, in_force).await?;
    let (epoch, revision) = (computed.epoch.0, computed.revision);
    let score = scored(computed.trust_score(), computed.band());
    Ok(format!("{slug} has the score {score} now (epoch {epoch}, revision {revision})."))
}

/// Returns the output of a command over many stores, or an error if some of them failed.
fn unless_failed(done: String, failed: Vec<String>) -> Result<String, TrustCommandError> {
    if failed.is_empty() { Ok(done) } else { Err(TrustCommandError::Incomplete { done, failed }) }
}

/// Returns the newest score of a store with its evidence, as a line of JSON.
async fn exported(platform: &Reading, merchant: MerchantId) -> Result<String, TrustCommandError> {
    Ok(serde_json::to_string(&trust::evidence_record(platform, merchant).await?)?)
}

/// Prints a line for each store, and returns the last one. A store that fails stops no other.
async fn export_all(platform: &Reading) -> Result<String, TrustCommandError> {
    let (mut stores, mut last_line, mut failed) = (0_u64, None::<String>, Vec::new());
    let mut merchants = trust::stores_after(platform, None).await?;
    while let Some(last) = merchants.last().copied() {
        for merchant in merchants {
            match exported(platform, merchant).await {
                Ok(line) => {
                    stores += 1;
                    if let Some(former) = last_line.replace(line) {
                        print(&former)?;
                    }
                }
                Err(error) => failed.push(format!("{merchant}: {error}")),
            }
        }
        merchants = trust::stores_after(platform, Some(last)).await?;
    }
    let last_line = last_line.unwrap_or_default();
    if failed.is_empty() {
        return Ok(last_line);
    }
    print(&last_line)?;
    unless_failed(format!("{stores} stores were exported."), failed)
}

/// What a rebuild or a comparison found so far.
#[derive(Debug, Default)]
struct Rebuilding {
    stores: usize,
    days: usize,
    changed: usize,
    /// One on each line.
    differences: Vec<String>,
    failed: Vec<String>,
}

impl Rebuilding {
    /// Counts the facts of a store again, or compares the counts with them.
    async fn add(
        &mut self,
        database: &Database,
        merchant: MerchantId,
        is_check: bool,
    ) -> Result<(), TrustError> {
        if is_check {
            let found = trust::check_days(database, merchant).await?;
            self.days += found.days;
            self.differences.extend(described(merchant, &found));
        } else {
            let rebuilt = trust::rebuild(database, merchant).await?;
            self.days += rebuilt.days;
            self.changed += rebuilt.changed;
        }
        self.stores += 1;
        Ok(())
    }

    fn result(self, is_check: bool) -> Result<String, TrustCommandError> {
        let Self { stores, days, changed, differences, failed } = self;
        if !differences.is_empty() {
            let lines = [differences, failed].concat();
            return Err(TrustCommandError::Differs(lines.join("\n")));
        }
        let done = if is_check {
            format!("{days} days of {stores} stores equal the facts.")
        } else {
            format!("{days} days of {stores} stores were counted; {changed} differed.")
        };
        unless_failed(done, failed)
    }
}

/// Counts the facts of one store or of all again, or compares the counts with them. A store that fails stops no other. Scores
/// that counted other facts are computed again by workers.
async fn rebuild(
    database: &Database,
    only: Option<&StoreSlug>,
    is_check: bool,
) -> Result<String, TrustCommandError> {
    let platform = Reading::for_platform(database);
    let mut merchants = match only {
        Some(slug) => vec![merchant_of(database, slug).await?],
        None => trust::stores_after(&platform, None).await?,
    };
    let mut rebuilding = Rebuilding::default();
    while let Some(last) = merchants.last().copied() {
        for merchant in &merchants {
            if let Err(error) = rebuilding.add(database, *merchant, is_check).await {
                tracing::error!(%merchant, %error, "the facts of a store cannot be counted");
                rebuilding.failed.push(format!("{merchant}: {error}"));
            }
        }
        let (stores, failed) = (rebuilding.stores, rebuilding.failed.len());
        tracing::info!(stores, failed, "facts are counted");
        merchants = match only {
            Some(_) => Vec::new(),
            None => trust::stores_after(&platform, Some(last)).await?,
        };
    }
    rebuilding.result(is_check)
}

fn described(merchant: MerchantId, found: &Differences) -> Vec<String> {
    let row = |it: &DayDifference| {
        let is = |counts: Option<DayCounts>| match counts {
            Some(counts) => format!("{counts:?}"),
            None => String::from("nothing"),
        };
        let (day, account) = (it.day, it.account);
        format!("{merchant} {day} {account}: {} stored, {} counted", is(it.stored), is(it.computed))
    };
    let delivered = found.delivered.map(|(stored, counted)| {
        format!("{merchant}: {stored} delivered orders stored, {counted} counted")
    });
    found.rows.iter().map(row).chain(delivered).collect()
}
