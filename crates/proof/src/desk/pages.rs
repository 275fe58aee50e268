//! Checks of what people read: pages for browsers, guides whose blocks run, and `llms.txt`.

use std::net::Ipv4Addr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{ShownRequest, ShownResponse, TestDatabase};

use crate::hardening::demo_database;
use crate::http::{Client, Delivery, tool_call};
use crate::limits::Redis;
use crate::mcp::{IndexDirectory, wait_for_search};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, output, required_env, store_key_with};

/// `Accept` of a browser that opens an address.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
/// The store of the guides for merchants.
const STORE: &str = "olaria-salgueira";
/// Calls of one purchase; a poll counts once.
const CALLS_MAX: usize = 9;

/// The demo stores with their index, and servers with and without rate limits.
pub(super) struct Site {
    limited: Souk,
    unlimited: Souk,
    _index: Souk,
    _redis: Redis,
    _directory: IndexDirectory,
    // Last, because it can be dropped only once the servers have ended.
    test: TestDatabase,
}

impl Site {
    pub(super) async fn of(trial: &Trial) -> Result<Arc<Self>, Failure> {
        trial.shared(Self::start).await
    }

    async fn start() -> Result<Self, Failure> {
        let test = demo_database().await;
        let directory = IndexDirectory::new();
        let index = Souk::index(&test.url(), &directory.settings("writer"))?;
        let redis = Redis::start().await?;
        let mut settings = directory.settings("reader");
        let unlimited = Souk::serve_with(&test.url(), &[], &settings).await?;
        wait_for_search(unlimited.port).await?;
        settings = directory.settings("limited-reader");
        settings.extend([("SOUK_LIMITS", String::from("on")), ("REDIS_URL", redis.url())]);
        let limited = Souk::serve_with(&test.url(), &[], &settings).await?;
        wait_for_search(limited.port).await?;
        Ok(Self { limited, unlimited, _index: index, _redis: redis, _directory: directory, test })
    }

    /// Searches all stores, at the server without limits.
    pub(super) async fn search(&self, body: &str) -> Delivery {
        Client::new(self.unlimited.port).post("/api/v1/search", body).await
    }

    /// Opens a path with these headers, at the server without limits.
    async fn open(&self, path: &str, headers: &[(&str, &str)]) -> Result<ShownResponse, Failure> {
        self.send("GET", path, headers).await
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<ShownResponse, Failure> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let request = ShownRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: headers.iter().map(owned).collect(),
            body: String::new(),
        };
        Client::exchange(self.unlimited.port, &request).await
    }

    /// Opens a page of a person, which must be there.
    async fn page(&self, path: &str) -> Result<String, Failure> {
        let page = self.open(path, &[("Accept", BROWSER)]).await?;
        ensure(page.status == 200, || format!("GET {path}: {}: {}", page.status, page.body))?;
        is_safe(path, &page)?;
        Ok(page.body)
    }

    /// Opens a page until it has a status, and returns it. Servers cache stores for two seconds.
    async fn wait_for_status(&self, path: &str, status: u16) -> Result<String, Failure> {
        for _ in 0..100 {
            let page = self.open(path, &[("Accept", BROWSER)]).await?;
            if page.status == status {
                return Ok(page.body);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(format!("{path} has not the status {status} within ten seconds").into())
    }

    /// Runs a script of `dev` and returns its output.
    async fn script(
        &self,
        name: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Verdict {
        let script = format!("{}/../{name}", required_env("SOUK_CLIENTS")?);
        let mut command = tokio::process::Command::new(script);
        command.args(arguments).envs(environment.iter().copied()).stdin(Stdio::null());
        let output = command.output().await?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(stdout.trim().to_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(format!("{name}: {stdout}{stderr}").into())
    }
}

/// The blocks of the served `llms.txt`, run in order within the rate limits; a person approves in between.
pub(crate) async fn llms_purchase(trial: Trial) -> Verdict {
    let site = Site::of(&trial).await?;
    let url = format!("http://127.0.0.1:{}", site.limited.port);
    let printed = site.script("guides/run", &[&url, "llms.txt"], &[]).await?;
    ensure(printed.ends_with("2 approved purchases"), || printed.clone())?;
    let text = match Client::new(site.limited.port).get("/llms.txt").await {
        Delivery::Answered { status: 200, body } => body,
        other => return Err(format!("GET /llms.txt: {other:?}").into()),
    };
    let (rest, mcp) =
        text.split_once("## The same purchase over MCP").ok_or("no section of MCP")?;
    let rest = rest.matches("curl -s").count();
    let mcp = mcp.split("## ").next().unwrap_or_default();
    // The definition of the function that calls is no call.
    let mcp = mcp.matches("call ").count();
    for (over, calls) in [("REST", rest), ("MCP", mcp)] {
        let is_short = (6..=CALLS_MAX).contains(&calls);
        ensure(is_short, || format!("{calls} calls over {over}"))?;
    }
    keys_as_stated(&site, &text).await?;
    Ok(format!("{printed}; {rest} calls over REST, {mcp} over MCP, within the limits"))
}

/// What the text says about keys is what the server does.
async fn keys_as_stated(site: &Site, text: &str) -> Result<(), Failure> {
    let no_key = text.lines().find(|line| line.starts_with("- No key over REST"));
    let no_key = no_key.ok_or("llms.txt does not say which paths need no key")?;
    let product = first_product(site, STORE).await?;
    let with_key = [
        ("GET", format!("/api/v1/agent/products/{product}")),
        ("POST", String::from("/api/v1/agent/compare")),
        ("POST", String::from("/api/v1/agent/search")),
    ];
    for (method, path) in with_key {
        let answer = site.send(method, &path, &[("Content-Type", "application/json")]).await?;
        ensure(answer.status == 401, || format!("{method} {path}: {}", answer.status))?;
    }
    let public = [
        "/api/v1/search/suggestions?q=mug",
        "/api/v1/search/ranking",
        "/api/v1/stores/directory",
        "/api/v1/trust/methodology",
        "/api/v1/deals",
    ];
    for path in public {
        let named = path.split('?').next().unwrap_or(path);
        let group = named.rsplit_once('/').map_or(named, |(group, _)| group);
        ensure(no_key.contains(named) || no_key.contains(group), || format!("{named} not named"))?;
        let answer = site.open(path, &[]).await?;
        ensure(answer.status == 200, || format!("GET {path}: {}", answer.status))?;
    }
    Ok(())
}

/// The blocks of the guides, on a server with new demo data.
pub(crate) async fn guides(trial: Trial) -> Verdict {
    let site = Site::of(&trial).await?;
    let scopes = ["--scope", "catalog", "--scope", "orders", "--scope", "settings"];
    let key = store_key_with(&site.test.url(), STORE, &scopes).await?;
    let url = format!("http://127.0.0.1:{}", site.unlimited.port);
    let guides = ["make-the-first-call", "set-shipping-taxes-and-promotions"];
    let files = guides.map(|name| format!("docs/how-to/{name}.md"));
    let mut arguments = vec![url.as_str()];
    arguments.extend(files.iter().map(String::as_str));
    let printed = site.script("guides/run", &arguments, &[("SOUK_STORE_KEY", &key)]).await?;
    Ok(printed.lines().collect::<Vec<_>>().join("; "))
}

/// Checks that a page loads nothing of others, runs nothing and contains no markup of merchants.
fn is_safe(path: &str, page: &ShownResponse) -> Result<(), Failure> {
    let header = |name: &str| page.headers.get(name).map_or("", String::as_str);
    let is_html = header("content-type").starts_with("text/html");
    ensure(is_html, || format!("{path} is {}", header("content-type")))?;
    let policy = header("content-security-policy");
    let is_strict = policy.starts_with("default-src 'none'")
        && policy.contains("frame-ancestors 'none'")
        && !policy.contains("script-src")
        && !policy.contains("unsafe")
        && !policy.contains("http");
    ensure(is_strict, || format!("{path} has the policy {policy}"))?;
    ensure(!page.body.contains("<script"), || format!("{path} has a script"))?;
    let loaded = page.body.split("src=\"").skip(1).chain(page.body.split("<link").skip(1));
    for rest in loaded {
        let is_foreign = rest.starts_with("http") || rest.starts_with("//");
        ensure(!is_foreign, || format!("{path} loads {}", &rest[..rest.len().min(80)]))?;
    }
    Ok(())
}

/// Errors in a browser, and the same errors for programs.
pub(crate) async fn for_browsers(trial: Trial) -> Verdict {
    let site = Site::of(&trial).await?;
    let document = [("Accept", BROWSER), ("Sec-Fetch-Dest", "document")];
    let unreachable = [
        ("GET", "/nowhere", 404),
        ("GET", "/nowhere/at/all", 404),
        ("POST", "/stores", 405),
        ("DELETE", "/", 405),
        ("GET", "/demo/images/demo-store/mug.png", 404),
        ("GET", "/demo-store/mcp", 405),
        ("GET", "/api/v1/nowhere", 404),
        ("GET", "/api/v1/agent/products", 401),
        ("GET", "/stores/nobody", 404),
        ("GET", "/stores/not%20a%20slug", 404),
    ];
    for (method, path, status) in unreachable {
        let page = site.send(method, path, &document).await?;
        ensure(page.status == status, || format!("{method} {path}: {}", page.status))?;
        is_safe(path, &page)?;
        let has_heading = page.body.contains("<h1>") && page.body.contains("href=\"/stores\"");
        ensure(has_heading, || format!("{method} {path}: {}", page.body))?;
    }
    // Programs keep the envelope.
    for accept in ["*/*", "application/json", "application/json, text/event-stream"] {
        for path in ["/nowhere", "/demo-store/mcp", "/api/v1/nowhere"] {
            let answer = site.open(path, &[("Accept", accept)]).await?;
            let body: Value = serde_json::from_str(&answer.body)
                .map_err(|_| format!("GET {path} for {accept} is not JSON: {}", answer.body))?;
            let is_error = body["error"].is_string() || body["error"]["data"].is_object();
            ensure(is_error, || format!("GET {path} for {accept}: {body}"))?;
        }
    }
    // A library that prefers HTML without being asked to is no browser.
    let library = [("Accept", "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2")];
    let answer = site.open("/api/v1/nowhere", &library).await?;
    ensure(answer.body.starts_with('{'), || format!("a library got {}", answer.body))?;
    let refused = too_many_requests(&site).await?;
    Ok(format!(
        "{} errors as pages, the same as JSON for programs; {refused} requests, then a page with 429",
        unreachable.len()
    ))
}

/// Opens the directory until the limit refuses, from an address of its own; returns after how many.
async fn too_many_requests(site: &Site) -> Result<usize, Failure> {
    let address = Ipv4Addr::new(127, 0, 0, 9);
    let mut client = Client::new(site.limited.port).from(address).with_header("Accept", BROWSER);
    for count in 0..200 {
        let (status, body) = match client.get("/stores").await {
            Delivery::Answered { status, body } => (status, body),
            other => return Err(format!("GET /stores: {other:?}").into()),
        };
        if status == 429 {
            let waits = client.header_number("retry-after");
            ensure(waits.is_some() && body.contains("<h1>Too many requests</h1>"), || body)?;
            return Ok(count);
        }
        ensure(status == 200, || format!("GET /stores: {status}"))?;
    }
    Err("200 requests a minute and no limit".into())
}

/// Returns the newest product of a store.
async fn first_product(site: &Site, slug: &str) -> Result<String, Failure> {
    let answer = site.open(&format!("/api/v1/stores/{slug}/new-arrivals?limit=1"), &[]).await?;
    let body: Value = serde_json::from_str(&answer.body)?;
    let id = body["data"][0]["id"].as_str();
    id.map(str::to_owned).ok_or_else(|| format!("no product: {body}").into())
}

/// From the landing page to a product, by links; what merchants write is text; stores that are not open are not shown.
pub(crate) async fn public_pages(trial: Trial) -> Verdict {
    let site = Site::of(&trial).await?;
    let home = site.page("/").await?;
    ensure(home.contains("href=\"/stores\""), || String::from("/ does not link to the directory"))?;
    let directory = site.page("/stores").await?;
    let link = format!("href=\"/stores/{STORE}\"");
    ensure(directory.contains(&link), || String::from("the directory lacks a store"))?;
    let is_rated = directory.contains("ELITE") && directory.contains("class=\"score\"");
    ensure(is_rated, || String::from("the directory has no trust scores"))?;
    let mut pages = 2;
    let mut products = 0;
    let mut path = format!("/stores/{STORE}");
    // All pages of the store, by their links, and the products on them.
    let mut linked = Vec::new();
    loop {
        let page = site.page(&path).await?;
        pages += 1;
        for expected in ["Trust score", "Policies", &format!("/{STORE}/mcp")] {
            ensure(page.contains(expected), || format!("{path} lacks {expected}"))?;
        }
        let start = format!("href=\"/stores/{STORE}/products/");
        linked.extend(
            page.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned),
        );
        match page.split("rel=\"next\" href=\"").nth(1).and_then(|rest| rest.split('"').next()) {
            Some(next) => path = format!("/stores/{STORE}{next}"),
            None => break,
        }
    }
    let trust = site.page(&format!("/stores/{STORE}/trust")).await?;
    pages += 1;
    for expected in ["class=\"chart wide\"", "class=\"bar", "The scores as a table", "catalog sync"]
    {
        ensure(trust.contains(expected), || format!("the page of the score lacks {expected}"))?;
    }
    for id in trial.rotate(linked.clone(), 10) {
        let page = site.page(&format!("/stores/{STORE}/products/{id}")).await?;
        products += 1;
        for expected in ["Details", "Policies", "class=\"price big\"", &id] {
            ensure(page.contains(expected), || format!("{id} lacks {expected}"))?;
        }
    }
    let listed = site.open(&format!("/api/v1/stores/{STORE}/new-arrivals?limit=1"), &[]).await?;
    let listed: Value = serde_json::from_str(&listed.body)?;
    let is_complete = listed["meta"]["total"].as_u64() == Some(linked.len() as u64);
    ensure(is_complete, || format!("{} products linked, {} listed", linked.len(), listed["meta"]))?;
    hostile_text(&site).await?;
    unavailable_stores(&site).await?;
    reserved_slugs(&site).await?;
    Ok(format!(
        "{pages} pages, {} products linked, {products} opened; hostile text is text; stores that are not open are not shown",
        linked.len()
    ))
}

/// Stores markup in the fields of a product and its store, as no import would, and opens their pages.
async fn hostile_text(site: &Site) -> Result<(), Failure> {
    const SLUG: &str = "kivikiri";
    let id = first_product(site, SLUG).await?;
    let mut raw = site.test.raw().await;
    sqlx::query(
        r#"UPDATE product SET name = '<script>alert(1)</script>', description = '"><img src=x onerror=alert(1)>',
                  url = 'javascript:alert(1)', images = '[{"url": "https://tracker.example/p.gif", "alt": "<b>"}]'
           WHERE merchant_id = (SELECT merchant_id FROM store WHERE slug = $1)"#,
    )
    .bind(SLUG)
    .execute(&mut raw)
    .await?;
    for path in [format!("/stores/{SLUG}"), format!("/stores/{SLUG}/products/{id}")] {
        let page = site.page(&path).await?;
        let is_text = page.contains("&#60;script&#62;") && !page.contains("<img src=x");
        ensure(is_text && !page.contains("\"javascript:"), || format!("{path}: {page}"))?;
        ensure(!page.contains("src=\"https://tracker"), || format!("{path} loads an image"))?;
    }
    Ok(())
}

/// Pauses a store: its pages say so, and the directory does not list it.
async fn unavailable_stores(site: &Site) -> Result<(), Failure> {
    const SLUG: &str = "puddlewick-toys";
    let url = site.test.url();
    let path = format!("/stores/{SLUG}");
    site.page(&path).await?;
    output(&url, &["stores", "pause", SLUG, "--reason", "holidays"]).await?;
    let page = site.wait_for_status(&path, 403).await?;
    ensure(page.contains("This store is not available"), || page.clone())?;
    for attempt in 1.. {
        if !site.page("/stores").await?.contains(&path) {
            break;
        }
        ensure(attempt < 50, || String::from("the directory lists a paused store"))?;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    output(&url, &["stores", "reinstate", SLUG, "--reason", "back"]).await?;
    site.wait_for_status(&path, 200).await?;
    Ok(())
}

/// No store can have a slug with which the paths of pages begin.
async fn reserved_slugs(site: &Site) -> Result<(), Failure> {
    for slug in ["stores", "api", "assets", "demo", "health"] {
        let new = ["stores", "create", slug, "--name", "A store", "--country", "PT"];
        let more = ["--currency", "EUR", "--reason", "test"];
        let created = output(&site.test.url(), &[new.as_slice(), &more].concat()).await;
        let is_refused = created.as_ref().is_err_and(|error| error.to_string().contains("slug"));
        ensure(is_refused, || format!("a store with the slug {slug}: {created:?}"))?;
    }
    Ok(())
}

/// Screenshots of the pages for phone and desktop, light and dark, checked with axe.
pub(crate) async fn accessible(trial: Trial) -> Verdict {
    let site = Site::of(&trial).await?;
    site.script("purchase/run", &["--install"], &[]).await?;
    let url = format!("http://127.0.0.1:{}", site.unlimited.port);
    let product = first_product(&site, STORE).await?;
    let folder = std::env::temp_dir().join(format!("souk-pages-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let pages = vec![
        ("home", String::from("/")),
        ("directory", String::from("/stores")),
        ("store", format!("/stores/{STORE}")),
        ("trust", format!("/stores/{STORE}/trust")),
        ("product", format!("/stores/{STORE}/products/{product}")),
        ("not-found", String::from("/nowhere")),
    ];
    let pages = trial.rotate(pages, 1);
    let mut captured = Ok(());
    for (name, path) in &pages {
        let (address, folder) = (format!("{url}{path}"), folder.to_string_lossy());
        let arguments = ["capture", address.as_str(), &folder, name];
        captured = site.script("purchase/browser.mjs", &arguments, &[]).await.map(|_| ());
        if captured.is_err() {
            break;
        }
    }
    std::fs::remove_dir_all(&folder)?;
    captured?;
    Ok(format!("{} pages, four screenshots each, no serious violation", pages.len()))
}

/// The approval page shows until when the confirmation can be decided, which is before the cart expires.
pub(crate) async fn shown_expiry(trial: Trial) -> Verdict {
    let site = Site::of(&trial).await?;
    let port = site.unlimited.port;
    // An address gets few keys a day, and the guides use some.
    let mut anyone = Client::new(port).from(Ipv4Addr::new(127, 0, 0, 10));
    let key = call(&mut anyone, "create_sandbox_key", json!({})).await?;
    let key = key["api_key"].as_str().ok_or("no key")?;
    let mut client = Client::new(port).with_agent_key(key);
    let product = sold_alone(&mut client).await?;
    let items = json!([{ "product_id": product, "quantity": 1 }]);
    let cart = call(&mut client, "create_cart", json!({ "items": items })).await?;
    let named = json!({ "cart_id": cart["cart_id"] });
    let asked = call(&mut client, "request_human_confirmation", named).await?;
    let confirm_url = asked["confirm_url"].as_str().ok_or("no confirm_url")?;
    let path = confirm_url.split_once("/demo-store").map(|(_, path)| format!("/demo-store{path}"));
    let page = site.page(&path.ok_or("confirm_url is not of the store")?).await?;
    let (shown, cart) = (minute_of(&asked["expires_at"])?, minute_of(&cart["expires_at"])?);
    ensure(shown != cart, || format!("confirmation and cart both expire at {shown}"))?;
    let is_shown = page.contains(&format!("Valid until {shown}.")) && !page.contains(&cart);
    ensure(is_shown, || format!("the page does not say {shown}: {page}"))?;
    Ok(format!("the page says {shown}, the expiry of the confirmation; the cart expires at {cart}"))
}

/// Returns a product of the demo store without variants.
async fn sold_alone(client: &mut Client) -> Result<String, Failure> {
    let query = json!({ "query": "coffee", "in_stock_only": true, "limit": 20 });
    let found = call(client, "search_products", query).await?;
    for product in found["data"].as_array().into_iter().flatten() {
        let named = json!({ "product_id": product["id"] });
        let variants = call(client, "get_product_variants", named).await?;
        if variants["variants"].as_array().is_none_or(Vec::is_empty) {
            return Ok(product["id"].as_str().unwrap_or_default().to_owned());
        }
    }
    Err("every product has variants".into())
}

/// Calls a tool of the demo store.
async fn call(client: &mut Client, tool: &str, arguments: Value) -> Result<Value, Failure> {
    let request = tool_call(tool, &arguments).to_string();
    match client.post("/demo-store/mcp", &request).await {
        Delivery::Answered { status: 200, body } => {
            let mut body: Value = serde_json::from_str(&body)?;
            Ok(body["result"]["structuredContent"].take())
        }
        other => Err(format!("{tool}: {other:?}").into()),
    }
}

/// Formats a time as pages do: `2026-11-15, 08:00 UTC`.
fn minute_of(time: &Value) -> Result<String, Failure> {
    let text = time.as_str().ok_or("no time")?;
    let (date, time) = text.split_once('T').ok_or("no time")?;
    Ok(format!("{date}, {} UTC", time.get(..5).unwrap_or(time)))
}
