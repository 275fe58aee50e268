//! The startup message of `souk dev`, with example calls.

use primitives::{Id, ProductId};
use serde_json::{Value, json};

use crate::Config;
use crate::keys::DevelopmentKey;

pub(crate) fn banner(config: &Config, seeded: bool, key: Option<&DevelopmentKey>) -> String {
    let site = config.site_url.as_str();
    let pages = format!("{site}/   {site}/api/docs   {site}/health");
    let next = if seeded {
        let product = ProductId::from_uuid(demo::FIRST_PRODUCT);
        let calls = [
            format!("curl {site}/api/v1/stores/directory"),
            tool_call(site, "browse_categories", &json!({})),
            tool_call(site, "get_product_details", &json!({ "product_id": product })),
        ];
        format!("Example calls:\n\n  {}", calls.join("\n\n  "))
    } else {
        String::from("No stores yet: run `souk seed` to load the demo data.")
    };
    let merchant = key.map(|key| merchant_call(site, key)).unwrap_or_default();
    format!("\n  Souk is running at {site}\n\n  Pages: {pages}\n\n  {next}\n{merchant}")
}

/// An example call of the merchant API, with a key that the next start replaces.
fn merchant_call(site: &str, key: &DevelopmentKey) -> String {
    let product = json!({
        "external_id": "MUG-1",
        "name": "A mug",
        "price": 12.5,
        "category": ["Kitchen"],
        "stock_quantity": 3,
    });
    let body = json!({ "products": [product] });
    let DevelopmentKey { store, key } = key;
    format!(
        "\n  As the merchant of {store} (the key is replaced at the next start):\n\n  \
         curl -X PATCH {site}/api/v1/merchant/products -H 'Content-Type: application/json' \\\n    \
         -H 'Authorization: Bearer {key}' \\\n    -d '{body}'\n"
    )
}

fn tool_call(site: &str, tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let header = "-H 'Content-Type: application/json'";
    format!("curl {site}/{}/mcp {header} \\\n    -d '{body}'", demo::DEMO_STORE)
}
