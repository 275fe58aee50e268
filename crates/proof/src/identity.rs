//! Checks of authentication and authorization: the access matrix, brute force, key rotation and
//! revocation, and secrecy of credentials.

mod access_matrix;
mod accounts;
mod brute_force;
mod key_revocation;
mod secret_leaks;
mod signing_key_rotation;
mod timing;

use crate::report::Check;

pub(crate) use accounts::{Account, agent_key, agent_key_for, metric};

/// The checks of this topic, in the order in which they run.
pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "access-matrix",
        guarantee: "every route and tool with every kind of credential; ids of others and \
                    unknown ids get the same response",
        run: |trial| Box::pin(access_matrix::prove(trial)),
    },
    Check {
        name: "brute-force",
        guarantee: "thousands of wrong passwords and keys, from one address and from 500, with \
                    and without Redis: few are checked, and other callers are not affected",
        run: |trial| Box::pin(brute_force::prove(trial)),
    },
    Check {
        name: "timing",
        guarantee: "the time to reject a key does not depend on the key: Welch's t-test of \
                    unknown, similar and revoked keys",
        run: |trial| Box::pin(timing::prove(trial)),
    },
    Check {
        name: "signing-key-rotation",
        guarantee: "the signing key is rotated and no call fails",
        run: |trial| Box::pin(signing_key_rotation::prove(trial)),
    },
    Check {
        name: "key-revocation",
        guarantee: "a key revoked at one process stops working at another within five seconds",
        run: |trial| Box::pin(key_revocation::prove(trial)),
    },
    Check {
        name: "secret-leaks",
        guarantee: "no key, password or token in logs, metrics, errors or any row; no cart, checkout or confirmation id in logs",
        run: |trial| Box::pin(secret_leaks::prove(trial)),
    },
];
