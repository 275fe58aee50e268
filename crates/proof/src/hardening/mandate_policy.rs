//! `mandate-policy`: settings reject a confirmation policy that no purchase could meet.

use serde_json::json;

use super::merchant_calls::{Shop, call, expect};
use crate::report::{Trial, Verdict};

pub(crate) async fn prove(_: Trial) -> Verdict {
    let shop = Shop::open().await?;
    let port = shop.souk.port;
    let owner = shop.member_token("owner").await?;
    let mandate = json!({ "confirmation_policy": "mandate" });
    let refused = call(port, &owner, "PUT", "/merchant/settings", &mandate).await?;
    expect("mandate", &refused, 400, Some(("allowed", "attested or hosted")))?;
    let key = shop.buyer_key().await?;
    let cart = shop.cart(&key).await?;
    shop.complete(&key, &cart).await?;
    Ok(String::from(
        "confirmation_policy mandate: 400 with the allowed values; the store takes checkouts as before",
    ))
}
