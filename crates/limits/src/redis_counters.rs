//! Counts that all processes share, in Redis.

use std::pin::pin;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use futures::FutureExt;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, RedisError, Script};
use tokio::sync::OnceCell;

use crate::caller::Caller;
use crate::charge::Charge;
use crate::verdict::Verdict;

/// How long Redis may take.
pub(crate) const DEADLINE: Duration = Duration::from_millis(20);

/// A process that is late itself waits so many times longer, and never more than this.
const TIMES_LATE: u32 = 4;
const PATIENCE_MAX: Duration = Duration::from_millis(250);
/// Turns of everybody else that are waited for beyond it: one to send, one to receive, one to be told.
const TURNS: usize = 3;

static TAKE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("take.lua")));

/// Why Redis did not answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Away {
    #[error("Redis took longer than {} ms", DEADLINE.as_millis())]
    Slow,
    #[error("Redis: {0}")]
    Failed(#[from] RedisError),
}

pub(crate) struct Shared {
    name: String,
    client: Client,
    manager: OnceCell<ConnectionManager>,
}

impl Shared {
    pub(crate) fn new(url: &str, name: &str) -> Result<Self, RedisError> {
        let (name, client) = (name.to_owned(), Client::open(url)?);
        Ok(Self { name, client, manager: OnceCell::new() })
    }

    /// One script, for all buckets of a call.
    pub(crate) async fn take(&self, caller: &Caller, charge: &Charge) -> Result<Verdict, Away> {
        let (since, mut asking) = (Instant::now(), pin!(self.ask(caller, charge)));
        if let Ok(verdict) = tokio::time::timeout(DEADLINE, &mut asking).await {
            return Ok(verdict?);
        }
        // It may be this process that is late. How much, its own timer tells: sending, receiving and being told may each
        // have waited as long. And everything that waits for a worker has a turn first.
        let late = since.elapsed().saturating_sub(DEADLINE);
        let patience = (late * TIMES_LATE).min(PATIENCE_MAX);
        if let Ok(verdict) = tokio::time::timeout(patience, &mut asking).await {
            return Ok(verdict?);
        }
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
            if let Some(verdict) = asking.as_mut().now_or_never() {
                return Ok(verdict?);
            }
        }
        Err(Away::Slow)
    }

    /// Connects, so that the first call need not wait for it.
    pub(crate) async fn connect(&self) -> Result<(), RedisError> {
        let mut connection = self.connection().await?;
        redis::cmd("PING").exec_async(&mut connection).await
    }

    async fn ask(&self, caller: &Caller, charge: &Charge) -> Result<Verdict, RedisError> {
        let mut connection = self.connection().await?;
        let mut call = TAKE.prepare_invoke();
        // The braces keep a caller's counts on one node of a cluster.
        call.key(format!("{}:limit:{{{}}}", self.name, caller.name())).arg(caller.offset());
        for (_, name, limit) in &charge.buckets {
            call.arg(name.as_str()).arg(*limit);
        }
        let answer: Vec<u64> = call.invoke_async(&mut connection).await?;
        let [now, reset, counts @ ..] = answer.as_slice() else {
            return Err(RedisError::from((
                redis::ErrorKind::Parse,
                "the script answered too little",
            )));
        };
        Ok(Verdict::of(charge, counts, *now, *reset))
    }

    async fn connection(&self) -> Result<ConnectionManager, RedisError> {
        let connect = async {
            let config = ConnectionManagerConfig::new()
                .set_connection_timeout(Some(Duration::from_millis(500)))
                .set_response_timeout(Some(Duration::from_millis(500)))
                .set_number_of_retries(0);
            ConnectionManager::new_lazy_with_config(self.client.clone(), config)
        };
        self.manager.get_or_try_init(|| connect).await.cloned()
    }
}
