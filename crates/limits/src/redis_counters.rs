//! Counts that all processes share, in Redis.

use std::pin::pin;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, RedisError, Script, ServerErrorKind};

use crate::caller::Caller;
use crate::quota_decision::QuotaDecision;
use crate::quota_request::QuotaRequest;

/// How long Redis may take to respond.
pub(crate) const TIMEOUT: Duration = Duration::from_millis(20);

/// A process whose own scheduling is late extends the timeout by this multiple of its delay, up to the maximum.
const DELAY_FACTOR: u32 = 4;
const EXTENSION_MAX: Duration = Duration::from_millis(250);
/// Scheduler turns waited for after that: one to send, one to receive, one to be woken.
const YIELDS: usize = 3;

static TAKE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("take.lua")));

/// Error of a call to Redis.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RedisUnavailable {
    #[error("Redis took longer than {} ms", TIMEOUT.as_millis())]
    Timeout,
    #[error("Redis: {0}")]
    Failed(#[from] RedisError),
}

pub(crate) struct RedisCounters {
    name: String,
    client: Client,
    /// Replaced if it leads to a server that accepts no writes.
    manager: Mutex<Option<ConnectionManager>>,
}

impl RedisCounters {
    pub(crate) fn new(url: &str, name: &str) -> Result<Self, RedisError> {
        let (name, client) = (name.to_owned(), Client::open(url)?);
        Ok(Self { name, client, manager: Mutex::default() })
    }

    /// Counts a call against all quotas of the request in one script.
    pub(crate) async fn take(
        &self,
        caller: &Caller,
        request: &QuotaRequest,
    ) -> Result<QuotaDecision, RedisUnavailable> {
        let (since, mut call) = (Instant::now(), pin!(self.run_script(caller, request)));
        if let Ok(decision) = tokio::time::timeout(TIMEOUT, &mut call).await {
            return Ok(decision?);
        }
        // The delay may be this process's own. Its timer shows how late it is: sending, receiving and waking may each
        // have been delayed as long. After that, every task that is ready runs first.
        let delay = since.elapsed().saturating_sub(TIMEOUT);
        let extension = (delay * DELAY_FACTOR).min(EXTENSION_MAX);
        if let Ok(decision) = tokio::time::timeout(extension, &mut call).await {
            return Ok(decision?);
        }
        for _ in 0..YIELDS {
            tokio::task::yield_now().await;
            if let Some(decision) = call.as_mut().now_or_never() {
                return Ok(decision?);
            }
        }
        Err(RedisUnavailable::Timeout)
    }

    /// Connects, so that the first call does not wait for the connection.
    pub(crate) async fn connect(&self) -> Result<(), RedisError> {
        let mut connection = self.connection()?;
        redis::cmd("PING").exec_async(&mut connection).await
    }

    async fn run_script(
        &self,
        caller: &Caller,
        request: &QuotaRequest,
    ) -> Result<QuotaDecision, RedisError> {
        let mut connection = self.connection()?;
        let mut invocation = TAKE.prepare_invoke();
        // The hash tag in braces keeps the counts of a caller on one node of a cluster.
        invocation.key(format!("{}:limit:{{{}}}", self.name, caller.name())).arg(caller.offset());
        let request = caller.expand(request);
        for quota in &request.quotas {
            invocation.arg(quota.key.as_str()).arg(quota.limit);
        }
        let reply = invocation.invoke_async::<Vec<u64>>(&mut connection).await;
        let reply = reply.inspect_err(|error| self.discard_if_read_only(error))?;
        let [now, reset, counts @ ..] = reply.as_slice() else {
            return Err(RedisError::from((
                redis::ErrorKind::Parse,
                "the reply of the script is too short",
            )));
        };
        Ok(QuotaDecision::new(&request, counts, *now, *reset))
    }

    fn connection(&self) -> Result<ConnectionManager, RedisError> {
        let mut manager = self.manager.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(manager) = manager.as_ref() {
            return Ok(manager.clone());
        }
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(Duration::from_millis(500)))
            .set_response_timeout(Some(Duration::from_millis(500)))
            .set_number_of_retries(0);
        let new = ConnectionManager::new_lazy_with_config(self.client.clone(), config)?;
        Ok(manager.insert(new).clone())
    }

    /// Closes the connection to a server that accepts no writes. After a failover it is a replica, and the address leads
    /// new connections to the new primary; the manager itself reconnects only if a connection is lost.
    fn discard_if_read_only(&self, error: &RedisError) {
        // Older servers wrap the error of a script in another.
        let is_read_only = error.kind() == redis::ErrorKind::Server(ServerErrorKind::ReadOnly)
            || error.to_string().contains("READONLY");
        if is_read_only {
            *self.manager.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}
