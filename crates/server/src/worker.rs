//! Registers all job kinds and their schedules.

use std::time::Duration;

use catalog::{
    ApplyFeedRun, EndOrphanedRuns, PurgeFeedFiles, PurgeFeedRuns, RefreshCatalogStats,
    RefreshOutdatedFigures, UpdateSalePrices,
};
use checkout::{ExpireSessions, PurgeCarts, PurgeCheckoutEvents, ReconcilePayments};
use database::Database;
use identity::PurgeLoginAttempts;
use jobs::{Runner, RunnerSettings};
use merchants::PurgeNotices;
use orders::{CloseReturns, CompleteOrders, EscalateDisputes, RemindOfDisputes, SimulateSandbox};
use outbound::Client;
use search::{PurgeTallies, RecordSearchableRuns};
use trust::{CorrectScores, FollowFacts, PurgeDays, RecomputeScores, RecountFacts, RollUpDays};
use webhooks::{
    DeadLetterDeliveries, DeleteDeliveries, Dispatcher, DispatcherSettings, PurgeWebhooks,
    RecoverLateEvents, SealingKey,
};

use crate::{Config, file_limit};

/// Returns a job runner with all job kinds registered.
#[must_use]
pub fn runner(database: Database, config: &Config) -> Runner {
    let settings = RunnerSettings {
        concurrency: usize::from(config.job_concurrency),
        lease: Duration::from_secs(config.job_lease_seconds),
        ..RunnerSettings::default()
    };
    Runner::new(database, settings)
        .register::<ApplyFeedRun>(connectors::read_feed)
        .register::<RefreshCatalogStats>(())
        .sweep::<RefreshOutdatedFigures>(Duration::from_mins(1), ())
        .sweep::<EndOrphanedRuns>(Duration::from_mins(1), ())
        .sweep::<UpdateSalePrices>(Duration::from_secs(2), ())
        .sweep::<RecordSearchableRuns>(Duration::from_secs(2), ())
        .sweep::<PurgeFeedFiles>(Duration::from_mins(1), ())
        .register::<PurgeFeedRuns>(())
        .every::<PurgeFeedRuns>(Duration::from_hours(1))
        .sweep::<ExpireSessions>(Duration::from_mins(1), ())
        .sweep::<ReconcilePayments>(Duration::from_mins(1), config.payment_gateway())
        .sweep::<PurgeCarts>(Duration::from_hours(1), ())
        .sweep::<CompleteOrders>(Duration::from_mins(5), ())
        .sweep::<CloseReturns>(Duration::from_mins(5), ())
        .sweep::<EscalateDisputes>(Duration::from_mins(1), ())
        .sweep::<RemindOfDisputes>(Duration::from_mins(5), ())
        .sweep::<SimulateSandbox>(Duration::from_secs(5), ())
        .register::<PurgeCheckoutEvents>(())
        .every::<PurgeCheckoutEvents>(Duration::from_hours(1))
        .register::<PurgeLoginAttempts>(())
        .every::<PurgeLoginAttempts>(Duration::from_mins(10))
        .register::<PurgeNotices>(())
        .every::<PurgeNotices>(Duration::from_hours(24))
        .register::<DeadLetterDeliveries>(())
        .register::<DeleteDeliveries>(())
        .register::<RecoverLateEvents>(())
        .register::<PurgeWebhooks>(())
        .every::<PurgeWebhooks>(Duration::from_hours(1))
        .register::<PurgeTallies>(())
        .every::<PurgeTallies>(Duration::from_hours(24))
        .register::<FollowFacts>(())
        .every::<FollowFacts>(Duration::from_secs(1))
        .sweep::<RollUpDays>(Duration::from_secs(1), ())
        .register::<RecomputeScores>(config.methodology())
        .every::<RecomputeScores>(Duration::from_secs(5))
        .sweep::<CorrectScores>(Duration::from_secs(5), config.methodology())
        .sweep::<RecountFacts>(Duration::from_secs(10), ())
        .register::<PurgeDays>(())
        .every::<PurgeDays>(Duration::from_hours(1))
}

/// Returns the dispatcher of webhooks.
pub(crate) fn dispatcher(
    database: Database,
    config: &Config,
    secret: &identity::Secret,
    client: Client,
) -> Dispatcher {
    let sealing = SealingKey::new(secret.derived_key(SealingKey::PURPOSE));
    let slots = file_limit::webhook_slots_max(usize::from(config.webhook_slots));
    let lease = Duration::from_secs(config.webhook_lease_seconds);
    let client = client.with_idle_hosts(slots);
    Dispatcher::new(database, sealing, client, DispatcherSettings { slots, lease })
}

/// Refreshes the cell directory periodically; a worker has no monitor that does so.
pub(crate) async fn refresh_directory(database: Database) {
    loop {
        if let Err(error) = database.refresh_directory().await {
            tracing::warn!(%error, "refreshing the cell directory failed; retrying in 5 seconds");
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}
