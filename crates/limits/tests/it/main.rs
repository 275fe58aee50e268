//! Tests against a real Redis.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use limits::{Bucket, Caller, Class, Limiter, QuotaRequest};
use primitives::{Id, KeyId};

fn random() -> u64 {
    std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0)
}

/// A unique caller, because tests share one Redis.
fn caller() -> Caller {
    Caller::agent(KeyId::from_random(u128::from(random())))
}

fn limiter() -> Limiter {
    Limiter::new(&testkit::redis_url(), "souk").unwrap()
}

/// Waits until Redis responds in time: connecting takes longer than the timeout of a call.
async fn ready(limiter: &Limiter) {
    for _ in 0..100 {
        let decision = limiter.take(&caller(), &QuotaRequest::tier(Class::Read, "x", 1)).await;
        if !decision.degraded {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("Redis did not respond");
}

#[tokio::test]
async fn a_call_counts_against_both_buckets_or_none() {
    let (limiter, caller) = (limiter(), caller());
    ready(&limiter).await;
    let call = async |tool: &str| {
        let request = QuotaRequest::tier(Class::Read, "mcp", 10).and_tool(None, tool, 2);
        limiter.take(&caller, &request).await
    };
    let first = call("a").await;
    assert_eq!((first.limit, first.remaining, first.degraded), (2, 1, false));
    assert!(call("a").await.is_admitted());
    for _ in 0..5 {
        assert_eq!(call("a").await.exceeded, Some(Bucket::Tool));
    }
    let rest = limiter.take(&caller, &QuotaRequest::tier(Class::Read, "mcp", 10)).await;
    assert_eq!(rest.remaining, 7, "rejected calls consume no quota");
    assert_eq!(rest.reset, first.reset);
}

#[tokio::test]
async fn concurrent_calls_are_admitted_exactly_up_to_the_limit() {
    let (limiter, caller) = (limiter(), caller());
    ready(&limiter).await;
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let (limiter, caller) = (limiter.clone(), caller.clone());
            tokio::spawn(async move {
                limiter.take(&caller, &QuotaRequest::tier(Class::Read, "mcp", 30)).await
            })
        })
        .collect();
    let mut admitted = 0;
    for task in tasks {
        let decision = task.await.unwrap();
        admitted += u32::from(decision.is_admitted() && !decision.degraded);
    }
    assert_eq!(admitted, 30);
}

#[tokio::test]
async fn without_redis_each_process_counts_alone_and_the_circuit_breaker_opens() {
    let (limiter, caller) = (Limiter::new("redis://127.0.0.1:1", "souk").unwrap(), caller());
    let request = QuotaRequest::tier(Class::Write, "mcp", 20);
    let mut admitted = 0;
    for _ in 0..40 {
        let decision = limiter.take(&caller, &request).await;
        assert!(decision.degraded);
        admitted += u32::from(decision.is_admitted());
    }
    assert_eq!(admitted, 10);
    assert!(limiter.is_degraded());
    let start = std::time::Instant::now();
    for _ in 0..100 {
        limiter.take(&caller, &request).await;
    }
    assert!(start.elapsed().as_millis() < 50, "{:?}", start.elapsed());
}

/// Private Redis servers on one socket in a directory of their own, killed when dropped.
struct PrivateRedis {
    servers: Vec<Child>,
    directory: PathBuf,
}

impl PrivateRedis {
    async fn start() -> Self {
        let directory = std::env::temp_dir().join(format!("souk-limits-{:x}", random()));
        std::fs::create_dir(&directory).unwrap();
        let mut redis = Self { servers: Vec::new(), directory };
        redis.start_primary().await;
        redis
    }

    /// Starts a server that gets the new connections. Those to an earlier one stay open.
    async fn start_primary(&mut self) {
        let server = Command::new("redis-server")
            .args(["--port", "0", "--unixsocket", "socket", "--save", "", "--appendonly", "no"])
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        self.servers.push(server);
        for _ in 0..200 {
            if self.command(&["SET", "key", "1"]).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("Redis did not start");
    }

    fn url(&self) -> String {
        format!("redis+unix://{}", self.directory.join("socket").display())
    }

    async fn command(&self, words: &[&str]) -> redis::RedisResult<()> {
        let client = redis::Client::open(self.url())?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        let mut command = redis::cmd(words[0]);
        words[1..].iter().for_each(|word| _ = command.arg(word));
        command.exec_async(&mut connection).await
    }
}

impl Drop for PrivateRedis {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

#[tokio::test]
async fn a_redis_that_accepts_no_writes_counts_as_unavailable() {
    let mut redis = PrivateRedis::start().await;
    let (limiter, caller) = (Limiter::new(&redis.url(), "souk").unwrap(), caller());
    ready(&limiter).await;
    // A replica after a failover: it responds, also to reads.
    redis.command(&["REPLICAOF", "127.0.0.1", "1"]).await.unwrap();
    let refused = redis.command(&["SET", "key", "1"]).await.unwrap_err();
    assert_eq!(refused.code(), Some("READONLY"));
    let request = QuotaRequest::tier(Class::Write, "mcp", 20);
    let mut admitted = 0;
    for _ in 0..40 {
        let decision = limiter.take(&caller, &request).await;
        assert!(decision.degraded);
        admitted += u32::from(decision.is_admitted());
    }
    assert_eq!(admitted, 10, "as without Redis");
    assert!(limiter.is_degraded());
    // The address leads to the new primary; the replica keeps its connections.
    redis.start_primary().await;
    ready(&limiter).await;
    assert!(!limiter.is_degraded());
}
