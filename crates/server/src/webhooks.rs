//! `souk webhooks`: the state of deliveries, and a stream of a store's events to a local address.

mod listen;

use clap::{Args, Subcommand};
use database::{Clock, Database, DatabaseError, Reading};
use identity::{Actor, Reason};
use merchants::{Administration, StoreError};
use primitives::StoreSlug;
use webhooks::{EndpointError, WebhookError, WebhookStats};

use crate::Config;

use listen::{ListenArguments, ListenError, Listener};

/// The commands of `souk webhooks`.
#[derive(Debug, Subcommand)]
pub enum WebhooksCommand {
    /// Show how many deliveries wait and for how long, those started, dead letters and disabled endpoints
    Status,
    /// Send the first pending delivery to every endpoint that fails, without waiting for its next attempt: after an outage of Souk's own network
    Probe(ProbeArguments),
    /// Forward the events of a store to an address on this machine, until interrupted: for development
    Listen(ListenArguments),
}

/// Which endpoints are probed.
#[derive(Debug, Args)]
pub struct ProbeArguments {
    /// Slug of the store
    #[arg(long, required_unless_present = "all", conflicts_with = "all")]
    store: Option<StoreSlug>,
    /// Of all stores
    #[arg(long)]
    all: bool,
    /// Why, for the audit log
    #[arg(long)]
    reason: Reason,
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum WebhooksCommandError {
    #[error("{0}")]
    Stats(#[from] WebhookError),
    #[error("database failed: {0}")]
    Database(#[from] DatabaseError),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Probe(#[from] EndpointError),
    #[error(transparent)]
    Listen(#[from] ListenError),
}

/// Returns the state of all deliveries as text.
pub(crate) async fn status(database: &Database) -> Result<String, WebhooksCommandError> {
    let platform = Reading::for_platform(database);
    let stats = webhooks::webhook_stats(&platform).await?;
    Ok(shown(&stats, webhooks::started(&platform).await?))
}

/// Probes failing endpoints.
pub(crate) async fn probe(
    database: &Database,
    arguments: ProbeArguments,
) -> Result<String, WebhooksCommandError> {
    database.refresh_directory().await?;
    let store = match &arguments.store {
        Some(slug) => Some(merchants::merchant_of(database, slug).await?),
        None => None,
    };
    let by = Administration { actor: Actor::Operator, reason: &arguments.reason };
    let endpoints = webhooks::probe_failing_endpoints(database, by, store).await?;
    Ok(format!(
        "{endpoints} failing endpoints get their first pending delivery now. Each that answers with 2xx gets what is due; the rest \
         follows at its own times."
    ))
}

/// Forwards events until an error that repeating does not help.
pub(crate) async fn listen(
    config: &Config,
    arguments: ListenArguments,
) -> Result<(), WebhooksCommandError> {
    let mut listener = Listener::new(config.site_url.as_str(), arguments, Clock::system())?;
    Ok(listener.run().await?)
}

fn shown(stats: &WebhookStats, started: i64) -> String {
    let counted = |number: i64| {
        let more = if number >= WebhookStats::COUNT_MAX { " or more" } else { "" };
        format!("{number}{more}")
    };
    let disabled = format!(
        "{} ({} by merchants, {} gone, {} failing)",
        stats.disabled_endpoints(),
        stats.disabled_by_merchant,
        stats.disabled_gone,
        stats.disabled_failing,
    );
    let rows = [
        ("dispatchers", stats.dispatchers.to_string()),
        ("pending deliveries", counted(stats.pending)),
        ("started", started.to_string()),
        ("lag", format!("{:.1} s", stats.lag_seconds)),
        ("dead letters", counted(stats.dead)),
        ("enabled endpoints", stats.enabled_endpoints.to_string()),
        ("disabled endpoints", disabled),
        ("open circuits", stats.open_circuits.to_string()),
    ];
    let mut lines: Vec<String> =
        rows.iter().map(|(name, value)| format!("{name:<20}{value}")).collect();
    lines.push(String::from(stats.verdict().advice()));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use testkit::TestDatabase;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn numbers_that_are_not_counted_to_the_end_say_so() {
        let stats = WebhookStats {
            pending: WebhookStats::COUNT_MAX,
            dead: 3,
            lag_seconds: 0.25,
            enabled_endpoints: 40,
            disabled_by_merchant: 1,
            disabled_gone: 2,
            disabled_failing: 4,
            open_circuits: 5,
            dispatchers: 2,
        };
        insta::assert_snapshot!(shown(&stats, 6), @r"
        dispatchers         2
        pending deliveries  100000 or more
        started             6
        lag                 0.2 s
        dead letters        3
        enabled endpoints   40
        disabled endpoints  7 (1 by merchants, 2 gone, 4 failing)
        open circuits       5
        Nothing is late.
        ");
    }

    #[test]
    fn what_needs_attention_is_said() {
        let stalled = WebhookStats { pending: 1, ..WebhookStats::default() };
        assert!(shown(&stalled, 0).contains("\nNothing is sent"));
        let late = WebhookStats { dispatchers: 1, lag_seconds: 61.0, ..WebhookStats::default() };
        assert!(shown(&late, 0).contains("\nDeliveries are late"));
    }

    #[tokio::test]
    async fn one_store_or_all_are_probed_for_a_reason() {
        let parsed = |words: &str| {
            let words = ["souk", "webhooks", "probe"].into_iter().chain(words.split(' '));
            Cli::try_parse_from(words).is_ok()
        };
        assert!(parsed("--all --reason outage") && parsed("--store attic --reason outage"));
        assert!(!parsed("--all") && !parsed("--reason outage"));
        assert!(!parsed("--all --store attic --reason outage"));
        let test = TestDatabase::new().await;
        let arguments =
            ProbeArguments { store: None, all: true, reason: "outage".parse().unwrap() };
        let shown = probe(test.database(), arguments).await.unwrap();
        assert!(shown.starts_with("0 failing endpoints"), "{shown}");
    }

    #[tokio::test]
    async fn an_idle_system_has_a_status() {
        let test = TestDatabase::new().await;
        let shown = status(test.database()).await.unwrap();
        let waits = "pending deliveries  0\nstarted             0\n";
        assert!(shown.contains(waits), "{shown}");
    }
}
