//! Checks of the foundation: job queue, outbox, tenant isolation and cells.

mod bench_jobs;
mod cells;
mod engine_restart;
mod graceful_shutdown;
mod lease_model;
mod outbox;
mod paused_worker;
mod tenant_isolation;
mod transaction_id_reuse;
mod worker_kills;

use crate::report::{Check, Failure};

/// The checks of this topic, in the order in which they run.
pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "worker-kills",
        guarantee: "workers killed at random: each job takes effect exactly once; poison jobs \
                    are quarantined and no others",
        run: |trial| Box::pin(worker_kills::prove(trial)),
    },
    Check {
        name: "paused-worker",
        guarantee: "a worker paused past its lease commits nothing when it resumes",
        run: |trial| Box::pin(paused_worker::prove(trial)),
    },
    Check {
        name: "lease-model",
        guarantee: "the lease protocol in every order of events; without its guards the model \
                    fails",
        run: |trial| Box::pin(lease_model::prove(trial)),
    },
    Check {
        name: "tenant-isolation",
        guarantee: "no statement of one store reaches a row of another, with or without a filter",
        run: |trial| Box::pin(tenant_isolation::prove(trial)),
    },
    Check {
        name: "cells",
        guarantee: "each merchant is served by exactly one cell; a move applies to writes at once",
        run: |trial| Box::pin(cells::prove(trial)),
    },
    Check {
        name: "outbox",
        guarantee: "outbox readers see each committed event once, in commit order",
        run: |trial| Box::pin(outbox::prove(trial)),
    },
    Check {
        name: "engine-restart",
        guarantee: "PostgreSQL crashes under load: callers get 503 and nothing worse, and the \
                    service recovers within five seconds",
        run: |trial| Box::pin(engine_restart::prove(trial)),
    },
    Check {
        name: "graceful-shutdown",
        guarantee: "a server that receives SIGTERM finishes the requests in flight",
        run: |trial| Box::pin(graceful_shutdown::prove(trial)),
    },
    Check {
        name: "transaction-id-reuse",
        guarantee: "PostgreSQL crashes and reassigns transaction ids: an outbox reader with a \
                    cursor in memory misses no event",
        run: |trial| Box::pin(transaction_id_reuse::prove(trial)),
    },
];

/// Runs the benchmark of the job queue.
pub(crate) async fn bench() -> Result<(), Failure> {
    bench_jobs::run().await
}
