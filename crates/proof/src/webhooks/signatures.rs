//! `signatures`: requests as a receiver recorded them, verified by others: the libraries of Stripe and of Standard Webhooks for
//! Python and JavaScript (`dev/webhooks/verify-third-party`), which must accept each and reject the forms of it that were tampered
//! with; and the three verifiers in `sdks/`, on the same requests and on their test vectors.
//!
//! The requests: a first attempt; its repetition, with the same bytes and another time; one during the rotation of the secret,
//! which receivers with either secret accept; and one after it, which only those with the new secret accept.

use std::process::Stdio;
use std::time::Duration;

use primitives::MerchantId;
use serde_json::{Value, json};
use souk_webhooks::{HEADER, Verifier};

use super::evidence::{check_copies, check_request, signatures_of, time_of};
use super::receiver::Request;
use super::site::{PATIENCE, Registered, Site};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::required_env;

/// How long the verification of one request may take, with the installation of the libraries.
const VERIFICATION_MAX: Duration = Duration::from_mins(5);

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

/// A recorded request, and a secret of its receiver.
struct Case {
    name: &'static str,
    request: Request,
    secret: String,
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let cases = record().await?;
    // Each run verifies about forty forms with four libraries.
    let verified = trial.rotate(cases.iter().collect::<Vec<&Case>>(), 2);
    let mut results = 0;
    for case in verified {
        trial.progress(|| format!("a request {}", case.name));
        results += verify_by_others(case).await?;
    }
    let ids: Vec<&str> = cases.iter().map(|case| case.request.event()).collect();
    for (program, text) in [("python3", PYTHON), ("node", NODE)] {
        let printed = verify_by_sdk(program, text, &cases).await?;
        ensure(printed == ids, || format!("{program} verified {printed:?} of {ids:?}"))?;
    }
    // The vectors of the verifier for Rust are run by the tests of the workspace.
    script("sdks", &["python", "typescript"], "").await?;
    Ok(format!(
        "{} recorded requests, among them a repetition and both secrets of a rotation: {results} results of third-party libraries as \
         expected; accepted by the verifiers for Rust, Python and TypeScript, whose vectors pass",
        cases.len(),
    ))
}

/// Lets requests be sent and records them.
async fn record() -> Result<Vec<Case>, Failure> {
    let site = Site::open().await?;
    let merchant = site.store("attic").await;
    let endpoint = site.endpoint(merchant, "/first-fails/signed").await?;
    let worker = site.worker(&[])?;
    site.publish(merchant).await?;
    let twice = site.receiver.until("a repetition", PATIENCE, |all| all.len() == 2).await?;
    let [first, second] = &twice[..] else { return Err("not two requests".into()) };
    check_copies(&[first, second])?;
    ensure(time_of(first) != time_of(second), || String::from("repeated with the same time"))?;
    ensure(signatures_of(first).len() == 1, || format!("signatures of one secret: {first:?}"))?;
    let secret = site.rotate(&endpoint).await?;
    let during = next(&site, merchant).await?;
    ensure(signatures_of(&during).len() == 2, || format!("no second signature: {during:?}"))?;
    // A day later.
    sqlx::query("UPDATE webhook_endpoint SET former_secret_until = now()")
        .execute(&mut site.raw().await)
        .await?;
    let after = next(&site, merchant).await?;
    ensure(signatures_of(&after).len() == 1, || format!("a second signature: {after:?}"))?;
    drop(worker);
    let cases = vec![
        case("at the first attempt", first, &endpoint.secret),
        case("at the second attempt", second, &endpoint.secret),
        case("during a rotation, with the new secret", &during, &secret),
        case("during a rotation, with the former secret", &during, &endpoint.secret),
        case("after a rotation", &after, &secret),
    ];
    for case in &cases {
        check_request(&case.request, &case.secret)?;
    }
    check_former(&after, &endpoint)?;
    Ok(cases)
}

fn case(name: &'static str, request: &Request, secret: &str) -> Case {
    Case { name, request: request.clone(), secret: secret.to_owned() }
}

/// Publishes an event, and returns its first request.
async fn next(site: &Site, merchant: MerchantId) -> Result<Request, Failure> {
    let id = site.publish(merchant).await?.to_string();
    let is_sent = |all: &[Request]| all.iter().any(|request| request.event() == id);
    let requests = site.receiver.until("another event", PATIENCE, is_sent).await?;
    let request = requests.into_iter().find(|request| request.event() == id);
    request.ok_or_else(|| "no request of the event".into())
}

/// Fails if a receiver that only knows the former secret still accepts requests.
fn check_former(request: &Request, endpoint: &Registered) -> Result<(), Failure> {
    let verifier = Verifier::new([endpoint.secret.as_str()])?;
    let header = request.headers.get(HEADER).map(String::as_str);
    let verified = verifier.verify_at(header, request.body.as_bytes(), request.at_seconds());
    ensure(verified.is_err(), || String::from("the former secret is valid after the rotation"))
}

/// Verifies a request and forms of it that were tampered with, and returns the number of results.
async fn verify_by_others(case: &Case) -> Result<usize, Failure> {
    let recorded = json!({
        "headers": case.request.headers,
        "body": case.request.body,
        "secret": case.secret,
        "receivedAt": case.request.at_seconds(),
    });
    let printed = script("verify-third-party", &[], &recorded.to_string()).await;
    let printed = printed.map_err(|why| format!("a request {}: {why}", case.name))?;
    let results = printed.lines().filter(|line| line.starts_with("ok")).count();
    // Four libraries, and at least twenty forms that were tampered with.
    ensure(results >= 80, || format!("a request {}: only {results} results", case.name))?;
    Ok(results)
}

/// Verifies all requests with a verifier in `sdks`, and returns the ids of the events.
async fn verify_by_sdk(program: &str, text: &str, cases: &[Case]) -> Result<Vec<String>, Failure> {
    let sdks = format!("{}/../../sdks", required_env("SOUK_CLIENTS")?);
    let item = |case: &Case| {
        let request = &case.request;
        json!([case.secret, request.header(HEADER), request.body, request.at_seconds()])
    };
    let list: Vec<Value> = cases.iter().map(item).collect();
    let mut command = tokio::process::Command::new(program);
    if program == "python3" {
        command.args(["-B", "-c", text]).env("PYTHONPATH", format!("{sdks}/webhooks-python"));
    } else {
        script("sdks", &["--install"], "").await?;
        let module = format!("{sdks}/webhooks-typescript/dist/index.js");
        let text = text.replace("MODULE", &json!(module).to_string());
        command.args(["--input-type=module", "-e", &text]);
    }
    let printed = run(command, &serde_json::to_string(&list)?).await?;
    Ok(printed.lines().map(str::to_owned).collect())
}

/// Runs a script of `dev/webhooks` and returns its output.
async fn script(name: &str, arguments: &[&str], input: &str) -> Result<String, Failure> {
    let script = format!("{}/../webhooks/{name}", required_env("SOUK_CLIENTS")?);
    let mut command = tokio::process::Command::new(script);
    command.args(arguments);
    run(command, input).await
}

/// Runs a program with an input and returns its output.
async fn run(mut command: tokio::process::Command, input: &str) -> Result<String, Failure> {
    use tokio::io::AsyncWriteExt;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().ok_or("a program without standard input")?;
    // A program that fails at once reads nothing; its status says so.
    let _ = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    let output = tokio::time::timeout(VERIFICATION_MAX, child.wait_with_output()).await??;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure(output.status.success(), || format!("{}: {stdout}{stderr}", output.status))?;
    Ok(stdout)
}
