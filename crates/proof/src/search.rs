//! Search: a catalog of any size, how well and how fast it is found.

mod bare;
mod bench;
mod measure;
mod postgres;
mod ranking;
mod relevance;
mod site;
mod world;

use crate::report::Check;

pub(crate) use bench::{bench, soak};

/// The promises, in order.
pub(crate) const CHECKS: &[Check] =
    &[Check { name: "search/a", run: |trial| Box::pin(ranking::prove(trial)) }];
