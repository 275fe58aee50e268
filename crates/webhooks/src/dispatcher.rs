//! The dispatcher: delivers events to endpoints. Any number of processes run one.

mod attempt;
mod decision;
mod endpoint_queue;
mod health;
mod isolation;
mod ownership;
mod results;
mod session;
#[cfg(feature = "simulation")]
mod simulation;
mod slots;
mod start;
mod stores;
mod suspicion;

use std::time::Duration;

use database::Database;
use outbound::Client;
use primitives::Timestamp;
use tokio::sync::watch;

use crate::dispatcher::session::Session;
use crate::table::delivery::Started;
use crate::{SealingKey, SigningSecret, WebhookError};

pub(crate) use endpoint_queue::LOADED_MAX;
#[cfg(feature = "simulation")]
pub use simulation::{SimulationSummary, simulate};

/// Settings of a dispatcher. Its limits are those of one process.
#[derive(Debug, Clone)]
pub struct DispatcherSettings {
    /// Attempts at the same time.
    pub slots: usize,
    /// Time after which another process takes over what this one delivers, if it does not renew its lease.
    pub lease: Duration,
}

impl Default for DispatcherSettings {
    fn default() -> Self {
        Self { slots: 512, lease: Duration::from_secs(15) }
    }
}

/// Delivers the webhooks of all stores.
///
/// A process owns stores, by a lease: it alone delivers for them. It takes a store when an event wakes it or a delivery is due,
/// and releases it when it has nothing to send. Every start and every result is recorded only while the store is still its
/// own, so that a process that was paused for longer than its lease changes nothing.
pub struct Dispatcher {
    database: Database,
    sealing: SealingKey,
    client: Client,
    settings: DispatcherSettings,
}

impl Dispatcher {
    /// Creates a dispatcher.
    #[must_use]
    pub fn new(
        database: Database,
        sealing: SealingKey,
        client: Client,
        settings: DispatcherSettings,
    ) -> Self {
        Self { database, sealing, client, settings }
    }

    /// Delivers until `stop` becomes true; then starts nothing more, waits for the attempts in flight, records their results and
    /// releases all stores.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        Session::new(&self).run(stop).await;
    }

    /// Delivers what is due, and returns the number of attempts. For tests; production uses [`run`](Self::run).
    pub async fn run_until_idle(&self) -> Result<usize, WebhookError> {
        Ok(Session::new(self).run_until_idle().await?)
    }

    /// Decrypts the secrets with which a delivery is signed: that of the endpoint, and for some time after a rotation the former
    /// one. `None` if that is not possible.
    fn secrets(&self, started: &Started, now: Timestamp) -> Option<Vec<SigningSecret>> {
        let is_valid = started.former_secret_until.is_some_and(|until| until > now);
        let former = started.former_secret.as_ref().filter(|_| is_valid);
        let key = started.key.endpoint;
        let open = |sealed: &Vec<u8>| self.sealing.open(key.merchant, key.endpoint, sealed);
        let opened: Result<Vec<_>, _> =
            std::iter::once(&started.secret).chain(former).map(open).collect();
        if let Err(error) = &opened {
            tracing::error!(
                %error, merchant = %key.merchant, endpoint = %key.endpoint,
                "webhooks are not sent to an endpoint: was SOUK_SECRET changed?"
            );
        }
        opened.ok()
    }
}
