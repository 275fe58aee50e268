//! `shown-examples`: the requests that the specification shows, sent byte for byte by a plain HTTP client and by MCP clients
//! of both protocol versions: every response has what is shown.

use std::collections::BTreeSet;

use testkit::{ShownClient, ShownExample, ShownRequest, ShownResponse, Variables};

use super::deployment::{ALL_SCOPES, Deployment, product_of};
use crate::http::Client;
use crate::report::{Failure, Trial, Verdict, ensure};

/// When the window of a limit ends that has counted a request.
const RESET: &str = "x-ratelimit-reset";

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let deployment = Deployment::of(&trial).await?;
    let (port, limited) = (deployment.souk.port, deployment.limited_port().await?);
    let buyer = deployment.buyer_key(&ALL_SCOPES).await?;
    let reader = deployment.key_on("FREE", &["agent:read"]).await?;
    let mut replayed = 0;
    let mut failures = Vec::new();
    for client in ShownClient::ALL {
        let enterprise = deployment.key_on("ENTERPRISE", &ALL_SCOPES).await?;
        for (group, port) in [("flow", port), ("errors", port), ("limits", limited)] {
            let mut variables = variables(&[
                ("slug", "kivikiri"),
                ("product_id", &product_of("kivikiri")?),
                ("query", &query_for("kivikiri", &product_of("kivikiri")?)?),
                ("agent_key", &buyer),
                ("reader_key", &reader),
                ("enterprise_key", &enterprise),
            ]);
            for example in ShownExample::read_group(group) {
                // Time cannot be moved in a real process, and no token is old enough to have expired.
                if example.shown.advance_minutes > 0 || !example.can_be_filled(&variables) {
                    continue;
                }
                let request = example.request(client, &variables);
                let repeat = example.shown.repeat;
                let (mut response, is_one_window) = last_of(port, &request, repeat).await?;
                if !is_one_window {
                    // The window of the limit ended between the calls; the next one is a minute long.
                    (response, _) = last_of(port, &request, repeat).await?;
                }
                let found = example.differences(client, &response, &variables);
                if !found.is_empty() {
                    failures.push(format!("{client:?} {}: {}", example.name, found.join(", ")));
                }
                if let Err(missing) = example.save(&response, &mut variables) {
                    failures.push(format!("{client:?} {}: {missing}", example.name));
                    break;
                }
                replayed += 1;
            }
        }
    }
    ensure(failures.is_empty(), || {
        format!("{} of {replayed} differ:\n{}", failures.len(), failures.join("\n"))
    })?;
    Ok(format!(
        "{replayed} shown exchanges, by a plain HTTP client and MCP clients of two versions: as shown, the purchase included"
    ))
}

/// Sends a request some times and once more. Returns the last response, and whether all were counted in the same window of a limit.
async fn last_of(
    port: u16,
    request: &ShownRequest,
    repeat: u32,
) -> Result<(ShownResponse, bool), Failure> {
    let mut windows = BTreeSet::new();
    for _ in 0..repeat {
        let response = Client::exchange(port, request).await?;
        windows.extend(response.headers.get(RESET).cloned());
    }
    let last = Client::exchange(port, request).await?;
    windows.extend(last.headers.get(RESET).cloned());
    Ok((last, windows.len() <= 1))
}

/// Returns a word of a product's name.
fn query_for(slug: &str, product: &str) -> Result<String, Failure> {
    let world = demo::world();
    let store = world.store(slug).ok_or("no such demo store")?;
    let is_product = |it: &&demo::Product| product.ends_with(&it.id.simple().to_string());
    let product = store.products.iter().find(is_product).ok_or("no such product")?;
    Ok(product.name.split(' ').next_back().unwrap_or_default().to_owned())
}

fn variables(pairs: &[(&str, &str)]) -> Variables {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
