//! What everything else stands on: queue, outbox, tenants and cells.

mod bench_jobs;
mod cells;
mod crash;
mod engine_restart;
mod graceful_stop;
mod kills;
mod lease_model;
mod outbox;
mod pause;
mod tenants;

use crate::report::{Check, Failure};

/// The promises, in order.
pub(crate) const CHECKS: &[Check] = &[
    Check { name: "foundation/a", run: |trial| Box::pin(kills::prove(trial)) },
    Check { name: "foundation/b", run: |trial| Box::pin(pause::prove(trial)) },
    Check { name: "foundation/c", run: |trial| Box::pin(lease_model::prove(trial)) },
    Check { name: "foundation/d", run: |trial| Box::pin(tenants::prove(trial)) },
    Check { name: "foundation/e", run: |trial| Box::pin(cells::prove(trial)) },
    Check { name: "foundation/f", run: |trial| Box::pin(outbox::prove(trial)) },
    Check { name: "foundation/g", run: |trial| Box::pin(engine_restart::prove(trial)) },
    Check { name: "foundation/h", run: |trial| Box::pin(graceful_stop::prove(trial)) },
    Check { name: "foundation/i", run: |trial| Box::pin(crash::prove(trial)) },
];

/// The measurements.
pub(crate) async fn bench() -> Result<(), Failure> {
    bench_jobs::run().await
}
