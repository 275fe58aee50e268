//! `shown-examples`: the requests that the specification shows, sent byte for byte by a plain HTTP client and by MCP clients
//! of both protocol versions: every response has what is shown.

use testkit::{ShownClient, ShownExample, Variables};

use super::demo_stores::{DemoStores, product_of, send};
use crate::report::{Failure, Trial, Verdict, ensure};

const ALL_SCOPES: [&str; 4] = ["agent:read", "agent:cart", "agent:checkout", "agent:orders"];

pub(crate) async fn prove(_: Trial) -> Verdict {
    let demo = DemoStores::start().await?;
    let limited = demo.with_limits().await?;
    let port = demo.souk.port;
    let buyer = demo.agent_key("buyer@example.com", "ENTERPRISE", &ALL_SCOPES).await?;
    let reader = demo.agent_key("reader@example.com", "FREE", &["agent:read"]).await?;
    let mut replayed = 0;
    let mut failures = Vec::new();
    for client in ShownClient::ALL {
        let enterprise = format!("enterprise-{replayed}@example.com");
        let enterprise = demo.agent_key(&enterprise, "ENTERPRISE", &ALL_SCOPES).await?;
        for (group, port) in [("flow", port), ("errors", port), ("limits", limited.port)] {
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
                for _ in 0..example.shown.repeat {
                    send(port, &request).await?;
                }
                let response = send(port, &request).await?;
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
