//! Who calls: the table of who may call what, and what happens to those who guess, to those whose key ends, and to
//! what is secret.

mod accounts;
mod brute_force;
mod matrix;
mod revocation;
mod rotation;
mod secrets;
mod timing;

use crate::report::Check;

pub(crate) use accounts::{Account, agent_key, agent_key_for, figure};

/// The promises, in order.
pub(crate) const CHECKS: &[Check] = &[
    Check { name: "identity/a", run: |trial| Box::pin(matrix::prove(trial)) },
    Check { name: "identity/b", run: |trial| Box::pin(brute_force::prove(trial)) },
    Check { name: "identity/c", run: |trial| Box::pin(timing::prove(trial)) },
    Check { name: "identity/d", run: |trial| Box::pin(rotation::prove(trial)) },
    Check { name: "identity/e", run: |trial| Box::pin(revocation::prove(trial)) },
    Check { name: "identity/f", run: |trial| Box::pin(secrets::prove(trial)) },
];
