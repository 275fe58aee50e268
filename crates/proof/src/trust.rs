//! Checks of trust scores: a second implementation, properties, attacks, day rows and epochs under kills, suspension.

mod attacks;
mod bench;
mod epochs;
mod many_merchants;
mod properties;
mod random_evidence;
mod rollups;
mod second_implementation;
mod suspension;

use crate::report::{Check, Schedule};

pub(crate) use bench::bench;

/// Most checks wait for workers and their delays, so that they run side by side.
pub(crate) const SCHEDULE: Schedule =
    Schedule { lanes: 3, first: &["suspension", "rollups", "epochs"], alone: &[] };

/// The checks of this topic, in the order in which they are listed.
pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "second-implementation",
        guarantee: "a program in Python that reads only the published methodology and exported evidence computes the same \
                    scores, to 1e-9, of random and adversarial merchants and of real stores",
        run: |trial| Box::pin(second_implementation::prove(trial)),
    },
    Check {
        name: "properties",
        guarantee: "of random evidence: scores from 0 to 1, monotone in each component, bit-equal in any order of rows; nothing \
                    declared lifts a score by more than its redistributed weight",
        run: |trial| Box::pin(properties::prove(trial)),
    },
    Check {
        name: "attacks",
        guarantee: "attackers with budgets over 90 days: who pays nothing changes nothing, purchases that are canceled make no \
                    other checkout count, one account changes a score by at most 0.01 per epoch, three do not end the \
                    provisional time of a store, no competitor moves a store across a band without buying there or holding all \
                    its stock; a table says what the others achieve",
        run: |trial| Box::pin(attacks::prove(trial)),
    },
    Check {
        name: "rollups",
        guarantee: "purchases and random acts on orders while servers, workers and PostgreSQL are killed: the rows of days \
                    equal a rebuild from the facts, also after every event is repeated",
        run: |trial| Box::pin(rollups::prove(trial)),
    },
    Check {
        name: "epochs",
        guarantee: "workers killed while late epochs are computed: one score for each merchant and epoch, none skipped, and the \
                    standing of each store is its newest score",
        run: |trial| Box::pin(epochs::prove(trial)),
    },
    Check {
        name: "suspension",
        guarantee: "a store with a poor catalog that cancels order after order as out of stock is suspended, and reinstated once it \
                    completes its catalog: in search, directory, MCP, checkout and the merchant's view within 5 s of each score; its orders \
                    stay readable",
        run: |trial| Box::pin(suspension::prove(trial)),
    },
];
