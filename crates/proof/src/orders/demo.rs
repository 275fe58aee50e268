//! `demo-return`: order, shipment, delivered, return and refund with the official Python client, as `just demo-return` runs it.

use std::process::Stdio;
use std::time::Duration;

use testkit::TestDatabase;

use super::books;
use crate::hardening::deployment::ALL_SCOPES;
use crate::identity::{Account, agent_key_for};
use crate::report::{Trial, Verdict, ensure};
use crate::souk::{Souk, command, required_env, store_key};

/// The store of the walk.
const STORE: &str = "olaria-salgueira";

pub(crate) async fn prove(_: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    command(&test.url(), &["seed"])?;
    // The demo stores have orders of the past.
    let before = books::check(&mut test.raw().await).await?;
    let server = Souk::serve(&test.url(), &["--search-shards", "1"]).await?;
    let account = Account::create(&test.url(), "ada@example.com", "ENTERPRISE").await?;
    let token = account.log_in(server.port).await?;
    let (_, agent_key) = agent_key_for(server.port, &token, &ALL_SCOPES).await?;
    let run =
        tokio::process::Command::new(format!("{}/../returns/run", required_env("SOUK_CLIENTS")?))
            .arg(format!("http://127.0.0.1:{}", server.port))
            .env("SOUK_AGENT_KEY", agent_key)
            .env("SOUK_STORE_KEY", store_key(&test.url(), STORE).await?)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
    let output = tokio::time::timeout(Duration::from_mins(2), run).await??;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure(output.status.success(), || format!("{stdout}{stderr}"))?;
    let steps = stdout.lines().filter(|line| line.starts_with("  ")).count();
    let after = books::check(&mut test.raw().await).await?;
    let more = |number: fn(&books::Totals) -> i64| number(&after) - number(&before);
    let added = (more(|it| it.orders), more(|it| it.returns), more(|it| it.refunds));
    ensure(added == (1, 1, 1), || format!("{before:?}, {after:?}"))?;
    Ok(format!(
        "{steps} steps with the official Python client: ordered, shipped, delivered, returned, refunded {} of {} minor units",
        more(|it| it.refunded_minor),
        more(|it| it.paid_minor)
    ))
}
