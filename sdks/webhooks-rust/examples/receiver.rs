//! A receiver of webhooks: verifies each request, ignores events it has seen, answers with 204 and
//! prints one line per event.
//!
//! ```sh
//! WEBHOOK_SECRET=whsec_… cargo run --package souk-webhooks --example receiver -- 4000
//! ```
//!
//! `WEBHOOK_SECRET` takes several secrets, separated by commas; spaces around them are ignored.
//! Without an argument the port is `PORT`, or 4000.

use std::collections::{HashSet, VecDeque};
use std::env;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use souk_webhooks::{HEADER, Verifier};
use tokio::net::TcpListener;

/// How many ids are remembered.
const IDS_MAX: usize = 10_000;

struct Receiver {
    verifier: Verifier,
    seen: Mutex<Seen>,
}

/// The ids of the latest events, in memory. A receiver with a database inserts the id into a table
/// with a unique key, in the transaction that processes the event.
#[derive(Default)]
struct Seen {
    ids: HashSet<String>,
    oldest_first: VecDeque<String>,
}

impl Seen {
    /// Remembers an id. Returns `false` if it is known.
    fn insert(&mut self, id: &str) -> bool {
        if !self.ids.insert(id.to_owned()) {
            return false;
        }
        self.oldest_first.push_back(id.to_owned());
        if self.oldest_first.len() > IDS_MAX
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let secrets = setting("WEBHOOK_SECRET").ok_or("WEBHOOK_SECRET is not set")?;
    let port = env::args().nth(1).or_else(|| setting("PORT")).unwrap_or_else(|| "4000".to_owned());
    let secrets = secrets.split(',').map(str::trim).filter(|secret| !secret.is_empty());
    let verifier = Verifier::new(secrets)?;
    let receiver = Arc::new(Receiver { verifier, seen: Mutex::default() });

    let listener = TcpListener::bind(("127.0.0.1", port.parse::<u16>()?)).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    let app = Router::new().fallback(post(receive)).with_state(receiver);
    Ok(axum::serve(listener, app).await?)
}

/// Long work is done after the response: a sender waits for seconds only. `Bytes` is the body as it
/// was received; axum rejects bodies of more than 2 MB.
async fn receive(
    State(receiver): State<Arc<Receiver>>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let header = headers.get(HEADER).and_then(|value| value.to_str().ok());
    match receiver.verifier.verify(header, &body) {
        Ok(event) => {
            let mut seen = receiver.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if seen.insert(&event.id) {
                println!("{} {}", event.kind, event.id);
            }
            StatusCode::NO_CONTENT
        }
        Err(error) => {
            eprintln!("rejected: {}", error.reason());
            StatusCode::BAD_REQUEST
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "the settings of an example")]
fn setting(name: &str) -> Option<String> {
    env::var(name).ok()
}
