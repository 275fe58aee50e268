//! Checks of the MCP endpoint: unmodified clients, malformed requests, hostile merchant text.

mod bench;
mod hostile_input;
mod prompt_injection;
mod raw;
mod third_party;

use crate::report::{Check, Failure, ensure};

pub(crate) use raw::{
    IndexDirectory, Response, exchange, exchange_from, plain_json, wait_for_search,
};

/// The checks of this topic, in the order in which they run.
pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "conformance",
        guarantee: "the official conformance suite, both protocol versions; expected failures \
                    are listed with their reasons",
        run: |trial| Box::pin(third_party::prove_conformance(trial)),
    },
    Check {
        name: "official-clients",
        guarantee: "the official TypeScript and Python clients list, call, read, get errors, and \
                    continue to work",
        run: |trial| Box::pin(third_party::prove_clients(trial)),
    },
    Check {
        name: "hostile-input",
        guarantee: "malformed requests: the right error, little CPU, no memory growth, other \
                    requests served throughout",
        run: |trial| Box::pin(hostile_input::prove(trial)),
    },
    Check {
        name: "prompt-injection",
        guarantee: "hostile merchant text stays data: in no description, instruction, prompt or \
                    error",
        run: |trial| Box::pin(prompt_injection::prove(trial)),
    },
    Check {
        name: "token-budget",
        guarantee: "the tokens of the tool listing and of a search result, counted with a public \
                    tokenizer",
        run: |trial| Box::pin(third_party::prove_token_budget(trial)),
    },
];

/// Runs the benchmarks: of tool calls, and of search with the given number of products.
pub(crate) async fn bench(size: Option<u32>, only: &[String]) -> Result<(), Failure> {
    let known = ["calls", "search"];
    let unknown = only.iter().find(|part| !known.contains(&part.as_str()));
    ensure(unknown.is_none(), || format!("unknown part in {only:?}; the parts are {known:?}"))?;
    let wanted = |part: &str| only.is_empty() || only.iter().any(|selected| selected == part);
    if wanted("calls") {
        bench::run().await?;
    }
    if wanted("search") {
        crate::search::calls(size).await?;
    }
    Ok(())
}
