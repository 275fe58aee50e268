//! The command line: commands and their arguments.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use identity::{Email, Role};
use primitives::{JobId, KeyId, Plan, StoreSlug};

use crate::config::Config;
use crate::import::ImportArguments;

/// Souk: multi-merchant commerce for AI agents.
///
/// Every option can be given on the command line or in the environment.
#[derive(Debug, Parser)]
#[command(name = "souk", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub config: Config,
}

/// The commands of `souk`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the HTTP server: MCP, REST and web pages
    Serve,
    /// Run a worker for background jobs
    Work,
    /// Run the search index writer
    Index {
        /// Build a new index next to the current one, then switch to it
        #[arg(long)]
        rebuild: bool,
    },
    /// Run everything in one process, after migrating and seeding the database: for development
    Dev {
        /// Do not load the demo data
        #[arg(long)]
        empty: bool,
    },
    /// Apply pending database migrations
    Migrate,
    /// Load the demo data; running it again restores changed demo data
    Seed,
    /// Manage the API keys of a store
    Keys {
        #[command(subcommand)]
        command: KeysCommand,
    },
    /// Manage accounts, plans, store members and signing keys; read the audit log
    Admin {
        #[command(subcommand)]
        command: AdminCommand,
    },
    /// List jobs that failed for good, and move them back to the queue
    Jobs {
        #[command(subcommand)]
        command: JobsCommand,
    },
    /// Manage the catalogs of stores
    Catalog {
        #[command(subcommand)]
        command: CatalogCommand,
    },
    /// Print and validate the configuration, and check the connection to the database
    CheckConfig,
    /// Generate files from the code: docs/openapi.json, docs/tools.md, .env.example and others
    Generate {
        /// Write nothing; fail if a file is out of date
        #[arg(long)]
        check: bool,
        /// Root directory of the repository
        #[arg(long, default_value = ".")]
        root: PathBuf,
    },
}

/// The commands of `souk catalog`.
#[derive(Debug, Subcommand)]
pub enum CatalogCommand {
    /// Import a product feed from a file
    Import(ImportArguments),
}

/// The commands of `souk admin`.
#[derive(Debug, Subcommand)]
pub enum AdminCommand {
    /// Create an account
    Create {
        /// Email address of the account
        email: Email,
        /// Grant administrator rights
        #[arg(long)]
        admin: bool,
        /// Plan: FREE, STARTER, GROWTH, PRO or ENTERPRISE
        #[arg(long, default_value = "FREE", value_parser = plan)]
        plan: Plan,
        /// Read the password from the first line of standard input; by default one is generated and shown once
        #[arg(long)]
        password_stdin: bool,
    },
    /// Set the password of an account; ends all its sessions
    SetPassword {
        /// Email address of the account
        email: Email,
        /// Read the password from the first line of standard input; by default one is generated and shown once
        #[arg(long)]
        password_stdin: bool,
    },
    /// Set the plan of an account
    SetPlan {
        /// Email address of the account
        email: Email,
        /// Plan: FREE, STARTER, GROWTH, PRO or ENTERPRISE
        #[arg(value_parser = plan)]
        plan: Plan,
    },
    /// Add a member to a store, or change the role of a member
    AddMember {
        /// Email address of the account
        email: Email,
        /// Slug of the store
        store: StoreSlug,
        /// Role: owner or staff
        #[arg(value_parser = role)]
        role: Role,
    },
    /// Remove a member from a store
    RemoveMember {
        /// Email address of the account
        email: Email,
        /// Slug of the store
        store: StoreSlug,
    },
    /// Rotate the key that signs access tokens
    RotateSigningKey {
        /// Revoke the previous keys immediately; ends every session
        #[arg(long)]
        at_once: bool,
    },
    /// Show the audit log entries of an account, key or merchant
    Audit {
        /// Id of the actor or subject: usr_…, key_…, mer_…, or `operator`
        id: String,
        /// Maximum number of entries
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=1000))]
        limit: i64,
    },
}

fn plan(text: &str) -> Result<Plan, &'static str> {
    Plan::parse(&text.to_ascii_uppercase()).ok_or("unknown plan")
}

fn role(text: &str) -> Result<Role, &'static str> {
    Role::parse(text).ok_or("the role must be owner or staff")
}

/// The commands of `souk jobs`.
#[derive(Debug, Subcommand)]
pub enum JobsCommand {
    /// List dead letters, the oldest first: jobs that failed in every attempt or repeatedly crashed their worker
    Dead {
        /// Maximum number of dead letters
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
    },
    /// Move a dead letter back to the queue; it is due immediately and its attempts count from zero
    Requeue {
        /// Id of the job, as printed by `souk jobs dead`
        job_id: JobId,
    },
}

/// The commands of `souk keys`.
#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Create a key; it is shown once
    Create {
        /// Slug of the store
        store: StoreSlug,
        /// Name of the key
        #[arg(long, default_value = "store key")]
        name: String,
        /// Days until the key expires; by default it does not expire
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: Option<u32>,
    },
    /// List the keys of a store, including expired and revoked ones
    List {
        /// Slug of the store
        store: StoreSlug,
    },
    /// Revoke a key; takes effect within five seconds
    Revoke {
        /// Slug of the store
        store: StoreSlug,
        /// Id of the key, as printed by `souk keys list`
        key_id: KeyId,
    },
}
