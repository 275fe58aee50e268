//! What `souk dev` says when it is up: calls to copy.

use primitives::{Id, ProductId};
use serde_json::{Value, json};

use crate::Config;

pub(crate) fn banner(config: &Config, seeded: bool) -> String {
    let site = config.site_url.as_str();
    let pages = format!("{site}/   {site}/api/docs   {site}/health");
    let next = if seeded {
        let product = ProductId::from_uuid(demo::FIRST_PRODUCT);
        let calls = [
            format!("curl {site}/api/v1/stores/directory"),
            tool_call(site, "browse_categories", &json!({})),
            tool_call(site, "get_product_details", &json!({ "product_id": product })),
        ];
        format!("First calls, to copy:\n\n  {}", calls.join("\n\n  "))
    } else {
        String::from("No stores yet: `souk seed` puts the demo world in.")
    };
    format!("\n  Souk is running at {site}\n\n  Pages: {pages}\n\n  {next}\n")
}

fn tool_call(site: &str, tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let header = "-H 'Content-Type: application/json'";
    format!("curl {site}/{}/mcp {header} \\\n    -d '{body}'", demo::DEMO_STORE)
}
