//! The dispatcher: delivers events to endpoints. Any number of processes run one.

mod attempt;
mod backoff;
mod decision;
mod endpoint_queue;
mod health;
mod isolation;
mod memory;
mod ownership;
mod pace;
mod reads;
mod recorder;
mod results;
mod session;
#[cfg(feature = "simulation")]
mod simulation;
mod slots;
mod start;
mod stores;
mod suspicion;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use database::Database;
use futures::FutureExt;
use outbound::Client;
use primitives::Timestamp;
use tokio::sync::watch;

use crate::dispatcher::session::Session;
use crate::table::delivery::Started;
use crate::{SealingKey, SigningSecret, WebhookError};

pub(crate) use endpoint_queue::LOADED_MAX;
#[cfg(feature = "simulation")]
pub use simulation::{SimulationSummary, simulate};
pub(crate) use suspicion::StartCounts;

/// Pause after a panic.
const PANIC_PAUSE: Duration = Duration::from_secs(1);

/// Settings of a dispatcher. Its limits are those of one process.
#[derive(Debug, Clone)]
pub struct DispatcherSettings {
    /// Attempts at the same time.
    pub slots: usize,
    /// Time after which another process takes over what this one delivers, if it does not renew its lease.
    pub lease: Duration,
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
    /// releases all stores. After a panic, which only a defect can cause, it starts over.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        loop {
            let session = Session::new(&self).run(stop.clone());
            if AssertUnwindSafe(session).catch_unwind().await.is_ok() {
                return;
            }
            tracing::error!("the webhook dispatcher panicked; starting over");
            tokio::time::sleep(PANIC_PAUSE).await;
        }
    }

    /// Delivers what is due, and returns the number of attempts. For tests; production uses [`run`](Self::run).
    pub async fn run_until_idle(&self) -> Result<usize, WebhookError> {
        Ok(Session::new(self).run_until_idle().await?)
    }

    /// Decrypts the secrets with which a delivery is signed: that of the endpoint, and for some time after a rotation the former
    /// one. `None` if that of the endpoint cannot be decrypted. The former one is left out if it cannot: after a change of
    /// `SOUK_SECRET`, a rotation is what makes an endpoint work again.
    fn secrets(&self, started: &Started, now: Timestamp) -> Option<Vec<SigningSecret>> {
        let is_valid = started.former_secret_until.is_some_and(|until| until > now);
        let former = started.former_secret.as_ref().filter(|_| is_valid);
        let key = started.key.endpoint;
        let open = |sealed: &Vec<u8>| self.sealing.open(key.merchant, key.endpoint, sealed);
        let secret = open(&started.secret).inspect_err(|error| {
            metrics::counter!("souk_webhook_secrets_unreadable_total").increment(1);
            tracing::error!(
                %error, merchant = %key.merchant, endpoint = %key.endpoint,
                "webhooks are not sent to an endpoint: was SOUK_SECRET changed?"
            );
        });
        let former = former.and_then(|sealed| open(sealed).ok());
        Some(std::iter::once(secret.ok()?).chain(former).collect())
    }
}
