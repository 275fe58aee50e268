//! pgbench, the baseline of benchmarks: the throughput of PostgreSQL alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::report::{Failure, ensure};

/// One run of pgbench: clients that repeat a script.
pub(crate) struct Pgbench<'run> {
    pub(crate) url: &'run str,
    pub(crate) clients: u32,
    /// Per client.
    pub(crate) transactions: u64,
    pub(crate) script: &'run str,
    /// Variables of the script, by name.
    pub(crate) variables: &'run [(String, String)],
}

impl Pgbench<'_> {
    /// Runs it and returns the transactions per second.
    pub(crate) async fn run(&self) -> Result<f64, Failure> {
        let folder = std::env::temp_dir().join(format!("souk-pgbench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let output = self.run_in(&folder).await;
        std::fs::remove_dir_all(&folder)?;
        transactions_per_second(&output?)
    }

    async fn run_in(&self, folder: &Path) -> Result<String, Failure> {
        let mut command = Command::new(path());
        command
            .args(["--no-vacuum", "--protocol", "prepared", "--jobs", "2"])
            .args(["--client", &self.clients.to_string()])
            .args(["--transactions", &self.transactions.to_string()]);
        for (name, value) in self.variables {
            command.args(["--define", &format!("{name}={value}")]);
        }
        let file = folder.join("script.sql");
        std::fs::write(&file, self.script)?;
        command.arg("--file").arg(file).arg(self.url);
        let output = tokio::task::spawn_blocking(move || command.output()).await??;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure(output.status.success(), || format!("pgbench failed: {stderr}"))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Parses the rate from the output: `tps = 123.4 (without initial connection time)`.
fn transactions_per_second(output: &str) -> Result<f64, Failure> {
    let line = output.lines().find_map(|line| line.strip_prefix("tps = "));
    let number = line.and_then(|line| line.split_whitespace().next());
    let number = number.ok_or_else(|| format!("pgbench printed no rate: {output}"))?;
    Ok(number.parse()?)
}

/// Returns the path of pgbench. Debian installs it next to the server, outside `PATH`.
fn path() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let candidates = versions.map(|version| version.path().join("bin/pgbench"));
    let newest = candidates.filter(|path| path.is_file()).max();
    newest.unwrap_or_else(|| PathBuf::from("pgbench"))
}
