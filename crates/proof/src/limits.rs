//! How often: exact windows, whatever happens to Redis, and what it costs.

mod bench;
mod edge;
mod outage;
mod schedules;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::report::{Check, Failure};
use crate::souk::lasting_port;

pub(crate) use bench::bench;

/// The promises, in order.
pub(crate) const CHECKS: &[Check] = &[
    Check { name: "limits/a", run: |trial| Box::pin(schedules::prove(trial)) },
    Check { name: "limits/b", run: |trial| Box::pin(edge::prove(trial)) },
    Check { name: "limits/c", run: |trial| Box::pin(outage::prove(trial)) },
];

/// A Redis of a check's own, killed when dropped.
struct Redis {
    child: Option<Child>,
    port: u16,
}

impl Redis {
    async fn start() -> Result<Self, Failure> {
        let mut redis = Self { child: None, port: lasting_port()? };
        redis.begin().await?;
        Ok(redis)
    }

    /// Starts it and waits until it answers.
    async fn begin(&mut self) -> Result<(), Failure> {
        let port = self.port.to_string();
        let child = Command::new("redis-server")
            .args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        self.child = Some(child);
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(10) {
            if self.ask("PING").is_ok_and(|said| said.contains("PONG")) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err("Redis did not start".into())
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    fn ask(&self, command: &str) -> Result<String, Failure> {
        let output =
            Command::new("redis-cli").args(["-p", &self.port.to_string(), command]).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn signal(&self, name: &str) -> Result<(), Failure> {
        let Some(child) = &self.child else { return Ok(()) };
        Command::new("kill").args(["-s", name, &child.id().to_string()]).status()?;
        Ok(())
    }

    /// Ends it with a signal it cannot catch.
    fn kill(&mut self) {
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

/// The seconds since 1970, as this machine has them.
#[expect(clippy::disallowed_methods, reason = "Redis has a clock of its own, and it is this one")]
fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}
