//! `wrong-kind-of-credential`, `sandbox-keys` and `search-with-a-key`.

use std::net::Ipv4Addr;
use std::time::Duration;

use serde_json::{Value, json};

use crate::hardening::deployment::{ALL_SCOPES, Deployment};
use crate::hardening::shop::{Shop, agent_call, call, text};
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure};

/// A credential that works and is of the wrong kind gets 403 and the name of the right one; one that does not work, 401.
pub(crate) async fn wrong_kind(trial: Trial) -> Verdict {
    let shop = Shop::open(&trial).await?;
    let port = shop.port();
    let agent = shop.deployment.buyer_key(&ALL_SCOPES).await?;
    let store = shop.key().await?;
    let (_, owner) = shop.member("owner").await?;
    let (cart, settings, keys, jobs) = (
        "/agent/cart/cart_00000000000000000000000000000001",
        "/merchant/settings",
        "/merchant/keys",
        "/admin/jobs",
    );
    let wrong = [
        (&store, "GET", keys, "token of an owner"),
        (&store, "GET", "/agent-keys", "token of a person"),
        (&store, "GET", jobs, "administrator"),
        (&store, "GET", cart, "agent key"),
        (&agent, "GET", settings, "store key"),
        (&agent, "GET", keys, "token of an owner"),
        (&agent, "GET", jobs, "administrator"),
        (&owner, "GET", cart, "agent key"),
    ];
    for (credential, method, path, needed) in wrong {
        let (status, answer) = call(port, credential, method, path, &Value::Null).await?;
        let details = &answer["details"];
        let hint = details["hint"].as_str().unwrap_or_default();
        let is_told = status == 403
            && answer["error"] == "forbidden"
            && details["reason"] == "wrong_kind_of_credential"
            && hint.contains(needed);
        ensure(is_told, || format!("{method} {path}, {needed} needed: {status} {answer}"))?;
    }
    let unknown = [format!("mrch_{}", "7".repeat(64)), String::from("no.such.token")];
    for credential in &unknown {
        let (status, answer) = call(port, credential, "GET", cart, &Value::Null).await?;
        ensure(status == 401, || format!("an unknown credential: {status} {answer}"))?;
    }
    Ok(format!(
        "{} calls with a valid credential of the wrong kind: 403 and which one is needed; unknown ones: 401",
        wrong.len()
    ))
}

/// The fifty-first key of a network is issued, and the oldest ends.
pub(crate) async fn sandbox_keys(trial: Trial) -> Verdict {
    let deployment = Deployment::of(&trial).await?;
    let port = deployment.souk.port;
    let mut client = Client::new(port).from(Ipv4Addr::new(127, 0, 67, 1));
    let mut keys = Vec::new();
    for number in 1..=51 {
        match client.post("/api/v1/sandbox/key", "").await {
            Delivery::Answered { status: 201, body } => {
                let answer: Value = serde_json::from_str(&body)?;
                keys.push(text(&answer["data"], "api_key")?.to_owned());
            }
            other => return Err(format!("key {number}: {other:?}").into()),
        }
    }
    let status_of = async |key: &str| -> Result<u16, Failure> {
        Ok(agent_call(port, key, "GET", "/agent/merchants/demo-store", &Value::Null).await?.0)
    };
    // Revocation takes effect within five seconds.
    let mut oldest = status_of(&keys[0]).await?;
    for _ in 0..10 {
        if oldest == 401 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        oldest = status_of(&keys[0]).await?;
    }
    ensure(oldest == 401, || format!("the oldest of 51 keys is answered with {oldest}"))?;
    for key in [&keys[1], &keys[50]] {
        let status = status_of(key).await?;
        ensure(status == 200, || format!("one of the newest 50 keys is answered with {status}"))?;
    }
    Ok(String::from("51 keys of one address: all issued, the oldest ended, the newest 50 work"))
}

/// A key never gives fewer searches than none.
pub(crate) async fn search_with_a_key(trial: Trial) -> Verdict {
    let deployment = Deployment::of(&trial).await?;
    let port = deployment.limited_port().await?;
    let key = deployment.key_on("GROWTH", &["agent:read"]).await?;
    let body = json!({ "query": "bowl", "merchants": ["kivikiri"] }).to_string();
    let mut with_key = Client::new(port).with_agent_key(&key);
    let mut without = Client::new(port).from(Ipv4Addr::new(127, 0, 67, 2));
    let mut limits = Vec::new();
    for (client, paths) in [
        (&mut with_key, ["/api/v1/search", "/api/v1/agent/search"].as_slice()),
        (&mut without, ["/api/v1/search"].as_slice()),
    ] {
        for path in paths {
            let answer = client.post(path, &body).await;
            let is_found = matches!(answer, Delivery::Answered { status: 200, .. });
            ensure(is_found, || format!("{path}: {answer:?}"))?;
            limits.push(client.header_number("x-ratelimit-limit").ok_or("no rate limit header")?);
        }
    }
    ensure(limits[0] >= limits[2] && limits[1] >= limits[2], || {
        format!("searches per minute with a key {:?}, without one {}", &limits[..2], limits[2])
    })?;
    let mut refused = 0;
    for _ in 0..limits[2] + 5 {
        if let Delivery::Answered { status: 429, body } =
            without.post("/api/v1/search", &body).await
        {
            let is_told =
                body.contains("tool_limit_exceeded") && body.contains("\"retryable\":true");
            ensure(is_told, || body.clone())?;
            refused += 1;
        }
    }
    ensure(refused > 0, || String::from("searches without a key are not limited"))?;
    Ok(format!("{} searches a minute with a key and {} without one", limits[0], limits[2]))
}
