//! Liveness: from every reachable state, all jobs can still settle.
//!
//! The checker supports "always" and "sometimes" properties; this one quantifies over all states, so
//! it is checked on the state graph.

use std::collections::HashMap;

use stateright::Model;

use crate::foundation::lease_model::Protocol;
use crate::foundation::lease_model::state::{JobStatus, State};
use crate::report::{Failure, ensure};

/// Fails if a state cannot reach settlement. Returns the number of states.
pub(super) fn check(protocol: &Protocol) -> Result<usize, Failure> {
    let (states, predecessors) = explore(protocol);
    let mut can_settle = vec![false; states.len()];
    let is_settled = |state: &State| state.rows.iter().all(|row| row.status != JobStatus::Queue);
    let mut open: Vec<usize> =
        (0..states.len()).filter(|index| is_settled(&states[*index])).collect();
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut can_settle[index], true) {
            open.extend(&predecessors[index]);
        }
    }
    let stuck = can_settle.iter().position(|can| !can);
    ensure(stuck.is_none(), || {
        format!("the jobs cannot settle from {:?}", stuck.map(|index| &states[index]))
    })?;
    Ok(states.len())
}

/// Returns all states, and for each its predecessors.
fn explore(protocol: &Protocol) -> (Vec<State>, Vec<Vec<usize>>) {
    let mut states = protocol.init_states();
    let mut numbers: HashMap<State, usize> = states.iter().cloned().zip(0..).collect();
    let mut predecessors = vec![Vec::new(); states.len()];
    let mut index = 0;
    while index < states.len() {
        for next in protocol.next_states(&states[index]) {
            let number = *numbers.entry(next).or_insert_with_key(|state| {
                states.push(state.clone());
                predecessors.push(Vec::new());
                states.len() - 1
            });
            predecessors[number].push(index);
        }
        index += 1;
    }
    (states, predecessors)
}
