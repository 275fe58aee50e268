//! Rate limits (docs/contract/limits.md#two-buckets), and the headers that report them
//! (docs/contract/limits.md#headers).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::http::Method;
use database::Work;
use identity::{Actor, NewAgentKey};
use primitives::{Plan, Scope};
use serde_json::{Value, json};

use crate::app::{TestApp, TestResponse, call, post};

/// Returns limit, remaining and reset from the headers.
fn quota(answer: &TestResponse) -> (u64, u64, u64) {
    let number = |name: &str| answer.headers[name].to_str().unwrap().parse().unwrap();
    (number("x-ratelimit-limit"), number("x-ratelimit-remaining"), number("x-ratelimit-reset"))
}

#[expect(clippy::disallowed_methods, reason = "Redis has a clock of its own")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Waits for the next window if the current one ends too soon for a test.
pub(crate) async fn wait_for_window(answer: &TestResponse) {
    let left = quota(answer).2.saturating_sub(now());
    if left < 10 {
        tokio::time::sleep(Duration::from_secs(left + 1)).await;
    }
}

async fn categories(app: &TestApp, slug: &str) -> TestResponse {
    app.tool(slug, "browse_categories", json!({})).await
}

/// Calls until one is refused; returns the number of accepted calls and the refusal.
async fn until_refused(
    calls: u32,
    call: impl AsyncFn() -> TestResponse,
) -> (u32, Option<TestResponse>) {
    for made in 0..calls {
        let answer = call().await;
        if answer.code() != "none" {
            return (made, Some(answer));
        }
    }
    (calls, None)
}

#[tokio::test]
async fn anonymous_callers_have_one_free_quota_across_stores() {
    let app = TestApp::with_limits().await;
    wait_for_window(&categories(&app, "demo-store").await).await;
    let first = categories(&app, "kivikiri").await;
    let (limit, remaining, reset) = quota(&first);
    assert_eq!((limit, remaining), (30, 29), "the tighter bucket is reported");
    for made in 1..30 {
        let slug = if made % 2 == 0 { "kivikiri" } else { "skarvdal" };
        let answer = categories(&app, slug).await;
        assert_eq!(quota(&answer), (30, 29 - made, reset));
    }
    let refused = categories(&app, "kivikiri").await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (200, "rate_limit_exceeded"));
    assert_eq!(quota(&refused), (30, 0, reset));
    let wait: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait));
    let text = refused.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    let details = &serde_json::from_str::<Value>(&text).unwrap()["details"];
    assert_eq!((&details["bucket"], &details["retryable"]), (&json!("tier"), &json!(true)));
    assert!(
        categories(&app, "demo-store").await.status.is_success(),
        "the demo store has its own quota"
    );
}

#[tokio::test]
async fn the_demo_store_allows_twenty_calls_a_minute_and_a_key_has_its_plans_quota() {
    let app = TestApp::with_limits().await;
    wait_for_window(&categories(&app, "demo-store").await).await;
    let (accepted, refused) =
        until_refused(40, async || categories(&app, "demo-store").await).await;
    assert!((19..=20).contains(&accepted), "{accepted}");
    assert_eq!(quota(&refused.unwrap()).0, 20);
    let key = app.reader_key().await;
    let body = call("get_trust_score", json!({})).to_string();
    let request = post("/demo-store/mcp").header("x-agent-api-key", &key);
    let answer = app.send(request.body(Body::from(body)).unwrap()).await;
    assert_eq!((answer.status.as_u16(), quota(&answer).0), (200, 30));
}

#[tokio::test]
async fn sandbox_keys_of_an_address_share_one_quota_at_both_doors() {
    let app = TestApp::with_limits().await;
    let keys = [app.sandbox_key().await, app.sandbox_key().await];
    let by_tool = async |key: &str| {
        let body = call("browse_categories", json!({})).to_string();
        let request = post("/demo-store/mcp").header("x-agent-api-key", key);
        app.send(request.body(Body::from(body)).unwrap()).await
    };
    let by_rest = async |key: &str| {
        let auth = [("x-agent-api-key", key)];
        app.request(Method::GET, "/agent/merchants/demo-store", &auth, &Value::Null).await
    };
    wait_for_window(&by_tool(&keys[0]).await).await;
    let start = quota(&by_tool(&keys[0]).await);
    assert_eq!(start.0, 30);
    assert_eq!(quota(&by_tool(&keys[1]).await).1, start.1 - 1, "another key of the address");
    assert_eq!(quota(&by_rest(&keys[0]).await).1, start.1 - 2, "over REST");
    assert_eq!(quota(&by_rest(&keys[1]).await).1, start.1 - 3, "another key over REST");
    let (accepted, _) = until_refused(40, async || by_tool(&keys[0]).await).await;
    assert_eq!(u64::from(accepted), start.1 - 3);
    for refused in [by_tool(&keys[1]).await, by_rest(&keys[1]).await] {
        assert_eq!(refused.code(), "rate_limit_exceeded");
    }
    let key = app.reader_key().await;
    assert_eq!(quota(&by_tool(&key).await), (30, 29, quota(&by_tool(&key).await).2));
}

#[tokio::test]
async fn a_tool_has_its_own_quota_and_a_throttled_call_consumes_nothing() {
    let app = TestApp::with_limits().await;
    let owner = app.person("ada@example.com", &[]).await;
    let mut work = Work::for_platform(app.test.database()).await.unwrap();
    identity::set_plan(&mut work, Actor::Operator, owner, Plan::Growth).await.unwrap();
    work.commit().await.unwrap();
    let wanted = NewAgentKey { scopes: [Scope::AgentRead].into(), ..NewAgentKey::default() };
    let key = app.agent_key(owner, &wanted).await.key;
    let send = async |tool: &str, arguments: Value, is_mcp: bool| {
        let mut request = post("/kivikiri/mcp").header("x-agent-api-key", &key);
        if is_mcp {
            request = request.header("mcp-protocol-version", "2025-11-25");
        }
        app.send(request.body(Body::from(call(tool, arguments).to_string())).unwrap()).await
    };
    wait_for_window(&send("get_trust_score", json!({}), true).await).await;
    let search = async |is_mcp| send("search_products", json!({ "query": "bowl" }), is_mcp).await;
    let before = quota(&send("get_trust_score", json!({}), true).await);
    let (accepted, refused) = until_refused(40, async || search(true).await).await;
    let refused = refused.unwrap();
    assert_eq!((accepted, refused.status.as_u16()), (20, 200), "a tool error");
    assert_eq!(refused.code(), "tool_limit_exceeded");
    assert_eq!(quota(&refused), (20, 0, before.2));
    assert!(refused.headers.contains_key("retry-after"));
    let plain = search(false).await;
    assert_eq!((plain.status.as_u16(), plain.code().as_str()), (429, "tool_limit_exceeded"));
    let newer = post("/kivikiri/mcp")
        .header("x-agent-api-key", &key)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "search_products");
    let mut body = call("search_products", json!({ "query": "bowl" }));
    body["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let newer = app.send(newer.body(Body::from(body.to_string())).unwrap()).await;
    assert_eq!((newer.status.as_u16(), newer.code().as_str()), (200, "tool_limit_exceeded"));
    // Two trust calls and twenty searches count against the quota of 200; refused calls do not.
    let tools = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let listed = post("/kivikiri/mcp").header("x-agent-api-key", &key);
    let listed = app.send(listed.body(Body::from(tools.to_string())).unwrap()).await;
    let (limit, remaining, _) = quota(&listed);
    assert!(limit == 200 && (177..=178).contains(&remaining), "{remaining}");
}

#[tokio::test]
async fn public_routes_allow_thirty_calls_a_minute_and_probes_are_not_counted() {
    let app = TestApp::with_limits().await;
    let directory = async || app.get("/api/v1/stores/directory").await;
    wait_for_window(&directory().await).await;
    let (accepted, refused) = until_refused(60, directory).await;
    let refused = refused.unwrap();
    assert!((29..=30).contains(&accepted), "{accepted}");
    assert_eq!((refused.status.as_u16(), quota(&refused).0), (429, 30));
    assert!(refused.headers.contains_key("retry-after"));
    for path in ["/health", "/api/v1/health/ready", "/api/v1/openapi.json"] {
        let answer = app.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(!answer.headers.contains_key("x-ratelimit-limit"), "{path}");
    }
    let key = app.reader_key().await;
    let auth = [("x-agent-api-key", key.as_str())];
    let known = app.request(Method::GET, "/stores/directory", &auth, &Value::Null).await;
    assert_eq!(known.status, 200, "a key has its own quota");
}

#[tokio::test]
async fn a_valid_credential_of_the_wrong_kind_counts_to_the_address() {
    let app = TestApp::with_limits().await;
    let key = format!("Bearer {}", app.store_key(app.merchant("kivikiri").await).await);
    let auth = [("authorization", key.as_str())];
    let wrong =
        async || app.request(Method::GET, "/agent/merchants/kivikiri", &auth, &Value::Null).await;
    let first = wrong().await;
    assert_eq!((first.status.as_u16(), first.code().as_str()), (403, "forbidden"));
    wait_for_window(&first).await;
    let start = quota(&wrong().await);
    assert_eq!((start.0, quota(&wrong().await).1), (30, start.1 - 1));
    let directory = app.request(Method::GET, "/stores/directory", &[], &Value::Null).await;
    assert_eq!(quota(&directory).1, start.1 - 2, "calls of the address without a credential");
}

#[tokio::test]
async fn a_key_raises_neither_tool_quotas_nor_the_login_quota() {
    let app = TestApp::with_limits().await;
    let owner = app.person("ada@example.com", &[]).await;
    let mut work = Work::for_platform(app.test.database()).await.unwrap();
    identity::set_plan(&mut work, Actor::Operator, owner, Plan::Pro).await.unwrap();
    work.commit().await.unwrap();
    let wanted = NewAgentKey { scopes: [Scope::AgentRead].into(), ..NewAgentKey::default() };
    let key = app.agent_key(owner, &wanted).await.key;
    let auth = [("x-agent-api-key", key.as_str())];
    wait_for_window(&app.request(Method::GET, "/stores/directory", &auth, &Value::Null).await)
        .await;
    let search = async |path: &str| {
        let body = json!({ "query": "bowl", "merchants": ["kivikiri"] });
        app.request(Method::POST, path, &auth, &body).await
    };
    for _ in 0..10 {
        assert_eq!(search("/search").await.status, 200);
        assert_eq!(search("/agent/search").await.status, 200);
    }
    for path in ["/search", "/agent/search"] {
        let refused = search(path).await;
        assert_eq!(
            (refused.status.as_u16(), refused.code().as_str()),
            (429, "tool_limit_exceeded")
        );
    }
    let login = app.request(Method::POST, "/auth/login", &auth, &json!({})).await;
    assert_eq!(quota(&login).0, 20);
    let anonymous = app.request(Method::POST, "/auth/login", &[], &json!({})).await;
    assert_eq!(quota(&anonymous).1, 18, "both calls count against the quota of the address");
}

#[tokio::test]
async fn a_search_without_a_key_takes_the_quota_of_the_tool_too() {
    let app = TestApp::with_limits().await;
    wait_for_window(&app.request(Method::GET, "/stores/directory", &[], &Value::Null).await).await;
    let search = async || {
        let body = json!({ "query": "bowl", "merchants": ["kivikiri"] });
        app.request(Method::POST, "/search", &[], &body).await
    };
    for _ in 0..20 {
        assert_eq!(search().await.status, 200);
    }
    let refused = search().await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (429, "tool_limit_exceeded"));
    let other = app.request(Method::GET, "/stores/directory", &[], &Value::Null).await;
    assert_eq!(other.status, 200, "the quota of the address is larger");
}

#[tokio::test]
async fn changes_of_returns_and_disputes_take_the_quota_of_the_tool_that_creates_them() {
    let app = TestApp::with_limits().await;
    let owner = app.person("ada@example.com", &[]).await;
    let wanted = NewAgentKey { scopes: [Scope::AgentOrders].into(), ..NewAgentKey::default() };
    let key = app.agent_key(owner, &wanted).await.key;
    let auth = [("x-agent-api-key", key.as_str())];
    let digits = "0".repeat(32);
    let send = async |method: Method, part: &str, body: Value| {
        let path = format!("/agent/orders/ord_{digits}/{part}");
        app.request(method, &path, &auth, &body).await
    };
    let change = async || {
        let part = format!("returns/ret_{digits}");
        send(Method::PATCH, &part, json!({ "action": "cancel" })).await
    };
    let dispute = async |act: &str| {
        let is_statement = act == "statements";
        let body = if is_statement { json!({ "statement": "Lost." }) } else { Value::Null };
        send(Method::POST, &format!("disputes/dsp_{digits}/{act}"), body).await
    };
    let orders = app.request(Method::GET, "/agent/orders", &auth, &Value::Null).await;
    wait_for_window(&orders).await;
    for _ in 0..10 {
        assert_ne!(change().await.code(), "tool_limit_exceeded");
    }
    assert_eq!(change().await.code(), "tool_limit_exceeded");
    for act in ["statements", "accept", "withdraw"].into_iter().cycle().take(10) {
        assert_ne!(dispute(act).await.code(), "tool_limit_exceeded", "{act}");
    }
    for act in ["statements", "accept", "withdraw"] {
        let refused = dispute(act).await;
        assert_eq!((refused.status.as_u16(), quota(&refused).0), (429, 10), "{act}");
        assert_eq!(refused.code(), "tool_limit_exceeded", "{act}");
    }
}

#[tokio::test]
async fn calls_without_the_scope_are_counted() {
    let app = TestApp::with_limits().await;
    let owner = app.person("ada@example.com", &[]).await;
    let wanted = NewAgentKey { scopes: [Scope::AgentCart].into(), ..NewAgentKey::default() };
    let key = app.agent_key(owner, &wanted).await.key;
    let auth = [("x-agent-api-key", key.as_str())];
    let ask =
        async || app.request(Method::GET, "/agent/merchants/kivikiri", &auth, &Value::Null).await;
    let first = ask().await;
    assert_eq!((first.status.as_u16(), first.code().as_str()), (403, "forbidden"));
    assert_eq!(first.json()["details"]["required_scope"], "agent:read");
    let challenge = first.headers["www-authenticate"].to_str().unwrap();
    assert_eq!(challenge, "Bearer error=\"insufficient_scope\", scope=\"agent:read\"");
    assert_eq!(quota(&first).0, 30);
    assert_eq!(quota(&ask().await).1, quota(&first).1 - 1);
}

#[tokio::test]
async fn handshakes_are_not_counted() {
    let app = TestApp::with_limits().await;
    let client = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
                         "clientInfo": { "name": "test", "version": "1" } });
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client });
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    for _ in 0..25 {
        for (message, status) in [(&initialize, 200), (&initialized, 202), (&ping, 200)] {
            let answer = app.rpc("/demo-store/mcp", message).await;
            assert_eq!(answer.status, status, "{}", answer.text);
            assert!(!answer.headers.contains_key("x-ratelimit-limit"));
        }
    }
    assert!(categories(&app, "demo-store").await.status.is_success());
}

#[tokio::test]
async fn calls_for_unknown_stores_are_counted() {
    let app = TestApp::with_limits().await;
    let unknown_store = async || {
        let body = call("browse_categories", json!({}));
        let answer = app.post_json("/nobody-here/mcp", &body).await;
        assert!(answer.headers.contains_key("x-ratelimit-remaining"), "{}", answer.text);
        answer
    };
    wait_for_window(&unknown_store().await).await;
    for _ in 0..40 {
        let answer = unknown_store().await;
        if answer.status == 429 {
            return;
        }
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (404, "store_not_found"));
    }
    panic!("none of forty calls was refused");
}

#[tokio::test]
async fn invalid_keys_are_throttled_and_valid_keys_are_not() {
    let app = TestApp::start().await;
    let key = app.reader_key().await;
    let with = async |key: &str| {
        let auth = [("x-agent-api-key", key)];
        app.request(Method::GET, "/stores/directory", &auth, &Value::Null).await
    };
    let wrong = |number: u32| format!("agnt_{number:064x}");
    assert_eq!(with(&key).await.status, 200);
    for number in 0..5 {
        for _ in 0..3 {
            let answer = with(&wrong(number)).await;
            assert_eq!((answer.status.as_u16(), answer.code().as_str()), (401, "unauthorized"));
        }
    }
    let throttled = with(&wrong(5)).await;
    assert_eq!(
        (throttled.status.as_u16(), throttled.code().as_str()),
        (429, "rate_limit_exceeded")
    );
    assert!(throttled.headers.contains_key("retry-after"));
    assert!(throttled.headers.contains_key("x-ratelimit-reset"));
    assert_eq!(with(&wrong(1)).await.status, 401, "a key that is cached as invalid");
    assert_eq!(with(&key).await.status, 200, "a key that was recently valid");
}
