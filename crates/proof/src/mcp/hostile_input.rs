//! `hostile-input`: malformed requests: too long, too deeply nested, duplicated, truncated, endless.
//! Each gets the right error, costs little, and does not affect the next request.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::raw::{Response, exchange, plain_json, post, post_json};
use crate::engines::Engines;
use crate::hardening::product_of;
use crate::http::{Client, Delivery, tool_call};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::search::cpu_nanos;
use crate::souk::{Souk, command};

/// Maximum CPU of one request whose body is small or no JSON; the kernel measures it coarsely.
const CPU_MAX: Duration = Duration::from_millis(50);
/// Maximum CPU of one request, as a multiple of what it costs to parse its body: the machines differ.
const PARSES_MAX: u32 = 10;
/// How often a request that cost more is measured again.
const REPEATS_MAX: u32 = 3;
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
    let nested = |depth: usize, open: &str, close: &str| {
        format!("{}{}", open.repeat(depth), close.repeat(depth))
    };
    let deep = |open: &str, close: &str| nested(1_000, open, close);
    let deepest = |open: &str, close: &str| nested(100_000, open, close);
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
        case("too many nested arrays", text(&deepest("[", "]")), 413, -32000),
        case("too many nested objects", text(&deepest("{\"a\":", "}")), 413, -32000),
        case("too many nested arguments", post_json(&call(&deepest("[", "]"))), 413, -32000),
        case("NaN", post_json(&call("{\"sku\":NaN}")), 400, PARSE),
        case("an out-of-range number", post_json(&call("{\"sku\":1e400}")), 400, PARSE),
        case("a lone surrogate", post_json(&call("{\"sku\":\"\\ud800\"}")), 400, PARSE),
        case("invalid UTF-8", text_bytes(b"{\"jsonrpc\":\"\xff\xfe\"}"), 400, PARSE),
        case("a byte order mark", text_bytes(b"\xef\xbb\xbf{}"), 400, PARSE),
        case("a NUL character", post_json(&call("{\"sku\":\"\\u0000\"}")), 200, 0),
        case("an array as arguments", post_json(&call("[]")), 200, PARAMS),
        case("null as id", text(&ping.replace(":1,", ":null,")), 400, INVALID),
        case("an object as id", text(&ping.replace(":1,", ":{},")), 400, INVALID),
        case("true as id", text(&ping.replace(":1,", ":true,")), 400, INVALID),
        case(
            "an array as params",
            text(&ping.replace("\"ping\"", "\"ping\",\"params\":[]")),
            200,
            PARAMS,
        ),
        case("a call without params", text(&ping.replace("ping", "tools/call")), 200, PARAMS),
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
            "a call of an MCP client without id",
            text(&String::from_utf8_lossy(&call("{}")).replace("\"id\":1,", "")),
            202,
            0,
        ),
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

/// Calls of plain HTTP callers: without an id, with a null as id, with an invalid one.
fn plain_cases() -> Vec<Case> {
    let call = |fields: &str, arguments: &str| {
        let body = format!(
            r#"{{"jsonrpc":"2.0",{fields}"method":"tools/call","params":{{"name":"get_product_details","arguments":{arguments}}}}}"#
        );
        plain_json("POST", "/demo-store/mcp", "", body.as_bytes())
    };
    let method = |method: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
        plain_json("POST", "/demo-store/mcp", "", body.as_bytes())
    };
    let sku = r#"{"sku":"no such number"}"#;
    vec![
        case("a plain call without id", call("", sku), 404, 0),
        case("a plain call with a null as id", call(r#""id":null,"#, sku), 404, 0),
        case("a plain call with an object as id", call(r#""id":{},"#, sku), 400, INVALID),
        case("a plain call with an array as id", call(r#""id":[null],"#, sku), 400, INVALID),
        case("a plain call with a NUL", call("", r#"{"sku":"\u0000"}"#), 400, 0),
        case("a plain call with a wrong type", call("", r#"{"sku":7}"#), 400, 0),
        case("a plain call with an array as arguments", call("", "[]"), 400, PARAMS),
        case("a plain listing without id", method("prompts/list"), 200, 0),
        case("an unknown method without id", method("no/such/method"), 200, -32601),
        case("a plain notification", method("notifications/initialized"), 202, 0),
    ]
}

/// Calls with a key: long arrays and NULs in the fields of carts and checkouts.
fn keyed_cases(key: &str, cart: &str) -> Vec<Case> {
    let header = format!("X-Agent-Api-Key: {key}\r\n");
    let tool = |name: &str, arguments: &str| {
        let body = format!(
            r#"{{"jsonrpc":"2.0","method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
        );
        plain_json("POST", "/demo-store/mcp", &header, body.as_bytes())
    };
    let rest = |path: &str, body: &str| {
        plain_json("POST", &format!("/api/v1/agent/{path}"), &header, body.as_bytes())
    };
    let item = r#"{"product_id":"prod_00000000000000000000000000000001","quantity":1}"#;
    let items = vec![item; 12_000].join(",");
    let lines = vec![r#""line_00000000000000000000000000000001""#; 20_000].join(",");
    let nul = r#""\u0000""#;
    let with = |field: &str, value: &str| format!(r#"{{"cart_id":"{cart}","{field}":{value}}}"#);
    vec![
        case(
            "twelve thousand items",
            tool("create_cart", &format!(r#"{{"items":[{items}]}}"#)),
            413,
            0,
        ),
        case(
            "twelve thousand items over REST",
            rest("checkout", &format!(r#"{{"merchant_slug":"demo-store","items":[{items}]}}"#)),
            413,
            0,
        ),
        case(
            "twenty thousand lines to remove",
            tool("remove_cart_items", &with("line_ids", &format!("[{lines}]"))),
            400,
            0,
        ),
        case(
            "a NUL as shipping option",
            tool("select_shipping_option", &with("option_id", nul)),
            400,
            0,
        ),
        case("a NUL as discount code", tool("apply_discount_code", &with("code", nul)), 400, 0),
        case(
            "a NUL as idempotency key",
            tool("cancel_cart", &with("idempotency_key", nul)),
            400,
            0,
        ),
        case("a NUL as return_url", rest("checkout", &with("return_url", nul)), 400, 0),
        case(
            "a NUL in return_url",
            rest("checkout", &with("return_url", r#""https://a.example/\u0000""#)),
            400,
            0,
        ),
        case("a NUL in metadata", rest("checkout", &with("metadata", r#"{"a":"\u0000"}"#)), 400, 0),
        case(
            "a NUL in a name of metadata",
            rest("checkout", &with("metadata", r#"{"\u0000":1}"#)),
            400,
            0,
        ),
        case(
            "a NUL as shipping_option_id",
            rest("checkout", &with("shipping_option_id", nul)),
            400,
            0,
        ),
    ]
}

/// Calls with a key that have values of wrong types.
fn mistyped_cases(key: &str, cart: &str) -> Vec<Case> {
    let header = format!("X-Agent-Api-Key: {key}\r\n");
    let rest = |path: &str, body: &str| {
        plain_json("POST", &format!("/api/v1/agent/{path}"), &header, body.as_bytes())
    };
    let confirmation = format!(r#"{{"cart_id":"{cart}","confirmation":[]}}"#);
    vec![
        case("a number as cart_id", rest("checkout", r#"{"cart_id":7}"#), 400, 0),
        case("a list as confirmation", rest("checkout", &confirmation), 400, 0),
        case("a payment of a number", rest("payment", r#"{"checkout_id":7}"#), 400, 0),
        case("a payment of nothing", rest("payment", "[]"), 400, 0),
        case("a payment of a NUL", rest("payment", r#"{"checkout_id":"chk_\u0000"}"#), 400, 0),
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
    let (key, cart) = sandbox_cart(souk.port).await?;
    let mut cases = body_cases();
    cases.extend(plain_cases());
    cases.extend(keyed_cases(&key, &cart));
    cases.extend(mistyped_cases(&key, &cart));
    cases.extend(frame_cases());
    let mut kept = Client::new(souk.port).with_mcp_headers();
    still_serves(&mut kept, "the start").await?;
    let before = resident_kib(souk.pid())?;
    let mut most_expensive = (Duration::ZERO, "");
    let mut differing = Vec::new();
    for round in 0..rounds {
        trial.progress(|| format!("round {} of {rounds}", round + 1));
        for case in &cases {
            let maximum = CPU_MAX.max(parse_time(&case.bytes) * PARSES_MAX);
            let (mut answer, mut spent) = measured(&souk, case).await?;
            // The process also works in the background, so that a single measurement may be too high.
            for _ in 0..REPEATS_MAX {
                if spent < maximum {
                    break;
                }
                let again = measured(&souk, case).await?;
                (answer, spent) = (again.0, spent.min(again.1));
            }
            let wanted = (case.status, case.code);
            if (answer.status, answer.rpc_code()) != wanted {
                differing.push(format!("{}: expected {wanted:?}, got {answer:?}", case.name));
            }
            ensure(spent < maximum, || {
                format!("{} cost {spent:?} of CPU, of {maximum:?}", case.name)
            })?;
            if spent > most_expensive.0 {
                most_expensive = (spent, case.name);
            }
            still_serves(&mut kept, case.name).await?;
        }
    }
    ensure(differing.is_empty(), || differing.join("\n"))?;
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

/// Returns how long this process takes to parse the body of a request, at the least of three times; zero if it is no JSON.
fn parse_time(request: &[u8]) -> Duration {
    let head = request.windows(4).position(|bytes| bytes == b"\r\n\r\n").map_or(0, |at| at + 4);
    let parse = || {
        let began = Instant::now();
        serde_json::from_slice::<serde_json::Value>(&request[head..]).ok().map(|_| began.elapsed())
    };
    (0..3).filter_map(|_| parse()).min().unwrap_or_default()
}

/// Sends a request and returns the answer and the CPU that the process spent meanwhile.
async fn measured(souk: &Souk, case: &Case) -> Result<(Response, Duration), Failure> {
    let before = cpu_nanos(souk.pid())?;
    let answer = exchange(souk.port, &case.bytes).await;
    let answer = answer.map_err(|why| format!("{}: {why}", case.name))?;
    let spent = cpu_nanos(souk.pid())?.saturating_sub(before);
    Ok((answer, Duration::from_nanos(spent)))
}

/// Creates a sandbox key and a cart, and returns their ids.
async fn sandbox_cart(port: u16) -> Result<(String, String), Failure> {
    let Delivery::Answered { status: 201, body } =
        Client::new(port).post("/api/v1/sandbox/key", "").await
    else {
        return Err("no sandbox key".into());
    };
    let body: Value = serde_json::from_str(&body)?;
    let key = body["data"]["api_key"].as_str().ok_or("no sandbox key")?.to_owned();
    let product = product_of("demo-store")?;
    let items = json!([{ "product_id": product, "quantity": 1 }]);
    let body = tool_call("create_cart", &json!({ "items": items }));
    let mut client = Client::new(port).with_agent_key(&key);
    match client.post("/demo-store/mcp", &body.to_string()).await {
        Delivery::Answered { status: 200, body } => {
            let body: Value = serde_json::from_str(&body)?;
            let cart = body["result"]["structuredContent"]["cart_id"].as_str();
            Ok((key, cart.ok_or("no cart")?.to_owned()))
        }
        other => Err(format!("no cart: {other:?}").into()),
    }
}

/// Sends a valid request on an existing connection.
async fn still_serves(client: &mut Client, after: &str) -> Result<(), Failure> {
    let body = tool_call("get_merchant_profile", &json!({}));
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
