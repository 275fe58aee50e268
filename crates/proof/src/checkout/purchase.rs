//! `purchase`: the whole purchase (docs/contract/mcp.md#recommended-flow) with the official Python client and a browser, as
//! `just demo-purchase` runs it.

use std::process::Stdio;
use std::time::Duration;

use testkit::TestDatabase;

use crate::report::{Trial, Verdict, ensure};
use crate::souk::{Souk, command, required_env};

pub(crate) async fn prove(_: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    command(&test.url(), &["seed"])?;
    let server = Souk::serve(&test.url(), &["--search-shards", "1"]).await?;
    let script = format!("{}/../purchase/run", required_env("SOUK_CLIENTS")?);
    let site = format!("http://127.0.0.1:{}", server.port);
    let run = tokio::process::Command::new(script)
        .arg(&site)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_mins(4), run).await??;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure(output.status.success(), || format!("{stdout}{stderr}"))?;
    let steps = stdout.lines().filter(|line| line.starts_with("  ")).count();
    let orders: i64 = sqlx::query_scalar("SELECT count(*) FROM placed_order WHERE is_sandbox")
        .fetch_one(&mut test.raw().await)
        .await?;
    ensure(orders == 2, || format!("{orders} orders"))?;
    Ok(format!(
        "{steps} steps with the official Python client, a browser and elicitation: searched, approved, paid, two orders, one of them without an address from the agent"
    ))
}
