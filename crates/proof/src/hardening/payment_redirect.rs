//! `payment-redirect`: nobody but an owner of a store decides where its buyers pay, and only on hosts that an operator allowed.

use serde_json::{Value, json};

use super::shop::{Shop, call, expect};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{output, store_key_with};

const SETTINGS: &str = "/merchant/settings";
const EVIL: &str = "https://pay.evil.example/{checkout_id}";

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let shop = Shop::open(&trial).await?;
    let (url, port) = (&shop.url(), shop.port());
    let redirect = |to: &str| json!({ "checkout_url_template": to });
    let feed_key = shop.key().await?;
    let stolen = call(port, &feed_key, "PATCH", SETTINGS, &redirect(EVIL)).await?;
    expect("a copied key of a product feed", &stolen, 403, Some(("required_scope", "settings")))?;
    let settings_key = store_key_with(url, &shop.slug, &["--scope", "settings"]).await?;
    let (_, staff) = shop.member("staff").await?;
    for (who, credential) in [("a key for settings", &settings_key), ("staff", &staff)] {
        let refused = call(port, credential, "PATCH", SETTINGS, &redirect(EVIL)).await?;
        expect(who, &refused, 403, Some(("reason", "owner_required")))?;
        let other =
            call(port, credential, "PATCH", SETTINGS, &json!({ "gtin_source": who })).await?;
        expect("an invalid setting", &other, 400, Some(("field", "gtin_source")))?;
    }
    let other =
        call(port, &settings_key, "PATCH", SETTINGS, &json!({ "gtin_source": "sku" })).await?;
    expect("another setting, with a key for settings", &other, 200, None)?;
    let (_, owner) = shop.member("owner").await?;
    let refused = call(port, &owner, "PATCH", SETTINGS, &redirect(EVIL)).await?;
    expect("an owner, to any host", &refused, 400, Some(("reason", "host_not_allowed")))?;
    let allow = ["stores", "allow-host", &shop.slug, "pay.attic.example", "--reason", "verified"];
    output(url, &allow).await?;
    let plain = redirect("http://pay.attic.example/{checkout_id}");
    let refused = call(port, &owner, "PATCH", SETTINGS, &plain).await?;
    expect("an owner, without TLS", &refused, 400, Some(("field", "checkout_url_template")))?;
    let right = redirect("https://pay.attic.example/{checkout_id}");
    let changed = call(port, &owner, "PATCH", SETTINGS, &right).await?;
    expect("an owner, to an allowed host", &changed, 200, None)?;
    told(&shop, &owner).await?;
    Ok(String::from(
        "4 attempts with a feed key, a settings key, a staff token and an owner's token to a foreign host refused; an owner's \
         change to an allowed host is in the notices and in the audit log",
    ))
}

/// The change is a notice, and an entry of the audit log with its owner.
async fn told(shop: &Shop, owner: &str) -> Result<(), Failure> {
    let url = &shop.url();
    let (_, body) = call(shop.port(), owner, "GET", "/merchant/notices", &Value::Null).await?;
    let kinds: Vec<&str> = body["data"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|notice| notice["kind"].as_str())
        .collect();
    ensure(
        kinds.contains(&"payment_page_changed") && kinds.contains(&"payment_host_allowed"),
        || format!("the notices do not tell of it: {kinds:?}"),
    )?;
    let shown = output(url, &["stores", "show", &shop.slug]).await?;
    let merchant = shown.split_whitespace().find(|word| word.starts_with("mer_"));
    let log = output(url, &["admin", "audit", merchant.ok_or("no merchant id")?]).await?;
    ensure(
        log.lines().any(|line| line.contains("usr_") && line.contains("store.checkout_url_set")),
        || format!("the audit log does not tell of it: {log}"),
    )
}
