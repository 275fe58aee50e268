//! Checks of rate limits: exact windows, Redis outages, and the cost of counting.

mod bench;
mod quota_model;
mod redis_outage;
mod window_boundary;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::report::{Check, Failure};
use crate::souk::stable_port;

pub(crate) use bench::bench;

/// The checks of this topic, in the order in which they run.
pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "quota-model",
        guarantee: "ten thousand schedules against a model: every decision equals the model's",
        run: |trial| Box::pin(quota_model::prove(trial)),
    },
    Check {
        name: "window-boundary",
        guarantee: "64 clients at two processes across the end of a window: each window admits \
                    its limit and not one more",
        run: |trial| Box::pin(window_boundary::prove(trial)),
    },
    Check {
        name: "redis-outage",
        guarantee: "Redis flushed, killed, paused and restarted under load: p99 latency, quotas \
                    and login limits hold",
        run: |trial| Box::pin(redis_outage::prove(trial)),
    },
];

/// A private Redis, killed when dropped.
pub(crate) struct Redis {
    child: Option<Child>,
    port: u16,
}

impl Redis {
    pub(crate) async fn start() -> Result<Self, Failure> {
        let mut redis = Self { child: None, port: stable_port()? };
        redis.start_process().await?;
        Ok(redis)
    }

    /// Starts the process and waits until it responds.
    pub(crate) async fn start_process(&mut self) -> Result<(), Failure> {
        let port = self.port.to_string();
        let child = Command::new("redis-server")
            .args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        self.child = Some(child);
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(10) {
            if self.command("PING").is_ok_and(|reply| reply.contains("PONG")) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err("Redis did not start".into())
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    fn command(&self, command: &str) -> Result<String, Failure> {
        let output =
            Command::new("redis-cli").args(["-p", &self.port.to_string(), command]).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn signal(&self, name: &str) -> Result<(), Failure> {
        let Some(child) = &self.child else { return Ok(()) };
        Command::new("kill").args(["-s", name, &child.id().to_string()]).status()?;
        Ok(())
    }

    /// Kills the process with SIGKILL.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the current Unix time in seconds.
#[expect(
    clippy::disallowed_methods,
    reason = "Redis uses the clock of this machine, not the database's"
)]
fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}
