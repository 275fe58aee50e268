//! `access-matrix`: every route and tool with every kind of credential, and ids of others against
//! unknown ids. Both are tests of the whole application, generated from the routers; this runs them.

use std::process::Stdio;

use crate::report::{Trial, Verdict, ensure};

pub(crate) async fn prove(_: Trial) -> Verdict {
    let mut command = tokio::process::Command::new("cargo");
    command.args([
        "nextest",
        "run",
        "-p",
        "server",
        "-E",
        "test(access_matrix) + test(tenant_isolation)",
    ]);
    let output = command.stdin(Stdio::null()).output().await?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let summary = stderr.lines().find(|line| line.contains("tests run:")).unwrap_or_default();
    ensure(output.status.success(), || stderr.clone())?;
    ensure(summary.contains("3 passed"), || format!("expected 3 tests: {summary}"))?;
    let table = "crates/server/tests/spec/snapshots/spec__access_matrix__access_by_credential.snap";
    let table = std::fs::read_to_string(table)?;
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| {
            ["GET", "POST", "PUT", "PATCH", "DELETE", "mcp", "tool"]
                .iter()
                .any(|word| line.starts_with(word))
        })
        .collect();
    let cells: usize =
        rows.iter().filter_map(|row| row.split_whitespace().last()).map(str::len).sum();
    Ok(format!(
        "{} routes and tools, {cells} cells of the table verified; ids of others and unknown ids get the \
         same response",
        rows.len()
    ))
}
