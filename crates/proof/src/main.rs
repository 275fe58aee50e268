#![doc = include_str!("../README.md")]
#![expect(clippy::print_stdout, reason = "what it finds out is printed")]

mod bare_rmcp;
mod catalog;
mod checkout;
mod engines;
mod foundation;
mod http;
mod identity;
mod limits;
mod mcp;
mod pgbench;
mod report;
mod search;
mod souk;
mod table_print;
mod worker;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::bare_rmcp::BareArgs;
use crate::report::{Check, Failure, Tier};
use crate::worker::WorkerArgs;

/// Proves and measures what the design promises.
#[derive(Parser)]
struct Proof {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prove the promises of a topic.
    Prove(Prove),
    /// Measure a topic.
    Bench(Bench),
    /// Measure a topic for hours, at sizes a workday has no time for.
    Soak(Soak),
    /// Runs jobs in a process of its own, to be killed and paused.
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Serves rmcp and nothing else, to compare with.
    #[command(hide = true)]
    BareRmcp(BareArgs),
}

#[derive(Args)]
struct Prove {
    topic: Topic,
    /// The short form, for the gate.
    #[arg(long)]
    fast: bool,
    /// Only these checks: `--only a,c`.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Makes the random choices of an earlier run again.
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Args)]
struct Bench {
    topic: Topic,
    /// Products in the comparison (search, mcp).
    #[arg(long)]
    size: Option<u32>,
    /// Only these take part: `--only bare,postgres` (search), `--only calls` (mcp).
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

#[derive(Args)]
struct Soak {
    topic: Topic,
    /// Products of the largest catalog.
    #[arg(long)]
    size: Option<u32>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Topic {
    /// Queue, outbox, tenants and cells.
    Foundation,
    /// Products on their way in.
    Catalog,
    /// Products, found.
    Search,
    /// The door for agents.
    Mcp,
    /// Who calls.
    Identity,
    /// How often.
    Limits,
    /// Buying.
    Checkout,
}

impl Topic {
    fn checks(self) -> &'static [Check] {
        match self {
            Self::Foundation => foundation::CHECKS,
            Self::Catalog => catalog::CHECKS,
            Self::Search => search::CHECKS,
            Self::Mcp => mcp::CHECKS,
            Self::Identity => identity::CHECKS,
            Self::Limits => limits::CHECKS,
            Self::Checkout => checkout::CHECKS,
        }
    }

    async fn bench(self, bench: &Bench) -> Result<(), Failure> {
        match self {
            Self::Foundation => foundation::bench().await,
            Self::Catalog => catalog::bench().await,
            Self::Search => search::bench(bench.size, &bench.only).await,
            Self::Mcp => mcp::bench(bench.size, &bench.only).await,
            Self::Identity => Err("what a credential costs is measured by `bench limits`".into()),
            Self::Limits => limits::bench().await,
            Self::Checkout => checkout::bench().await,
        }
    }

    async fn soak(self, soak: &Soak) -> Result<(), Failure> {
        match self {
            Self::Search => search::soak(soak.size).await,
            Self::Checkout => checkout::soak().await,
            _ => Err("it has no soak".into()),
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match Proof::parse().command {
        Command::Prove(prove) => {
            let tier = if prove.fast { Tier::Fast } else { Tier::Full };
            let wanted = |check: &&Check| {
                prove.only.is_empty()
                    || prove.only.iter().any(|letter| check.name.ends_with(letter))
            };
            let checks: Vec<&Check> = prove.topic.checks().iter().filter(wanted).collect();
            report::run(&checks, tier, prove.seed.unwrap_or_else(new_seed)).await
        }
        Command::Bench(bench) => report::exit_code(bench.topic.bench(&bench).await),
        Command::Soak(soak) => report::exit_code(soak.topic.soak(&soak).await),
        Command::Worker(args) => worker::run(args).await,
        Command::BareRmcp(args) => bare_rmcp::run(args).await,
    }
}

/// Short enough to be typed.
#[expect(clippy::disallowed_methods, reason = "each run tries something new, and says what")]
fn new_seed() -> u64 {
    u64::from(rand::random::<u32>())
}
