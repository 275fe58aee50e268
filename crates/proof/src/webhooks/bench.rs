//! Deliveries per second to a fast receiver on the same machine, against a bare loop of the same HTTP client which posts the same
//! bodies with the same concurrency and does nothing else: no database, no signatures, no records. Then what a delivery costs, and
//! what it costs with up to 100,000 endpoints in the table. At the end the open-source Svix server beside it, if `SVIX_BIN`
//! names its binary.
//!
//! A round begins when the transaction commits that queues all its deliveries, and ends when all have arrived at the receiver and
//! none is pending. Rounds of both alternate, so that a slow minute of the machine affects both. The receiver is a process of its
//! own and records nothing.

mod load;
mod sizes;
mod svix;

use std::time::{Duration, Instant};

use database::Clock;
use outbound::{Client, Destination};
use tokio::task::JoinSet;
use webhooks::SigningSecret;

use self::load::Load;
use crate::engines::Engines;
use crate::recording::record;
use crate::report::{Failure, ensure, grouped};
use crate::souk::cpu_micros;
use crate::table_print::{Spread, Table};
use crate::webhooks::site::loopback_client;

const ROUNDS: usize = 5;
/// Deliveries in a round, unless an option says otherwise. An idle dispatcher looks at its queue every half second, which is a
/// small part of the time that so many take.
const DELIVERIES: u32 = 80_000;
/// The fewest that an option can set.
const DELIVERIES_MIN: u32 = 1_000;
/// Endpoints that receive them, each of a store of its own.
const ENDPOINTS: usize = 64;
/// Requests at one endpoint at the same time, as the dispatcher sends them.
const PER_ENDPOINT: usize = 2;
/// Target of the ratio to the bare loop.
const TARGET: f64 = 0.5;

/// What can be measured alone.
const PARTS: [&str; 3] = ["rate", "sizes", "svix"];

pub(crate) async fn bench(deliveries: Option<u32>, only: &[String]) -> Result<(), Failure> {
    if let Some(unknown) = only.iter().find(|part| !PARTS.contains(&part.as_str())) {
        return Err(format!("unknown part `{unknown}`; the parts are: {}", PARTS.join(", ")).into());
    }
    let is_wanted = |part: &str| only.is_empty() || only.iter().any(|wanted| wanted == part);
    let engines = Engines::start()?;
    if is_wanted("rate") {
        let deliveries = deliveries.unwrap_or(DELIVERIES).max(DELIVERIES_MIN);
        let load = Load::open(&engines, ENDPOINTS).await?;
        compare(&engines, &load, deliveries).await?;
        count_statements(&engines, &load, deliveries / 10).await?;
    }
    if is_wanted("sizes") {
        sizes::measure(&engines).await?;
    }
    if is_wanted("svix") {
        svix::compare(&engines).await?;
    }
    Ok(())
}

/// The result of a round: deliveries per second, and CPU per delivery in microseconds.
struct Round {
    rate: f64,
    /// Of the process that sends: the worker, or this one.
    sender: f64,
    postgres: f64,
    receiver: f64,
}

async fn compare(engines: &Engines, load: &Load, deliveries: u32) -> Result<(), Failure> {
    // The first deliveries show that the endpoints work, and leave bodies for the bare loop.
    load.deliver(engines, deliveries).await?;
    let bare = Bare::new(load, deliveries).await?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        for turn in 0..2 {
            if (round + turn) % 2 == 0 {
                ours.push(load.deliver(engines, deliveries).await?);
            } else {
                theirs.push(bare.run(engines, load).await?);
            }
        }
    }
    // The first round of each is a warm-up.
    let (ours, theirs) = (ours.split_off(1), theirs.split_off(1));
    let show = |rounds: &[Round], of: fn(&Round) -> f64, decimals: usize| {
        Spread::of(rounds.iter().map(of)).show(decimals)
    };
    println!(
        "{} deliveries to {ENDPOINTS} endpoints, {PER_ENDPOINT} at a time at each, synchronous_commit = on; median of {ROUNDS} \
         interleaved rounds (min–max)",
        grouped(deliveries)
    );
    let mut rates =
        Table::new(&["deliveries per second", "souk", "bare loop", "ratio", "at least 0.5"]);
    let ratios = ours.iter().zip(&theirs).map(|(ours, theirs)| ours.rate / theirs.rate);
    let ratio = Spread::of(ratios);
    rates.add(vec![
        String::from("one process"),
        show(&ours, |round| round.rate, 0),
        show(&theirs, |round| round.rate, 0),
        ratio.show(2),
        String::from(if ratio.median >= TARGET { "yes" } else { "NO" }),
    ]);
    rates.print();
    let mut cpu = Table::new(&["CPU per delivery, µs", "sender", "PostgreSQL", "receiver"]);
    for (name, rounds) in [("souk work", &ours), ("bare loop", &theirs)] {
        cpu.add(vec![
            name.to_owned(),
            show(rounds, |round| round.sender, 0),
            show(rounds, |round| round.postgres, 0),
            show(rounds, |round| round.receiver, 0),
        ]);
    }
    cpu.print();
    Ok(())
}

/// CPU times of the processes, to be subtracted.
struct Cpu {
    sender: u64,
    postgres: u64,
    receiver: u64,
    at: Instant,
}

impl Cpu {
    fn now(engines: &Engines, sender: u32, receiver: u32) -> Result<Self, Failure> {
        Ok(Self {
            sender: cpu_micros(sender)?,
            postgres: engines.postgres_cpu_micros()?,
            receiver: cpu_micros(receiver)?,
            at: Instant::now(),
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "times of minutes in microseconds")]
    fn until(&self, end: &Self, deliveries: u32) -> Round {
        let each =
            |before: u64, after: u64| after.saturating_sub(before) as f64 / f64::from(deliveries);
        Round {
            rate: f64::from(deliveries) / end.at.duration_since(self.at).as_secs_f64(),
            sender: each(self.sender, end.sender),
            postgres: each(self.postgres, end.postgres),
            receiver: each(self.receiver, end.receiver),
        }
    }
}

/// The bare loop: the HTTP client, bodies and headers.
struct Bare {
    client: Client,
    destinations: Vec<Destination>,
    bodies: Vec<Vec<u8>>,
}

impl Bare {
    async fn new(load: &Load, deliveries: u32) -> Result<Self, Failure> {
        let client = loopback_client()?;
        let urls = load.urls().await?;
        let parse = |url: &String| Destination::parse(url, client.policy());
        let destinations = urls.iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Self { destinations, bodies: load.bodies(deliveries).await?, client })
    }

    async fn run(&self, engines: &Engines, load: &Load) -> Result<Round, Failure> {
        let deliveries = u32::try_from(self.bodies.len())?;
        // The headers of one event serve for all.
        let (event, secret) = (load.event, SigningSecret::of([7; 32]));
        let now = Clock::system().local_now();
        let headers = webhooks::headers(event, now, b"{}", std::slice::from_ref(&secret));
        let loops = self.destinations.len() * PER_ENDPOINT;
        let mut parts: Vec<Vec<Vec<u8>>> = vec![Vec::new(); loops];
        for (number, body) in self.bodies.iter().enumerate() {
            parts[number % loops].push(body.clone());
        }
        let before = Cpu::now(engines, std::process::id(), load.site.receiver.pid())?;
        let mut tasks: JoinSet<Result<(), Failure>> = JoinSet::new();
        for (number, part) in parts.into_iter().enumerate() {
            let (client, headers) = (self.client.clone(), headers.clone());
            let destination = self.destinations[number % self.destinations.len()].clone();
            tasks.spawn(async move {
                for body in part {
                    let response = client.post(&destination, headers.clone(), body.into()).await?;
                    ensure(response.status.is_success(), || response.status.to_string())?;
                }
                Ok(())
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        let after = Cpu::now(engines, std::process::id(), load.site.receiver.pid())?;
        Ok(before.until(&after, deliveries))
    }
}

/// Counts the statements and transactions of deliveries in the log of PostgreSQL, which makes them slower.
async fn count_statements(engines: &Engines, load: &Load, deliveries: u32) -> Result<(), Failure> {
    let deliver = async {
        load.deliver(engines, deliveries).await?;
        // The last results are recorded, and the stores released.
        tokio::time::sleep(Duration::from_secs(3)).await;
        Ok(())
    };
    let ((), connections) = record(engines, deliver).await?;
    let is_counted = |sql: &str| sql.contains("webhook_") && !load::is_own(sql);
    let (mut statements, mut commits) = (0_u32, 0_u32);
    for connection in connections {
        // Jobs of the worker have transactions of their own.
        let mut is_about_webhooks = false;
        for statement in &connection {
            if is_counted(&statement.sql) {
                (statements, is_about_webhooks) = (statements + 1, true);
            } else if statement.sql.starts_with("COMMIT") {
                commits += u32::from(std::mem::take(&mut is_about_webhooks));
            }
        }
    }
    println!(
        "{} deliveries: {:.3} statements about webhooks and {:.3} transactions for each",
        grouped(deliveries),
        f64::from(statements) / f64::from(deliveries),
        f64::from(commits) / f64::from(deliveries),
    );
    Ok(())
}
