//! The requests that the specification shows, sent byte for byte: as a plain HTTP client sends them, and as MCP clients of
//! both protocol versions do. Each response has every field that is shown, with the shown type or value.
//!
//! `examples/GROUP/NAME.http` is a request, `NAME.json` what the specification shows of the response. `{{name}}` is filled
//! in from the group's variables and from earlier responses (`save`).

use std::collections::BTreeSet;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use database::Work;
use identity::{Actor, NewAgentKey, Role};
use primitives::{ErrorCode, Plan, Scope, UserId};
use serde_json::{Value, json};
use testkit::{ShownClient, ShownExample, ShownRequest, ShownResponse, Variables};

use crate::app::{PASSWORD, TestApp};
use crate::carts::in_stock_products;
use crate::rate_limits::wait_for_window;

/// Sends a request to the application.
async fn send(app: &TestApp, request: &ShownRequest) -> ShownResponse {
    let mut sent = Request::builder().method(request.method.as_str()).uri(&request.path);
    sent = sent.header("host", "souk.test");
    for (name, value) in &request.headers {
        sent = sent.header(name, value);
    }
    let answer = app.send(sent.body(Body::from(request.body.clone())).unwrap()).await;
    let headers = answer.headers.iter().map(|(name, value)| {
        (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let (status, headers) = (answer.status.as_u16(), headers.collect());
    ShownResponse { status, headers, body: answer.text }
}

/// Replays the examples of a group and fails with all differences.
async fn replay(app: &TestApp, group: &str, client: ShownClient, mut variables: Variables) {
    let mut failures = Vec::new();
    for example in ShownExample::read_group(group) {
        app.test.clock().advance(Duration::from_mins(example.shown.advance_minutes));
        let request = example.request(client, &variables);
        for _ in 0..example.shown.repeat {
            send(app, &request).await;
        }
        let response = send(app, &request).await;
        let found = example.differences(client, &response, &variables);
        if !found.is_empty() {
            let (name, section) = (&example.name, &example.shown.section);
            failures.push(format!("{name} (section {section}): {found:#?}\n{}", response.body));
        }
        if let Err(missing) = example.save(&response, &mut variables) {
            panic!("{client:?}: {}: {missing}: {}", failures.join("\n"), response.body);
        }
    }
    assert!(failures.is_empty(), "{client:?}:\n{}", failures.join("\n"));
}

/// Returns variables that every group has.
fn variables(slug: &str) -> Variables {
    let product = in_stock_products(slug)[0].clone();
    let world = demo::world();
    let products = &world.store(slug).unwrap().products;
    let chosen = products.iter().find(|it| product.ends_with(&it.id.simple().to_string()));
    let query = chosen.unwrap().name.split(' ').next_back().unwrap();
    let pairs = [("slug", slug), ("product_id", product.as_str()), ("query", query)];
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

fn with(mut variables: Variables, more: &[(&str, &str)]) -> Variables {
    variables.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    variables
}

#[tokio::test]
async fn the_recommended_flow_works_as_shown() {
    for client in ShownClient::ALL {
        let app = TestApp::with_index().await;
        let buyer = app.buyer_key("buyer@example.com").await;
        let sandbox = app.sandbox_key().await;
        for (slug, key) in [("kivikiri", &buyer), ("demo-store", &sandbox)] {
            let variables = with(variables(slug), &[("agent_key", key)]);
            replay(&app, "flow", client, variables).await;
        }
    }
}

#[tokio::test]
async fn rest_endpoints_answer_as_shown() {
    let app = TestApp::with_index().await;
    app.person("ada@example.com", &[]).await;
    let login = [("email", "ada@example.com"), ("password", PASSWORD)];
    replay(&app, "rest", ShownClient::Plain, with(variables("kivikiri"), &login)).await;
}

#[tokio::test]
async fn errors_have_the_shown_status_code_and_envelope() {
    for client in ShownClient::ALL {
        let app = TestApp::start().await;
        app.person("owner@example.com", &[("kivikiri", Role::Owner)]).await;
        let expired = app.log_in("owner@example.com").await;
        app.test.clock().advance(Duration::from_hours(2));
        let owner = app.log_in("owner@example.com").await;
        let (buyer, reader) = (app.buyer_key("buyer@example.com").await, app.reader_key().await);
        let credentials = [
            ("expired_token", expired.trim_start_matches("Bearer ")),
            ("owner_token", owner.trim_start_matches("Bearer ")),
            ("agent_key", buyer.as_str()),
            ("reader_key", reader.as_str()),
        ];
        replay(&app, "errors", client, with(variables("kivikiri"), &credentials)).await;
    }
}

#[tokio::test]
async fn an_overloaded_and_a_faulty_server_answer_as_shown() {
    for client in ShownClient::ALL {
        let app = TestApp::start().await;
        let rename = sqlx::query("ALTER TABLE product RENAME TO product_elsewhere");
        rename.execute(&mut app.test.raw().await).await.unwrap();
        replay(&app, "outage", client, variables("kivikiri")).await;
        let app = TestApp::with_settings(app.test, |settings| settings.store_concurrency = 0);
        replay(&app, "overload", client, variables("kivikiri")).await;
    }
}

#[tokio::test]
async fn limits_refuse_as_shown() {
    for client in ShownClient::ALL {
        let app = TestApp::with_limits().await;
        let key = enterprise_key(&app, "enterprise@example.com").await;
        let (of_address, of_key) = (json!({}), json!({ "query": "bowl" }));
        wait_for_window(&app.tool("demo-store", "get_merchant_profile", of_address).await).await;
        wait_for_window(&app.tool_as(&key, "kivikiri", "search_products", of_key).await).await;
        let variables = with(variables("kivikiri"), &[("enterprise_key", &key)]);
        replay(&app, "limits", client, variables).await;
    }
}

async fn enterprise_key(app: &TestApp, email: &str) -> String {
    let owner = app.person(email, &[]).await;
    set_plan(app, owner, Plan::Enterprise).await;
    let scopes = Scope::ALL.iter().copied().collect();
    app.agent_key(owner, &NewAgentKey { scopes, ..NewAgentKey::default() }).await.key
}

async fn set_plan(app: &TestApp, owner: UserId, plan: Plan) {
    let mut work = Work::for_platform(app.test.database()).await.unwrap();
    identity::set_plan(&mut work, Actor::Operator, owner, plan).await.unwrap();
    work.commit().await.unwrap();
}

/// Section 7: every code of the table has an example.
#[test]
fn every_shown_error_has_an_example() {
    let groups = ["errors", "overload", "outage", "limits"];
    let examples = groups.iter().flat_map(|group| ShownExample::read_group(group));
    let shown = examples.filter_map(|example| {
        let code = example.shown.body["error"].as_str()?.to_owned();
        let retryable = example.shown.body["details"]["retryable"].as_bool()?;
        Some((example.shown.status, code, retryable))
    });
    let shown: BTreeSet<(u16, String, bool)> = shown.collect();
    let table = [
        (401, "unauthorized", false),
        (401, "token_expired", false),
        (403, "forbidden", false),
        (403, "tier_required", false),
        (403, "store_suspended", false),
        (429, "rate_limit_exceeded", true),
        (429, "tool_limit_exceeded", true),
        (400, "invalid_slug", false),
        (404, "store_not_found", false),
        (404, "product_not_found", false),
        (409, "cart_expired", false),
        (422, "checkout_not_ready", false),
        (500, "internal_error", true),
        (503, "service_unavailable", true),
    ];
    let table = table.map(|(status, code, retryable)| (status, code.to_owned(), retryable));
    assert_eq!(shown, BTreeSet::from(table.clone()));
    for (status, code, _) in table {
        let known = ErrorCode::ALL.iter().find(|known| known.code() == code).unwrap();
        assert_eq!(known.status(), status, "{code}");
    }
}

/// Section 4.3: tools, whether they need a key, whether a person confirms. Those not built yet are named.
#[tokio::test]
async fn the_shown_tools_are_listed_with_access_and_confirmation() {
    let app = TestApp::start().await;
    let list = json!({ "jsonrpc": "2.0", "method": "tools/list" });
    let listed = app.post_json("/kivikiri/mcp", &list).await.json();
    assert!(listed["id"].is_null() && listed["result"]["tools"].is_array(), "{listed}");
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.len() > 40);
    let planned = ["process_agent_payment"];
    for (name, needs_key, confirmation) in [
        ("search_products", false, "never"),
        ("get_product_details", false, "never"),
        ("browse_categories", false, "never"),
        ("compare_products", false, "never"),
        ("nlweb_ask", false, "never"),
        ("get_merchant_profile", false, "never"),
        ("create_cart", true, "required"),
        ("get_shipping_rates", true, "never"),
        ("preview_checkout", false, "never"),
        ("complete_checkout", true, "required"),
        ("onx_get_orders", true, "never"),
        ("onx_create_return", true, "required"),
        ("search_products_enriched", false, "never"),
        ("process_agent_payment", true, "required"),
    ] {
        let Some(tool) = tools.iter().find(|tool| tool["name"] == name) else {
            assert!(planned.contains(&name), "{name} is not listed");
            continue;
        };
        assert!(!planned.contains(&name), "{name} is no longer planned");
        assert_eq!(tool["_meta"]["auth"] != "none", needs_key, "{name}");
        assert_eq!(tool["_meta"]["human_confirmation"], confirmation, "{name}");
    }
    for (name, arguments) in [
        ("search_products", vec!["query", "max_price", "in_stock_only", "limit"]),
        ("create_cart", vec!["items"]),
        ("preview_checkout", vec!["cart_id"]),
        ("complete_checkout", vec!["cart_id"]),
    ] {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        for argument in arguments {
            assert!(tool["inputSchema"]["properties"][argument].is_object(), "{name}.{argument}");
        }
    }
}

/// Section 8: requests per minute of each plan, and of the listed tools.
#[tokio::test]
async fn plans_and_tools_have_the_shown_limits() {
    let app = TestApp::with_limits().await;
    let limit = async |key: &str, body: &Value| {
        let request = crate::app::post("/kivikiri/mcp").header("x-agent-api-key", key);
        let answer = app.send(request.body(Body::from(body.to_string())).unwrap()).await;
        let number = |name: &str| answer.headers[name].to_str().unwrap().parse::<u32>().unwrap();
        assert!(number("x-ratelimit-remaining") < number("x-ratelimit-limit"));
        assert!(number("x-ratelimit-reset") > 1 << 30, "a Unix timestamp in seconds");
        number("x-ratelimit-limit")
    };
    let list = json!({ "jsonrpc": "2.0", "method": "tools/list" });
    let plans = [
        (Plan::Free, 30),
        (Plan::Starter, 30),
        (Plan::Growth, 200),
        (Plan::Pro, 1_000),
        (Plan::Enterprise, 5_000),
    ];
    for (plan, per_minute) in plans {
        let owner = app.person(&format!("{plan}@example.com").to_lowercase(), &[]).await;
        set_plan(&app, owner, plan).await;
        let wanted = NewAgentKey { scopes: [Scope::AgentRead].into(), ..NewAgentKey::default() };
        let key = app.agent_key(owner, &wanted).await.key;
        assert_eq!(limit(&key, &list).await, per_minute, "{plan}");
    }
    let key = enterprise_key(&app, "tools@example.com").await;
    for (tool, per_minute) in [
        ("search_products", 20),
        ("search_products_enriched", 15),
        ("create_cart", 20),
        ("complete_checkout", 10),
    ] {
        let call = json!({ "jsonrpc": "2.0", "method": "tools/call",
                           "params": { "name": tool, "arguments": {} } });
        assert_eq!(limit(&key, &call).await, per_minute, "{tool}");
    }
    let directory = app.get("/api/v1/stores/directory").await;
    assert_eq!(directory.headers["x-ratelimit-limit"], "30");
}
