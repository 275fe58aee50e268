//! The command line: commands and their arguments.

use std::path::PathBuf;

use catalog::Quota;
use clap::{Parser, Subcommand};
use identity::{Email, Reason, Role, StoreScope};
use jobs::JobState;
use merchants::IdentityStatus;
use primitives::{CheckoutId, Currency, JobId, KeyId, Plan, StoreSlug};

use crate::check_config;
use crate::config::Config;
use crate::import::ImportArguments;
use crate::trust::TrustCommand;
use crate::webhooks::WebhooksCommand;

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

impl Cli {
    /// Parses the command line and the environment of this process; exits if they are invalid. `check-config` reports
    /// invalid values of the environment itself, all of them at once.
    #[must_use]
    pub fn from_process() -> Self {
        Self::try_parse().unwrap_or_else(|error| {
            let without = check_config::parse_without_environment(std::env::args_os());
            without.unwrap_or_else(|| error.exit())
        })
    }
}

/// The commands of `souk`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the HTTP server: MCP, REST and web pages
    Serve,
    /// Run a worker for background jobs and webhook delivery
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
    /// Load the demo data; running it again restores changed demo data and retires other products of the demo stores
    Seed,
    /// Prepare a database that was restored from a backup, before any other process starts: event positions, search index,
    /// sessions
    AfterRestore {
        /// Also if event positions do not show that the database was restored on another cluster
        #[arg(long)]
        yes: bool,
    },
    /// Manage API keys
    Keys {
        #[command(subcommand)]
        command: KeysCommand,
    },
    /// Create, suspend, pause, close and verify stores; set their quotas
    Stores {
        #[command(subcommand)]
        command: StoresCommand,
    },
    /// Show checkout sessions, and release the stock that one holds
    Checkouts {
        #[command(subcommand)]
        command: CheckoutsCommand,
    },
    /// Disable and enable accounts
    People {
        #[command(subcommand)]
        command: PeopleCommand,
    },
    /// Manage accounts, plans, store members and signing keys; read the audit log
    Admin {
        #[command(subcommand)]
        command: AdminCommand,
    },
    /// List jobs and rows that failed; revive and discard dead letters
    Jobs {
        #[command(subcommand)]
        command: JobsCommand,
    },
    /// Show the state of webhook deliveries; try failing endpoints at once; forward the events of a store to a local address
    Webhooks {
        #[command(subcommand)]
        command: WebhooksCommand,
    },
    /// Show and compute trust scores, their evidence and both methodologies
    Trust {
        #[command(subcommand)]
        command: TrustCommand,
    },
    /// Manage the catalogs of stores
    Catalog {
        #[command(subcommand)]
        command: CatalogCommand,
    },
    /// Print every setting with its value, its source and a verdict; fails if one is wrong, unknown or cannot be used
    CheckConfig,
    /// Check the deployment and say what to do: engines, schema, secrets, clock, search index, jobs, webhooks, payments, disk
    Doctor,
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

/// The commands of `souk jobs`. Every change is recorded in the audit log.
#[derive(Debug, Subcommand)]
pub enum JobsCommand {
    /// List jobs, the earliest first; by default dead letters: jobs that do not run again by themselves
    List {
        /// State: waiting, due, failing, running, suspect, dead or any
        #[arg(long, default_value = "dead", value_parser = job_states)]
        state: JobStates,
        /// Kind of the jobs, such as `catalog.apply_run`
        #[arg(long)]
        kind: Option<String>,
        /// Maximum number of jobs
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
    },
    /// Show a job with its payload and its last error
    Show {
        /// Id of the job: job_…
        job_id: JobId,
    },
    /// List rows that scheduled jobs could not process; they are retried later
    Rows {
        /// Maximum number of rows
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
    },
    /// Move a dead letter back to the queue; it is due immediately and its attempts count from zero
    Revive {
        /// Id of the job: job_…
        job_id: JobId,
        /// Why, for the audit log
        #[arg(long)]
        reason: Reason,
    },
    /// Delete a dead letter
    Discard {
        /// Id of the job: job_…
        job_id: JobId,
        /// Why, for the audit log
        #[arg(long)]
        reason: Reason,
    },
}

/// The states of jobs that are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobStates(pub Option<JobState>);

fn job_states(text: &str) -> Result<JobStates, &'static str> {
    let one = JobState::parse(text).map(Some);
    let states = one.or_else(|| (text == "any").then_some(None)).map(JobStates);
    states.ok_or("the state must be waiting, due, failing, running, suspect, dead or any")
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
        /// Scope of the key: catalog, orders, webhooks or settings; may be repeated. By default catalog and orders
        #[arg(long = "scope", value_parser = store_scope)]
        scopes: Vec<StoreScope>,
    },
    /// List the keys of a store, including expired and revoked ones
    List {
        /// Slug of the store
        store: StoreSlug,
    },
    /// Revoke a store key or an agent key; takes effect within five seconds
    Revoke {
        /// Id of the key: key_…
        key_id: KeyId,
        /// Why, for the audit log
        #[arg(long)]
        reason: Reason,
    },
}

/// The commands of `souk stores`. Every change is recorded in the audit log, and the merchant reads it as a notice.
#[derive(Debug, Subcommand)]
pub enum StoresCommand {
    /// Create a store
    Create(NewStoreArguments),
    /// Show a store in any state
    Show {
        /// Slug of the store
        store: StoreSlug,
    },
    /// Suspend a store: agents cannot use it
    Suspend(StoreAndReason),
    /// Reopen a suspended, paused or closed store
    Reinstate(StoreAndReason),
    /// Close a store for a while
    Pause(StoreAndReason),
    /// Close a store for good
    Close(StoreAndReason),
    /// Set the result of the merchant's identity verification
    SetIdentity {
        /// Slug of the store
        store: StoreSlug,
        /// Result: unverified, pending, verified or failed
        #[arg(value_parser = identity_status)]
        status: IdentityStatus,
        /// Level of the verification
        #[arg(long)]
        level: Option<String>,
        /// Method of the verification
        #[arg(long)]
        method: Option<String>,
        /// Why, for the audit log
        #[arg(long)]
        reason: Reason,
    },
    /// Allow a host for the payment page of a store
    AllowHost {
        /// Slug of the store
        store: StoreSlug,
        /// Host name, such as pay.example.com
        host: String,
        /// Why, for the audit log
        #[arg(long)]
        reason: Reason,
    },
    /// Withdraw a host from the payment page of a store; a payment page on it is removed
    DisallowHost {
        /// Slug of the store
        store: StoreSlug,
        /// Host name, as it was allowed
        host: String,
        /// Why: for the audit log, and for the merchant
        #[arg(long)]
        reason: Reason,
    },
    /// Set a quota of the catalog of a store
    SetQuota {
        /// Slug of the store
        store: StoreSlug,
        #[arg(value_parser = quota, help = format!("Quota: one of {}", quota_names()))]
        quota: Quota,
        /// The limit, or `default`
        #[arg(value_parser = quota_maximum)]
        maximum: QuotaMaximum,
        /// Why: for the audit log, and for the merchant
        #[arg(long)]
        reason: Reason,
    },
}

/// The limit of a quota; `None`: the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaMaximum(pub Option<i64>);

fn quota(text: &str) -> Result<Quota, String> {
    Quota::parse(text).ok_or_else(|| format!("the quota must be one of {}", quota_names()))
}

fn quota_names() -> String {
    let names: Vec<&str> = Quota::ALL.iter().map(|quota| quota.as_str()).collect();
    names.join(", ")
}

fn quota_maximum(text: &str) -> Result<QuotaMaximum, &'static str> {
    if text == "default" {
        return Ok(QuotaMaximum(None));
    }
    let maximum = text.parse().ok().filter(|maximum: &i64| *maximum >= 0);
    let allowed = "the limit must be a whole number of at least 0, or `default`";
    maximum.map(|maximum| QuotaMaximum(Some(maximum))).ok_or(allowed)
}

/// A store to create.
#[derive(Debug, clap::Args)]
pub struct NewStoreArguments {
    /// Slug of the store, which is permanent
    pub slug: StoreSlug,
    /// Name of the store
    #[arg(long)]
    pub name: String,
    /// Home country: two letters, ISO 3166
    #[arg(long)]
    pub country: String,
    #[arg(long, help = format!("Currency of the prices: {}", Currency::SUPPORTED_CODES))]
    pub currency: Currency,
    /// Legal name of the company; by default the name of the store
    #[arg(long)]
    pub legal_name: Option<String>,
    /// Website of the merchant
    #[arg(long, default_value = "")]
    pub website: String,
    /// Email address of customer support
    #[arg(long, default_value = "")]
    pub support_email: String,
    /// Email address of the account that becomes the owner
    #[arg(long)]
    pub owner: Option<Email>,
    /// Why, for the audit log
    #[arg(long)]
    pub reason: Reason,
}

/// A store, and why something is done to it.
#[derive(Debug, clap::Args)]
pub struct StoreAndReason {
    /// Slug of the store
    pub store: StoreSlug,
    /// Why: for the audit log, and for the merchant
    #[arg(long)]
    pub reason: Reason,
}

/// The commands of `souk checkouts`.
#[derive(Debug, Subcommand)]
pub enum CheckoutsCommand {
    /// Show a checkout session of any store
    Show {
        /// Id of the session: chk_…
        checkout_id: CheckoutId,
    },
    /// Cancel an unpaid session and return its units to stock; recorded in the audit log
    Release {
        /// Id of the session: chk_…
        checkout_id: CheckoutId,
        /// Why: for the audit log, and for the merchant
        #[arg(long)]
        reason: Reason,
    },
}

/// The commands of `souk people`. Every change is recorded in the audit log.
#[derive(Debug, Subcommand)]
pub enum PeopleCommand {
    /// Disable an account: its tokens and agent keys stop working within five seconds
    Disable(PersonAndReason),
    /// Enable a disabled account: its agent keys work again, its former tokens do not
    Enable(PersonAndReason),
    /// Erase name, address, email and telephone number of a buyer at all stores
    EraseBuyer(PersonAndReason),
}

/// An account, and why something is done to it.
#[derive(Debug, clap::Args)]
pub struct PersonAndReason {
    /// Email address of the account
    pub email: Email,
    /// Why, for the audit log
    #[arg(long)]
    pub reason: Reason,
}

fn store_scope(text: &str) -> Result<StoreScope, &'static str> {
    StoreScope::parse(text).ok_or("the scope must be catalog, orders, webhooks or settings")
}

fn identity_status(text: &str) -> Result<IdentityStatus, &'static str> {
    IdentityStatus::parse(text).ok_or("the status must be unverified, pending, verified or failed")
}
