//! Finds an order of concurrent acts in which the model gives what was observed.

use std::collections::BTreeSet;

use super::generate::Call;
use super::observe::Observed;
use crate::orders::acts::Answer;
use crate::orders::model::{Entry, NOT_POSSIBLE, OrderModel};

/// A step of a call: most calls have one. The steps of the job follow each other, and steps of other calls may lie between
/// them.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) call: Call,
    pub(super) answer: Answer,
}

impl Step {
    pub(super) fn is_accepted(&self) -> bool {
        matches!(self.answer, Answer::Done(_)) && !self.call.act.is_read()
    }
}

/// An order of the steps that explains the observation.
pub(super) struct SerialOrder {
    /// The order afterwards.
    pub(super) model: OrderModel,
    /// Whether the calls took effect in the order in which they were sent.
    pub(super) is_in_order: bool,
}

/// Returns the first order of the steps that explains the observation, the one in which they were sent before all others.
pub(super) fn find_serial_order(
    before: &OrderModel,
    calls: &[Vec<Step>],
    observed: &Observed,
) -> Option<SerialOrder> {
    let search = Search { calls, observed };
    let start = Position {
        model: before.clone(),
        next: vec![0; calls.len()],
        entries: 0,
        used: BTreeSet::new(),
        is_in_order: true,
    };
    search.from(start)
}

struct Search<'round> {
    calls: &'round [Vec<Step>],
    observed: &'round Observed,
}

/// A point of the search: what has taken effect, and what the order is.
#[derive(Clone)]
struct Position {
    model: OrderModel,
    /// The next step of each call.
    next: Vec<usize>,
    /// How many entries of the history are explained.
    entries: usize,
    /// Idempotency keys under which a call has taken effect.
    used: BTreeSet<String>,
    is_in_order: bool,
}

impl Search<'_> {
    fn from(&self, at: Position) -> Option<SerialOrder> {
        let mut is_over = true;
        for (call, steps) in self.calls.iter().enumerate() {
            let Some(step) = steps.get(at.next[call]) else { continue };
            is_over = false;
            let found = self.after(at.clone(), call, step).and_then(|next| self.from(next));
            if found.is_some() {
                return found;
            }
        }
        let is_explained = at.entries == self.observed.entries.len();
        let is_same = is_over && is_explained && self.observed.order.is(&at.model);
        is_same.then_some(SerialOrder { model: at.model, is_in_order: at.is_in_order })
    }

    /// Lets a step take effect. `None` if the model gives another answer or other entries.
    fn after(&self, mut at: Position, call: usize, step: &Step) -> Option<Position> {
        let is_first_left = (0..call).all(|other| at.next[other] == self.calls[other].len());
        at.is_in_order &= is_first_left;
        at.next[call] += 1;
        let left = &self.observed.entries[at.entries..];
        let given = expected(&mut at, &step.call, left);
        match (given, &step.answer) {
            (Ok(entries), Answer::Done(seen)) if left.starts_with(&entries) => {
                at.entries += entries.len();
                seen.iter().all(|seen| seen.is(&at.model)).then_some(at)
            }
            (Err(refusal), Answer::Refused(status, code)) => {
                (refusal.0 == *status && refusal.1 == code).then_some(at)
            }
            _ => None,
        }
    }
}

/// Returns what the model gives for a call.
fn expected(
    at: &mut Position,
    call: &Call,
    left: &[Entry],
) -> Result<Vec<Entry>, crate::orders::model::Refusal> {
    if call.idempotency_key.as_ref().is_some_and(|key| at.used.contains(key)) {
        return Ok(Vec::new());
    }
    if call.version.is_some_and(|version| version != at.model.version) {
        return Err(NOT_POSSIBLE);
    }
    let done = at.model.execute(call.who, &call.act, left)?;
    at.used.extend(call.idempotency_key.clone());
    Ok(done)
}
