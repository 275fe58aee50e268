//! When suspects are attempted: alone in their process, and only for a part of the time.

use std::time::Duration;

use tokio::time::Instant;

/// For how long suspects are attempted one after another, before others have their turn again.
const TURN_MAX: Duration = Duration::from_secs(2);
/// How many times as long as a pause the time until the next one is: pauses take a fifth of the time.
const REST_FACTOR: u32 = 4;

/// What may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// Everything but a suspect.
    All,
    /// Deliveries to healthy endpoints. The others may take long to end, and are waited for first.
    Healthy,
    Nothing,
    /// One suspect.
    Suspect,
}

/// What is in flight, and what waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Situation {
    pub(super) has_suspects: bool,
    /// Nothing is in flight, and every result is recorded.
    pub(super) is_quiet: bool,
    /// Something is in flight to an endpoint that is not healthy.
    pub(super) has_unproven: bool,
}

/// The pauses of a process for suspects: deliveries that were being attempted when their process crashed, more than once.
///
/// A suspect is attempted while nothing else is in flight, and nothing starts before its result is recorded: if the process
/// crashes again, it is the suspect that crashed it, and no neighbor is blamed. A request takes at most ten seconds, so that a
/// pause ends.
#[derive(Debug, Default)]
pub(super) struct Isolation {
    /// Since when others are kept from starting.
    paused_at: Option<Instant>,
    /// When the first suspect of this pause started.
    turn_at: Option<Instant>,
    /// Until then there is no other pause.
    rest_until: Option<Instant>,
    /// A suspect is being attempted.
    is_alone: bool,
    /// The attempt of a suspect has ended. Until its result is recorded, it would be blamed for a crash of the process.
    is_recording: bool,
}

impl Isolation {
    /// Returns what may start now. A pause begins when a suspect waits, and ends when none does.
    pub(super) fn admission(&mut self, now: Instant, situation: Situation) -> Admission {
        if self.is_alone || (self.is_recording && !situation.is_quiet) {
            return Admission::Nothing;
        }
        let is_over = |at: Instant| now.duration_since(at) >= TURN_MAX;
        if std::mem::take(&mut self.is_recording) && self.turn_at.is_some_and(is_over) {
            self.resume(now);
        }
        if !situation.has_suspects {
            self.resume(now);
            return Admission::All;
        }
        if self.paused_at.is_none() {
            if self.rest_until.is_some_and(|until| now < until) {
                return Admission::All;
            }
            self.paused_at = Some(now);
        }
        match situation {
            Situation { is_quiet: true, .. } => Admission::Suspect,
            Situation { has_unproven: true, .. } => Admission::Healthy,
            _ => Admission::Nothing,
        }
    }

    /// A suspect starts.
    pub(super) fn began(&mut self, now: Instant) {
        self.is_alone = true;
        self.turn_at.get_or_insert(now);
    }

    /// The attempt of a suspect has ended.
    pub(super) fn ended(&mut self) {
        (self.is_alone, self.is_recording) = (false, true);
    }

    fn resume(&mut self, now: Instant) {
        self.turn_at = None;
        if let Some(since) = self.paused_at.take() {
            self.rest_until = Some(now + now.duration_since(since) * REST_FACTOR);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const BUSY: Situation = Situation { has_suspects: true, is_quiet: false, has_unproven: true };
    const DRAINED: Situation = Situation { has_unproven: false, ..BUSY };
    const QUIET: Situation = Situation { is_quiet: true, ..DRAINED };
    const NONE: Situation = Situation { has_suspects: false, ..BUSY };

    #[test]
    fn a_suspect_waits_until_nothing_is_in_flight_and_nothing_starts_beside_it() {
        let (mut isolation, now) = (Isolation::default(), Instant::now());
        assert_eq!(isolation.admission(now, NONE), Admission::All);
        assert_eq!(isolation.admission(now, BUSY), Admission::Healthy);
        assert_eq!(isolation.admission(now, DRAINED), Admission::Nothing);
        assert_eq!(isolation.admission(now, QUIET), Admission::Suspect);
        isolation.began(now);
        assert_eq!(isolation.admission(now, NONE), Admission::Nothing);
        assert_eq!(isolation.admission(now + 9 * SECOND, QUIET), Admission::Nothing);
        isolation.ended();
        assert_eq!(isolation.admission(now + SECOND, QUIET), Admission::Suspect, "the next one");
    }

    #[test]
    fn nothing_starts_before_the_result_of_a_suspect_is_recorded() {
        let (mut isolation, now) = (Isolation::default(), Instant::now());
        assert_eq!(isolation.admission(now, QUIET), Admission::Suspect);
        isolation.began(now);
        isolation.ended();
        let unrecorded = Situation { has_suspects: false, ..DRAINED };
        assert_eq!(isolation.admission(now + 3 * SECOND, unrecorded), Admission::Nothing);
        assert_eq!(isolation.admission(now + 3 * SECOND, DRAINED), Admission::Nothing);
        let recorded = Situation { has_suspects: false, ..QUIET };
        assert_eq!(isolation.admission(now + 3 * SECOND, recorded), Admission::All);
        assert_eq!(isolation.admission(now + 3 * SECOND, unrecorded), Admission::All);
    }

    #[test]
    fn others_have_their_turn_for_most_of_the_time() {
        let (mut isolation, start) = (Isolation::default(), Instant::now());
        assert_eq!(isolation.admission(start, QUIET), Admission::Suspect);
        isolation.began(start);
        let end = start + 10 * SECOND;
        isolation.ended();
        assert_eq!(isolation.admission(end, QUIET), Admission::All);
        assert_eq!(isolation.admission(end + 39 * SECOND, QUIET), Admission::All);
        assert_eq!(isolation.admission(end + 40 * SECOND, QUIET), Admission::Suspect);
    }

    #[test]
    fn a_pause_ends_when_no_suspect_waits_any_more() {
        let (mut isolation, now) = (Isolation::default(), Instant::now());
        assert_eq!(isolation.admission(now, DRAINED), Admission::Nothing);
        assert_eq!(isolation.admission(now + SECOND, NONE), Admission::All);
        assert_eq!(isolation.admission(now + 2 * SECOND, BUSY), Admission::All, "it rests");
        assert_eq!(isolation.admission(now + 5 * SECOND, BUSY), Admission::Healthy);
    }
}
