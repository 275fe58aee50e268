//! `store-key-scopes`: a store key calls the endpoints of its scopes and no others, for every endpoint of merchants.

use serde_json::{Value, json};

use super::shop::{Shop, call, expect};
use crate::report::{Failure, Trial, Verdict, ensure};

const SCOPES: [&str; 4] = ["catalog", "orders", "webhooks", "settings"];

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let shop = Shop::open(&trial).await?;
    let port = shop.port();
    let feed_key = shop.key().await?;
    let read = call(port, &feed_key, "GET", "/merchant/settings", &Value::Null).await?;
    expect("settings with a new key", &read, 403, Some(("required_scope", "settings")))?;
    let (_, owner) = shop.member("owner").await?;
    let mut keys = Vec::new();
    for scope in SCOPES {
        let wanted = json!({ "scopes": [scope] });
        let (status, made) = call(port, &owner, "POST", "/merchant/keys", &wanted).await?;
        let key = made["data"]["api_key"].as_str().filter(|_| status == 201);
        keys.push((scope, key.ok_or_else(|| format!("no key: {status} {made}"))?.to_owned()));
    }
    let endpoints = endpoints(port).await?;
    let mut refused = 0;
    for (method, path, needed) in &endpoints {
        for (scope, key) in &keys {
            let answer = call(port, key, method, path, &Value::Null).await?;
            let what = format!("{method} {path} with the scope {scope}");
            if scope == needed {
                ensure(![401, 403].contains(&answer.0), || format!("{what}: {answer:?}"))?;
            } else {
                expect(&what, &answer, 403, Some(("required_scope", needed)))?;
                refused += 1;
            }
        }
    }
    Ok(format!(
        "{} endpoints with 4 keys of one scope each: {refused} calls refused with required_scope, {} admitted",
        endpoints.len(),
        endpoints.len()
    ))
}

/// Returns method, path and scope of all endpoints for store keys, from the OpenAPI document.
async fn endpoints(port: u16) -> Result<Vec<(String, String, String)>, Failure> {
    let (_, document) = call(port, "", "GET", "/openapi.json", &Value::Null).await?;
    let mut endpoints = Vec::new();
    for (path, item) in document["paths"].as_object().ok_or("no paths")? {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let access = operation["x-souk-access"].as_str().unwrap_or_default();
            let Some(scope) = access.strip_prefix("store:") else { continue };
            let mut path = path.clone();
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                if let (Some(name), Some(example)) =
                    (parameter["name"].as_str(), parameter["example"].as_str())
                {
                    path = path.replace(&format!("{{{name}}}"), example);
                }
            }
            endpoints.push((method.to_uppercase(), path, scope.to_owned()));
        }
    }
    ensure(endpoints.len() >= 14, || format!("only {} endpoints have a scope", endpoints.len()))?;
    Ok(endpoints)
}
