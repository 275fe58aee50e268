//! `souk webhooks listen`: reads the events of a store from the service, and posts each to a local address, signed as the service
//! signs webhooks. It uses no database, so that merchants run it on their own machine.
//!
//! Requests go through a client of its own: the addresses are chosen by the person who runs the command, on whose machine it
//! runs. `outbound` protects the service from addresses that others choose, and refuses local ones.

mod event_reader;
mod known_events;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use database::Clock;
use primitives::StoreSlug;
use tokio::time::Instant;
use webhooks::SigningSecret;

use crate::commands::print;
use crate::config::Secret;

pub(super) use event_reader::ListenError;
use event_reader::{EventReader, Page, PolledEvent};
use known_events::KnownEvents;

/// Pause after everything was read.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Pauses after errors of the service: the first one, doubled each time up to the longest.
const BACKOFF_MIN: Duration = Duration::from_secs(1);
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// The purpose for which the store key is derived. The secret is the same at every start with the same key.
const SECRET_PURPOSE: &str = "souk webhooks listen";

/// The arguments of `souk webhooks listen`.
#[derive(Debug, Args)]
pub struct ListenArguments {
    /// Slug of the store
    #[arg(long)]
    pub store: StoreSlug,
    /// URL to which each event is posted, such as `http://127.0.0.1:4000/webhooks`
    #[arg(long, value_name = "URL")]
    pub forward_to: ForwardUrl,
    /// Begin with the events of this time ago: 2h, 30m, 90s or 3d; by default with new events
    #[arg(long, value_parser = duration)]
    pub since: Option<Duration>,
    /// Store key with the scope webhooks. The service is that of --site-url
    #[arg(long, env = "SOUK_STORE_KEY", hide_env_values = true)]
    pub key: Secret,
}

/// The local URL that receives events.
#[derive(Debug, Clone)]
pub struct ForwardUrl(reqwest::Url);

impl FromStr for ForwardUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url: reqwest::Url = text.parse().map_err(|_| "not an absolute URL")?;
        match url.scheme() {
            "http" | "https" => Ok(Self(url)),
            _ => Err("the scheme must be http or https"),
        }
    }
}

impl fmt::Display for ForwardUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.as_str())
    }
}

/// Parses a number with a unit.
fn duration(text: &str) -> Result<Duration, &'static str> {
    const ALLOWED: &str = "a number and a unit: 90s, 30m, 2h or 3d";
    let unit_at = text.find(|digit: char| !digit.is_ascii_digit()).ok_or(ALLOWED)?;
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return Err(ALLOWED),
    };
    let number: u64 = number.parse().map_err(|_| ALLOWED)?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or(ALLOWED)
}

/// Forwards the events of a store.
pub(super) struct Listener {
    http: reqwest::Client,
    events: EventReader,
    forward_to: ForwardUrl,
    secret: SigningSecret,
    known: KnownEvents,
    clock: Clock,
}

impl Listener {
    /// Creates a listener.
    pub(super) fn new(
        site_url: &str,
        arguments: ListenArguments,
        clock: Clock,
    ) -> Result<Self, ListenError> {
        let ListenArguments { store, forward_to, since, key } = arguments;
        let derived = identity::Secret::new(key.reveal()).map_err(|_| ListenError::NoKey)?;
        let secret = SigningSecret::of(derived.derived_key(SECRET_PURPOSE));
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            // As long as the service waits for a receiver.
            .timeout(outbound::TOTAL_TIMEOUT)
            .build()
            .map_err(ListenError::Client)?;
        let since = since.map(|ago| clock.local_now().minus(ago));
        let events = EventReader::new(http.clone(), site_url, store, key, since);
        Ok(Self { http, events, forward_to, secret, known: KnownEvents::default(), clock })
    }

    /// Forwards events until an error that repeating does not help. It says so once the service has responded: no event of a
    /// transaction that begins after that is missed.
    pub(super) async fn run(&mut self) -> Result<(), ListenError> {
        print(&format!("Signing secret of this listener: {}", self.secret.text()))?;
        let mut backoff = BACKOFF_MIN;
        let mut is_started = false;
        loop {
            match self.events.poll().await {
                Ok(page) => {
                    if !is_started {
                        let (store, url) = (self.events.store(), &self.forward_to);
                        print(&format!(
                            "Forwarding events of {store} to {url}; interrupt to stop."
                        ))?;
                        is_started = true;
                    }
                    backoff = BACKOFF_MIN;
                    let has_more = page.has_more;
                    self.forward_all(page).await?;
                    if !has_more {
                        tokio::time::sleep(POLL_INTERVAL).await;
                    }
                }
                Err(error) if error.is_transient() => {
                    let pause = error.retry_after().unwrap_or(backoff).min(BACKOFF_MAX);
                    print(&format!("{error}; next try in {} s", pause.as_secs()))?;
                    tokio::time::sleep(pause).await;
                    backoff = (backoff * 2).min(BACKOFF_MAX);
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn forward_all(&mut self, page: Page) -> Result<(), ListenError> {
        for event in page.events {
            if self.known.insert(event.event_id) {
                print(&self.forward(event).await)?;
            }
        }
        Ok(())
    }

    /// Posts an event, and returns the line that shows the result.
    async fn forward(&self, event: PolledEvent) -> String {
        let PolledEvent { event_id, event, created_at, body } = event;
        let secrets = std::slice::from_ref(&self.secret);
        let now = self.clock.local_now();
        let headers = webhooks::headers(event_id, now, body.as_bytes(), secrets);
        let started = Instant::now();
        let request = self.http.post(self.forward_to.0.clone()).headers(headers).body(body);
        let result = match request.send().await {
            Ok(response) => response.status().to_string(),
            Err(error) => event_reader::cause(&error),
        };
        let milliseconds = started.elapsed().as_millis();
        format!("{created_at}  {event}  {event_id}  → {result} ({milliseconds} ms)")
    }
}

#[cfg(test)]
mod tests;
