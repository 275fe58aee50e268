//! What one call costs the server in CPU: a product by its id from PostgreSQL, beside the same tool
//! written with the official SDKs of Python and TypeScript; and an answer from memory beside bare rmcp
//! that repeats it.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use primitives::{Id, ProductId};
use serde_json::{Value, json};
use testkit::TestDatabase;

use crate::http::{Client, Fate};
use crate::report::Failure;
use crate::souk::{Souk, command, cpu_micros, free_port, handed_over};
use crate::table_print::{Spread, Table};

const ROUNDS: usize = 5;
const CLIENTS: u32 = 8;
/// What we promise: a quarter of the better peer, and so much of bare rmcp.
const PEER_TARGET: f64 = 0.25;
const BARE_TARGET: f64 = 1.4;

/// A server that takes part.
struct Side {
    name: &'static str,
    port: u16,
    pid: u32,
    path: &'static str,
    ask: String,
    /// Calls a round: fewer for those that are slow.
    calls: u32,
    rounds: Vec<Round>,
}

/// What one round measured.
struct Round {
    calls_per_second: f64,
    cpu_micros_per_call: f64,
}

pub(crate) async fn run() -> Result<(), Failure> {
    let test = TestDatabase::new().await;
    command(&test.url(), &["seed"])?;
    let souk = Souk::serve(&test.url(), &[]).await?;
    let details = details();
    let profile = call("get_merchant_profile", &json!({}));
    let bare = Peer::bare(&answer_of(souk.port, &profile).await?).await?;
    let python = Peer::of_sdk("python", &test.url()).await?;
    let typescript = Peer::of_sdk("ts", &test.url()).await?;
    let side = |name, port, pid, path, ask: &str, calls| Side {
        name,
        port,
        pid,
        path,
        ask: ask.to_owned(),
        calls,
        rounds: Vec::new(),
    };
    let (ours, theirs) = ("/demo-store/mcp", "/mcp");
    let mut by_id = [
        side("souk, from PostgreSQL", souk.port, souk.pid(), ours, &details, 6_000),
        side("Python SDK, from PostgreSQL", python.port, python.child.id(), theirs, &details, 800),
        side(
            "TypeScript SDK, from PostgreSQL",
            typescript.port,
            typescript.child.id(),
            theirs,
            &details,
            1_600,
        ),
    ];
    let mut from_memory = [
        side("souk, from memory", souk.port, souk.pid(), ours, &profile, 6_000),
        side("bare rmcp, from memory", bare.port, bare.child.id(), ours, &profile, 6_000),
    ];
    for _ in 0..ROUNDS {
        for side in by_id.iter_mut().chain(&mut from_memory) {
            let measured = side.round().await?;
            side.rounds.push(measured);
        }
    }
    println!(
        "{CLIENTS} clients, median of {ROUNDS} interleaved rounds (least–most); CPU of the server process alone"
    );
    print("a product by its id", &by_id, PEER_TARGET);
    print("the profile of a store", &from_memory, BARE_TARGET);
    Ok(())
}

fn call(name: &str, arguments: &Value) -> String {
    let params = json!({ "name": name, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

fn details() -> String {
    let product = ProductId::from_uuid(demo::FIRST_PRODUCT);
    call("get_product_details", &json!({ "product_id": product }))
}

/// Ours first, then the others and how much of each we take.
fn print(what: &str, sides: &[Side], target: f64) {
    println!();
    println!("{what}; the ratio's target is {target} of the best other");
    let mut table = Table::new(&["server", "calls/s", "CPU µs/call", "ours takes"]);
    for side in sides {
        let ratios = sides[0].rounds.iter().zip(&side.rounds);
        let ratios = ratios.map(|(our, its)| our.cpu_micros_per_call / its.cpu_micros_per_call);
        table.add(vec![
            side.name.to_owned(),
            Spread::of(side.rounds.iter().map(|round| round.calls_per_second)).show(0),
            Spread::of(side.rounds.iter().map(|round| round.cpu_micros_per_call)).show(0),
            Spread::of(ratios).show(2),
        ]);
    }
    table.print();
}

/// What our own server answers, for the peer to repeat.
async fn answer_of(port: u16, ask: &str) -> Result<Value, Failure> {
    match Client::new(port).speaking_mcp().post("/demo-store/mcp", ask).await {
        Fate::Answered { status: 200, body } => {
            Ok(serde_json::from_str::<Value>(&body)?["result"]["structuredContent"].take())
        }
        other => Err(format!("the server answered {other:?}").into()),
    }
}

impl Side {
    async fn round(&self) -> Result<Round, Failure> {
        let cpu_before = cpu_micros(self.pid)?;
        let began = Instant::now();
        let each = self.calls / CLIENTS;
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| tokio::spawn(calls(self.port, self.path, self.ask.clone(), each)))
            .collect();
        for client in clients {
            client.await??;
        }
        let seconds = began.elapsed().as_secs_f64();
        let cpu = u32::try_from(cpu_micros(self.pid)? - cpu_before)?;
        Ok(Round {
            calls_per_second: f64::from(self.calls) / seconds,
            cpu_micros_per_call: f64::from(cpu) / f64::from(self.calls),
        })
    }
}

async fn calls(port: u16, path: &str, ask: String, count: u32) -> Result<(), Failure> {
    let mut client = Client::new(port).speaking_mcp();
    for _ in 0..count {
        match client.post(path, &ask).await {
            Fate::Answered { status: 200, body } if body.contains("structuredContent") => {}
            other => return Err(format!("a call met {other:?}").into()),
        }
    }
    Ok(())
}

/// Another server, killed when dropped.
struct Peer {
    child: Child,
    port: u16,
    answer: Option<std::path::PathBuf>,
}

impl Peer {
    /// rmcp that repeats an answer.
    async fn bare(answer: &Value) -> Result<Self, Failure> {
        let port = free_port()?;
        let path = std::env::temp_dir().join(format!("souk-answer-{}.json", std::process::id()));
        std::fs::write(&path, answer.to_string())?;
        let child = Command::new(std::env::current_exe()?)
            .args(["bare-rmcp", "--port", &port.to_string(), "--answer"])
            .arg(&path)
            .stdin(Stdio::null())
            .spawn()?;
        Self { child, port, answer: Some(path) }.started().await
    }

    /// The same tool with an official SDK: see dev/clients/peers.
    async fn of_sdk(name: &str, database_url: &str) -> Result<Self, Failure> {
        let port = free_port()?;
        let child = Command::new(format!("{}/peers/run", handed_over("SOUK_CLIENTS")?))
            .arg(name)
            .env("PORT", port.to_string())
            .env("DATABASE_URL", database_url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        let peer = Self { child, port, answer: None }.started().await?;
        // Warm, as ours is.
        calls(port, "/mcp", details(), 50).await?;
        Ok(peer)
    }

    async fn started(self) -> Result<Self, Failure> {
        for _ in 0..600 {
            // Whatever it answers: it listens.
            if !matches!(Client::new(self.port).get("/").await, Fate::NotSent) {
                return Ok(self);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err("a peer did not start within a minute".into())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(answer) = &self.answer {
            let _ = std::fs::remove_file(answer);
        }
    }
}
