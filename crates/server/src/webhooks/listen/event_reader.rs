//! The service, as a listener reads it: `GET /merchant/webhooks/events`.

use std::time::Duration;

use primitives::{EventId, StoreSlug, Timestamp};
use reqwest::StatusCode;
use reqwest::header::RETRY_AFTER;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::config::Secret;

/// Why a listener stopped, or has to wait.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("the key must be a store key: mrch_ and 64 hexadecimal digits")]
    NoKey,
    #[error("the HTTP client cannot be created: {0}")]
    Client(reqwest::Error),
    #[error("the service cannot be reached: {0}")]
    Unreachable(String),
    #[error("the service responded with {status}: {message}")]
    Refused { status: StatusCode, message: String, retry_after: Option<Duration> },
    #[error("the response of the service is not that of Souk's API: is --site-url right?")]
    Unreadable,
    #[error("the key belongs to the store {actual}, not to {requested}")]
    WrongStore { requested: StoreSlug, actual: String },
    #[error("the output failed: {0}")]
    Output(#[from] std::io::Error),
}

impl ListenError {
    /// Returns whether the same request may succeed later.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Refused { status, .. } => {
                let limited = [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT];
                status.is_server_error() || limited.contains(status)
            }
            _ => false,
        }
    }

    /// Returns how long the service asks to wait.
    pub(super) const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// A part of the events of a store.
#[derive(Debug, Deserialize)]
pub(super) struct Page {
    store: String,
    pub(super) events: Vec<PolledEvent>,
    next_cursor: String,
    pub(super) has_more: bool,
}

/// An event as the service returns it. The kind is text: a newer service may have more.
#[derive(Debug, Deserialize)]
pub(super) struct PolledEvent {
    pub(super) event_id: EventId,
    pub(super) event: String,
    pub(super) created_at: Timestamp,
    pub(super) body: String,
}

#[derive(Deserialize)]
struct Answer<T> {
    data: T,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
}

/// Where the next request begins.
enum Position {
    Now,
    Since(Timestamp),
    Cursor(String),
}

/// Reads the events of a store, from one position to the next.
pub(super) struct EventReader {
    http: reqwest::Client,
    url: String,
    store: StoreSlug,
    key: Secret,
    position: Position,
}

impl EventReader {
    /// Creates a reader that begins now, or at a time.
    pub(super) fn new(
        http: reqwest::Client,
        site_url: &str,
        store: StoreSlug,
        key: Secret,
        since: Option<Timestamp>,
    ) -> Self {
        let url = format!("{site_url}/api/v1/merchant/webhooks/events");
        let position = since.map_or(Position::Now, Position::Since);
        Self { http, url, store, key, position }
    }

    pub(super) const fn store(&self) -> &StoreSlug {
        &self.store
    }

    /// Returns the next events, and moves on.
    pub(super) async fn poll(&mut self) -> Result<Page, ListenError> {
        let url = match &self.position {
            Position::Now => format!("{}?limit=100", self.url),
            Position::Since(since) => format!("{}?limit=100&since={since}", self.url),
            Position::Cursor(cursor) => format!("{}?limit=100&cursor={cursor}", self.url),
        };
        let request = self.http.get(url).bearer_auth(self.key.reveal());
        let response = request.header("x-store", self.store.as_str()).send().await;
        let response = response.map_err(|error| ListenError::Unreachable(cause(&error)))?;
        let (status, retry_after) = (response.status(), retry_after(&response));
        let body = response.bytes().await;
        let body = body.map_err(|error| ListenError::Unreachable(cause(&error)))?;
        if !status.is_success() {
            let message = parsed::<Refusal>(&body).map(|refusal| refusal.message);
            let message = message.unwrap_or_else(|_| String::from("no message"));
            return Err(ListenError::Refused { status, message, retry_after });
        }
        let Answer { data: page } = parsed::<Answer<Page>>(&body)?;
        if page.store != self.store.as_str() {
            let (requested, actual) = (self.store.clone(), page.store);
            return Err(ListenError::WrongStore { requested, actual });
        }
        self.position = Position::Cursor(page.next_cursor.clone());
        Ok(page)
    }
}

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, ListenError> {
    serde_json::from_slice(body).map_err(|_| ListenError::Unreadable)
}

fn retry_after(response: &reqwest::Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Returns the innermost cause of an error: `Connection refused` instead of the URL.
pub(super) fn cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
