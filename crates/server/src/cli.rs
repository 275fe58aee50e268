//! The command line: the roles of the binary and what each takes.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use identity::{Email, Role};
use primitives::{KeyId, Plan, StoreSlug};

use crate::config::Config;
use crate::import::ImportArguments;

/// Souk: multi-merchant commerce for AI agents.
///
/// One binary in several roles. Every option can be given on the command line or in the environment.
#[derive(Debug, Parser)]
#[command(name = "souk", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// How.
    #[command(flatten)]
    pub config: Config,
}

/// The roles.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the doors: MCP, REST and pages
    Serve,
    /// Run the jobs
    Work,
    /// Write the search index
    Index {
        /// Build it anew beside the one that serves, then put it in its place
        #[arg(long)]
        rebuild: bool,
    },
    /// Everything in one process, migrated and seeded: for a developer's machine
    Dev {
        /// Do not put the demo world in
        #[arg(long)]
        empty: bool,
    },
    /// Bring the database schema up to date
    Migrate,
    /// Put the demo world in; again brings it back to what it was
    Seed,
    /// The keys with which programs of a merchant act for its store
    Keys {
        /// What to do with them
        #[command(subcommand)]
        command: KeysCommand,
    },
    /// People: accounts, plans, members of stores, and what was done
    Admin {
        /// What to do
        #[command(subcommand)]
        command: AdminCommand,
    },
    /// The catalogs of stores
    Catalog {
        /// What to do with them
        #[command(subcommand)]
        command: CatalogCommand,
    },
    /// Say what the configuration means, and what is wrong with it
    CheckConfig,
    /// Write the files that follow from the code: openapi.json, .env.example
    Generate {
        /// Write nothing; fail if a file differs
        #[arg(long)]
        check: bool,
        /// The root of the repository
        #[arg(long, default_value = ".")]
        root: PathBuf,
    },
}

/// What can be done with catalogs.
#[derive(Debug, Subcommand)]
pub enum CatalogCommand {
    /// Bring a feed in from a file
    Import(ImportArguments),
}

/// What an operator can do for people.
#[derive(Debug, Subcommand)]
pub enum AdminCommand {
    /// Make an account
    Create {
        /// Its email
        email: Email,
        /// It runs the platform
        #[arg(long)]
        admin: bool,
        /// What it pays for: FREE, STARTER, GROWTH, PRO or ENTERPRISE
        #[arg(long, default_value = "FREE", value_parser = plan)]
        plan: Plan,
        /// Read the password from the first line of standard input; without this one is made and shown once
        #[arg(long)]
        password_stdin: bool,
    },
    /// Give an account another password; all its sessions end
    SetPassword {
        /// Its email
        email: Email,
        /// Read the password from the first line of standard input; without this one is made and shown once
        #[arg(long)]
        password_stdin: bool,
    },
    /// Change what an account pays for
    SetPlan {
        /// Its email
        email: Email,
        /// FREE, STARTER, GROWTH, PRO or ENTERPRISE
        #[arg(value_parser = plan)]
        plan: Plan,
    },
    /// Make a person a member of a store, or change the role
    AddMember {
        /// The person's email
        email: Email,
        /// The store
        store: StoreSlug,
        /// owner or staff
        role: Role,
    },
    /// End a membership
    RemoveMember {
        /// The person's email
        email: Email,
        /// The store
        store: StoreSlug,
    },
    /// Let another key sign tokens
    RotateSigningKey {
        /// End the old ones now, and every session with them
        #[arg(long)]
        at_once: bool,
    },
    /// Show what was done to somebody or something, or by it
    Audit {
        /// An id: usr_…, key_…, mer_…, or `operator`
        whom: String,
        /// How many lines
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=1000))]
        limit: i64,
    },
}

fn plan(text: &str) -> Result<Plan, &'static str> {
    text.to_ascii_uppercase().parse().map_err(|()| "no plan has this name")
}

/// What can be done with keys.
#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Make one; it is shown once
    Create {
        /// The store
        store: StoreSlug,
        /// What to call it
        #[arg(long, default_value = "store key")]
        name: String,
        /// Days until it ends; without this it does not end by itself
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: Option<u32>,
    },
    /// Show those there are, also those that ended
    List {
        /// The store
        store: StoreSlug,
    },
    /// End one; it stops working within five seconds
    Revoke {
        /// The store
        store: StoreSlug,
        /// The key's id, as `list` shows it
        key_id: KeyId,
    },
}
