//! A merchant's program: it sends feeds over HTTP and follows their jobs.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::http::{Client, Fate};
use crate::report::Failure;

/// How long a job may take in all, restarts included.
const PATIENCE: Duration = Duration::from_mins(5);

/// A program with the key of a store.
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

    /// Sends a feed; the job, if the answer came.
    pub(crate) async fn send(
        &self,
        port: u16,
        method: &str,
        path: &str,
        feed: &[u8],
    ) -> Result<Option<String>, Failure> {
        match self.client(port).send(method, path, feed).await {
            Fate::Answered { status: 202, body } => {
                let answer: Value = serde_json::from_str(&body)?;
                Ok(answer["data"]["job_id"].as_str().map(str::to_owned))
            }
            Fate::Answered { status: 500 | 503, .. } | Fate::NotSent | Fate::Cut(_) => Ok(None),
            Fate::Answered { status, body } => Err(format!("{status} {body}").into()),
        }
    }

    /// What a job says of itself, if anybody answers.
    pub(crate) async fn job(&self, port: u16, job: &str) -> Option<Value> {
        let path = format!("/api/v1/merchant/jobs/{job}");
        match self.client(port).get(&path).await {
            Fate::Answered { status: 200, body } => {
                let answer: Value = serde_json::from_str(&body).ok()?;
                Some(answer["data"].clone())
            }
            _ => None,
        }
    }

    /// Follows a job to its end; hears of each state on the way.
    pub(crate) async fn follow(
        &self,
        port: impl Fn() -> u16,
        job: &str,
        mut hears: impl FnMut(&Value),
    ) -> Result<Value, Failure> {
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            if let Some(state) = self.job(port(), job).await {
                hears(&state);
                let status = state["status"].as_str().unwrap_or_default();
                if ["completed", "refused", "failed", "superseded"].contains(&status) {
                    return Ok(state);
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(format!("job {job} did not end within {PATIENCE:?}").into())
    }

    /// The rows a job did not take: line, field and code.
    pub(crate) async fn faults(
        &self,
        port: u16,
        job: &str,
    ) -> Result<Vec<(i64, String, String)>, Failure> {
        let mut faults = Vec::new();
        let mut after = 0;
        loop {
            let path = format!("/api/v1/merchant/jobs/{job}/faults?limit=1000&after_line={after}");
            let Fate::Answered { status: 200, body } = self.client(port).get(&path).await else {
                return Err("the faults cannot be read".into());
            };
            let answer: Value = serde_json::from_str(&body)?;
            for fault in answer["data"]["faults"].as_array().into_iter().flatten() {
                let text = |field: &str| fault[field].as_str().unwrap_or_default().to_owned();
                if text("reason").is_empty() {
                    return Err(format!("a fault without a reason: {fault}").into());
                }
                faults.push((fault["line"].as_i64().unwrap_or(0), text("field"), text("code")));
            }
            match answer["data"]["next_after_line"].as_i64() {
                Some(next) => after = next,
                None => return Ok(faults),
            }
        }
    }
}
