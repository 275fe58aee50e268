//! Search: a catalog of any size, how well and how fast it is found, and what it survives.

mod balancer;
mod bare;
mod bench;
mod damage;
mod house;
mod kills;
mod measure;
mod postgres;
mod ranking;
mod relevance;
mod shop;
mod site;
mod trust;
mod two_writers;
mod world;

use crate::report::Check;

pub(crate) use bench::{bench, calls, soak};
pub(crate) use measure::cpu_nanos;

/// The promises, in order.
pub(crate) const CHECKS: &[Check] = &[
    Check { name: "search/a", run: |trial| Box::pin(ranking::prove(trial)) },
    Check { name: "search/b", run: |trial| Box::pin(kills::prove(trial)) },
    Check { name: "search/c", run: |trial| Box::pin(damage::prove(trial)) },
    Check { name: "search/d", run: |trial| Box::pin(two_writers::prove(trial)) },
    Check { name: "search/e", run: |trial| Box::pin(trust::prove(trial)) },
];
