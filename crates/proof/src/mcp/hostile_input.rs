//! `hostile-input`: malformed requests: too long, too deeply nested, duplicated, truncated, endless.
//! Each gets the right error, costs little, and does not affect the next request.

use std::time::Duration;

use serde_json::json;

use super::raw::{exchange, post, post_json};
use crate::engines::Engines;
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::search::cpu_nanos;
use crate::souk::{Souk, command};

/// Maximum CPU of one request; the kernel measures it coarsely.
const CPU_MAX: Duration = Duration::from_millis(50);
/// Maximum growth of resident memory over all requests.
const GROWTH_MAX_KIB: u64 = 64 * 1024;

/// A request and its expected response.
struct Case {
    name: &'static str,
    bytes: Vec<u8>,
    status: u16,
    /// The code of the JSON-RPC error; 0 if there is none.
    code: i64,
}

fn case(name: &'static str, bytes: Vec<u8>, status: u16, code: i64) -> Case {
    Case { name, bytes, status, code }
}

const PARSE: i64 = -32700;
const INVALID: i64 = -32600;
const PARAMS: i64 = -32602;

fn body_cases() -> Vec<Case> {
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"get_product_details","arguments":{arguments}}}}}"#
        )
        .into_bytes()
    };
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let deep =
        |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    let text = |body: &str| post_json(body.as_bytes());
    vec![
        case("an empty body", text(""), 400, PARSE),
        case("a truncated body", text(&ping[..20]), 400, PARSE),
        case("a batch", text(&format!("[{ping},{ping}]")), 400, INVALID),
        case("an empty batch", text("[]"), 400, INVALID),
        case("a string", text("\"ping\""), 400, INVALID),
        case("nested arrays", text(&deep("[", "]")), 400, PARSE),
        case("nested objects", text(&deep("{\"a\":", "}")), 400, PARSE),
        case("nested arguments", post_json(&call(&deep("[", "]"))), 400, PARSE),
        case("NaN", post_json(&call("{\"sku\":NaN}")), 400, PARSE),
        case("an out-of-range number", post_json(&call("{\"sku\":1e400}")), 400, PARSE),
        case("a lone surrogate", post_json(&call("{\"sku\":\"\\ud800\"}")), 400, PARSE),
        case("invalid UTF-8", text_bytes(b"{\"jsonrpc\":\"\xff\xfe\"}"), 400, PARSE),
        case("a byte order mark", text_bytes(b"\xef\xbb\xbf{}"), 400, PARSE),
        case("a NUL character", post_json(&call("{\"sku\":\"\\u0000\"}")), 200, 0),
        case("an array as arguments", post_json(&call("[]")), 400, PARAMS),
        case("null as id", text(&ping.replace(":1,", ":null,")), 400, INVALID),
        case("an object as id", text(&ping.replace(":1,", ":{},")), 400, INVALID),
        case("true as id", text(&ping.replace(":1,", ":true,")), 400, INVALID),
        case(
            "an array as params",
            text(&ping.replace("\"ping\"", "\"ping\",\"params\":[]")),
            400,
            PARAMS,
        ),
        case("a call without params", text(&ping.replace("ping", "tools/call")), 400, PARAMS),
        case("a number as method", text(&ping.replace("\"ping\"", "7")), 400, INVALID),
        case("another version of JSON-RPC", text(&ping.replace("2.0", "1.0")), 400, INVALID),
        case(
            "an unknown tool",
            text(&String::from_utf8_lossy(&call("{}")).replace("get_product_details", "x")),
            200,
            PARAMS,
        ),
        case("a duplicate key", text(&ping.replace("\"id\":1", "\"id\":1,\"id\":2")), 400, INVALID),
        case(
            "a notification",
            text(
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
            ),
            202,
            0,
        ),
    ]
}

fn text_bytes(body: &[u8]) -> Vec<u8> {
    post_json(body)
}

/// Requests that are invalid before the body is read.
fn frame_cases() -> Vec<Case> {
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let length = ping.len();
    let large = vec![b' '; 10_000_000];
    let mut endless = post("Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n", b"");
    for _ in 0..600 {
        endless.extend_from_slice(b"2000\r\n");
        endless.extend_from_slice(&[b' '; 0x2000]);
        endless.extend_from_slice(b"\r\n");
    }
    let twice = format!(
        "Content-Type: application/json\r\nContent-Length: {length}\r\nContent-Length: 3\r\n"
    );
    let plain = format!("Content-Type: text/plain\r\nContent-Length: {length}\r\n");
    vec![
        case("ten megabytes", post_json(&large), 413, -32000),
        case("endless chunks", endless, 413, -32000),
        case("two Content-Length headers", post(&twice, ping), 400, 0),
        case("another content type", post(&plain, ping), 400, -32000),
        case("no content type", post(&format!("Content-Length: {length}\r\n"), ping), 400, -32000),
    ]
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let engines = Engines::start()?;
    command(&engines.database_url, &["migrate"])?;
    command(&engines.database_url, &["seed"])?;
    let souk = Souk::serve(&engines.database_url, &[]).await?;
    let rounds = trial.by_tier(1, 20);
    let cases: Vec<Case> = body_cases().into_iter().chain(frame_cases()).collect();
    let mut kept = Client::new(souk.port).with_mcp_headers();
    still_serves(&mut kept, "the start").await?;
    let before = resident_kib(souk.pid())?;
    let mut most_expensive = (Duration::ZERO, "");
    for round in 0..rounds {
        trial.progress(|| format!("round {} of {rounds}", round + 1));
        for case in &cases {
            let cpu = cpu_nanos(souk.pid())?;
            let answer = exchange(souk.port, &case.bytes).await;
            let answer = answer.map_err(|why| format!("{}: {why}", case.name))?;
            let spent = Duration::from_nanos(cpu_nanos(souk.pid())?.saturating_sub(cpu));
            ensure((answer.status, answer.rpc_code()) == (case.status, case.code), || {
                let wanted = (case.status, case.code);
                format!("{}: expected {wanted:?}, got {answer:?}", case.name)
            })?;
            ensure(spent < CPU_MAX, || format!("{} cost {spent:?} of CPU", case.name))?;
            if spent > most_expensive.0 {
                most_expensive = (spent, case.name);
            }
            still_serves(&mut kept, case.name).await?;
        }
    }
    let grown = resident_kib(souk.pid())?.saturating_sub(before);
    ensure(grown < GROWTH_MAX_KIB, || format!("resident memory grew by {grown} KiB"))?;
    Ok(format!(
        "{} inputs, {rounds} times each: the right error, at most {:.1} ms of CPU ({}), {grown} KiB memory \
         growth, and an existing connection was served throughout",
        cases.len(),
        most_expensive.0.as_secs_f64() * 1_000.0,
        most_expensive.1,
    ))
}

/// Sends a valid request on an existing connection.
async fn still_serves(client: &mut Client, after: &str) -> Result<(), Failure> {
    let body = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call",
        "params": { "name": "get_merchant_profile", "arguments": {} } });
    match client.post("/demo-store/mcp", &body.to_string()).await {
        Delivery::Answered { status: 200, body } if body.contains("structuredContent") => Ok(()),
        other => Err(format!("after {after} a valid request failed: {other:?}").into()),
    }
}

fn resident_kib(pid: u32) -> Result<u64, Failure> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| "/proc/pid/status has no VmRSS".into())
}
