//! The receivers to copy, `sdks/*/examples`, started as their READMEs say and given the recorded requests.

use std::path::Path;
use std::process::Command;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use outbound::Destination;
use tokio::task::block_in_place;

use super::{Case, verifiers};
use crate::report::{Failure, ensure};
use crate::souk::required_env;
use crate::webhooks::printing::{Printing, word};
use crate::webhooks::receiver::Request;
use crate::webhooks::site::loopback_client;

pub(super) const LANGUAGES: [&str; 3] = ["python", "typescript", "rust"];

/// Sends all requests to a receiver with both secrets. It accepts each, prints an event once, and rejects a body that was changed.
/// Returns how many it accepted.
pub(super) async fn receive(language: &str, cases: &[Case]) -> Result<usize, Failure> {
    let mut secrets: Vec<&str> = cases.iter().map(|case| case.secret.as_str()).collect();
    secrets.sort_unstable();
    secrets.dedup();
    let mut receiver = Printing::start(command(language, &secrets.join(","))?)?;
    let greeting = block_in_place(|| receiver.line("listening on http://"))?;
    let url = word(&greeting, "http://").ok_or("a receiver without an address")?;
    let mut printed = Vec::new();
    for case in cases {
        let status = post(&url, &case.request, &case.request.body).await?;
        ensure(status == 204, || format!("{language}, a request {}: {status}", case.name))?;
        let event = case.request.event();
        if !printed.contains(&event) {
            let line = block_in_place(|| receiver.line("evt_"))?;
            ensure(line.ends_with(event), || format!("{language} printed {line}, not {event}"))?;
            printed.push(event);
        }
        let changed = format!("{} ", case.request.body);
        let status = post(&url, &case.request, &changed).await?;
        ensure(status == 400, || format!("{language}, a changed request: {status}"))?;
    }
    Ok(cases.len())
}

/// Returns the command that starts a receiver at a free port.
fn command(language: &str, secrets: &str) -> Result<Command, Failure> {
    let sdks = verifiers::sdks()?;
    let mut command = match language {
        "python" => {
            let mut command = Command::new("python3");
            command.arg("-B").arg(format!("{sdks}/webhooks-python/examples/receiver.py"));
            command.env("PYTHONPATH", format!("{sdks}/webhooks-python"));
            command
        }
        "typescript" => {
            let mut command = Command::new("node");
            command.arg(format!("{sdks}/webhooks-typescript/examples/receiver.mjs"));
            command
        }
        // Built with the server.
        _ => {
            Command::new(Path::new(&required_env("SOUK_BIN")?).with_file_name("examples/receiver"))
        }
    };
    command.arg("0").env("WEBHOOK_SECRET", secrets);
    Ok(command)
}

/// Sends a recorded request, with another body or its own, and returns the status.
async fn post(url: &str, request: &Request, body: &str) -> Result<u16, Failure> {
    let mut headers = HeaderMap::new();
    for (name, value) in &request.headers {
        headers.insert(HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
    }
    let client = loopback_client()?;
    let destination = Destination::parse(url, client.policy())?;
    let response = client.post(&destination, headers, body.to_owned().into()).await?;
    Ok(response.status.as_u16())
}
