//! `secret-leaks`: no key, password or token appears in the log at its most verbose level, in metrics,
//! in errors, or in any row of the database.

use std::path::PathBuf;

use serde_json::json;
use sqlx::{Connection, PgConnection};
use testkit::TestDatabase;

use super::accounts::{Account, agent_key};
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, command, store_key};

/// The secret of the server, from which credential hashes are derived.
const SECRET: &str = "a-secret-of-this-proof-that-must-never-appear-anywhere";

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
    let Delivery::Answered { body: metrics, .. } = Client::new(souk.port).get("/metrics").await
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
    let bytes: usize = outputs.iter().map(|(_, text)| text.len()).sum();
    Ok(format!(
        "none of {} secrets found in {} bytes of log, metrics, errors and rows",
        secrets.len(),
        grouped(bytes)
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
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "search_products", "arguments": { "query": "bowl" } } })
    .to_string();
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
