//! Liveness: from every reachable state, all deliveries can still be made.

use std::collections::HashMap;

use stateright::Model;

use crate::webhooks::delivery_model::Protocol;
use crate::webhooks::delivery_model::state::State;

/// Returns the number of states, and one from which the deliveries cannot be made.
pub(super) fn explore(protocol: &Protocol) -> (usize, Option<State>) {
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
    let mut can_end = vec![false; states.len()];
    let mut open: Vec<usize> =
        (0..states.len()).filter(|index| states[*index].is_delivered()).collect();
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut can_end[index], true) {
            open.extend(&predecessors[index]);
        }
    }
    let stuck = can_end.iter().position(|can| !can).map(|index| states[index].clone());
    (states.len(), stuck)
}
