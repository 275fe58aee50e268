//! Checks of what merchants see and decide: their products, exports, settings, their store, and who used it.

use std::collections::BTreeSet;

use primitives::{Currency, Id, MerchantId};
use serde_json::{Value, json};
use testkit::StoreBuilder;

use crate::hardening::shop::{Shop, agent_call, call, expect, refused, text};
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{output, store_key, store_key_with};

/// `own-products`: a merchant sees every product, and why agents do not see some.
pub(crate) async fn own_products(trial: Trial) -> Verdict {
    let shop = Shop::open(&trial).await?;
    let (port, key) = (shop.port(), shop.key().await?);
    let read = async |path: &str| call(port, &key, "GET", path, &Value::Null).await;
    let products: Vec<Value> = (0..250)
        .map(|number| {
            let currency = if number % 50 == 0 { "GBP" } else { "EUR" };
            json!({ "external_id": format!("P-{number:03}"), "name": "A mug", "price": 5, "currency": currency })
        })
        .collect();
    let pushed =
        call(port, &key, "PATCH", "/merchant/products", &json!({ "products": products })).await?;
    expect("the products", &pushed, 200, None)?;
    let ids: Vec<String> = (1..=20).map(|number| format!("P-{number:03}")).collect();
    let retired =
        call(port, &key, "POST", "/merchant/retire", &json!({ "external_ids": ids })).await?;
    ensure(retired.1["data"]["retired"] == 20, || format!("retired: {retired:?}"))?;
    let mut counts = Vec::new();
    for status in ["", "&status=listed", "&status=hidden", "&status=failing"] {
        let (mut seen, mut cursor) = (0, String::new());
        loop {
            let path = format!("/merchant/products?limit=100{status}{cursor}");
            let (_, page) = read(&path).await?;
            seen += page["data"].as_array().map_or(0, Vec::len);
            let Some(next) = page["meta"]["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        counts.push(seen);
    }
    // One product of the store is there from the beginning.
    ensure(counts[0] == 251 && counts[1] + counts[2] == 251 && counts[2] == 25, || {
        format!("all, listed, hidden and failing: {counts:?}")
    })?;
    for (id, reason) in [("P-000", "unsupported_currency"), ("P-001", "retired")] {
        let (status, body) = read(&format!("/merchant/products/{id}")).await?;
        let data = &body["data"];
        ensure(
            status == 200 && data["hidden"]["reason"] == reason && data["listed"].is_null(),
            || format!("{id}: {status} {body}"),
        )?;
    }
    let (_, body) = read("/merchant/products/P-021").await?;
    let seen = &body["data"]["listed"]["id"];
    let agent = shop.deployment.buyer_key(&["agent:read"]).await?;
    let path = format!("/agent/products/{}", seen.as_str().ok_or("no product")?);
    let (_, found) = agent_call(port, &agent, "GET", &path, &Value::Null).await?;
    ensure(found["data"]["name"] == body["data"]["listed"]["name"], || {
        format!("the agent sees {found}")
    })?;
    Ok(format!(
        "{} products by cursor: {} listed, {} hidden with their reason; as stored beside what agents see",
        counts[0], counts[1], counts[2]
    ))
}

/// `export-round-trip`: the export of every demo store, imported into another store, is exported again as the same bytes;
/// imported into its own store, it changes nothing.
pub(crate) async fn export_round_trip(trial: Trial) -> Verdict {
    let shop = Shop::with(&trial, &[], merchants::Settings::default()).await?;
    let world = demo::world();
    let stores = trial.rotate(world.stores.iter().collect(), 2);
    shop.deployment.start_worker().await?;
    let (mut bytes, mut files) = (0, 0);
    for store in &stores {
        let key = store_key(&shop.url(), &store.slug).await?;
        for (format, method, path) in [
            ("ndjson", "PUT", "/api/v1/merchant/products"),
            ("shopify_csv", "POST", "/api/v1/merchant/imports?format=shopify_csv&mode=replace"),
        ] {
            trial.progress(|| format!("{} as {format}", store.slug));
            let exported = export(&shop, &key, format).await?;
            let other = copy_of(&shop, store.currency.parse()?).await?;
            let mut client = Client::new(shop.port()).with_key(&other);
            let job = match client.send(method, path, exported.as_bytes()).await {
                Delivery::Answered { status: 202, body } => serde_json::from_str::<Value>(&body)?,
                sent => return Err(format!("{} as {format}: {sent:?}", store.slug).into()),
            };
            imported(&shop, &other, text(&job["data"], "job_id")?).await?;
            let again = export(&shop, &other, format).await?;
            ensure(again == exported, || first_difference(&store.slug, &exported, &again))?;
            if format == "ndjson" {
                unchanged(&shop, &key, &exported)
                    .await
                    .map_err(|why| format!("{}: {why}", store.slug))?;
            }
            (bytes, files) = (bytes + exported.len(), files + 1);
        }
    }
    Ok(format!(
        "{} demo stores exported as NDJSON and CSV, imported into another store, exported again: {files} files, {} bytes, equal; imported into their own store: all unchanged",
        stores.len(),
        grouped(bytes)
    ))
}

/// Creates an empty store and returns a key of it.
async fn copy_of(shop: &Shop, currency: Currency) -> Result<String, Failure> {
    let number = shop.deployment.number();
    let (slug, merchant) = (format!("copy-{number}"), MerchantId::from_random(number.into()));
    StoreBuilder::new(&slug)
        .merchant(merchant)
        .currency(currency)
        .build(shop.deployment.test.database())
        .await;
    store_key(&shop.url(), &slug).await
}

async fn export(shop: &Shop, key: &str, format: &str) -> Result<String, Failure> {
    let path = format!("/api/v1/merchant/export?format={format}");
    match Client::new(shop.port()).with_key(key).get(&path).await {
        Delivery::Answered { status: 200, body } => Ok(body),
        other => Err(format!("the export: {other:?}").into()),
    }
}

/// Fails unless the export of a store, imported into the same store, changes no product.
async fn unchanged(shop: &Shop, key: &str, exported: &str) -> Result<(), Failure> {
    let mut client = Client::new(shop.port()).with_key(key);
    let sent = client.send("PUT", "/api/v1/merchant/products", exported.as_bytes()).await;
    let Delivery::Answered { status: 202, body } = &sent else {
        return Err(format!("its own export: {sent:?}").into());
    };
    let job: Value = serde_json::from_str(body)?;
    let job = imported(shop, key, text(&job["data"], "job_id")?).await?;
    let changed = ["created", "updated", "retired", "failed", "skipped"];
    let is_unchanged = changed.iter().all(|field| job[field] == 0);
    let lines = exported.lines().count();
    ensure(is_unchanged && job["unchanged"].as_u64() == Some(lines as u64), || {
        format!("its own export of {lines} products: {job}")
    })?;
    let again = export(shop, key, "ndjson").await?;
    ensure(again == exported, || first_difference("after its own export", exported, &again))
}

/// Waits until a worker has applied an import, and returns the job.
async fn imported(shop: &Shop, key: &str, job: &str) -> Result<Value, Failure> {
    let path = format!("/merchant/jobs/{job}");
    for _ in 0..600 {
        let (_, body) = call(shop.port(), key, "GET", &path, &Value::Null).await?;
        match body["data"]["status"].as_str().unwrap_or_default() {
            "completed" => return Ok(body["data"].clone()),
            "failed" | "refused" | "superseded" => return Err(format!("the import: {body}").into()),
            _ => tokio::time::sleep(std::time::Duration::from_millis(200)).await,
        }
    }
    Err("the import does not end".into())
}

fn first_difference(slug: &str, exported: &str, again: &str) -> String {
    let differs = exported.lines().zip(again.lines()).find(|(one, other)| one != other);
    let lines = (exported.lines().count(), again.lines().count());
    format!("{slug}: {lines:?} lines, the first that differs: {differs:?}")
}

/// `settings-patch`: a patch changes what it names, and a replacement names the version that it replaces.
pub(crate) async fn settings_patch(trial: Trial) -> Verdict {
    let shop = Shop::open(&trial).await?;
    let (port, path) = (shop.port(), "/merchant/settings");
    let key = store_key_with(&shop.url(), &shop.slug, &["--scope", "settings"]).await?;
    let send = async |method: &str, body: Value| call(port, &key, method, path, &body).await;
    let rate = json!({ "name": "Parcel", "price": 4.9, "days_min": 1, "days_max": 3 });
    let zone = json!({ "name": "Home", "countries": ["DE"], "rates": [rate] });
    let set = send("PATCH", json!({ "shipping": [zone], "policies": { "warranty_months": 24 } }));
    let (status, set) = set.await?;
    ensure(status == 200, || format!("a patch: {status} {set}"))?;
    let (_, patched) = send("PATCH", json!({ "gtin_source": "sku" })).await?;
    let mut expected = set["data"].clone();
    expected["gtin_source"] = json!("sku");
    for field in ["version", "updated_at"] {
        expected[field] = patched["data"][field].clone();
    }
    ensure(patched["data"] == expected, || format!("{patched} instead of {expected}"))?;
    let wiped = send("PUT", json!({ "gtin_source": "gtin" })).await?;
    expect("a replacement without a version", &wiped, 428, Some(("field", "version")))?;
    ensure(wiped.1["error"] == "precondition_required", || format!("{wiped:?}"))?;
    let stale = send("PUT", json!({ "version": 0, "gtin_source": "gtin" })).await?;
    expect("a stale replacement", &stale, 409, Some(("field", "version")))?;
    let (_, now) = send("GET", Value::Null).await?;
    ensure(now["data"] == expected, || format!("a refused replacement changed {now}"))?;
    let replaced = send("PUT", now["data"].clone()).await?;
    expect("the settings, sent back", &replaced, 200, None)?;
    let tasks: Vec<_> = (1..=8)
        .map(|months| json!({ "policies": { "warranty_months": months } }))
        .chain((1..=8).map(|days| json!({ "policies": { "return_window_days": days } })))
        .collect();
    let answers = tasks.into_iter().map(|body| send("PATCH", body));
    let answers = futures::future::join_all(answers).await;
    let taken = answers.iter().filter(|answer| matches!(answer, Ok((200, _)))).count();
    let refused = answers.iter().filter(|answer| matches!(answer, Ok((409, _)))).count();
    ensure(taken > 0 && taken + refused == answers.len(), || format!("{answers:?}"))?;
    let (_, now) = send("GET", Value::Null).await?;
    let policies = &now["data"]["policies"];
    ensure(
        policies["warranty_months"].is_number() && policies["return_window_days"].is_number(),
        || format!("a concurrent patch was lost: {now}"),
    )?;
    Ok(format!(
        "a patch of one field leaves the others; PUT without a version 428, with a stale one 409, nothing lost; {taken} of 16 concurrent patches of two fields applied, both fields set"
    ))
}

/// `settings-values`: values that would never apply are refused, with the value that is probably meant.
pub(crate) async fn settings_values(trial: Trial) -> Verdict {
    let shop = Shop::open(&trial).await?;
    let port = shop.port();
    let scopes = ["--scope", "settings", "--scope", "catalog"];
    let key = store_key_with(&shop.url(), &shop.slug, &scopes).await?;
    let product = json!({ "external_id": "A", "name": "A", "price": 5, "category": ["Home & Kitchen", "Coffee"] });
    call(port, &key, "PATCH", "/merchant/products", &json!({ "products": [product] })).await?;
    let rate = json!({ "name": "a", "price": 1, "days_min": 1, "days_max": 2 });
    let zone = |country: &str| json!({ "shipping": [{ "name": "a", "countries": [country], "rates": [rate] }] });
    let tax = |points: i64| json!({ "taxes": [{ "country": "PT", "rate_basis_points": points }] });
    let promotion = |category: &str| json!({ "promotions": [{ "id": "p", "name": "p", "kind": "percent", "value": 10, "categories": [category] }] });
    let cases = [
        (zone("UK"), "shipping[0].countries[0]", json!("GB"), Some(zone("GB"))),
        (zone("XX"), "shipping[0].countries[0]", Value::Null, None),
        (tax(23), "taxes[0].rate_basis_points", json!("2300"), Some(tax(2300))),
        (tax(-1), "taxes[0].rate_basis_points", Value::Null, None),
        (tax(20_000), "taxes[0].rate_basis_points", Value::Null, None),
        (
            promotion("Home & Kitchen"),
            "promotions[0].categories[0]",
            json!("home-kitchen"),
            Some(promotion("home-kitchen")),
        ),
        (
            promotion("coffeee"),
            "promotions[0].categories[0]",
            json!("home-kitchen/coffee"),
            Some(promotion("home-kitchen/coffee")),
        ),
        (json!({ "currency": "USD" }), "currency", json!("EUR"), None),
        (json!({ "confirmation_policy": "mandate" }), "confirmation_policy", json!("hosted"), None),
    ];
    let refused = cases.len();
    for (wrong, field, meant, right) in cases {
        let answer = call(port, &key, "PATCH", "/merchant/settings", &wrong).await?;
        expect(&wrong.to_string(), &answer, 400, Some(("field", field)))?;
        ensure(answer.1["details"]["did_you_mean"] == meant, || format!("{wrong}: {answer:?}"))?;
        if let Some(right) = right {
            let answer = call(port, &key, "PATCH", "/merchant/settings", &right).await?;
            expect(&right.to_string(), &answer, 200, None)?;
        }
    }
    let mut accepted = 0;
    for store in &demo::world().stores {
        let key = store_key_with(&shop.url(), &store.slug, &["--scope", "settings"]).await?;
        let (_, current) = call(port, &key, "GET", "/merchant/settings", &Value::Null).await?;
        let again = call(port, &key, "PUT", "/merchant/settings", &current["data"]).await?;
        expect(&store.slug, &again, 200, None)?;
        accepted += 1;
    }
    Ok(format!(
        "{refused} wrong values refused with their field, and with the value meant where there is one; the settings of {accepted} demo stores are accepted as they are"
    ))
}

/// `owner-endpoints`: an owner changes the profile, pauses, reopens and closes the store; others do not, and an operator's
/// decision stands.
pub(crate) async fn owner_endpoints(trial: Trial) -> Verdict {
    let shop = Shop::open(&trial).await?;
    let port = shop.port();
    let (_, owner) = shop.member("owner").await?;
    let (_, staff) = shop.member("staff").await?;
    let act = async |who: &str, path: &str| call(port, who, "POST", path, &Value::Null).await;
    let profile = json!({ "name": "The new name", "logo_url": "https://shop.example/logo.svg",
                          "support_url": "https://shop.example/help" });
    let denied = call(port, &staff, "PATCH", "/merchant/store", &profile).await?;
    expect("staff", &denied, 403, None)?;
    let wrong = call(port, &owner, "PATCH", "/merchant/store", &json!({ "logo_url": "x" })).await?;
    expect("a logo that is no URL", &wrong, 400, Some(("field", "logo_url")))?;
    let changed = call(port, &owner, "PATCH", "/merchant/store", &profile).await?;
    expect("the profile", &changed, 200, None)?;
    let agent = shop.agent().await?;
    let cart = shop.cart(&agent).await?;
    let session = shop.complete(&agent, &cart).await?;
    let public = format!("/stores/{}", shop.slug);
    let mut seen = Vec::new();
    for (path, status, reason) in [
        ("/merchant/store/pause", 403, Some("paused")),
        ("/merchant/store/reopen", 200, None),
        ("/merchant/store/close", 403, Some("closed")),
    ] {
        expect(path, &act(&owner, path).await?, 200, None)?;
        expect("again", &act(&owner, path).await?, 200, None)?;
        wait_for(port, &public, status).await?;
        let answer = call(port, "", "GET", &public, &Value::Null).await?;
        expect("the profile for agents", &answer, status, reason.map(|it| ("reason", it)))?;
        let mut client = agent.client(port);
        let created = agent
            .call(
                &mut client,
                "create_cart",
                json!({ "items": [{ "product_id": shop.products[0], "quantity": 1 }] }),
            )
            .await;
        if status == 403 {
            refused(&created, 403, "store_suspended")?;
        }
        seen.push(path.rsplit('/').next().unwrap_or_default());
    }
    let read = agent
        .call(&mut agent.client(port), "get_checkout", json!({ "checkout_id": session }))
        .await;
    read.success()?;
    wait_until_unlisted(port, &shop.slug).await?;
    expect("reopen", &act(&owner, "/merchant/store/reopen").await?, 200, None)?;
    wait_for(port, &public, 200).await?;
    let (_, shown) = call(port, "", "GET", &public, &Value::Null).await?;
    ensure(
        text(&shown["data"], "name")? == "The new name"
            && shown["data"]["logo_url"] == profile["logo_url"]
            && shown["data"]["support"]["url"] == profile["support_url"],
        || format!("agents see {shown}"),
    )?;
    output(&shop.url(), &["stores", "suspend", &shop.slug, "--reason", "fraud"]).await?;
    let kept = act(&owner, "/merchant/store/reopen").await?;
    expect("a suspension by an operator", &kept, 409, Some(("reason", "set_by_operator")))?;
    let kept = act(&owner, "/merchant/store/pause").await?;
    expect("a suspension by an operator", &kept, 409, Some(("reason", "set_by_operator")))?;
    Ok(format!(
        "profile with logo and support page; {}; an existing session stays readable; staff 403; an operator's suspension stands",
        seen.join(", ")
    ))
}

/// Waits until a public path returns this status: stores are cached for some seconds.
async fn wait_for(port: u16, path: &str, status: u16) -> Result<(), Failure> {
    for _ in 0..50 {
        if call(port, "", "GET", path, &Value::Null).await?.0 == status {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    Err(format!("{path} does not return {status}").into())
}

/// Waits until the directory does not list a store.
async fn wait_until_unlisted(port: u16, slug: &str) -> Result<(), Failure> {
    for _ in 0..50 {
        let path = "/stores/directory?limit=100";
        let (_, directory) = call(port, "", "GET", path, &Value::Null).await?;
        if !directory.to_string().contains(&format!("\"{slug}\"")) {
            return Ok(());
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    Err("a closed store is in the directory".into())
}

/// `agent-analytics`: a merchant sees which agents started and completed checkouts; the registry lists the stores.
pub(crate) async fn agent_analytics(trial: Trial) -> Verdict {
    let shop = Shop::open(&trial).await?;
    let (port, key) = (shop.port(), shop.key().await?);
    let (one, other) = (shop.agent().await?, shop.agent().await?);
    for agent in [&one, &one, &other] {
        let cart = shop.cart(agent).await?;
        shop.complete(agent, &cart).await?;
    }
    let (status, body) =
        call(port, &key, "GET", "/merchant/analytics/agents?days=2", &Value::Null).await?;
    let agents = body["data"]["agents"].as_array().cloned().unwrap_or_default();
    let started: Vec<i64> =
        agents.iter().filter_map(|agent| agent["checkouts_started"].as_i64()).collect();
    ensure(status == 200 && started == [2, 1], || format!("{status} {body}"))?;
    ensure(
        agents.iter().all(|agent| {
            agent["agent_key_id"].as_str().is_some_and(|id| id.starts_with("key_"))
                && agent["by_day"][0]["day"].is_string()
        }) && !body.to_string().contains("agnt_"),
        || format!("agents: {body}"),
    )?;
    let listed = wait_for_registry(port, &shop.slug).await?;
    let own = listed.iter().find(|store| store["slug"] == shop.slug.as_str());
    let own = own.ok_or("the store is not in the registry")?;
    let endpoint = text(own, "mcp_endpoint")?;
    ensure(
        endpoint.ends_with(&format!("/{}/mcp", shop.slug)) && own["trust_score"] == 0.9,
        || format!("the registry says {own}"),
    )?;
    Ok(format!(
        "two agents with 2 and 1 started checkouts by day, by key id; {} stores in the registry, with MCP endpoint and trust score",
        listed.len()
    ))
}

/// Waits until the registry lists a new store and the same stores as the directory; returns them. Servers cache the registry
/// for some seconds and other checks create stores meanwhile: it must list those that the directory has from the beginning,
/// and none that the directory does not have.
async fn wait_for_registry(port: u16, slug: &str) -> Result<Vec<Value>, Failure> {
    let first = directory_slugs(port).await?;
    let mut seen = String::new();
    for _ in 0..150 {
        let index = match Client::new(port).get("/.well-known/merchant-index.json").await {
            Delivery::Answered { status: 200, body } => serde_json::from_str::<Value>(&body)?,
            other => return Err(format!("the registry: {other:?}").into()),
        };
        let listed = index["merchants"].as_array().cloned().unwrap_or_default();
        ensure(index["total"] == listed.len(), || format!("the total of the registry: {index}"))?;
        let (registry, now) = (slugs(&listed), directory_slugs(port).await?);
        let lacking: Vec<_> =
            first.intersection(&now).filter(|it| !registry.contains(*it)).collect();
        let unknown: Vec<_> = registry.difference(&now).collect();
        if lacking.is_empty() && unknown.is_empty() && registry.contains(slug) {
            return Ok(listed);
        }
        seen = format!("lacking {lacking:?}, unknown to the directory {unknown:?}");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    Err(format!("the registry and the directory differ, or lack {slug}: {seen}").into())
}

/// Returns the stores of the directory.
async fn directory_slugs(port: u16) -> Result<BTreeSet<String>, Failure> {
    let path = "/stores/directory?limit=100";
    let (_, directory) = call(port, "", "GET", path, &Value::Null).await?;
    let stores = directory["data"].as_array().cloned().unwrap_or_default();
    ensure(directory["meta"]["total"] == stores.len(), || format!("the directory: {directory}"))?;
    Ok(slugs(&stores))
}

fn slugs(stores: &[Value]) -> BTreeSet<String> {
    stores.iter().filter_map(|store| store["slug"].as_str()).map(ToOwned::to_owned).collect()
}
