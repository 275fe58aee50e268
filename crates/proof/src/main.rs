#![doc = include_str!("../README.md")]
#![expect(clippy::print_stdout, reason = "the results are printed")]

mod bare_rmcp;
mod catalog;
mod checkout;
mod desk;
mod engines;
mod foundation;
mod frameworks;
mod hardening;
mod http;
mod identity;
mod limits;
mod mcp;
mod orders;
mod pgbench;
mod recording;
mod report;
mod search;
mod souk;
mod table_print;
mod trust;
mod webhooks;
mod worker;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::bare_rmcp::BareArgs;
use crate::report::{Check, Failure, Schedule, Tier};
use crate::webhooks::ReceiverArgs;
use crate::worker::WorkerArgs;

/// Verifies and measures the guarantees of the design.
#[derive(Parser)]
struct Proof {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the checks of a topic.
    Prove(Prove),
    /// Run the benchmarks of a topic.
    Bench(Bench),
    /// Run the long benchmarks of a topic, at sizes that take hours.
    Soak(Soak),
    /// Run jobs in a separate process that checks kill and pause.
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Serve a fixed tool result with rmcp alone, as the baseline of a benchmark.
    #[command(hide = true)]
    BareRmcp(BareArgs),
    /// Receive webhooks, and record them in a file.
    #[command(hide = true)]
    Receiver(ReceiverArgs),
}

#[derive(Args)]
struct Prove {
    topic: Topic,
    /// Run the short form, as the gate does.
    #[arg(long)]
    fast: bool,
    /// Run only these checks: `--only last-unit,crash-points`.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// List the checks and run none.
    #[arg(long)]
    list: bool,
    /// Repeat the random choices of an earlier run.
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Args)]
struct Bench {
    topic: Topic,
    /// Number of products in the comparison (search, mcp), of orders in the table (orders), of deliveries in a round (webhooks),
    /// or of merchants (trust).
    #[arg(long)]
    size: Option<u32>,
    /// Measure only these: `--only bare,postgres` (search), `--only calls` (mcp), `--only rate,sizes,svix` (webhooks).
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

#[derive(Args)]
struct Soak {
    topic: Topic,
    /// Number of products in the largest catalog (search), or of orders (webhooks).
    #[arg(long)]
    size: Option<u32>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Topic {
    /// Job queue, outbox, tenant isolation and cells.
    Foundation,
    /// Product import: pushes, feeds, revisions and retirements.
    Catalog,
    /// Search index: relevance, freshness, crash recovery.
    Search,
    /// The MCP endpoint: conformance, clients, hostile input.
    Mcp,
    /// Authentication and authorization.
    Identity,
    /// Rate limits.
    Limits,
    /// Checkout, payment and orders.
    Checkout,
    /// Orders after the purchase: shipments, refunds, returns, disputes.
    Orders,
    /// Webhooks: delivery, isolation of receivers, signatures.
    Webhooks,
    /// Trust scores: evidence, computation, epochs, attacks, suspension.
    Trust,
    /// Abuse, faults and neighbours: limits, quotas, isolation of failures.
    Hardening,
    /// What merchants, agent developers and operators meet in their first hour.
    Desk,
    /// MCP clients and agent frameworks, unmodified.
    Frameworks,
}

impl Topic {
    /// Its name on the command line.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn checks(self) -> &'static [Check] {
        match self {
            Self::Foundation => foundation::CHECKS,
            Self::Catalog => catalog::CHECKS,
            Self::Search => search::CHECKS,
            Self::Mcp => mcp::CHECKS,
            Self::Identity => identity::CHECKS,
            Self::Limits => limits::CHECKS,
            Self::Checkout => checkout::CHECKS,
            Self::Orders => orders::CHECKS,
            Self::Webhooks => webhooks::CHECKS,
            Self::Trust => trust::CHECKS,
            Self::Hardening => hardening::CHECKS,
            Self::Desk => desk::CHECKS,
            Self::Frameworks => frameworks::CHECKS,
        }
    }

    fn schedule(self) -> Schedule {
        match self {
            Self::Desk => desk::SCHEDULE,
            Self::Webhooks => webhooks::SCHEDULE,
            Self::Trust => trust::SCHEDULE,
            _ => Schedule::SERIAL,
        }
    }

    /// Returns the checks of the short form.
    fn in_short_form(self, mut checks: Vec<&'static Check>) -> Vec<&'static Check> {
        match self {
            Self::Frameworks => {
                checks.retain(|check| frameworks::IN_SHORT_FORM.contains(&check.name));
            }
            Self::Desk => {
                let left_out = report::left_out(desk::ROTATED, desk::ROTATED_OF_DAY, today());
                println!("not today: {} (--only runs them)", left_out.join(", "));
                checks.retain(|check| !left_out.contains(&check.name));
            }
            Self::Webhooks => {
                let (rotated, of_day) = (webhooks::ROTATED, webhooks::ROTATED_OF_DAY);
                let mut left_out = report::left_out(rotated, of_day, today());
                left_out.extend(webhooks::IN_OWN_STAGE);
                println!("not today: {} (--only runs them)", left_out.join(", "));
                checks.retain(|check| !left_out.contains(&check.name));
            }
            _ => {}
        }
        checks
    }

    async fn bench(self, bench: &Bench) -> Result<(), Failure> {
        match self {
            Self::Foundation => foundation::bench().await,
            Self::Catalog => catalog::bench().await,
            Self::Search => search::bench(bench.size, &bench.only).await,
            Self::Mcp => mcp::bench(bench.size, &bench.only).await,
            Self::Identity => {
                Err("identity has no benchmark of its own; use `bench limits`".into())
            }
            Self::Limits => limits::bench().await,
            Self::Checkout => checkout::bench().await,
            Self::Orders => orders::bench(bench.size).await,
            Self::Webhooks => webhooks::bench(bench.size, &bench.only).await,
            Self::Trust => trust::bench(bench.size).await,
            Self::Hardening => Err("hardening has no benchmark; its checks print ratios".into()),
            Self::Desk => Err("desk has no benchmark; its checks print what they measure".into()),
            Self::Frameworks => Err("frameworks has no benchmark".into()),
        }
    }

    async fn soak(self, soak: &Soak) -> Result<(), Failure> {
        match self {
            Self::Search => search::soak(soak.size).await,
            Self::Checkout => checkout::soak().await,
            Self::Orders => orders::soak().await,
            Self::Webhooks => webhooks::soak(soak.size).await,
            _ => Err(format!("{} has no soak", self.name()).into()),
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match Proof::parse().command {
        Command::Prove(args) => prove(&args).await,
        Command::Bench(bench) => report::exit_code(bench.topic.bench(&bench).await),
        Command::Soak(soak) => report::exit_code(soak.topic.soak(&soak).await),
        Command::Worker(args) => worker::run(args).await,
        Command::BareRmcp(args) => bare_rmcp::run(args).await,
        Command::Receiver(args) => webhooks::receive(args).await,
    }
}

/// Runs the selected checks of a topic, or lists them.
async fn prove(args: &Prove) -> ExitCode {
    let topic = args.topic.name();
    let mut checks = match report::select(&topic, args.topic.checks(), &args.only) {
        Ok(checks) => checks,
        Err(unknown) => return report::exit_code(Err(unknown)),
    };
    if args.fast && args.only.is_empty() {
        checks = args.topic.in_short_form(checks);
    }
    if args.list {
        report::list(&topic, &checks);
        return ExitCode::SUCCESS;
    }
    let tier = if args.fast { Tier::Fast } else { Tier::Full };
    let (schedule, seed) = (args.topic.schedule(), args.seed.unwrap_or_else(new_seed));
    report::run(&topic, &checks, schedule, tier, seed).await
}

/// Returns a new seed of 32 bits, short enough to type.
#[expect(
    clippy::disallowed_methods,
    reason = "each run makes new random choices and prints the seed"
)]
fn new_seed() -> u64 {
    u64::from(rand::random::<u32>())
}

/// Returns the number of the day, in UTC. The checks of the short form that take turns follow from it.
#[expect(
    clippy::disallowed_methods,
    reason = "the runs of one day are the same, those of the next differ"
)]
fn today() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs() / 86_400)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn check_names_are_unique_and_in_kebab_case() {
        for topic in Topic::value_variants() {
            let names: BTreeSet<&str> = topic.checks().iter().map(|check| check.name).collect();
            assert_eq!(names.len(), topic.checks().len(), "{}", topic.name());
            let is_kebab = |name: &&str| {
                name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-')
            };
            assert!(names.iter().all(is_kebab), "{names:?}");
        }
    }

    #[test]
    fn lists_of_names_name_checks() {
        let of = |topic: Topic| topic.checks().iter().map(|check| check.name).collect::<Vec<_>>();
        let named = [desk::ROTATED, desk::SCHEDULE.first, desk::SCHEDULE.alone].concat();
        assert!(named.iter().all(|name| of(Topic::Desk).contains(name)), "{named:?}");
        let Schedule { first, alone, .. } = webhooks::SCHEDULE;
        let named = [first, alone, webhooks::ROTATED, webhooks::IN_OWN_STAGE].concat();
        assert!(named.iter().all(|name| of(Topic::Webhooks).contains(name)), "{named:?}");
        let named = trust::SCHEDULE.first;
        assert!(named.iter().all(|name| of(Topic::Trust).contains(name)), "{named:?}");
        let named = frameworks::IN_SHORT_FORM;
        assert!(named.iter().all(|name| of(Topic::Frameworks).contains(name)), "{named:?}");
    }

    #[test]
    fn the_readme_lists_every_check() {
        let readme = include_str!("../README.md");
        for topic in Topic::value_variants() {
            for Check { name, guarantee, .. } in topic.checks() {
                let row = format!("| `{}/{name}` | {guarantee} |", topic.name());
                assert!(readme.contains(&row), "the README lacks the row: {row}");
            }
        }
    }

    #[test]
    fn checks_are_selected_by_name() {
        let select = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
            report::select("checkout", checkout::CHECKS, &only)
        };
        assert_eq!(select(&[]).unwrap().len(), checkout::CHECKS.len());
        let selected = select(&["last-unit", "crash-points"]).unwrap();
        let names: Vec<&str> = selected.iter().map(|check| check.name).collect();
        assert_eq!(names, ["crash-points", "last-unit"]);
        let Err(unknown) = select(&["d"]) else { panic!("an unknown check was selected") };
        assert!(unknown.to_string().contains("purchase, crash-points"), "{unknown}");
    }
}
