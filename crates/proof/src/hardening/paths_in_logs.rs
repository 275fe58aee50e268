//! `paths-in-logs`: requests whose path contains the id of a cart, a checkout or a confirmation, or the token of an order's
//! page, with which its holder can act: the log has the route of each request, and none of the ids and tokens.

use serde_json::json;

use super::deployment::Deployment;
use crate::http::Client;
use crate::report::{Trial, Verdict, ensure, grouped};
use crate::souk::Souk;

/// Paths with an id, or a token that contains it, in the place of `{id}`, and the prefix of the id.
const PATHS: [(&str, &str, &str); 10] = [
    ("GET", "/api/v1/agent/cart/{id}", "cart"),
    ("GET", "/api/v1/agent/checkout/{id}", "chk"),
    ("POST", "/api/v1/agent/checkout/{id}/cancel", "chk"),
    ("GET", "/kivikiri/confirm/{id}", "cnf"),
    ("POST", "/kivikiri/confirm/{id}", "cnf"),
    ("GET", "/kivikiri/checkout/{id}", "chk"),
    ("GET", "/kivikiri/checkout/{id}?token={id}", "chk"),
    ("GET", "/kivikiri/orders/{id}?token={id}", "ord"),
    ("POST", "/kivikiri/orders/{id}/cancel?token={id}", "ord"),
    ("GET", "/no/such/path/{id}", "cnf"),
];

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let deployment = Deployment::of(&trial).await?;
    let log = std::env::temp_dir().join(format!("souk-paths-{}", std::process::id()));
    let settings =
        [("SOUK_LOG", String::from("trace,hyper=info,h2=info,mio=info,tokio=info,runtime=info"))];
    let souk = Souk::serve_logging(&deployment.url(), &settings, &log).await?;
    let mut ids = Vec::new();
    for (number, (method, path, prefix)) in PATHS.iter().enumerate() {
        let id = format!("{prefix}_{:032x}", 0xabc_def0_0000_usize + number);
        let path = path.replace("{id}", &id);
        Client::new(souk.port).send(method, &path, json!({}).to_string().as_bytes()).await;
        ids.push(id);
    }
    drop(souk);
    let lines = std::fs::read_to_string(&log)?;
    std::fs::remove_file(&log)?;
    for id in &ids {
        ensure(!lines.contains(id.as_str()), || format!("the log contains {id}"))?;
    }
    for route in ["/agent/checkout/{", "/{slug}/orders/{"] {
        ensure(lines.contains(route), || format!("the log does not have the route {route}"))?;
    }
    Ok(format!(
        "{} requests: no id in {} bytes of log, the routes are",
        ids.len(),
        grouped(lines.len())
    ))
}
