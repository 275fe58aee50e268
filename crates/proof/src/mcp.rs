//! The door for agents: any stock client, any input, any merchant's text.

mod bench;
mod hostile;
mod injection;
mod raw;
mod strangers;

use crate::report::{Check, Failure, ensure};

/// The promises, in order.
pub(crate) const CHECKS: &[Check] = &[
    Check { name: "mcp/a", run: |trial| Box::pin(strangers::prove_conformance(trial)) },
    Check { name: "mcp/b", run: |trial| Box::pin(strangers::prove_clients(trial)) },
    Check { name: "mcp/c", run: |trial| Box::pin(hostile::prove(trial)) },
    Check { name: "mcp/d", run: |trial| Box::pin(injection::prove(trial)) },
    Check { name: "mcp/e", run: |trial| Box::pin(strangers::prove_context(trial)) },
];

/// The measurements: of a call, and of a search at the given number of products.
pub(crate) async fn bench(size: Option<u32>, only: &[String]) -> Result<(), Failure> {
    let known = ["calls", "search"];
    let unknown = only.iter().find(|part| !known.contains(&part.as_str()));
    ensure(unknown.is_none(), || format!("the parts are {known:?}, not {only:?}"))?;
    let wanted = |part: &str| only.is_empty() || only.iter().any(|asked| asked == part);
    if wanted("calls") {
        bench::run().await?;
    }
    if wanted("search") {
        crate::search::calls(size).await?;
    }
    Ok(())
}
