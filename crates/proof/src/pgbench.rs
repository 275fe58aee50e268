//! pgbench: what the engine itself can do, to compare with.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::report::{Failure, ensure};

/// One run: clients that do a script again and again.
pub(crate) struct Pgbench<'run> {
    pub(crate) url: &'run str,
    pub(crate) clients: u32,
    /// Of each client.
    pub(crate) transactions: u64,
    pub(crate) script: &'run str,
    /// What the script knows by name.
    pub(crate) variables: &'run [(String, String)],
}

impl Pgbench<'_> {
    /// Transactions a second.
    pub(crate) async fn run(&self) -> Result<f64, Failure> {
        let folder = std::env::temp_dir().join(format!("souk-pgbench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let said = self.run_in(&folder).await;
        std::fs::remove_dir_all(&folder)?;
        transactions_per_second(&said?)
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
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure(output.status.success(), || format!("pgbench failed: {complaint}"))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// pgbench says `tps = 123.4 (without initial connection time)`.
fn transactions_per_second(said: &str) -> Result<f64, Failure> {
    let line = said.lines().find_map(|line| line.strip_prefix("tps = "));
    let number = line.and_then(|line| line.split_whitespace().next());
    let number = number.ok_or_else(|| format!("pgbench said no rate: {said}"))?;
    Ok(number.parse()?)
}

/// Debian keeps it beside the server, outside the search path.
fn path() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let candidates = versions.map(|version| version.path().join("bin/pgbench"));
    let newest = candidates.filter(|path| path.is_file()).max();
    newest.unwrap_or_else(|| PathBuf::from("pgbench"))
}
