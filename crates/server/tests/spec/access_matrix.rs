//! Every route and every tool with every kind of credential (docs/contract/authentication.md#methods). Routes and tools
//! are read from the routers; the outcomes are compared with a committed snapshot, so that each new route or tool needs a
//! reviewed row.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use database::Work;
use identity::{Actor, NewAgentKey, Role, StoreScope, Tokens};
use primitives::{Scope, UserId};
use serde_json::{Value, json};

use crate::app::{PASSWORD, SITE_URL, TestApp, TestResponse, call, secret};

/// A kind of credential, with the header that carries it.
struct Credential {
    name: String,
    header: Option<(&'static str, String)>,
}

/// A route or tool: its name in the table, and how to call it.
struct Target {
    name: String,
    method: Method,
    path: String,
    body: Value,
}

fn agent(name: &str, key: &str) -> Credential {
    Credential { name: name.to_owned(), header: Some(("x-agent-api-key", key.to_owned())) }
}

fn bearer(name: &str, text: &str) -> Credential {
    Credential { name: name.to_owned(), header: Some(("authorization", format!("Bearer {text}"))) }
}

/// Returns every non-empty set of scopes.
fn scope_sets() -> impl Iterator<Item = BTreeSet<Scope>> {
    (1_u32..1 << Scope::ALL.len()).map(|bits| {
        let scopes = Scope::ALL.iter().copied().enumerate();
        scopes.filter(|(index, _)| bits >> index & 1 == 1).map(|(_, scope)| scope).collect()
    })
}

async fn agent_credentials(app: &TestApp, owner: UserId) -> Vec<Credential> {
    let reading = || NewAgentKey { scopes: [Scope::AgentRead].into(), ..NewAgentKey::default() };
    let mut kinds = Vec::new();
    for scopes in scope_sets() {
        let names: Vec<&str> = scopes.iter().map(|scope| &scope.as_str()[6..]).collect();
        let wanted = NewAgentKey { scopes, ..NewAgentKey::default() };
        let key = app.agent_key(owner, &wanted).await.key;
        kinds.push(agent(&format!("agent key: {}", names.join(" ")), &key));
    }
    let other = vec![app.merchant("skarvdal").await];
    let other = NewAgentKey { stores: Some(other), ..reading() };
    kinds.push(agent("agent key: read, of another store", &app.agent_key(owner, &other).await.key));
    kinds.push(bearer("agent key: read, as a bearer", &app.agent_key(owner, &reading()).await.key));
    let short = NewAgentKey { expires_in_days: Some(1), ..reading() };
    let expired = app.agent_key(owner, &short).await.key;
    let revoked = app.agent_key(owner, &reading()).await;
    let mut work = Work::for_platform(app.test.database()).await.unwrap();
    identity::revoke_agent_key(&mut work, owner, revoked.key_id).await.unwrap();
    work.commit().await.unwrap();
    kinds.push(agent("agent key: malformed", "nonsense"));
    kinds.push(agent("agent key: unknown", &format!("agnt_{}", "7".repeat(64))));
    kinds.push(agent("agent key: revoked", &revoked.key));
    kinds.push(agent("agent key: expired", &expired));
    kinds
}

/// Returns a token with another header, with or without its signature.
fn forged(token: &str, header: &Value, signature: bool) -> String {
    let parts: Vec<&str> = token.split('.').collect();
    let header = BASE64_URL_SAFE_NO_PAD.encode(header.to_string());
    format!("{header}.{}.{}", parts[1], if signature { parts[2] } else { "" })
}

async fn token_of(app: &TestApp, issuer: &str, audience: &str) -> String {
    let database = app.test.database().clone();
    let tokens = Tokens::new(database.clone(), secret(), Arc::from(issuer));
    let tokens = tokens.for_audience(Arc::from(audience));
    let logins = identity::Logins::new(database, secret(), tokens, 1);
    let from = primitives::ClientAddress([192, 0, 2, 7].into());
    logins.login("non-member@example.com", PASSWORD.to_owned(), from).await.unwrap()
}

/// Returns all credentials, valid ones first: five invalid ones throttle the address.
async fn credentials(app: &TestApp) -> Vec<Credential> {
    let owner = app.person("agents@example.com", &[]).await;
    let mut work = Work::for_platform(app.test.database()).await.unwrap();
    identity::set_plan(&mut work, Actor::Operator, owner, primitives::Plan::Pro).await.unwrap();
    work.commit().await.unwrap();
    app.person("non-member@example.com", &[]).await;
    app.person("owner@example.com", &[("kivikiri", Role::Owner)]).await;
    app.person("staff@example.com", &[("kivikiri", Role::Staff)]).await;
    app.admin("admin@example.com").await;
    let expired_token = token_of(app, SITE_URL, SITE_URL).await;
    let mut agent_credentials = vec![Credential { name: String::from("none"), header: None }];
    agent_credentials.extend(self::agent_credentials(app, owner).await);
    app.test.clock().advance(Duration::from_hours(25));
    let good = token_of(app, SITE_URL, SITE_URL).await;
    let header = |algorithm: &str| json!({ "alg": algorithm, "typ": "JWT" });
    let other_site = "https://elsewhere.test";
    let mut credentials = Vec::new();
    for whose in ["admin", "owner", "staff", "non-member"] {
        let header = app.log_in(&format!("{whose}@example.com")).await;
        let text = header.trim_start_matches("Bearer ");
        credentials.push(bearer(&format!("token: {whose}"), text));
    }
    credentials.push(bearer("token: expired", &expired_token));
    credentials.push(bearer("token: alg none", &forged(&good, &header("none"), false)));
    credentials.push(bearer("token: alg HS256", &forged(&good, &header("HS256"), true)));
    credentials.push(bearer("token: wrong audience", &token_of(app, SITE_URL, other_site).await));
    credentials.push(bearer("token: wrong issuer", &token_of(app, other_site, SITE_URL).await));
    credentials.push(bearer("token: nonsense", "nonsense"));
    let own = app.store_key(app.merchant("kivikiri").await).await;
    let other = app.store_key(app.merchant("skarvdal").await).await;
    credentials.push(bearer("store key: all scopes", &own));
    for scope in StoreScope::ALL {
        let key = app.scoped_store_key("kivikiri", &[*scope]).await;
        credentials.push(bearer(&format!("store key: {scope}"), &key));
    }
    credentials.push(bearer("store key: another store's", &other));
    // Valid credentials come before invalid ones.
    credentials.extend(agent_credentials);
    credentials.push(bearer("store key: unknown", &format!("mrch_{}", "7".repeat(64))));
    credentials
}

/// Returns the path with the example of each parameter.
fn example_path(path: &str, parameters: &Value) -> String {
    let parts = parameters.as_array().unwrap().iter().filter(|it| it["in"] == "path");
    let path = parts.fold(path.to_owned(), |path, part| {
        let name = format!("{{{}}}", part["name"].as_str().unwrap());
        let example = if name == "{slug}" { "kivikiri" } else { part["example"].as_str().unwrap() };
        path.replace(&name, example)
    });
    format!("/api/v1{path}")
}

fn routes() -> Vec<Target> {
    let document = rest::openapi(SITE_URL);
    let mut targets = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if path == "/{slug}/mcp" {
                continue;
            }
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let name = format!("{method} {path}");
            let path = example_path(path, &operation["parameters"]);
            targets.push(Target { name, method, path, body: Value::Null });
        }
    }
    targets
}

async fn tools(app: &TestApp) -> Vec<Target> {
    let path = String::from("/kivikiri/mcp");
    let method = |name: &str| json!({ "jsonrpc": "2.0", "id": 1, "method": name, "params": {} });
    let listed = app.rpc(&path, &method("tools/list")).await.json();
    let names = listed["result"]["tools"].as_array().unwrap().iter();
    let calls = names.map(|tool| {
        let name = tool["name"].as_str().unwrap();
        (format!("tool {name}"), call(name, json!({})))
    });
    let methods = ["initialize", "ping", "tools/list", "resources/list", "prompts/list"];
    let methods = methods.map(|name| (format!("mcp {name}"), method(name)));
    let targets = methods.into_iter().chain(calls);
    let target = |(name, body)| Target { name, method: Method::POST, path: path.clone(), body };
    targets.map(target).collect()
}

/// Sends the request with the credential. A server that is overloaded has decided nothing: the request is sent again.
async fn answer_to(app: &TestApp, target: &Target, credential: &Credential) -> TestResponse {
    let mut attempts_left = 5;
    loop {
        let mut request = Request::builder()
            .method(target.method.clone())
            .uri(&target.path)
            .header("host", "souk.test")
            .header("content-type", "application/json");
        if let Some((name, value)) = &credential.header {
            request = request.header(*name, value);
        }
        let body = if target.body.is_null() { String::new() } else { target.body.to_string() };
        let answer = app.send(request.body(Body::from(body)).unwrap()).await;
        attempts_left -= 1;
        if answer.status != StatusCode::SERVICE_UNAVAILABLE || attempts_left == 0 {
            return answer;
        }
    }
}

/// Returns one letter for the outcome; `.` if the credential is accepted.
async fn outcome(app: &TestApp, target: &Target, credential: &Credential) -> char {
    let answer = answer_to(app, target, credential).await;
    let description = || format!("{} with {}: {}", target.name, credential.name, answer.text);
    match answer.status.as_u16() {
        401 => {
            let (letter, challenge) = match answer.code().as_str() {
                "unauthorized" => ('U', "Bearer"),
                "token_expired" => ('E', "Bearer error=\"invalid_token\""),
                _ => panic!("{}", description()),
            };
            let sent = answer.headers["www-authenticate"].to_str().unwrap();
            assert!(sent.starts_with(challenge), "{sent}: {}", description());
            letter
        }
        403 => {
            assert_eq!(answer.code(), "forbidden", "{}", description());
            'F'
        }
        // Earlier rows of the table have opened as many imports as a store may have.
        429 if answer.text.contains("open_feed_runs") => '.',
        429 | 500.. => panic!("{}", description()),
        _ => '.',
    }
}

/// Asserts that an MCP client gets the same outcome as a plain HTTP caller: a refused tool call is its result, and only a
/// bearer token that is no agent key is refused with an HTTP status.
async fn check_mcp_client(
    app: &TestApp,
    target: &Target,
    credential: &Credential,
    plain: char,
) -> Result<(), String> {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(&target.path)
        .header("host", "souk.test")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-11-25");
    if let Some((name, value)) = &credential.header {
        request = request.header(*name, value);
    }
    let answer = app.send(request.body(Body::from(target.body.to_string())).unwrap()).await;
    let is_token = credential.header.as_ref().is_some_and(|(name, value)| {
        *name == "authorization" && !value.starts_with("Bearer agnt_")
    });
    let is_call = target.body["method"] == "tools/call";
    let (status, code) = (answer.status.as_u16(), answer.code());
    let is_expected = match plain {
        'U' | 'E' if is_token => status == 401 && answer.headers.contains_key("www-authenticate"),
        'U' if is_call => status == 200 && code == "unauthorized",
        'F' if is_call => status == 200 && code == "forbidden",
        _ => status == 200 && !["unauthorized", "forbidden"].contains(&code.as_str()),
    };
    let (name, whose) = (&target.name, &credential.name);
    if is_expected { Ok(()) } else { Err(format!("{name} with {whose}: {status} {}", answer.text)) }
}

/// Appends a row for each target: what it answers to each credential.
async fn add_rows(
    table: &mut String,
    app: &TestApp,
    credentials: &[Credential],
    targets: &[Target],
) {
    for target in targets {
        let mut row = String::new();
        for credential in credentials {
            let plain = outcome(app, target, credential).await;
            if target.body["jsonrpc"] == "2.0" {
                check_mcp_client(app, target, credential, plain).await.unwrap();
            }
            row.push(plain);
        }
        let _ = writeln!(table, "{:<72}{row}", target.name);
    }
}

#[tokio::test]
async fn every_route_and_tool_enforces_the_access_matrix() {
    let app = TestApp::with_index().await;
    let all = credentials(&app).await;
    let mut table = String::from(
        "'.' accepted   'U' 401 unauthorized   'E' 401 token_expired   'F' 403 forbidden\n\n",
    );
    for (number, credential) in all.iter().enumerate() {
        let _ = writeln!(table, "{:>2}  {}", number + 1, credential.name);
    }
    let digits = |of: fn(usize) -> usize| -> String {
        (1..=all.len()).map(|number| of(number).to_string()).collect()
    };
    let (tens, ones) = (digits(|number| number / 10), digits(|number| number % 10));
    let _ = writeln!(table, "\n{:<72}{tens}\n{:<72}{ones}", "", "");
    add_rows(&mut table, &app, &all, &routes()).await;
    // A new application: nothing updates the search index, which refuses searches after a minute.
    let app = TestApp::with_index().await;
    let all = credentials(&app).await;
    let tools = tools(&app).await;
    add_rows(&mut table, &app, &all, &tools).await;
    insta::assert_snapshot!("access_by_credential", table);
}
