//! `secret-leaks`: no key, password or token appears in the log at its most verbose level, in metrics,
//! in errors, or in any row of the database; no id of a cart, checkout or confirmation in the log or in
//! metrics.

use std::path::PathBuf;

use serde_json::json;
use sqlx::{Connection, PgConnection};
use testkit::TestDatabase;

use super::accounts::{Account, agent_key, agent_key_for};
use crate::hardening::product_of;
use crate::http::{Client, Delivery, tool_call};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, command, store_key};

/// The secret of the server, from which credential hashes are derived.
const SECRET: &str = "a-secret-of-this-proof-that-must-never-appear-anywhere";

/// The store of the purchase.
const STORE: &str = "kivikiri";

/// A temporary directory, removed when dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) async fn prove(_: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    command(&test.url(), &["seed"])?;
    let scratch =
        Scratch(std::env::temp_dir().join(format!("souk-secrets-{}", std::process::id())));
    std::fs::create_dir_all(&scratch.0)?;
    let log = scratch.0.join("log");
    let settings = [
        ("SOUK_SECRET", SECRET.to_owned()),
        ("SOUK_LOG", String::from("trace,hyper=info,h2=info,mio=info,tokio=info,runtime=info")),
    ];
    let souk = Souk::serve_logging(&test.url(), &settings, &log).await?;
    let account = Account::create(&test.url(), "ada@example.com", "GROWTH").await?;
    let mut errors = String::new();
    let secrets = use_all_credentials(&test, &souk, &account, &mut errors).await?;
    let capabilities = use_capabilities(&souk, &account).await?;
    let Delivery::Answered { body: metrics, .. } =
        Client::for_operators(souk.port).get("/metrics").await
    else {
        return Err("GET /metrics failed".into());
    };
    drop(souk);
    let log = std::fs::read_to_string(&log)?;
    ensure(log.len() > 10_000, || format!("the log has only {} bytes", log.len()))?;
    let rows = rows(&test.url()).await?;
    let outputs = [("log", &log), ("metrics", &metrics), ("errors", &errors), ("database", &rows)];
    for (output, text) in outputs {
        for (name, secret) in &secrets {
            ensure(!text.contains(secret.as_str()), || format!("the {name} is in the {output}"))?;
        }
    }
    // Whoever knows these ids can use them. They are stored, and returned to whoever owns them, but never logged.
    for (output, text) in [("log", &log), ("metrics", &metrics)] {
        for (name, id) in &capabilities {
            ensure(!text.contains(id.as_str()), || format!("the {name} is in the {output}"))?;
        }
    }
    let bytes: usize = outputs.iter().map(|(_, text)| text.len()).sum();
    Ok(format!(
        "none of {} secrets found in {} bytes of log, metrics, errors and rows; none of {} ids of carts, checkouts and \
         confirmations in logs or metrics",
        secrets.len(),
        grouped(bytes),
        capabilities.len(),
    ))
}

/// Makes every call that takes or returns a credential, valid and invalid. Returns the secrets used.
async fn use_all_credentials(
    test: &TestDatabase,
    souk: &Souk,
    account: &Account,
    errors: &mut String,
) -> Result<Vec<(&'static str, String)>, Failure> {
    let port = souk.port;
    let token = account.log_in(port).await?;
    let (id, key) = agent_key(port, &token).await?;
    let store = store_key(&test.url(), "kivikiri").await?;
    let wrong = (
        format!("agnt_{:064x}", 7),
        format!("mrch_{:064x}", 7),
        String::from("not the password at all"),
    );
    let forged = format!("{token}x");
    let login =
        |password: &str| json!({ "email": account.email, "password": password }).to_string();
    let call = tool_call("search_products", &json!({ "query": "bowl" })).to_string();
    let requests: [(Client, &str, &str, String); 10] = [
        (
            Client::new(port).with_agent_key(&key),
            "GET",
            "/api/v1/agent/merchants/kivikiri",
            String::new(),
        ),
        (
            Client::new(port).with_agent_key(&wrong.0),
            "GET",
            "/api/v1/agent/merchants/kivikiri",
            String::new(),
        ),
        (Client::new(port).with_agent_key(&key), "POST", "/kivikiri/mcp", call.clone()),
        (Client::new(port).with_agent_key(&wrong.0), "POST", "/kivikiri/mcp", call.clone()),
        (Client::new(port).with_key(&token), "POST", "/kivikiri/mcp", call),
        (Client::new(port).with_key(&store), "GET", "/api/v1/merchant/settings", String::new()),
        (Client::new(port).with_key(&wrong.1), "GET", "/api/v1/merchant/settings", String::new()),
        (Client::new(port).with_key(&forged), "GET", "/api/v1/agent-keys", String::new()),
        (Client::new(port), "POST", "/api/v1/auth/login", login(&wrong.2)),
        (Client::new(port).with_key(&token), "GET", "/api/v1/agent-keys", String::new()),
    ];
    for (mut client, method, path, body) in requests {
        if let Delivery::Answered { body, .. } = client.send(method, path, body.as_bytes()).await {
            errors.push_str(&body);
        }
    }
    let path = format!("/api/v1/agent-keys/{id}/rotate");
    let delivery = Client::new(port).with_key(&token).send("POST", &path, b"").await;
    let Delivery::Answered { status: 201, body } = delivery else {
        return Err(format!("rotating a key failed: {delivery:?}").into());
    };
    let rotated: serde_json::Value = serde_json::from_str(&body)?;
    let rotated =
        rotated["data"]["api_key"].as_str().ok_or("the response has no new key")?.to_owned();
    Ok(vec![
        ("server's secret", SECRET.to_owned()),
        ("password", account.password.clone()),
        ("wrong password", wrong.2),
        ("token", token),
        ("agent key", key),
        ("new agent key", rotated),
        ("store key", store),
        ("wrong agent key", wrong.0),
        ("wrong store key", wrong.1),
    ])
}

/// Prepares a purchase and looks at its pages. Returns the ids with which others could act.
async fn use_capabilities(
    souk: &Souk,
    account: &Account,
) -> Result<Vec<(&'static str, String)>, Failure> {
    let token = account.log_in(souk.port).await?;
    let scopes = ["agent:read", "agent:cart", "agent:checkout"];
    let (_, key) = agent_key_for(souk.port, &token, &scopes).await?;
    let mut client = Client::new(souk.port).with_agent_key(&key);
    let items = json!([{ "product_id": product_of(STORE)?, "quantity": 1 }]);
    let cart = tool(&mut client, "create_cart", &json!({ "items": items }), "cart_id").await?;
    let of_cart = json!({ "cart_id": cart });
    let confirmation =
        tool(&mut client, "request_human_confirmation", &of_cart, "confirmation_id").await?;
    let checkout = tool(&mut client, "complete_checkout", &of_cart, "checkout_id").await?;
    let paths = [
        format!("/{STORE}/confirm/{confirmation}"),
        format!("/{STORE}/checkout/{checkout}"),
        format!("/api/v1/agent/cart/{cart}"),
        format!("/api/v1/agent/checkout/{checkout}"),
    ];
    for path in paths {
        let delivery = client.get(&path).await;
        ensure(matches!(delivery, Delivery::Answered { status: 200, .. }), || {
            format!("GET {path}: {delivery:?}")
        })?;
    }
    Ok(vec![("cart id", cart), ("checkout id", checkout), ("confirmation id", confirmation)])
}

/// Calls a tool and returns a field of its result.
async fn tool(
    client: &mut Client,
    name: &str,
    arguments: &serde_json::Value,
    field: &str,
) -> Result<String, Failure> {
    let body = tool_call(name, arguments);
    let delivery = client.post(&format!("/{STORE}/mcp"), &body.to_string()).await;
    let Delivery::Answered { status: 200, body } = delivery else {
        return Err(format!("{name}: {delivery:?}").into());
    };
    let response: serde_json::Value = serde_json::from_str(&body)?;
    let value = response["result"]["structuredContent"][field].as_str();
    value.map(str::to_owned).ok_or_else(|| format!("{name} returned no {field}: {body}").into())
}

/// Returns every row of every table as text.
async fn rows(url: &str) -> Result<String, Failure> {
    let mut sql = PgConnection::connect(url).await?;
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
         WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
    )
    .fetch_all(&mut sql)
    .await?;
    let mut text = String::new();
    for table in tables {
        let query =
            format!("SELECT coalesce(string_agg(rows::text, E'\\n'), '') FROM {table} AS rows");
        let of_table: String =
            sqlx::query_scalar(sqlx::AssertSqlSafe(query)).fetch_one(&mut sql).await?;
        text.push_str(&of_table);
    }
    Ok(text)
}
