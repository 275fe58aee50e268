//! Files that follow from the code. Drift between them and the code fails the gate.

use std::path::Path;

use clap::CommandFactory;

use crate::Cli;

/// Where the published description says the service is.
const SITE_URL: &str = "http://127.0.0.1:8080";

/// Stands for the public address in what an operator submits to the registry of MCP servers.
const PUBLIC_URL: &str = "https://souk.example";

/// Writes each file, or finds out which differ.
pub(crate) fn generate(root: &Path, check: bool) -> std::io::Result<Vec<&'static str>> {
    let mut differing = Vec::new();
    let files = [
        ("docs/openapi.json", openapi()),
        ("docs/tools.md", mcp::tools_document()),
        ("docs/checkout.md", checkout_document()),
        ("docs/server.json", pretty(&mcp::registry_entry(PUBLIC_URL))),
        (".env.example", env_example()),
    ];
    for (name, content) in files {
        let path = root.join(name);
        let differs = std::fs::read_to_string(&path).ok().as_deref() != Some(content.as_str());
        if differs {
            differing.push(name);
            if !check {
                std::fs::write(&path, content)?;
            }
        }
    }
    Ok(differing)
}

/// The machine of a checkout, as people read it.
fn checkout_document() -> String {
    let mut text = String::from(
        "# The states of a checkout\n\nWritten by `just generate` from the table in `crates/checkout/src/machine.rs`; \
         that table is what the code obeys.\n\n```mermaid\n",
    );
    text.push_str(&checkout::picture());
    text.push_str("\n```\n\n| From | What happens | To |\n|---|---|---|\n");
    for (from, step, to) in checkout::STEPS {
        let row = ["| `", from.name(), "` | ", step.name(), " | `", to.name(), "` |\n"];
        text.extend(row);
    }
    text
}

fn openapi() -> String {
    pretty(&rest::openapi(SITE_URL))
}

fn pretty(document: &serde_json::Value) -> String {
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}

/// Every option with its default, from the declarations that `--help` shows.
fn env_example() -> String {
    let options = Cli::command();
    let lines = options.get_arguments().filter_map(|argument| {
        let name = argument.get_env()?.to_str()?;
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let default: Vec<_> =
            argument.get_default_values().iter().filter_map(|value| value.to_str()).collect();
        Some(format!("\n# {help}\n#{name}={}\n", default.join(",")))
    });
    let head = "# Every option of `souk`, with its default. Written by `just generate`; `souk --help` says more.\n";
    std::iter::once(head.to_owned()).chain(lines).collect()
}
