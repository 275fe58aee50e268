//! `store-status`: a store that an operator suspends, pauses or closes is closed for agents within seconds, at every process; what
//! somebody already has there stays reachable, and nothing new is completed.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::merchant_calls::{Shop, call, expect, paid_report, tool};
use crate::checkout::store::SLUG;
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{output, store_key};

/// Stores are cached for two seconds.
const EFFECT_MAX: Duration = Duration::from_secs(5);

pub(crate) async fn prove(_: Trial) -> Verdict {
    let shop = Shop::open().await?;
    let (url, here) = (shop.url(), shop.souk.port);
    let other = shop.another_process().await?;
    let key = shop.buyer_key().await?;
    let owner = shop.member_token("owner").await?;
    let store = store_key(url, SLUG).await?;
    let mut slowest = Duration::ZERO;
    for (verb, reason) in [("suspend", "suspended"), ("pause", "paused"), ("close", "closed")] {
        let (waiting, held) = (shop.cart(&key).await?, shop.cart(&key).await?);
        let held = shop.complete(&key, &held).await?;
        let paid = shop.cart(&key).await?;
        let paid = shop.complete(&key, &paid).await?;
        output(url, &["stores", verb, SLUG, "--reason", "proof"]).await?;
        let since = Instant::now();
        for port in [here, other.port] {
            while tool(port, &key, "get_merchant_profile", &json!({})).await?.0 == 200 {
                ensure(since.elapsed() < EFFECT_MAX, || format!("{verb} has no effect after 5 s"))?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        slowest = slowest.max(since.elapsed());
        for (name, arguments) in [
            ("get_merchant_profile", json!({})),
            ("complete_checkout", json!({ "cart_id": waiting })),
            ("create_cart", json!({ "items": [] })),
        ] {
            let refused = tool(here, &key, name, &arguments).await?;
            expect(name, &refused, 403, Some(("reason", reason)))?;
            ensure(refused.1["error"] == "store_suspended", || format!("{name}: {refused:?}"))?;
        }
        listed(here, false).await?;
        // What somebody already has there.
        let path = format!("/api/v1/agent/checkout/{held}");
        let mut client = Client::new(here).with_agent_key(&key);
        let read = client.get(&path).await;
        ensure(matches!(read, Delivery::Answered { status: 200, .. }), || format!("{read:?}"))?;
        let canceled = client.post(&format!("{path}/cancel"), "{}").await;
        ensure(matches!(canceled, Delivery::Answered { status: 200, .. }), || {
            format!("{canceled:?}")
        })?;
        let report = paid_report(&format!("SHOP-{verb}"));
        let path = format!("/merchant/checkouts/{paid}/complete");
        let reported = call(here, &store, "POST", &path, &report).await?;
        expect("the payment report of a session from before", &reported, 200, None)?;
        let (_, notices) = call(here, &owner, "GET", "/merchant/notices", &Value::Null).await?;
        let newest = &notices["data"]["notices"][0];
        ensure(newest["details"]["reason"] == "proof", || format!("no notice: {newest}"))?;
        output(url, &["stores", "reinstate", SLUG, "--reason", "proof"]).await?;
        while tool(here, &key, "get_merchant_profile", &json!({})).await?.0 != 200 {
            ensure(since.elapsed() < 4 * EFFECT_MAX, || String::from("it was not reopened"))?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        listed(here, true).await?;
    }
    Ok(format!(
        "suspended, paused and closed: refused by both processes after at most {:.1} s; sessions read, canceled and reported as \
         paid; nothing new completed; reopened",
        slowest.as_secs_f64()
    ))
}

/// Checks whether the directory contains the store.
async fn listed(port: u16, expected: bool) -> Result<(), Failure> {
    let found = Client::new(port).get("/api/v1/stores/directory?limit=100").await;
    let Delivery::Answered { status: 200, body } = found else {
        return Err(format!("the directory: {found:?}").into());
    };
    let is_listed = body.contains(&format!("\"slug\":\"{SLUG}\""));
    ensure(is_listed == expected, || format!("in the directory: {is_listed}"))
}
