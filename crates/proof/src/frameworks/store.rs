//! The server with the demo store, shared by the checks of a run.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{ShownRequest, ShownResponse};

use crate::engines::Engines;
use crate::http::{Client, Delivery, tool_call};
use crate::report::{Failure, ensure};
use crate::souk::{Souk, command};

const PATH: &str = "/demo-store/mcp";
/// Calls of an anonymous address at the demo store that certainly exceed its quota (docs/contract/limits.md#demo-store-limit).
const CALLS_BEYOND_QUOTA: usize = 25;
/// A quota stays used up at least this long, more than a call may take.
const WINDOW_SECONDS_MIN: u64 = 25;

/// A server with the demo stores, their index and rate limits.
pub(crate) struct DemoStore {
    _index: Souk,
    souk: Souk,
    _engines: Engines,
    _index_files: IndexFiles,
    next_address: AtomicU16,
    /// The number of tools it lists.
    pub(crate) tools: usize,
    /// A product that is bought without choosing a variant.
    pub(crate) product: String,
}

impl DemoStore {
    pub(crate) async fn start() -> Result<Self, Failure> {
        let engines = Engines::start()?;
        command(&engines.database_url, &["migrate"])?;
        command(&engines.database_url, &["seed"])?;
        let index_files = IndexFiles::new();
        let index = Souk::index(&engines.database_url, &index_files.settings("writer"))?;
        let mut settings = index_files.settings("reader");
        settings.push(("SOUK_LIMITS", String::from("on")));
        settings.push(("REDIS_URL", engines.redis_url.clone()));
        settings.push(("SOUK_TRUSTED_PROXIES", Ipv4Addr::LOCALHOST.to_string()));
        let souk = Souk::serve_with(&engines.database_url, &[], &settings).await?;
        wait_for_search(souk.port).await?;
        let mut store = Self {
            _index: index,
            souk,
            _engines: engines,
            _index_files: index_files,
            next_address: AtomicU16::new(1),
            tools: 0,
            product: String::new(),
        };
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
        let listed = store.ask(&list).await?;
        store.tools = listed["result"]["tools"].as_array().map_or(0, Vec::len);
        ensure(store.tools > 0, || format!("tools/list: {listed}"))?;
        store.product = store.product_without_variants().await?;
        Ok(store)
    }

    pub(crate) fn port(&self) -> u16 {
        self.souk.port
    }

    /// Returns an address that has made no call yet, each in a network of its own.
    pub(crate) fn new_address(&self) -> Ipv4Addr {
        let [high, low] = self.next_address.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        Ipv4Addr::new(10, high, low, 1)
    }

    /// Uses up the quota of a new address, and returns the address. Its window does not end soon.
    pub(crate) async fn address_at_limit(&self) -> Result<Ipv4Addr, Failure> {
        let call = tool_call("get_merchant_profile", &json!({}));
        for _ in 0..20 {
            let address = self.new_address();
            let mut refused = None;
            for _ in 0..CALLS_BEYOND_QUOTA {
                let response = self.post(address, &call).await?;
                if response.status == 429 {
                    refused = Some(response);
                    break;
                }
            }
            let refused = refused.ok_or("the calls of an address did not reach its limit")?;
            let wait = refused.headers.get("retry-after").and_then(|wait| wait.parse().ok());
            if wait.unwrap_or(0_u64) >= WINDOW_SECONDS_MIN {
                return Ok(address);
            }
        }
        Err("every window ended too soon".into())
    }

    async fn product_without_variants(&self) -> Result<String, Failure> {
        let arguments = json!({ "query": "coffee", "in_stock_only": true, "limit": 20 });
        let call = tool_call("search_products", &arguments);
        let found = self.ask(&call).await?;
        let products = found["result"]["structuredContent"]["data"].as_array();
        let ids = products.into_iter().flatten().filter_map(|product| product["id"].as_str());
        for id in ids {
            let call = tool_call("get_product_variants", &json!({ "product_id": id }));
            let variants = self.ask(&call).await?;
            let variants = &variants["result"]["structuredContent"]["variants"];
            if variants.as_array().is_some_and(|variants| variants.len() < 2) {
                return Ok(id.to_owned());
            }
        }
        Err(format!("no product without variants in {found}").into())
    }

    /// Calls a method as a plain HTTP caller with a new address, and returns the body.
    async fn ask(&self, body: &Value) -> Result<Value, Failure> {
        Ok(serde_json::from_str(&self.post(self.new_address(), body).await?.body)?)
    }

    /// Sends a request as a plain HTTP caller with this address.
    async fn post(&self, from: Ipv4Addr, body: &Value) -> Result<ShownResponse, Failure> {
        let json = String::from("application/json");
        let request = ShownRequest {
            method: String::from("POST"),
            path: String::from(PATH),
            headers: vec![
                (String::from("Content-Type"), json),
                (String::from("X-Forwarded-For"), from.to_string()),
            ],
            body: body.to_string(),
        };
        Client::exchange(self.port(), &request).await
    }
}

/// The files of a search index, removed when dropped.
struct IndexFiles(PathBuf);

impl IndexFiles {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("souk-frameworks-{}", std::process::id())))
    }

    /// Returns the settings of a process whose copy of the index is in subdirectory `name`.
    fn settings(&self, name: &str) -> Vec<(&'static str, String)> {
        let path = |name: &str| self.0.join(name).to_string_lossy().into_owned();
        vec![("SOUK_SEARCH_OBJECTS", path("objects")), ("SOUK_SEARCH_DIRECTORY", path(name))]
    }
}

impl Drop for IndexFiles {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits until the server reports that search is healthy.
async fn wait_for_search(port: u16) -> Result<(), Failure> {
    let since = Instant::now();
    let mut client = Client::new(port);
    while since.elapsed() < Duration::from_mins(2) {
        if let Delivery::Answered { body, .. } = client.get("/health").await
            && serde_json::from_str::<Value>(&body)?["checks"]["search"] == "ok"
        {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err("search was not healthy within two minutes".into())
}
