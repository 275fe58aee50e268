//! `conformance`, `official-clients` and `token-budget`: third-party programs (the official conformance
//! suite, the official clients, a public tokenizer) against the real binary with the demo stores.

use std::process::Stdio;

use super::raw::{IndexDirectory, wait_for_search};
use crate::engines::Engines;
use crate::report::{Failure, Trial, Verdict};
use crate::souk::{Souk, command, required_env};

/// A server with the demo stores and their index.
struct DemoServer {
    _index: Souk,
    souk: Souk,
    _engines: Engines,
    _directory: IndexDirectory,
}

impl DemoServer {
    async fn start() -> Result<Self, Failure> {
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

    /// Runs a script of dev/clients against the server and returns its output.
    async fn script(&self, name: &str, arguments: &[&str]) -> Verdict {
        let script = format!("{}/{name}", required_env("SOUK_CLIENTS")?);
        let mut command = tokio::process::Command::new(script);
        command.args(arguments).stdin(Stdio::null());
        command.env("SOUK_URL", format!("http://127.0.0.1:{}", self.souk.port));
        let output = command.output().await?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            let lines: Vec<&str> =
                stdout.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
            return Ok(lines.join("; "));
        }
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(format!("{stdout}{stderr}").into())
    }
}

/// Runs the conformance suite. Its fixtures are served by development builds only.
pub(crate) async fn prove_conformance(_: Trial) -> Verdict {
    DemoServer::start().await?.script("conformance.sh", &[]).await
}

pub(crate) async fn prove_clients(trial: Trial) -> Verdict {
    let arguments: &[&str] = trial.by_tier(&[], &["--all"]);
    DemoServer::start().await?.script("run", arguments).await
}

pub(crate) async fn prove_token_budget(_: Trial) -> Verdict {
    DemoServer::start().await?.script("run", &["--tokens"]).await
}
