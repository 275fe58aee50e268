//! `large-bodies`: hundreds of the worst bodies at once, from sandbox keys of several addresses, at every operation that takes
//! lists or maps. The server refuses them, its memory hardly grows, and other callers are served.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::deployment::{Deployment, product_of};
use super::shop::tool;
use crate::http::{Client, Delivery};
use crate::mcp::{Response, exchange_from, plain_json};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, peak_kilobytes, reset_peak_kilobytes};

/// Bodies that are sent at the same time.
const CONCURRENCY: usize = 200;
/// Sandbox keys that send them.
const KEYS: u8 = 10;
/// Bytes of the longest body that is accepted.
const BODY_BYTES: usize = 1_048_576;
/// Bytes of a body that needs no memory for its text.
const SMALL_BYTES: usize = 64 * 1024;
/// Bytes of objects that are accepted and take the most memory.
const PARSED_BYTES: usize = 34 * 1024;
/// Largest growth of the resident memory.
const GROWTH_MAX_KIB: u64 = 100 * 1024;
/// Longest time in which another caller is served.
const SERVED_MAX: Duration = Duration::from_secs(3);

/// Operations over REST: method, path, and the field that takes a list or a map.
const REST: [(&str, &str, &str); 9] = [
    ("POST", "/agent/cart", "items"),
    ("PUT", "/agent/cart/cart_00000000000000000000000000000001", "items"),
    ("PATCH", "/agent/cart/cart_00000000000000000000000000000001", "discount_codes"),
    ("POST", "/agent/checkout", "items"),
    ("POST", "/agent/checkout", "metadata"),
    ("PATCH", "/agent/checkout/chk_00000000000000000000000000000001", "discount_codes"),
    ("POST", "/agent/compare", "product_ids"),
    ("POST", "/agent/search", "merchants"),
    ("POST", "/search", "merchants"),
];
/// Tools and the argument that takes a list or a map.
const TOOLS: [(&str, &str); 15] = [
    ("create_cart", "items"),
    ("update_cart", "items"),
    ("add_cart_items", "items"),
    ("remove_cart_items", "line_ids"),
    ("check_availability", "items"),
    ("compare_products", "product_ids"),
    ("compare_products", "attributes"),
    ("create_permalink", "items"),
    ("estimate_delivery", "items"),
    ("get_shipping_rates", "items"),
    ("get_product_variants", "selected"),
    ("get_store_policies", "types"),
    ("lookup_products", "ids"),
    ("nlweb_ask", "prev"),
    ("update_checkout", "discount_codes"),
];

/// Content that takes much memory once it is parsed: the beginning, one part as often as it fits, the end.
const CONTENTS: [(&str, &str, &str); 5] = [
    ("[", r#"{"product_id":"prod_00000000000000000000000000000001","quantity":1},"#, "0]"),
    ("[", r#"{"":0},"#, "0]"),
    ("[", "[0],", "0]"),
    ("[", r#""a","#, "0]"),
    (r#"{"a":0"#, r#","KEY":0"#, "}"),
];

pub(crate) async fn prove(trial: Trial) -> Verdict {
    // A server whose memory no other check has used.
    let souk = Souk::serve(&Deployment::of(&trial).await?.url(), &[]).await?;
    let (port, pid) = (souk.port, souk.pid());
    let mut keys = Vec::new();
    for number in 0..KEYS {
        keys.push(sandbox_key(port, number).await?);
    }
    let cart = cart(port, &keys[0]).await;
    cart.map_err(|why| format!("before the first body: {why}"))?;
    let before = reset_peak_kilobytes(pid)?;
    let (stop, stopped) = watch::channel(false);
    let other =
        tokio::spawn(other_caller(port, keys[0].clone(), trial.time_max(SERVED_MAX), stopped));
    let mut refused = Refusals::default();
    for wave in waves(&trial) {
        trial.progress(|| wave.name());
        let sent = wave.send(port, &keys, &mut refused).await;
        let grown = peak_kilobytes(pid)?.saturating_sub(before);
        ensure(grown < GROWTH_MAX_KIB, || {
            format!("{CONCURRENCY} times {}: memory grew by {} MB", wave.name(), grown / 1024)
        })?;
        sent?;
    }
    stop.send_replace(true);
    let (served, slowest) = other.await??;
    let grown = peak_kilobytes(pid)?.saturating_sub(before) / 1024;
    Ok(format!(
        "{refused}, {CONCURRENCY} at once: memory grew by {grown} MB at most; another caller was served {served} times, \
         within {} ms",
        slowest.as_millis(),
    ))
}

/// The address of a key.
fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 3, number + 1)
}

/// Creates a sandbox key from an address of its own.
async fn sandbox_key(port: u16, number: u8) -> Result<String, Failure> {
    let mut client = Client::new(port).from(address(number));
    match client.post("/api/v1/sandbox/key", "{}").await {
        Delivery::Answered { status: 200 | 201, body } => {
            let answer: Value = serde_json::from_str(&body)?;
            let key = answer["data"]["api_key"].as_str();
            key.map(str::to_owned).ok_or_else(|| format!("no sandbox key: {body}").into())
        }
        other => Err(format!("no sandbox key: {other:?}").into()),
    }
}

/// Creates a cart at the demo store.
async fn cart(port: u16, key: &str) -> Result<(), Failure> {
    let items = json!([{ "product_id": product_of("demo-store")?, "quantity": 1 }]);
    let made = tool(port, key, "demo-store", "create_cart", &json!({ "items": items })).await?;
    ensure(made.1["cart_id"].is_string(), || format!("no cart: {made:?}"))
}

/// Calls the store as an ordinary agent does until it is stopped. Returns how often, and the longest time of a call.
async fn other_caller(
    port: u16,
    key: String,
    served_max: Duration,
    stopped: watch::Receiver<bool>,
) -> Result<(u32, Duration), Failure> {
    let (mut served, mut slowest) = (0, Duration::ZERO);
    while !*stopped.borrow() {
        let since = Instant::now();
        cart(port, &key).await?;
        slowest = slowest.max(since.elapsed());
        served += 1;
        ensure(slowest < served_max, || format!("another caller waited for {slowest:?}"))?;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok((served, slowest))
}

/// An operation, and the field or argument that takes a list or a map.
#[derive(Clone, Copy)]
enum Operation {
    Rest { method: &'static str, path: &'static str, field: &'static str },
    Tool { name: &'static str, argument: &'static str, headers: &'static str },
}

impl Operation {
    fn all() -> Vec<Self> {
        let rest = REST.into_iter().map(|(method, path, field)| Self::Rest { method, path, field });
        // Of the newest protocol version every second one, which rmcp answers.
        let versions = ["", "MCP-Protocol-Version: 2026-07-28\r\n"].into_iter().cycle();
        let tools = TOOLS.into_iter().zip(versions);
        let tools = tools.map(|((name, argument), headers)| Self::Tool { name, argument, headers });
        rest.chain(tools).collect()
    }

    /// Returns method, path and additional headers.
    fn target(self) -> (&'static str, String, &'static str) {
        match self {
            Self::Rest { method, path, .. } => (method, format!("/api/v1{path}"), ""),
            Self::Tool { headers, .. } => ("POST", String::from("/demo-store/mcp"), headers),
        }
    }

    /// Returns what surrounds the list or map in a body.
    fn frame(self) -> (String, &'static str) {
        match self {
            Self::Rest { field, .. } => (format!(r#"{{"{field}":"#), "}"),
            Self::Tool { name, argument, .. } => {
                let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"#;
                (format!(r#"{call}{{"name":"{name}","arguments":{{"{argument}":"#), "}}}")
            }
        }
    }
}

/// Bodies that are sent at the same time.
struct Wave {
    operation: Operation,
    content: usize,
    bytes: usize,
}

/// Returns the waves of a run: one content of each size and one operation, which change from run to run; in the long form all
/// of them.
fn waves(trial: &Trial) -> Vec<Wave> {
    let operations = Operation::all();
    let mut waves = Vec::new();
    for (number, bytes) in [BODY_BYTES, SMALL_BYTES].into_iter().enumerate() {
        // Over REST and over MCP in turn.
        let contents = (0..CONTENTS.len()).map(|content| {
            let operation = operations[(content + number) % 2 * REST.len()];
            Wave { operation, content, bytes }
        });
        waves.extend(trial.rotate(contents.collect(), 1));
    }
    // The content that takes the most memory.
    let accepted = |operation| Wave { operation, content: 1, bytes: PARSED_BYTES };
    waves.extend(trial.rotate(operations.into_iter().map(accepted).collect(), 1));
    waves
}

impl Wave {
    fn name(&self) -> String {
        let operation = match self.operation {
            Operation::Rest { method, path, field } => format!("{method} {path} with {field}"),
            Operation::Tool { name, argument, .. } => format!("{name} with {argument}"),
        };
        format!("{operation} of {} KiB, content {}", self.bytes / 1024, self.content)
    }

    fn body(&self) -> String {
        let (first, part, last) = CONTENTS[self.content];
        let (mut body, end) = self.operation.frame();
        body.push_str(first);
        for number in 0.. {
            // Fields of a map need names of their own.
            let part = part.replace("KEY", &format!("{number:x}"));
            if body.len() + part.len() + last.len() + end.len() > self.bytes {
                break;
            }
            body.push_str(&part);
        }
        body.push_str(last);
        body.push_str(end);
        body
    }

    /// Sends all bodies at once and fails unless each is refused.
    async fn send(
        &self,
        port: u16,
        keys: &[String],
        refusals: &mut Refusals,
    ) -> Result<(), Failure> {
        let (method, path, headers) = self.operation.target();
        let body = self.body();
        let request = |key: &String| {
            let headers = format!("X-Agent-Api-Key: {key}\r\n{headers}");
            Arc::new(plain_json(method, &path, &headers, body.as_bytes()))
        };
        let requests: Vec<_> = keys.iter().map(request).collect();
        let mut sent = tokio::task::JoinSet::new();
        for (request, number) in requests.iter().zip(0..KEYS).cycle().take(CONCURRENCY) {
            let request = Arc::clone(request);
            sent.spawn(async move { exchange_from(address(number), port, &request).await });
        }
        while let Some(answer) = sent.join_next().await {
            let answer = answer?.map_err(|why| format!("{}: {why}", self.name()))?;
            refusals.add(&answer).map_err(|()| {
                let body: String = answer.body.chars().take(200).collect();
                format!("{}: {} {body}", self.name(), answer.status)
            })?;
        }
        Ok(())
    }
}

/// Refused bodies, by status.
#[derive(Debug, Default)]
struct Refusals {
    invalid: u32,
    too_large: u32,
    later: u32,
}

impl Refusals {
    /// Counts a response; fails if it is no refusal.
    fn add(&mut self, answer: &Response) -> Result<(), ()> {
        match answer.status {
            400 | 404 => self.invalid += 1,
            // The form of a refusal for MCP clients.
            200 if answer.body.contains(r#""isError":true"#) => self.invalid += 1,
            413 => self.too_large += 1,
            503 => self.later += 1,
            _ => return Err(()),
        }
        Ok(())
    }
}

impl std::fmt::Display for Refusals {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { invalid, too_large, later } = self;
        let all = invalid + too_large + later;
        write!(
            formatter,
            "{all} bodies ({invalid} invalid, {too_large} too large, {later} sent away)"
        )
    }
}
