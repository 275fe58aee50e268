//! Buying: approved by a person, never twice, never oversold, whoever dies.

mod abandoned;
mod bench;
mod checker;
mod concurrent;
mod crashes;
mod hosted;
mod last_unit;
mod purchase;
mod restarts;
mod shop;
mod storm;

use crate::report::Check;

pub(crate) use bench::bench;
pub(crate) use storm::soak;

/// The promises, in order.
pub(crate) const CHECKS: &[Check] = &[
    Check { name: "checkout/a", run: |trial| Box::pin(purchase::prove(trial)) },
    Check { name: "checkout/b", run: |trial| Box::pin(crashes::prove(trial)) },
    Check { name: "checkout/c", run: |trial| Box::pin(concurrent::prove(trial)) },
    Check { name: "checkout/d", run: |trial| Box::pin(last_unit::prove(trial)) },
    Check { name: "checkout/e", run: |trial| Box::pin(abandoned::prove(trial)) },
    Check { name: "checkout/f", run: |trial| Box::pin(storm::prove(trial)) },
    Check { name: "checkout/g", run: |trial| Box::pin(hosted::prove(trial)) },
    Check { name: "checkout/h", run: |trial| Box::pin(restarts::prove(trial)) },
];
