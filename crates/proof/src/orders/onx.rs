//! `onx`: what the onX tools answer, validated against the schemas that onX publishes. No registry has them as a package: the
//! environment variable `ONX_SCHEMAS` names the folder `schemas` of its repository (v0.5.1), and without it the check says that it
//! validated nothing.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use super::acts::{Hand, Named};
use super::model::{Act, ReturnStep, Who};
use super::refunds::{done, returns_of};
use super::store::{OrderStore, SLUG, model_of};
use crate::hardening::shop::tool;
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{optional_env, required_env};

/// Each tool that lists, the name of its list, and the schema of an entry.
const LISTS: [(&str, &str, &str); 3] = [
    ("onx_get_orders", "orders", "order.json"),
    ("onx_get_fulfillments", "fulfillments", "fulfillment.json"),
    ("onx_get_returns", "returns", "return.json"),
];

pub(crate) async fn prove(_: Trial) -> Verdict {
    let Some(folder) = optional_env("ONX_SCHEMAS").map(PathBuf::from) else {
        return Ok(String::from(
            "SKIPPED: ONX_SCHEMAS names no folder with the schemas of onX 0.5.1, which no registry has as a package",
        ));
    };
    let store = OrderStore::open().await?;
    fill(&store).await?;
    let mut validated = 0;
    for (name, list, schema) in LISTS {
        let (status, answer) =
            tool(store.ports[0], &store.callers.agent.key, SLUG, name, &json!({ "pageSize": 100 }))
                .await?;
        let entries = answer[list].as_array().cloned().unwrap_or_default();
        ensure(status == 200 && entries.len() >= 3, || format!("{name}: {status} {answer}"))?;
        validated += entries.len();
        validate(&folder.join(schema), &entries).await?;
    }
    Ok(format!(
        "{validated} orders, fulfillments and returns validate against {}",
        folder.display()
    ))
}

/// Creates orders in several states, with shipments and returns.
async fn fill(store: &OrderStore) -> Result<(), Failure> {
    let (mut sql, mut hand) = (store.test.raw().await, Hand::new(&store.callers, store.ports));
    for (number, order) in store.copy(8, "pending").await?.into_iter().enumerate() {
        let (_, lines) = model_of(&mut sql, order, "pending").await?;
        let mut named = Named::new(order, lines);
        for act in
            [Act::Ship(vec![(0, 1)]), Act::Deliver(None), Act::Refund(Some(1))].iter().take(number)
        {
            done(&mut hand, &named, Who::Merchant, act).await?;
        }
        if number < 4 {
            continue;
        }
        done(&mut hand, &named, Who::Agent, &Act::RequestReturn(vec![(0, 1)], "refund")).await?;
        named.returns = returns_of(&mut sql, order).await?;
        let steps = [ReturnStep::Approve, ReturnStep::Receive, ReturnStep::Settle(None)];
        for step in steps.into_iter().take(number - 4) {
            done(&mut hand, &named, Who::Merchant, &Act::Return(0, step)).await?;
        }
    }
    Ok(())
}

/// Validates entries with the validator of Python, which knows the dialect of the schemas.
async fn validate(schema: &std::path::Path, entries: &[Value]) -> Result<(), Failure> {
    let script = format!("{}/../returns/validate.py", required_env("SOUK_CLIENTS")?);
    let mut validator = tokio::process::Command::new("python3")
        .arg(script)
        .arg(schema)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = validator.stdin.take().ok_or("no standard input")?;
    stdin.write_all(Value::from(entries).to_string().as_bytes()).await?;
    drop(stdin);
    let output = validator.wait_with_output().await?;
    ensure(output.status.success(), || {
        let (printed, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        format!("{}: {printed}{errors}", schema.display())
    })
}
