//! (a) Every route and tool with every kind of credential, and foreign ids against unknown ones. Both are tests of the whole
//! application, generated from the routers; this runs them.

use std::process::Stdio;

use crate::report::{Trial, Verdict, ensure};

pub(crate) async fn prove(_: Trial) -> Verdict {
    let mut command = tokio::process::Command::new("cargo");
    command.args(["nextest", "run", "-p", "server", "-E", "test(s5_matrix) + test(s5_isolation)"]);
    let output = command.stdin(Stdio::null()).output().await?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let summary = said.lines().find(|line| line.contains("tests run:")).unwrap_or_default();
    ensure(output.status.success(), || said.clone())?;
    ensure(summary.contains("3 passed"), || format!("not all of them ran: {summary}"))?;
    let table = "crates/server/tests/spec/snapshots/spec__s5_matrix__who_may_call_what.snap";
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
        "{} routes and tools, {cells} cells as the table says; foreign and unknown ids answer alike",
        rows.len()
    ))
}
