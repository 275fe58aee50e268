//! A server with the demo stores, on private engines and migrated by the binary itself.

use serde_json::{Value, json};
use testkit::{ShownRequest, ShownResponse};

use crate::engines::Engines;
use crate::identity::{Account, agent_key_for};
use crate::report::Failure;
use crate::souk::{Souk, command};

/// Engines with the demo stores, and a server.
pub(crate) struct DemoStores {
    pub(crate) souk: Souk,
    pub(crate) engines: Engines,
}

impl DemoStores {
    /// Starts a server that accepts test payments at every store, without rate limits.
    pub(crate) async fn start() -> Result<Self, Failure> {
        let engines = Engines::start()?;
        command(&engines.database_url, &["migrate"])?;
        command(&engines.database_url, &["seed"])?;
        let settings = [("SOUK_TEST_PAYMENTS", String::from("on"))];
        let souk = Souk::serve_with(&engines.database_url, &[], &settings).await?;
        Ok(Self { souk, engines })
    }

    /// Starts a second server with rate limits.
    pub(crate) async fn with_limits(&self) -> Result<Souk, Failure> {
        let settings =
            [("SOUK_LIMITS", String::from("on")), ("REDIS_URL", self.engines.redis_url.clone())];
        Souk::serve_with(&self.engines.database_url, &[], &settings).await
    }

    /// Creates an account and an agent key with these scopes.
    pub(crate) async fn agent_key(
        &self,
        email: &str,
        plan: &str,
        scopes: &[&str],
    ) -> Result<String, Failure> {
        let account = Account::create(&self.engines.database_url, email, plan).await?;
        let token = account.log_in(self.souk.port).await?;
        Ok(agent_key_for(self.souk.port, &token, scopes).await?.1)
    }
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

/// Returns a call of a tool without an id, the shape that the specification shows.
#[expect(clippy::needless_pass_by_value, reason = "callers pass json! literals")]
pub(crate) fn call_without_id(name: &str, arguments: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": "tools/call",
            "params": { "name": name, "arguments": arguments } })
}

/// Sends a request on a new connection and returns the response.
pub(crate) async fn send(port: u16, request: &ShownRequest) -> Result<ShownResponse, Failure> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut head = format!(
        "{} {} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n",
        request.method, request.path
    );
    for (name, value) in &request.headers {
        head.extend([name.as_str(), ": ", value.as_str(), "\r\n"]);
    }
    let bytes = format!("{head}Content-Length: {}\r\n\r\n{}", request.body.len(), request.body);
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(bytes.as_bytes()).await?;
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await?;
    let text = String::from_utf8_lossy(&received);
    let (head, body) = text.split_once("\r\n\r\n").ok_or("the response has no headers")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()));
    Ok(ShownResponse {
        status: status.ok_or("the response has no status")?,
        headers: headers.collect(),
        body: body.to_owned(),
    })
}
