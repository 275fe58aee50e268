//! (a) The official conformance suite, (b) the official clients, (e) what a model sees, counted by a
//! public tokenizer: programs that are not ours, against the real binary with the demo world in it.

use std::process::Stdio;

use super::raw::{IndexDirectory, wait_for_search};
use crate::engines::Engines;
use crate::report::{Failure, Trial, Verdict};
use crate::souk::{Souk, command, handed_over};

/// The server, with the demo world and its index.
struct Stage {
    _index: Souk,
    souk: Souk,
    _engines: Engines,
    _directory: IndexDirectory,
}

impl Stage {
    async fn set() -> Result<Self, Failure> {
        let engines = Engines::start()?;
        command(&engines.database_url, &["migrate"])?;
        command(&engines.database_url, &["seed"])?;
        let directory = IndexDirectory::new();
        let index = Souk::index(&engines.database_url, &directory.settings("writer"))?;
        let settings = directory.settings("reader");
        let souk = Souk::serve_with(&engines.database_url, &[], &settings).await?;
        wait_for_search(souk.port).await?;
        Ok(Self { _index: index, souk, _engines: engines, _directory: directory })
    }

    /// Lets a script of dev/clients use the server, and answers what it said.
    async fn script(&self, name: &str, arguments: &[&str]) -> Verdict {
        let script = format!("{}/{name}", handed_over("SOUK_CLIENTS")?);
        let mut command = tokio::process::Command::new(script);
        command.args(arguments).stdin(Stdio::null());
        command.env("SOUK_URL", format!("http://127.0.0.1:{}", self.souk.port));
        let output = command.output().await?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            let lines: Vec<&str> =
                said.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
            return Ok(lines.join("; "));
        }
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(format!("{said}{why}").into())
    }
}

/// The suite's fixtures are served by builds for development only.
pub(crate) async fn prove_conformance(_: Trial) -> Verdict {
    Stage::set().await?.script("conformance.sh", &[]).await
}

pub(crate) async fn prove_clients(trial: Trial) -> Verdict {
    let arguments: &[&str] = trial.by_tier(&[], &["--all"]);
    Stage::set().await?.script("run", arguments).await
}

pub(crate) async fn prove_context(_: Trial) -> Verdict {
    Stage::set().await?.script("run", &["--tokens"]).await
}
