//! Verifiers in other languages, as programs that read recorded requests.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use souk_webhooks::HEADER;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::Case;
use crate::report::{Failure, ensure};
use crate::souk::required_env;

/// How long a program may take, with the installation of its packages.
const PROGRAM_MAX: Duration = Duration::from_mins(5);
/// Forms of each request that were tampered with, at least, which each of the four libraries must reject.
const TAMPERED_MIN: usize = 20;

/// Languages of the verifiers in `sdks` besides Rust, which every check of a request uses.
pub(super) const SDKS: [&str; 2] = ["python", "typescript"];

/// Verifies requests with the verifier for Python. Its standard input is a list of `[secret, header, body, time]`.
const PYTHON: &str = "import json, sys
from souk_webhooks import verify
for secret, header, body, now in json.load(sys.stdin):
    print(verify(secret, header, body.encode(), now=now).id)";

/// The same with the verifier for TypeScript. `MODULE` is its path.
const NODE: &str = "import { verify } from MODULE;
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
for (const [secret, header, body, now] of JSON.parse(Buffer.concat(chunks))) {
  console.log((await verify(secret, header, body, { now })).id);
}";

/// Results of libraries of others.
pub(super) struct Results {
    pub(super) all: usize,
    pub(super) rejected: usize,
}

/// Verifies requests and forms of them that were tampered with.
pub(super) async fn by_others(cases: &[Case]) -> Result<Results, Failure> {
    let recorded = |case: &Case| {
        json!({
            "name": case.name,
            "headers": case.request.headers,
            "body": case.request.body,
            "secret": case.secret,
            "receivedAt": case.request.at_seconds(),
        })
    };
    let recorded: Vec<Value> = cases.iter().map(recorded).collect();
    let printed = script("verify-third-party", &[], &json!(recorded).to_string()).await?;
    let right = || printed.lines().filter(|line| line.starts_with("ok"));
    let rejected_by = |library: &str| {
        right().filter(|line| line.contains(library) && line.contains(": rejected")).count()
    };
    for library in ["python stripe", "python standard", "node   stripe", "node   standard"] {
        let (found, wanted) = (rejected_by(library), cases.len() * TAMPERED_MIN);
        ensure(found >= wanted, || format!("{library} rejects only {found} forms: {printed}"))?;
    }
    Ok(Results { all: right().count(), rejected: rejected_by("") })
}

/// Installs the compiler of the verifier for TypeScript, and builds it.
pub(super) async fn build_typescript() -> Result<(), Failure> {
    script("sdks", &["--install"], "").await.map(drop)
}

/// Verifies all requests with a verifier in `sdks`, and returns the ids of the events.
pub(super) async fn by_sdk(language: &str, cases: &[Case]) -> Result<Vec<String>, Failure> {
    let sdks = sdks()?;
    let item = |case: &Case| {
        let request = &case.request;
        json!([case.secret, request.header(HEADER), request.body, request.at_seconds()])
    };
    let list: Vec<Value> = cases.iter().map(item).collect();
    let command = if language == "python" {
        let mut command = Command::new("python3");
        command.args(["-B", "-c", PYTHON]).env("PYTHONPATH", format!("{sdks}/webhooks-python"));
        command
    } else {
        let module = format!("{sdks}/webhooks-typescript/dist/index.js");
        let text = NODE.replace("MODULE", &json!(module).to_string());
        let mut command = Command::new("node");
        command.args(["--input-type=module", "-e", &text]);
        command
    };
    let printed = run(command, &json!(list).to_string()).await?;
    Ok(printed.lines().map(str::to_owned).collect())
}

/// Returns the folder of the verifiers.
pub(super) fn sdks() -> Result<String, Failure> {
    Ok(format!("{}/../../sdks", required_env("SOUK_CLIENTS")?))
}

/// Runs a script of `dev/webhooks` and returns its output.
async fn script(name: &str, arguments: &[&str], input: &str) -> Result<String, Failure> {
    let script = format!("{}/../webhooks/{name}", required_env("SOUK_CLIENTS")?);
    let mut command = Command::new(script);
    command.args(arguments);
    run(command, input).await
}

/// Runs a program with an input and returns its output.
async fn run(mut command: Command, input: &str) -> Result<String, Failure> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().ok_or("a program without standard input")?;
    let writing = async {
        // A program that fails at once reads nothing; its status says so.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
    };
    let both = async { tokio::join!(writing, child.wait_with_output()).1 };
    let output = tokio::time::timeout(PROGRAM_MAX, both).await??;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure(output.status.success(), || format!("{}: {stdout}{stderr}", output.status))?;
    Ok(stdout)
}
