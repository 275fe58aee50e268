//! `mandate-policy`: settings reject a confirmation policy that no purchase could meet.

use serde_json::json;

use super::shop::{Shop, call, expect};
use crate::report::{Trial, Verdict};

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let shop = Shop::open(&trial).await?;
    let port = shop.port();
    let (_, owner) = shop.member("owner").await?;
    let mandate = json!({ "confirmation_policy": "mandate" });
    let refused = call(port, &owner, "PATCH", "/merchant/settings", &mandate).await?;
    expect("mandate", &refused, 400, Some(("allowed", "attested or hosted")))?;
    let agent = shop.agent().await?;
    let cart = shop.cart(&agent).await?;
    shop.complete(&agent, &cart).await?;
    Ok(String::from(
        "confirmation_policy mandate: 400 with the allowed values; the store takes checkouts as before",
    ))
}
