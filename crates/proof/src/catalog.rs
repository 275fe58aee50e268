//! Products on their way in: pushed, fed, revised and retired.

mod bench_replace;
mod import;
mod interleavings;
mod kills;
mod merchant;
mod model;
mod round_trip;
mod shop;

use crate::report::{Check, Failure};

/// The promises, in order.
pub(crate) const CHECKS: &[Check] = &[
    Check { name: "catalog/a", run: |trial| Box::pin(import::prove_large(trial)) },
    Check { name: "catalog/b", run: |trial| Box::pin(import::prove_broken(trial)) },
    Check { name: "catalog/c", run: |trial| Box::pin(kills::prove(trial)) },
    Check { name: "catalog/d", run: |trial| Box::pin(interleavings::prove(trial)) },
    Check { name: "catalog/e", run: |trial| Box::pin(round_trip::prove(trial)) },
];

/// The measurements, in order.
pub(crate) async fn bench() -> Result<(), Failure> {
    bench_replace::run().await
}
