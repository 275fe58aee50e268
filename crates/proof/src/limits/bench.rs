//! The cost of authentication and rate limits: the same call with a key and limits, and anonymously
//! without limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use testkit::TestDatabase;
use tokio::task::JoinSet;

use super::Redis;
use crate::http::{Client, Delivery, tool_call};
use crate::identity::{Account, agent_key};
use crate::report::Failure;
use crate::souk::{Souk, command, cpu_micros};
use crate::table_print::{Spread, Table};

const ROUNDS: usize = 7;
const CALLS: usize = 5_000;
const CLIENTS: usize = 8;
const KEYS: usize = 100;
/// Target of the ratio of CPU per call.
const TARGET: f64 = 1.25;
/// The stores, called in turn: a tool has a separate quota at each of them.
const STORES: [&str; 8] = [
    "kivikiri",
    "skarvdal",
    "orelys",
    "marrow-lane",
    "wiederlicht",
    "spaak-en-zoon",
    "olaria-salgueira",
    "puddlewick-toys",
];

/// A call that is measured.
struct Kind {
    name: &'static str,
    tool: &'static str,
}

pub(crate) async fn bench() -> Result<(), Failure> {
    let test = TestDatabase::new().await;
    command(&test.url(), &["seed"])?;
    let redis = Redis::start().await?;
    let on = [("SOUK_LIMITS", String::from("on")), ("REDIS_URL", redis.url())];
    let limited = Souk::serve_with(&test.url(), &[], &on).await?;
    let free = Souk::serve(&test.url(), &[]).await?;
    let account = Account::create(&test.url(), "ada@example.com", "ENTERPRISE").await?;
    let token = account.log_in(free.port).await?;
    let mut keys = Vec::new();
    for _ in 0..KEYS {
        keys.push(agent_key(free.port, &token).await?.1);
    }
    let keys: Arc<[String]> = keys.into();
    println!(
        "{CLIENTS} clients, {KEYS} keys, {} stores, median of {ROUNDS} interleaved rounds of {CALLS} calls (min–max); \
         CPU of the server process alone",
        STORES.len()
    );
    let mut table =
        Table::new(&["call", "anonymous, µs", "with key and limits, µs", "ratio", "target"]);
    let kinds = [
        Kind { name: "a store's profile, from memory", tool: "get_merchant_profile" },
        Kind { name: "categories, from PostgreSQL", tool: "browse_categories" },
    ];
    for kind in kinds {
        let (mut bare, mut full) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            bare.push(round(&free, kind.tool, None).await?);
            full.push(round(&limited, kind.tool, Some(&keys)).await?);
            // The quota is 60 calls of a tool per minute, store and key: enough for one round.
            tokio::time::sleep(std::time::Duration::from_secs(8)).await;
        }
        let ratios = full.iter().zip(&bare).map(|(full, bare)| full / bare);
        table.add(vec![
            kind.name.to_owned(),
            Spread::of(bare.iter().copied()).show(0),
            Spread::of(full.iter().copied()).show(0),
            Spread::of(ratios).show(2),
            format!("{TARGET}"),
        ]);
    }
    table.print();
    Ok(())
}

/// Runs one round and returns the CPU of the server per call, in microseconds.
async fn round(souk: &Souk, tool: &str, keys: Option<&Arc<[String]>>) -> Result<f64, Failure> {
    let body: Arc<str> = tool_call(tool, &json!({})).to_string().into();
    let next = Arc::new(AtomicUsize::new(0));
    let before = cpu_micros(souk.pid())?;
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let (next, body) = (Arc::clone(&next), Arc::clone(&body));
        let mut own: Vec<Client> = match keys {
            Some(keys) => keys
                .iter()
                .skip(number)
                .step_by(CLIENTS)
                .map(|key| Client::new(souk.port).with_agent_key(key))
                .collect(),
            None => (0..KEYS / CLIENTS).map(|_| Client::new(souk.port)).collect(),
        };
        clients.spawn(async move {
            for turn in 0.. {
                if next.fetch_add(1, Ordering::Relaxed) >= CALLS {
                    break;
                }
                let client = turn % own.len();
                let path = format!("/{}/mcp", STORES[turn / own.len() % STORES.len()]);
                match own[client].post(&path, &body).await {
                    Delivery::Answered { status: 200, body }
                        if !body.contains("\"isError\":true") => {}
                    other => return Err(Failure::from(format!("a call failed: {other:?}"))),
                }
            }
            Ok(())
        });
    }
    while let Some(ended) = clients.join_next().await {
        ended??;
    }
    let micros = cpu_micros(souk.pid())?.saturating_sub(before);
    #[expect(clippy::cast_precision_loss, reason = "thousands")]
    Ok(micros as f64 / CALLS as f64)
}
