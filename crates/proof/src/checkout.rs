//! Checks of checkout: every purchase is confirmed, charged once and never oversold, whichever
//! process crashes.

mod bench;
mod chaos;
mod concurrent_completion;
mod crash_points;
mod engine_restart;
mod expired_sessions;
mod invariants;
mod last_unit;
mod payment_page;
mod purchase;
pub(crate) mod store;

use crate::report::Check;

pub(crate) use bench::bench;
pub(crate) use chaos::soak;

/// The checks of this topic, in the order in which they run.
pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "purchase",
        guarantee: "a whole purchase with the official Python client and a browser, and with \
                    confirmation by elicitation",
        run: |trial| Box::pin(purchase::prove(trial)),
    },
    Check {
        name: "crash-points",
        guarantee: "the process crashes at each point of completion and payment and the call is \
                    retried: one session, one URL, one hold, one order",
        run: |trial| Box::pin(crash_points::prove(trial)),
    },
    Check {
        name: "concurrent-completion",
        guarantee: "a hundred concurrent completions of one cart: the same idempotency key, \
                    different keys, the same key with another body",
        run: |trial| Box::pin(concurrent_completion::prove(trial)),
    },
    Check {
        name: "last-unit",
        guarantee: "two hundred carts for the last unit; carts with two products in opposite \
                    order; no deadlock",
        run: |trial| Box::pin(last_unit::prove(trial)),
    },
    Check {
        name: "expired-sessions",
        guarantee: "unpaid sessions expire while workers are killed: all units released, one \
                    event each",
        run: |trial| Box::pin(expired_sessions::prove(trial)),
    },
    Check {
        name: "chaos",
        guarantee: "random agent actions while every process is killed at random: all invariants \
                    hold",
        run: |trial| Box::pin(chaos::prove(trial)),
    },
    Check {
        name: "payment-page",
        guarantee: "the process crashes during a payment on the hosted page: one payment, one \
                    order",
        run: |trial| Box::pin(payment_page::prove(trial)),
    },
    Check {
        name: "engine-restart",
        guarantee: "PostgreSQL crashes during purchases: no 500, recovery within five seconds, \
                    all invariants hold",
        run: |trial| Box::pin(engine_restart::prove(trial)),
    },
];
