//! Nothing gets stuck: from every state that can be reached, all jobs can still settle.
//!
//! The checker knows "always" and "somewhere on the way"; this is "from everywhere", so it is asked
//! of the graph itself.

use std::collections::HashMap;

use stateright::Model;

use crate::foundation::lease_model::Protocol;
use crate::foundation::lease_model::state::{Place, State};
use crate::report::{Failure, ensure};

/// Answers how many states there are.
pub(super) fn from_everywhere(protocol: &Protocol) -> Result<usize, Failure> {
    let (states, came_from) = explore(protocol);
    let mut can_settle = vec![false; states.len()];
    let is_settled = |state: &State| state.rows.iter().all(|row| row.place != Place::Queue);
    let mut open: Vec<usize> =
        (0..states.len()).filter(|index| is_settled(&states[*index])).collect();
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut can_settle[index], true) {
            open.extend(&came_from[index]);
        }
    }
    let stuck = can_settle.iter().position(|can| !can);
    ensure(stuck.is_none(), || format!("no way out of {:?}", stuck.map(|index| &states[index])))?;
    Ok(states.len())
}

/// All states, and for each the ones that lead to it.
fn explore(protocol: &Protocol) -> (Vec<State>, Vec<Vec<usize>>) {
    let mut states = protocol.init_states();
    let mut numbers: HashMap<State, usize> = states.iter().cloned().zip(0..).collect();
    let mut came_from = vec![Vec::new(); states.len()];
    let mut index = 0;
    while index < states.len() {
        for next in protocol.next_states(&states[index]) {
            let number = *numbers.entry(next).or_insert_with_key(|state| {
                states.push(state.clone());
                came_from.push(Vec::new());
                states.len() - 1
            });
            came_from[number].push(index);
        }
        index += 1;
    }
    (states, came_from)
}
