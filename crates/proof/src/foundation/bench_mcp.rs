//! A product read over MCP, through gateway, `Reading` and PostgreSQL, against bare rmcp that returns the
//! very same answer from memory: what one call costs the server in CPU.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use primitives::{Id, ProductId};
use serde_json::{Value, json};
use testkit::TestDatabase;

use crate::http::{Client, Fate};
use crate::report::Failure;
use crate::souk::{Souk, command, cpu_micros, free_port};
use crate::table_print::{Spread, Table};

const ROUNDS: usize = 7;
const CALLS: u32 = 6_000;
const CLIENTS: u32 = 8;

/// What one round measured.
struct Round {
    calls_per_second: f64,
    cpu_micros_per_call: f64,
}

pub(crate) async fn run() -> Result<(), Failure> {
    let test = TestDatabase::new().await;
    command(&test.url(), &["seed"])?;
    let souk = Souk::serve(&test.url(), &[]).await?;
    let bare = Bare::start(&answer_of(souk.port).await?).await?;
    let mut rounds: [Vec<Round>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        rounds[0].push(round(souk.port, souk.pid()).await?);
        rounds[1].push(round(bare.port, bare.child.id()).await?);
    }
    println!();
    println!("get_product_details over MCP, {CLIENTS} clients, {CALLS} calls a round");
    println!("median of {ROUNDS} interleaved rounds (least–most); CPU of the server process alone");
    let mut table = Table::new(&["server", "calls/s", "CPU µs/call"]);
    for (name, rounds) in ["souk, from PostgreSQL", "bare rmcp, from memory"].iter().zip(&rounds) {
        table.add(vec![
            (*name).to_owned(),
            Spread::of(rounds.iter().map(|round| round.calls_per_second)).show(0),
            Spread::of(rounds.iter().map(|round| round.cpu_micros_per_call)).show(0),
        ]);
    }
    let [souk, bare] = &rounds;
    let ratios = souk.iter().zip(bare).map(|(a, b)| a.cpu_micros_per_call / b.cpu_micros_per_call);
    table.add(vec![String::from("ratio"), String::new(), Spread::of(ratios).show(2)]);
    table.print();
    Ok(())
}

fn ask() -> String {
    let product = ProductId::from_uuid(demo::FIRST_PRODUCT);
    let params = json!({ "name": "get_product_details", "arguments": { "product_id": product } });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// What our own server answers, for the peer to repeat.
async fn answer_of(port: u16) -> Result<Value, Failure> {
    match Client::new(port).speaking_mcp().post("/demo-store/mcp", &ask()).await {
        Fate::Answered { status: 200, body } => {
            Ok(serde_json::from_str::<Value>(&body)?["result"]["structuredContent"].take())
        }
        other => Err(format!("the server answered {other:?}").into()),
    }
}

async fn round(port: u16, pid: u32) -> Result<Round, Failure> {
    let cpu_before = cpu_micros(pid)?;
    let began = Instant::now();
    let clients: Vec<_> = (0..CLIENTS).map(|_| tokio::spawn(call(port, CALLS / CLIENTS))).collect();
    for client in clients {
        client.await??;
    }
    let seconds = began.elapsed().as_secs_f64();
    let cpu = u32::try_from(cpu_micros(pid)? - cpu_before)?;
    Ok(Round {
        calls_per_second: f64::from(CALLS) / seconds,
        cpu_micros_per_call: f64::from(cpu) / f64::from(CALLS),
    })
}

async fn call(port: u16, count: u32) -> Result<(), Failure> {
    let mut client = Client::new(port).speaking_mcp();
    let ask = ask();
    for _ in 0..count {
        match client.post("/demo-store/mcp", &ask).await {
            Fate::Answered { status: 200, body } if body.contains("structuredContent") => {}
            other => return Err(format!("a call met {other:?}").into()),
        }
    }
    Ok(())
}

/// The peer, killed when dropped.
struct Bare {
    child: Child,
    port: u16,
    answer: std::path::PathBuf,
}

impl Bare {
    async fn start(answer: &Value) -> Result<Self, Failure> {
        let port = free_port()?;
        let path = std::env::temp_dir().join(format!("souk-answer-{}.json", std::process::id()));
        std::fs::write(&path, answer.to_string())?;
        let child = Command::new(std::env::current_exe()?)
            .args(["bare-rmcp", "--port", &port.to_string(), "--answer"])
            .arg(&path)
            .stdin(Stdio::null())
            .spawn()?;
        let bare = Self { child, port, answer: path };
        for _ in 0..100 {
            if matches!(Client::new(port).get("/").await, Fate::Answered { .. }) {
                return Ok(bare);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err("the bare server did not start".into())
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.answer);
    }
}
