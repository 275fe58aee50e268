//! CPU of the server per call: a product by id from PostgreSQL, beside the same tool written with the
//! official SDKs of Python and TypeScript; and a result from memory, beside rmcp alone with the same
//! result.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use primitives::{Id, ProductId};
use serde_json::{Value, json};
use testkit::TestDatabase;

use crate::http::{Client, Delivery, tool_call};
use crate::report::Failure;
use crate::souk::{Souk, command, cpu_micros, free_port, required_env};
use crate::table_print::{Spread, Table};

const ROUNDS: usize = 5;
const CLIENTS: u32 = 8;
/// Targets of the ratio to the better SDK and to rmcp alone.
const PEER_TARGET: f64 = 0.25;
const BARE_TARGET: f64 = 1.4;

/// A measured server.
struct Side {
    name: &'static str,
    port: u16,
    pid: u32,
    path: &'static str,
    request: String,
    /// Calls per round: fewer for slow servers.
    calls: u32,
    rounds: Vec<Round>,
}

/// The measurements of one round.
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
    let bare = Peer::bare(&result_of(souk.port, &profile).await?).await?;
    let python = Peer::of_sdk("python", &test.url()).await?;
    let typescript = Peer::of_sdk("ts", &test.url()).await?;
    let side = |name, port, pid, path, request: &str, calls| Side {
        name,
        port,
        pid,
        path,
        request: request.to_owned(),
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
        "{CLIENTS} clients, median of {ROUNDS} interleaved rounds (min–max); CPU of the server process alone"
    );
    print("a product by id", &by_id, PEER_TARGET);
    print("the profile of a store", &from_memory, BARE_TARGET);
    Ok(())
}

fn call(name: &str, arguments: &Value) -> String {
    tool_call(name, arguments).to_string()
}

fn details() -> String {
    let product = ProductId::from_uuid(demo::FIRST_PRODUCT);
    call("get_product_details", &json!({ "product_id": product }))
}

/// Prints the table: Souk first, then the others and the ratio of Souk to each.
fn print(what: &str, sides: &[Side], target: f64) {
    println!();
    println!("{what}; the target of the ratio to the best other server is {target}");
    let mut table = Table::new(&["server", "calls/s", "CPU µs/call", "ratio"]);
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

/// Returns the result of a call to Souk, which the rmcp server repeats.
async fn result_of(port: u16, request: &str) -> Result<Value, Failure> {
    match Client::new(port).with_mcp_headers().post("/demo-store/mcp", request).await {
        Delivery::Answered { status: 200, body } => {
            Ok(serde_json::from_str::<Value>(&body)?["result"]["structuredContent"].take())
        }
        other => Err(format!("a call failed: {other:?}").into()),
    }
}

impl Side {
    async fn round(&self) -> Result<Round, Failure> {
        let cpu_before = cpu_micros(self.pid)?;
        let began = Instant::now();
        let each = self.calls / CLIENTS;
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| tokio::spawn(calls(self.port, self.path, self.request.clone(), each)))
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

async fn calls(port: u16, path: &str, request: String, count: u32) -> Result<(), Failure> {
    let mut client = Client::new(port).with_mcp_headers();
    for _ in 0..count {
        match client.post(path, &request).await {
            Delivery::Answered { status: 200, body } if body.contains("structuredContent") => {}
            other => return Err(format!("a call failed: {other:?}").into()),
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
    /// Starts rmcp alone with a fixed result.
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

    /// Starts the same tool written with an official SDK; see dev/clients/peers.
    async fn of_sdk(name: &str, database_url: &str) -> Result<Self, Failure> {
        let port = free_port()?;
        let child = Command::new(format!("{}/peers/run", required_env("SOUK_CLIENTS")?))
            .arg(name)
            .env("PORT", port.to_string())
            .env("DATABASE_URL", database_url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        let peer = Self { child, port, answer: None }.started().await?;
        // Warm up, as Souk is warm.
        calls(port, "/mcp", details(), 50).await?;
        Ok(peer)
    }

    async fn started(self) -> Result<Self, Failure> {
        for _ in 0..600 {
            // Any response shows that it listens.
            if !matches!(Client::new(self.port).get("/").await, Delivery::NotSent) {
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
