//! A server with the demo stores, which the checks of a run share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use database::Database;
use serde_json::{Value, json};
use testkit::{ShownRequest, Template, TestDatabase};
use tokio::sync::OnceCell;

use crate::http::tool_call;
use crate::identity::{Account, agent_key_for};
use crate::limits::Redis;
use crate::report::{Failure, Trial};
use crate::souk::Souk;

/// All scopes of agent keys.
pub(crate) const ALL_SCOPES: [&str; 4] =
    ["agent:read", "agent:cart", "agent:checkout", "agent:orders"];

/// The newest protocol version, whose requests name it in their body.
pub(crate) const NEWEST: &str = "2026-07-28";

/// A database with the demo stores, and servers that accept test payments at every store, without rate limits. Each check
/// adds stores and accounts of its own.
pub(crate) struct Deployment {
    pub(crate) souk: Souk,
    other: OnceCell<Souk>,
    limited: OnceCell<(Souk, Redis)>,
    worker: OnceCell<Souk>,
    /// The token of an account on the largest plan.
    buyer: OnceCell<String>,
    numbers: AtomicU32,
    // Last, because it can be dropped only once the servers have ended.
    pub(crate) test: TestDatabase,
}

impl Deployment {
    /// Returns the deployment of this run.
    pub(crate) async fn of(trial: &Trial) -> Result<Arc<Self>, Failure> {
        trial.shared(Self::start).await
    }

    async fn start() -> Result<Self, Failure> {
        let test = demo_database().await;
        let souk = Souk::serve(&test.url(), &[]).await?;
        Ok(Self {
            souk,
            other: OnceCell::new(),
            limited: OnceCell::new(),
            worker: OnceCell::new(),
            buyer: OnceCell::new(),
            numbers: AtomicU32::new(1),
            test,
        })
    }

    pub(crate) fn url(&self) -> String {
        self.test.url()
    }

    /// Returns a number that no other check has.
    pub(crate) fn number(&self) -> u32 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns an e-mail address that no other check has.
    pub(crate) fn email(&self, name: &str) -> String {
        format!("{name}-{}@example.com", self.number())
    }

    /// Returns the port of a second server with the same public address, so that both accept the same tokens.
    pub(crate) async fn other_port(&self) -> Result<u16, Failure> {
        let start = async || {
            let site_url = format!("http://127.0.0.1:{}", self.souk.port);
            Souk::serve_with(&self.url(), &[], &[("SOUK_SITE_URL", site_url)]).await
        };
        Ok(self.other.get_or_try_init(start).await?.port)
    }

    /// Returns the port of a server with rate limits.
    pub(crate) async fn limited_port(&self) -> Result<u16, Failure> {
        let start = async || {
            let redis = Redis::start().await?;
            let settings = [("SOUK_LIMITS", String::from("on")), ("REDIS_URL", redis.url())];
            let souk = Souk::serve_with(&self.url(), &[], &settings).await?;
            Ok::<_, Failure>((souk, redis))
        };
        Ok(self.limited.get_or_try_init(start).await?.0.port)
    }

    /// Starts a worker that the checks share, unless it runs. A check that ends its own would leave the jobs of others to their
    /// leases.
    pub(crate) async fn start_worker(&self) -> Result<(), Failure> {
        self.worker.get_or_try_init(async || Souk::work(&self.url(), 30)).await.map(|_| ())
    }

    /// Creates a key with these scopes, of an account on the largest plan.
    pub(crate) async fn buyer_key(&self, scopes: &[&str]) -> Result<String, Failure> {
        let create = async || {
            let account = Account::create(&self.url(), "buyer@example.com", "ENTERPRISE").await?;
            account.log_in(self.souk.port).await
        };
        let token = self.buyer.get_or_try_init(create).await?;
        Ok(agent_key_for(self.souk.port, token, scopes).await?.1)
    }

    /// Creates an account on a plan and a key of it with these scopes.
    pub(crate) async fn key_on(&self, plan: &str, scopes: &[&str]) -> Result<String, Failure> {
        let token = self.account(plan).await?.log_in(self.souk.port).await?;
        Ok(agent_key_for(self.souk.port, &token, scopes).await?.1)
    }

    /// Creates an account on a plan.
    pub(crate) async fn account(&self, plan: &str) -> Result<Account, Failure> {
        Account::create(&self.url(), &self.email("person"), plan).await
    }
}

/// Creates a database with the demo stores.
pub(crate) async fn demo_database() -> TestDatabase {
    let world = demo::world();
    // The template of the tests of the whole application.
    let template = Template { name: "world", fingerprint: demo::fingerprint() };
    let fill = async |database: Database| {
        let seeded = demo::seed(&database, &world, |_| {}).await;
        assert!(seeded.is_ok(), "the demo stores cannot be created: {:?}", seeded.err());
    };
    let test = TestDatabase::copy_of(&template, "cell-1", fill).await;
    // Processes have the clock of the system, by which the catalogs of the copy would be out of date.
    let recent = "UPDATE store SET last_sync_at = last_sync_at + (now() - to_timestamp($1))";
    let seeded_at = f64::from(u32::try_from(testkit::START / 1_000_000).unwrap_or_default());
    let moved = sqlx::query(recent).bind(seeded_at).execute(&mut test.raw().await).await;
    assert!(moved.is_ok(), "the demo stores cannot be synchronized: {:?}", moved.err());
    test
}

/// A product without variants and in stock, of a demo store.
pub(crate) fn product_of(slug: &str) -> Result<String, Failure> {
    use primitives::{Id, ProductId};
    let world = demo::world();
    let store = world.store(slug).ok_or("no such demo store")?;
    let is_in_stock = |product: &&demo::Product| {
        product.variants.is_empty()
            && product.stock_status == "in_stock"
            && product.stock_quantity.is_some_and(|quantity| quantity >= 9)
            && product.currency == store.currency
    };
    let product = store.products.iter().find(is_in_stock).ok_or("no product is in stock")?;
    Ok(ProductId::from_uuid(product.id).to_string())
}

/// Returns a request to the MCP endpoint of a store, as a plain HTTP client sends it: exactly this body.
pub(crate) fn plain_post(slug: &str, headers: &[(&str, &str)], body: &Value) -> ShownRequest {
    let mut all = vec![(String::from("Content-Type"), String::from("application/json"))];
    all.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    ShownRequest {
        method: String::from("POST"),
        path: format!("/{slug}/mcp"),
        headers: all,
        body: body.to_string(),
    }
}

/// Returns a call of a tool as an MCP client of a protocol version sends it. The client declares its capabilities in the call;
/// `null`: it declares none.
pub(crate) fn mcp_post(
    slug: &str,
    version: &str,
    key: Option<&str>,
    mut call: Value,
    capabilities: &Value,
) -> ShownRequest {
    call["id"] = json!(7);
    let tool = call["params"]["name"].as_str().unwrap_or_default().to_owned();
    let mut headers = vec![
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", version),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", &tool),
    ];
    headers.extend(key.map(|key| ("X-Agent-Api-Key", key)));
    if !capabilities.is_null() {
        call["params"]["_meta"] =
            json!({ "io.modelcontextprotocol/clientCapabilities": capabilities });
    }
    if version == NEWEST {
        let meta = &mut call["params"]["_meta"];
        meta["io.modelcontextprotocol/protocolVersion"] = json!(version);
        meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "proof", "version": "1" });
    }
    plain_post(slug, &headers, &call)
}

/// Returns a call of a tool without an id, the shape that the specification shows.
pub(crate) fn call_without_id(name: &str, arguments: &Value) -> Value {
    let mut call = tool_call(name, arguments);
    call.as_object_mut().map(|call| call.remove("id"));
    call
}
