//! The door for agents: any stock client, any input, any merchant's text.

mod bench;
mod hostile;
mod injection;
mod raw;
mod strangers;

use crate::report::{Check, Failure};

/// The promises, in order.
pub(crate) const CHECKS: &[Check] = &[
    Check { name: "mcp/a", run: |trial| Box::pin(strangers::prove_conformance(trial)) },
    Check { name: "mcp/b", run: |trial| Box::pin(strangers::prove_clients(trial)) },
    Check { name: "mcp/c", run: |trial| Box::pin(hostile::prove(trial)) },
    Check { name: "mcp/d", run: |trial| Box::pin(injection::prove(trial)) },
    Check { name: "mcp/e", run: |trial| Box::pin(strangers::prove_context(trial)) },
];

/// The measurements.
pub(crate) async fn bench() -> Result<(), Failure> {
    bench::run().await
}
