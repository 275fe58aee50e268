//! Accounts and keys, made as people make them.

use serde_json::{Value, json};

use crate::http::{Client, Fate};
use crate::report::Failure;
use crate::souk::answer;

/// Somebody with an account.
pub(crate) struct Account {
    pub(crate) email: String,
    pub(crate) password: String,
}

impl Account {
    /// Made by an operator, with a password that was drawn and shown once.
    pub(crate) async fn create(url: &str, email: &str, plan: &str) -> Result<Self, Failure> {
        let said = answer(url, &["admin", "create", email, "--plan", plan]).await?;
        let password = said.lines().nth(1).ok_or("no password was shown")?.to_owned();
        Ok(Self { email: email.to_owned(), password })
    }

    pub(crate) async fn log_in(&self, port: u16) -> Result<String, Failure> {
        let body = json!({ "email": self.email, "password": self.password }).to_string();
        match Client::new(port).post("/api/v1/auth/login", &body).await {
            Fate::Answered { status: 200, body } => {
                let answer: Value = serde_json::from_str(&body)?;
                let token = answer["token"].as_str().ok_or("a login without a token")?;
                Ok(token.to_owned())
            }
            other => Err(format!("a login met {other:?}").into()),
        }
    }
}

/// A key for an agent that may only look: its id and its text.
pub(crate) async fn agent_key(port: u16, token: &str) -> Result<(String, String), Failure> {
    agent_key_for(port, token, &["agent:read"]).await
}

/// A key for an agent: its id and its text.
pub(crate) async fn agent_key_for(
    port: u16,
    token: &str,
    scopes: &[&str],
) -> Result<(String, String), Failure> {
    let body = json!({ "scopes": scopes }).to_string();
    match Client::new(port).with_key(token).post("/api/v1/agent-keys", &body).await {
        Fate::Answered { status: 201, body } => {
            let answer: Value = serde_json::from_str(&body)?;
            let field = |name: &str| answer["data"][name].as_str().map(str::to_owned);
            field("key_id").zip(field("api_key")).ok_or_else(|| "no key in the answer".into())
        }
        other => Err(format!("making a key met {other:?}").into()),
    }
}

/// A figure of the server, over all its labels.
pub(crate) async fn figure(port: u16, name: &str) -> Result<f64, Failure> {
    let Fate::Answered { status: 200, body } = Client::new(port).get("/metrics").await else {
        return Err("there are no metrics".into());
    };
    let lines = body
        .lines()
        .filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '{'])));
    Ok(lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
}
