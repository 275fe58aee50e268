//! Checks of product import: pushes, feeds, offer updates and retirements.

mod bench_replace;
mod import;
mod interleavings;
mod kills;
pub(crate) mod merchant;
mod model;
mod round_trip;
mod store;

use crate::report::{Check, Failure};

/// The checks of this topic, in the order in which they run.
pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "large-feed",
        guarantee: "a large Google feed: memory, progress, row errors; importing the same file \
                    again changes no row",
        run: |trial| Box::pin(import::prove_large(trial)),
    },
    Check {
        name: "row-errors",
        guarantee: "a thousand invalid rows of fourteen kinds, each reported with its line; the \
                    valid rows are imported",
        run: |trial| Box::pin(import::prove_broken(trial)),
    },
    Check {
        name: "process-kills",
        guarantee: "server, worker and PostgreSQL killed during replacements: no reader sees a \
                    mixed catalog reported as complete",
        run: |trial| Box::pin(kills::prove(trial)),
    },
    Check {
        name: "interleavings",
        guarantee: "concurrent pushes, feeds, revisions and retirements: each product ends as in \
                    some serial order",
        run: |trial| Box::pin(interleavings::prove(trial)),
    },
    Check {
        name: "round-trip",
        guarantee: "the demo stores through every format: what a format can carry arrives \
                    unchanged",
        run: |trial| Box::pin(round_trip::prove(trial)),
    },
];

/// Runs the benchmark of feed replacement.
pub(crate) async fn bench() -> Result<(), Failure> {
    bench_replace::run().await
}
