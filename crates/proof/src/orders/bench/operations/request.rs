//! Calls over HTTP.

use serde_json::Value;

use crate::http::{Client, Delivery};
use crate::report::Failure;

/// A call.
pub(super) struct Request {
    is_agent: bool,
    key: String,
    method: &'static str,
    path: String,
    body: String,
}

impl Request {
    pub(super) fn by_agent(key: &str, path: String, body: &Value) -> Self {
        Self { is_agent: true, key: key.to_owned(), method: "POST", path, body: body.to_string() }
    }

    pub(super) fn by_store(key: &str, method: &'static str, path: &str, body: &Value) -> Self {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        Self { is_agent: false, key: key.to_owned(), method, path: format!("/api/v1{path}"), body }
    }

    /// Sends it over a connection, fails unless it succeeds, and returns the connection.
    pub(super) async fn send(&self, connection: Client) -> Result<Client, Failure> {
        let mut connection = if self.is_agent {
            connection.without_headers().with_agent_key(&self.key)
        } else {
            connection.with_key(&self.key)
        };
        match connection.send(self.method, &self.path, self.body.as_bytes()).await {
            Delivery::Answered { status: 200, body } if !body.contains("\"error\":") => {
                Ok(connection)
            }
            other => Err(format!("{} {}: {other:?}", self.method, self.path).into()),
        }
    }
}
