//! The requests of one connection, to find connections that are silent or idle.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connections::FirstRequest;

/// Time from the connection to the first complete request header.
pub(super) const FIRST_REQUEST_MAX: Duration = Duration::from_secs(10);
/// Time without a request in flight after which a connection is closed. HTTP/1.1 closes earlier, when the next header does
/// not arrive in time.
const IDLE_MAX: Duration = Duration::from_mins(1);

/// Counts the requests of a connection.
pub(super) struct Activity {
    state: Mutex<State>,
}

struct State {
    in_flight: usize,
    /// When the connection was opened, its last request answered, or the last part of a response read.
    idle_since: Instant,
    /// Taken by the first request.
    first: Option<FirstRequest>,
}

/// A request in flight.
pub(super) struct InFlight(Arc<Activity>);

impl Activity {
    pub(super) fn new(first: FirstRequest) -> Self {
        let state = State { in_flight: 0, idle_since: Instant::now(), first: Some(first) };
        Self { state: Mutex::new(state) }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request until the returned value is dropped.
    pub(super) fn begin(this: &Arc<Self>) -> InFlight {
        let mut state = this.state();
        state.in_flight += 1;
        if let Some(first) = state.first.take() {
            first.arrived();
        }
        InFlight(Arc::clone(this))
    }

    /// A part of a response is sent: the idle time begins again.
    pub(super) fn extend(&self) {
        self.state().idle_since = Instant::now();
    }

    /// Returns whether no request has arrived.
    pub(super) fn is_silent(&self) -> bool {
        self.state().first.is_some()
    }

    /// Returns whether no request is in flight and the time without one is over.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.state();
        state.in_flight == 0 && state.idle_since.elapsed() >= state.idle_max()
    }

    /// Returns when to look again.
    pub(super) fn deadline(&self) -> Instant {
        let state = self.state();
        let since = if state.in_flight > 0 { Instant::now() } else { state.idle_since };
        since + state.idle_max()
    }
}

impl State {
    fn idle_max(&self) -> Duration {
        if self.first.is_some() { FIRST_REQUEST_MAX } else { IDLE_MAX }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.in_flight -= 1;
        state.idle_since = Instant::now();
    }
}
