//! Accounts and keys, created as operators and people do.

use serde_json::{Value, json};

use crate::http::{Client, Delivery};
use crate::report::Failure;
use crate::souk::output;

/// An account and its password.
pub(crate) struct Account {
    pub(crate) email: String,
    pub(crate) password: String,
}

impl Account {
    /// Creates an account as an operator does, with a generated password.
    pub(crate) async fn create(url: &str, email: &str, plan: &str) -> Result<Self, Failure> {
        let printed = output(url, &["admin", "create", email, "--plan", plan]).await?;
        let password = printed.lines().nth(1).ok_or("`souk admin create` printed no password")?;
        let password = password.to_owned();
        Ok(Self { email: email.to_owned(), password })
    }

    pub(crate) async fn log_in(&self, port: u16) -> Result<String, Failure> {
        let body = json!({ "email": self.email, "password": self.password }).to_string();
        match Client::new(port).post("/api/v1/auth/login", &body).await {
            Delivery::Answered { status: 200, body } => {
                let answer: Value = serde_json::from_str(&body)?;
                let token = answer["token"].as_str().ok_or("the login response has no token")?;
                Ok(token.to_owned())
            }
            other => Err(format!("login failed: {other:?}").into()),
        }
    }
}

/// Creates an agent key with scope `agent:read`; returns its id and the key.
pub(crate) async fn agent_key(port: u16, token: &str) -> Result<(String, String), Failure> {
    agent_key_for(port, token, &["agent:read"]).await
}

/// Creates an agent key; returns its id and the key.
pub(crate) async fn agent_key_for(
    port: u16,
    token: &str,
    scopes: &[&str],
) -> Result<(String, String), Failure> {
    let body = json!({ "scopes": scopes }).to_string();
    match Client::new(port).with_key(token).post("/api/v1/agent-keys", &body).await {
        Delivery::Answered { status: 201, body } => {
            let answer: Value = serde_json::from_str(&body)?;
            let field = |name: &str| answer["data"][name].as_str().map(str::to_owned);
            field("key_id").zip(field("api_key")).ok_or_else(|| "the response has no key".into())
        }
        other => Err(format!("creating a key failed: {other:?}").into()),
    }
}

/// Returns the value of a metric, summed over all its labels.
pub(crate) async fn metric(port: u16, name: &str) -> Result<f64, Failure> {
    let Delivery::Answered { status: 200, body } =
        Client::for_operators(port).get("/metrics").await
    else {
        return Err("GET /metrics failed".into());
    };
    let lines = body
        .lines()
        .filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '{'])));
    Ok(lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
}
