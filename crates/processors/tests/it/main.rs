//! Payments at the test doubles of `dev/processors`, which are processes of their own. They need node; without it, set
//! `SOUK_SKIP_NODE` and the tests pass without doing anything.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod create;
mod double;
mod faults;
mod oracle;
mod pay;
mod paypal_webhooks;
mod receiver;
mod refunds;
mod webhooks;
mod world;

use std::path::PathBuf;
use std::time::Duration;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(4);

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../dev/processors")
}

#[expect(clippy::disallowed_methods, reason = "where the tests run decides whether there is node")]
fn is_skipped() -> bool {
    std::env::var("SOUK_SKIP_NODE").is_ok_and(|value| !value.is_empty())
}
