//! Logs when an engine becomes unavailable and when it is available again: one line each, not one per request or check.

use std::time::{Duration, Instant};

use rest::CheckState;

/// Follows the state of an engine.
pub(super) struct OutageLog {
    /// Name of the engine.
    engine: &'static str,
    /// What does not work without the engine.
    effect: &'static str,
    /// The state that was logged last, and since when. An engine counts as available at first.
    state: CheckState,
    since: Instant,
}

/// A change of the state of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transition {
    Unavailable(CheckState),
    /// Available again, after an outage of this duration.
    Available(Duration),
}

impl OutageLog {
    pub(super) fn new(engine: &'static str, effect: &'static str) -> Self {
        Self { engine, effect, state: CheckState::Ok, since: Instant::now() }
    }

    /// Logs a change of the state.
    pub(super) fn record(&mut self, state: CheckState, why: Option<&str>) {
        let (engine, effect) = (self.engine, self.effect);
        match self.transition(state, Instant::now()) {
            None => {}
            Some(Transition::Unavailable(state)) => {
                tracing::warn!(engine, ?state, error = why, "an engine is unavailable: {effect}");
            }
            Some(Transition::Available(outage)) => {
                let outage_seconds = (outage.as_secs_f64() * 10.0).round() / 10.0;
                tracing::info!(engine, outage_seconds, "an engine is available again");
            }
        }
    }

    /// Returns the change from the state before. The duration of an outage includes all its states.
    fn transition(&mut self, state: CheckState, now: Instant) -> Option<Transition> {
        let before = std::mem::replace(&mut self.state, state);
        if before == state {
            return None;
        }
        if before == CheckState::Ok {
            self.since = now;
        }
        Some(match state {
            CheckState::Ok => Transition::Available(now.duration_since(self.since)),
            state => Transition::Unavailable(state),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_reported_once_with_the_duration_of_the_outage() {
        let mut log = OutageLog::new("Redis", "");
        let start = Instant::now();
        let mut at = |state, seconds| log.transition(state, start + Duration::from_secs(seconds));
        assert_eq!(at(CheckState::Ok, 0), None);
        let down = Some(Transition::Unavailable(CheckState::Down));
        assert_eq!(at(CheckState::Down, 10), down);
        assert_eq!(at(CheckState::Down, 11), None);
        let degraded = Some(Transition::Unavailable(CheckState::Degraded));
        assert_eq!(at(CheckState::Degraded, 12), degraded);
        assert_eq!(at(CheckState::Ok, 15), Some(Transition::Available(Duration::from_secs(5))));
        assert_eq!(at(CheckState::Ok, 16), None);
    }
}
