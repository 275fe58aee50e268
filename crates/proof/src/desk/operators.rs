//! Checks of what operators rely on: configuration, log lines, metrics, demo data, backups.

pub(super) mod backup_and_restore;
pub(super) mod check_config;
pub(super) mod documented_metrics;
pub(super) mod engine_transitions;
pub(super) mod import_log;
pub(super) mod log_lines;
pub(super) mod seed_again;

use std::path::PathBuf;
use std::process::Stdio;

use crate::report::Failure;
use crate::souk::required_env;

/// A directory of a check, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Result<Self, Failure> {
        let directory = std::env::temp_dir().join(format!("souk-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory)?;
        Ok(Self(directory))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a command printed, and whether it succeeded.
struct Printed {
    text: String,
    is_success: bool,
}

/// Runs a `souk` command to its end with these settings.
async fn souk(arguments: &[&str], settings: &[(&str, String)]) -> Result<Printed, Failure> {
    let mut command = tokio::process::Command::new(required_env("SOUK_BIN")?);
    command.args(arguments).env("SOUK_LOG", "off").env_remove("SOUK_SECRET");
    command.envs(settings.iter().map(|(name, value)| (*name, value)));
    let output = command.stdin(Stdio::null()).output().await?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(Printed { text, is_success: output.status.success() })
}
