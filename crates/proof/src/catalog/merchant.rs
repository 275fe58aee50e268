//! A merchant's HTTP client: sends feeds and polls their jobs.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::http::{Client, Delivery};
use crate::report::Failure;

/// How long a job may take, including restarts.
const TIMEOUT: Duration = Duration::from_mins(5);

/// A client with the key of a store.
pub(crate) struct Merchant {
    key: String,
}

impl Merchant {
    pub(crate) fn new(key: String) -> Self {
        Self { key }
    }

    fn client(&self, port: u16) -> Client {
        Client::new(port).with_key(&self.key)
    }

    /// Sends a feed and returns the id of the job, or `None` if the service was not available.
    pub(crate) async fn send(
        &self,
        port: u16,
        method: &str,
        path: &str,
        feed: &[u8],
    ) -> Result<Option<String>, Failure> {
        match self.client(port).send(method, path, feed).await {
            Delivery::Answered { status: 202, body } => {
                let response: Value = serde_json::from_str(&body)?;
                Ok(response["data"]["job_id"].as_str().map(str::to_owned))
            }
            Delivery::Answered { status: 500 | 503, .. }
            | Delivery::NotSent
            | Delivery::Interrupted(_) => Ok(None),
            Delivery::Answered { status, body } => Err(format!("{status} {body}").into()),
        }
    }

    /// Returns the state of a job, or `None` if the service was not available.
    pub(crate) async fn job(&self, port: u16, job: &str) -> Option<Value> {
        let path = format!("/api/v1/merchant/jobs/{job}");
        match self.client(port).get(&path).await {
            Delivery::Answered { status: 200, body } => {
                let response: Value = serde_json::from_str(&body).ok()?;
                Some(response["data"].clone())
            }
            _ => None,
        }
    }

    /// Polls a job until it ends and returns its final state; calls `on_state` with each state.
    pub(crate) async fn wait_for_job(
        &self,
        port: impl Fn() -> u16,
        job: &str,
        mut on_state: impl FnMut(&Value),
    ) -> Result<Value, Failure> {
        let since = Instant::now();
        while since.elapsed() < TIMEOUT {
            if let Some(state) = self.job(port(), job).await {
                on_state(&state);
                let status = state["status"].as_str().unwrap_or_default();
                if ["completed", "refused", "failed", "superseded"].contains(&status) {
                    return Ok(state);
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(format!("job {job} did not end within {TIMEOUT:?}").into())
    }

    /// Returns the row errors of a job: line, field and code.
    pub(crate) async fn row_errors(
        &self,
        port: u16,
        job: &str,
    ) -> Result<Vec<(i64, String, String)>, Failure> {
        let mut errors = Vec::new();
        let mut after = 0;
        loop {
            let path = format!("/api/v1/merchant/jobs/{job}/faults?limit=1000&after_line={after}");
            let Delivery::Answered { status: 200, body } = self.client(port).get(&path).await
            else {
                return Err("the row errors could not be read".into());
            };
            let response: Value = serde_json::from_str(&body)?;
            for error in response["data"]["faults"].as_array().into_iter().flatten() {
                let text = |field: &str| error[field].as_str().unwrap_or_default().to_owned();
                if text("reason").is_empty() {
                    return Err(format!("a row error has no reason: {error}").into());
                }
                errors.push((error["line"].as_i64().unwrap_or(0), text("field"), text("code")));
            }
            match response["data"]["next_after_line"].as_i64() {
                Some(next) => after = next,
                None => return Ok(errors),
            }
        }
    }
}
