//! Runs the script of a client.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::{Output, Stdio};
use std::time::Duration;

use serde::Deserialize;

use super::judge;
use super::proxy::Proxy;
use super::store::DemoStore;
use crate::report::{Failure, Tier, Trial, Verdict, ensure};
use crate::souk::required_env;

/// How long the packages of a client may take to be installed.
const INSTALLATION_MAX: Duration = Duration::from_mins(10);
/// How long a script may take: every call has a limit of its own.
const SCRIPT_MAX: Duration = Duration::from_mins(3);
/// The exit status of dev/frameworks/run if the packages cannot be installed.
const NOT_INSTALLED: i32 = 3;

/// What a script reports: the versions of the packages, and its steps by name.
#[derive(Debug, Deserialize)]
pub(crate) struct Report {
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) steps: BTreeMap<String, Step>,
}

/// A step of a script.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Step {
    /// Why the framework cannot do it.
    pub(crate) not_applicable: Option<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) connect_error: Option<String>,
    /// The number of tools that the framework lists.
    pub(crate) tools: usize,
    /// The number of tools that the framework can offer to a model, and how many of them in its strict mode, if it has one.
    pub(crate) converted: usize,
    pub(crate) strict: Option<usize>,
    /// The tools that are not.
    pub(crate) not_strict: Vec<String>,
    pub(crate) errors: Vec<String>,
    /// How often the person was asked for approval.
    pub(crate) approvals: u32,
}

/// A tool call as the script made it.
#[derive(Debug, Deserialize)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) ended: Ended,
    /// What a model would see.
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Ended {
    #[serde(rename = "returned")]
    Returned,
    #[serde(rename = "raised")]
    Raised,
    #[serde(rename = "timed out")]
    TimedOut,
}

/// Runs the script of a client and judges its report.
pub(crate) async fn prove(trial: Trial, client: &'static str) -> Verdict {
    let installed = run(client, &[], &["--install"], INSTALLATION_MAX).await?;
    if installed.status.code() == Some(NOT_INSTALLED) {
        let why = String::from_utf8_lossy(&installed.stderr).replace('\n', " ");
        // The gate counts on the clients of the short form.
        ensure(trial.tier == Tier::Full, || why.clone())?;
        return Ok(format!("NOT COUNTED: {why}"));
    }
    let store = trial.shared(DemoStore::start).await?;
    let proxy = Proxy::start(store.clone()).await?;
    let url = |path: &str| format!("http://127.0.0.1:{}{path}", proxy.port);
    let environment = [
        ("STORE_URL", url("/demo-store/mcp")),
        ("STEPS_URL", url("/steps")),
        ("PRODUCT_ID", store.product.clone()),
    ];
    let output = run(client, &environment, &[], SCRIPT_MAX).await?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let report = printed.lines().rev().find_map(|line| line.strip_prefix("REPORT "));
    let Some(report) = report else {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let end: Vec<&str> = errors.lines().rev().take(5).collect();
        return Err(format!("the script printed no report: {printed} {end:?}").into());
    };
    judge::judge(&serde_json::from_str(report)?, &proxy.traffic(), store.tools)
}

/// Runs dev/frameworks/run, and ends it and all it has started after the time limit.
async fn run(
    client: &str,
    environment: &[(&str, String)],
    arguments: &[&str],
    limit: Duration,
) -> Result<Output, Failure> {
    let script = format!("{}/../frameworks/run", required_env("SOUK_CLIENTS")?);
    let mut command = tokio::process::Command::new(script);
    command.arg(client).args(arguments).envs(environment.iter().map(|(name, it)| (name, it)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn()?;
    let group = child.id().map(|pid| format!("-{pid}"));
    let output = if let Ok(output) = tokio::time::timeout(limit, child.wait_with_output()).await {
        output?
    } else {
        let end = ["-s", "KILL", "--", group.as_deref().unwrap_or_default()];
        tokio::process::Command::new("kill").args(end).status().await?;
        return Err(format!("the script did not end within {limit:?}").into());
    };
    ensure(output.status.signal().is_none(), || format!("the script ended by {}", output.status))?;
    Ok(output)
}
