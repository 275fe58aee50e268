//! `souk trust`: how far scores are, computing them again, their evidence, and both methodologies side by side.

use std::time::Duration;

use catalog::CatalogError;
use clap::{Args, Subcommand};
use database::{Database, DatabaseError, Reading, Work};
use merchants::{Band, StoreError, merchant_of};
use primitives::{MerchantId, StoreSlug};
use trust::{
    Alert, Cause, Comparison, DayCounts, DayDifference, Differences, MethodologyVersion,
    TrustError, TrustStatus,
};

/// Lag from which scores are late: an hour.
const LAG_MAX_SECONDS: f64 = 3_600.0;

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
    /// Print the newest score of a store with everything it is computed from, as JSON
    Export {
        /// Slug of the store
        #[arg(long)]
        store: StoreSlug,
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
    /// List scores that rose by more than 0.1 in one computation
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
    #[error("the catalog figures cannot be computed: {0}")]
    Catalog(#[from] CatalogError),
    #[error("database failed: {0}")]
    Database(#[from] DatabaseError),
    /// `--check` found differences, one on each line.
    #[error("counts differ from the facts:\n{0}\nRun `souk trust rebuild`.")]
    Differs(String),
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
        TrustCommand::Status => Ok(shown(&trust::status(&platform).await?, in_force)),
        TrustCommand::Recompute(RecomputedStores { store: Some(slug), .. }) => {
            recompute(database, in_force, &slug).await
        }
        TrustCommand::Recompute(RecomputedStores { store: None, .. }) => {
            let scores = trust::recompute_all(database, in_force).await?;
            Ok(format!("{scores} scores were computed again."))
        }
        TrustCommand::Rebuild { store, check } => rebuild(database, store.as_ref(), check).await,
        TrustCommand::Export { store } => {
            let merchant = merchant_of(database, &store).await?;
            let record = trust::evidence_record(&platform, merchant).await?;
            Ok(serde_json::to_string(&record)?)
        }
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
    let own = Reading::for_store(database, merchant)?;
    if catalog::quality(&own, merchant).await?.is_none() {
        // Nothing was ever imported, or the job that computes them never ran.
        let mut work = Work::for_store(database, merchant).await?;
        catalog::refresh_quality(&mut work, merchant).await?;
        work.commit().await?;
    }
    let mut work = Work::for_platform(database).await?;
    let computed = trust::recompute(&mut work, merchant, Cause::Requested, in_force).await?;
    work.commit().await?;
    let (epoch, revision) = (computed.epoch.0, computed.revision);
    let score = scored(computed.trust_score(), computed.band());
    Ok(format!("{slug} has the score {score} now (epoch {epoch}, revision {revision})."))
}

/// Counts the facts of one store or of all again, or compares the counts with them.
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
    let (mut stores, mut days, mut changed, mut differences) = (0, 0, 0, Vec::new());
    while let Some(last) = merchants.last().copied() {
        for merchant in &merchants {
            if is_check {
                let found = trust::check_days(database, *merchant).await?;
                days += found.days;
                differences.extend(described(*merchant, &found));
            } else {
                let rebuilt = trust::rebuild(database, *merchant).await?;
                (days, changed) = (days + rebuilt.days, changed + rebuilt.changed);
            }
            stores += 1;
        }
        merchants = match only {
            Some(_) => Vec::new(),
            None => trust::stores_after(&platform, Some(last)).await?,
        };
    }
    match (is_check, differences.is_empty()) {
        (true, true) => Ok(format!("{days} days of {stores} stores equal the facts.")),
        (true, false) => Err(TrustCommandError::Differs(differences.join("\n"))),
        (false, _) => {
            Ok(format!("{days} days of {stores} stores were counted; {changed} differed."))
        }
    }
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

fn scored(score: Option<f64>, band: Option<Band>) -> String {
    match (score, band) {
        (Some(score), Some(band)) => format!("{score:.4} ({band})"),
        _ => String::from("none"),
    }
}

fn shown(status: &TrustStatus, in_force: MethodologyVersion) -> String {
    let TrustStatus { epoch, slots_due, slots_done, late_epochs, lag_seconds, counts } = status;
    let rows = [
        ("methodology", in_force.to_string()),
        ("epoch", format!("{} ({})", epoch.0, epoch.as_of())),
        (
            "slots computed",
            format!("{slots_done} of {slots_due} due, {} in all", TrustStatus::SLOTS),
        ),
        ("late epochs", late_epochs.to_string()),
        ("lag", format!("{lag_seconds:.0} s")),
        ("stores", counts.stores.to_string()),
        ("with a score", format!("{} ({} provisional)", counts.scored, counts.provisional)),
        ("suspended", counts.suspended.to_string()),
        ("stale days", counts.stale_days.to_string()),
    ];
    let mut lines: Vec<String> =
        rows.iter().map(|(name, value)| format!("{name:<16}{value}")).collect();
    lines.push(String::from(if *lag_seconds > LAG_MAX_SECONDS {
        "Scores are late: start `souk work`, or see `souk jobs list --state failing`."
    } else {
        "Nothing is late."
    }));
    lines.join("\n")
}

fn compared(found: &[Comparison]) -> String {
    if found.is_empty() {
        return String::from("No scores of the last 60 days.");
    }
    let line = |store: &str, score: &str, shadow: &str, tier: &str| {
        format!("{store:<32}{score:<22}{shadow:<22}{tier}")
    };
    let row = |comparison: &Comparison| {
        let (band, shadow_band) = comparison.bands();
        let score = scored(comparison.score, band);
        let shadow = scored(comparison.shadow_score(), shadow_band);
        let tier = comparison.shadow.as_ref().map_or("-", |shadow| shadow.tier.as_str());
        line(&comparison.slug, &score, &shadow, tier)
    };
    let others = found.iter().filter(|it| it.bands().0 != it.bands().1).count();
    let mut lines = vec![line("STORE", "2.0", "4.1.0", "TIER")];
    lines.extend(found.iter().map(row));
    lines.push(format!("{others} of {} stores have another band by 4.1.0.", found.len()));
    lines.join("\n")
}

fn alerted(found: &[Alert]) -> String {
    if found.is_empty() {
        return String::from("No alerts.");
    }
    let line = |alert: &Alert| {
        let (at, slug, gain) = (alert.created_at, &alert.slug, alert.gain());
        let (former, score) = (alert.former_score, alert.score);
        let (epoch, revision) = (alert.epoch.0, alert.revision);
        format!(
            "{at}  {slug}  {former:.4} → {score:.4} (+{gain:.4})  epoch {epoch}, revision {revision}"
        )
    };
    found.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use testkit::{StoreBuilder, TestDatabase};
    use trust::{Epoch, TrustCounts};

    use super::*;
    use crate::Cli;

    fn status(lag_seconds: f64) -> TrustStatus {
        let counts =
            TrustCounts { stores: 40, scored: 38, provisional: 9, suspended: 1, stale_days: 2 };
        TrustStatus {
            epoch: Epoch(83_090),
            slots_due: 121,
            slots_done: 120,
            late_epochs: 0,
            lag_seconds,
            counts,
        }
    }

    #[test]
    fn the_status_says_whether_scores_are_late() {
        insta::assert_snapshot!(shown(&status(12.0), MethodologyVersion::V20), @r"
        methodology     2.0
        epoch           83090 (2026-11-15T12:00:00Z)
        slots computed  120 of 121 due, 360 in all
        late epochs     0
        lag             12 s
        stores          40
        with a score    38 (9 provisional)
        suspended       1
        stale days      2
        Nothing is late.
        ");
        let late = shown(&status(3_601.0), MethodologyVersion::V41);
        assert!(
            late.contains("methodology     4.1.0") && late.contains("Scores are late"),
            "{late}"
        );
    }

    #[test]
    fn recomputing_names_one_store_or_all() {
        let parse =
            |rest: &[&str]| Cli::try_parse_from([&["souk", "trust", "recompute"], rest].concat());
        assert!(parse(&["--store", "attic"]).is_ok() && parse(&["--all"]).is_ok());
        assert!(parse(&[]).is_err() && parse(&["--all", "--store", "attic"]).is_err());
    }

    #[tokio::test]
    async fn a_store_is_scored_again_exported_and_compared() {
        let test = TestDatabase::new().await;
        StoreBuilder::new("attic").build(test.database()).await;
        let run = async |command| run(test.database(), MethodologyVersion::V20, command).await;
        let store: StoreSlug = "attic".parse().unwrap();
        let recompute =
            || TrustCommand::Recompute(RecomputedStores { store: Some(store.clone()), all: false });
        let first = run(recompute()).await.unwrap();
        assert!(first.contains("score none") && first.contains("revision 0"), "{first}");
        assert!(run(recompute()).await.unwrap().contains("revision 1"));
        let all = TrustCommand::Recompute(RecomputedStores { store: None, all: true });
        assert_eq!(run(all).await.unwrap(), "1 scores were computed again.");
        let rebuild = |check| TrustCommand::Rebuild { store: None, check };
        assert_eq!(
            run(rebuild(false)).await.unwrap(),
            "0 days of 1 stores were counted; 0 differed."
        );
        assert!(run(rebuild(true)).await.unwrap().contains("equal the facts"));
        let exported = run(TrustCommand::Export { store: store.clone() }).await.unwrap();
        let exported: serde_json::Value = serde_json::from_str(&exported).unwrap();
        assert_eq!(exported["merchant_slug"], "attic");
        assert_eq!(exported["evidence"]["state"]["products"], 0);
        let compare = TrustCommand::Compare { store: Some(store), after: None, limit: 9 };
        let compared = run(compare).await.unwrap();
        assert!(compared.contains("\nattic "), "{compared}");
        let alerts = run(TrustCommand::Alerts { days: 30, limit: 9 }).await.unwrap();
        assert_eq!(alerts, "No alerts.");
        assert!(run(TrustCommand::Status).await.unwrap().contains("stores          1\n"));
    }
}
