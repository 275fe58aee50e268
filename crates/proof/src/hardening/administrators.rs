//! `administrators`: what administrators do needs their right and a reason, and is recorded with both.

use serde_json::{Value, json};

use super::shop::{Shop, call, expect};
use crate::identity::{Account, agent_key};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::output;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let shop = Shop::open(&trial).await?;
    let (url, port) = (&shop.url(), shop.port());
    let printed = output(url, &["admin", "create", "root@example.com", "--admin"]).await?;
    let password = printed.lines().nth(1).ok_or("no password")?.to_owned();
    let admin = Account { email: String::from("root@example.com"), password };
    let admin = admin.log_in(port).await?;
    let (email, owner) = shop.member("owner").await?;
    let keys = [shop.key().await?, agent_key(port, &owner).await?.1];
    let (id, _) = agent_key(port, &owner).await?;
    let buyer = shop.agent().await?;
    let cart = shop.cart(&buyer).await?;
    let held = shop.complete(&buyer, &cart).await?;
    let release = format!("/admin/checkouts/{held}/release");
    let revoke = format!("/admin/keys/{id}/revoke");
    let why = json!({ "reason": "proof" });
    let new_store = json!({ "slug": "new-store", "name": "New", "website_url": "https://new.example",
        "country": "PT", "currency": "EUR", "support_email": "help@new.example", "reason": "proof" });
    let person = json!({ "email": email, "reason": "proof" });
    let store = |action: &str| format!("/admin/stores/{}/{action}", shop.slug);
    let writes: [(&str, String, Value); 9] = [
        ("POST", String::from("/admin/stores"), new_store),
        ("POST", store("pause"), why.clone()),
        ("POST", store("reinstate"), why.clone()),
        ("PUT", store("identity"), json!({ "status": "verified", "reason": "proof" })),
        ("POST", store("hosts"), json!({ "host": "pay.example", "reason": "proof" })),
        ("POST", release, why.clone()),
        ("POST", revoke, why),
        ("POST", String::from("/admin/people/disable"), person.clone()),
        ("POST", String::from("/admin/people/enable"), person),
    ];
    for (method, path, body) in &writes {
        let what = format!("{method} {path}");
        let refused = call(port, &owner, method, path, body).await?;
        expect(&what, &refused, 403, Some(("reason", "not_an_administrator")))?;
        for key in &keys {
            let refused = call(port, key, method, path, body).await?;
            expect(&what, &refused, 403, Some(("reason", "wrong_kind_of_credential")))?;
        }
        let mut silent = body.clone();
        silent["reason"] = json!(" ");
        let refused = call(port, &admin, method, path, &silent).await?;
        expect(&format!("{what} without a reason"), &refused, 400, Some(("field", "reason")))?;
    }
    for (method, path, body) in &writes {
        let done = call(port, &admin, method, path, body).await?;
        ensure([200, 201].contains(&done.0), || format!("{method} {path}: {done:?}"))?;
    }
    let shown = output(url, &["checkouts", "show", &held]).await?;
    ensure(shown.contains("\"status\": \"canceled\""), || format!("a released session: {shown}"))?;
    let recorded = recorded(url).await?;
    ensure(recorded == writes.len(), || format!("{recorded} of {} are recorded", writes.len()))?;
    Ok(format!(
        "{} actions: refused to an owner, a store key and an agent key, and without a reason; done by an administrator, each \
         recorded with actor and reason",
        writes.len()
    ))
}

/// Returns how many entries of the audit log have an administrator as actor and the reason.
async fn recorded(url: &str) -> Result<usize, Failure> {
    use sqlx::Connection;
    let mut sql = sqlx::PgConnection::connect(url).await?;
    let entries: i64 = sqlx::query_scalar(
        "SELECT count(DISTINCT act) FROM platform.audit_entry
         WHERE details->>'reason' = 'proof' AND actor LIKE 'usr_%'",
    )
    .fetch_one(&mut sql)
    .await?;
    Ok(usize::try_from(entries)?)
}
