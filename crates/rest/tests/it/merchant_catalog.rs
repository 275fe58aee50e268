//! A merchant's own catalog: push, offer updates, imports, quality.

use std::time::Duration;

use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};

use crate::market::{GTIN, Market, assert_error, mug, statuses, with};
use crate::openapi::{assert_described, assert_described_for};

#[tokio::test]
async fn a_push_without_changes_keeps_the_catalog_fresh() {
    let (market, shop) = Market::with_shop().await;
    market.stock(&shop, &[mug("a", json!(3))]).await;
    let scheduled = "SELECT count(*) FROM job WHERE kind = 'catalog.take_stock'";
    let first = market.count(scheduled).await;
    for (minutes, more) in [(59, 0), (1, 1), (1, 1)] {
        market.test.clock().advance(Duration::from_mins(minutes));
        let answer = market.push(&shop, &[mug("a", json!(3))]).await;
        assert_eq!(statuses(&answer), ["unchanged"], "{}", answer.body);
        assert_eq!(market.count(scheduled).await, first + more, "once an hour");
    }
}

#[tokio::test]
async fn a_push_returns_one_result_per_item_in_order() {
    let (market, shop) = Market::with_shop().await;
    market.stock(&shop, &[mug("old", json!(1)), mug("same", json!("2.00"))]).await;
    let answer = market
        .push(
            &shop,
            &[
                mug("new", json!(3)),
                with(mug("bad", json!(3)), json!({ "gtin": "123", "condition": "ignore" })),
                mug("same", json!(2)),
                with(mug("typo", json!(3)), json!({ "ignore_me": 1 })),
                mug("old", json!(1.5)),
                json!("ignore"),
                with(mug("type", json!(3)), json!({ "stock_quantity": "ignore" })),
                with(
                    mug("deep", json!(3)),
                    json!({ "variants": [{ "sku": "a", "price": ["ignore"] }] }),
                ),
                json!({ "name": "ignore" }),
                mug(" new ", json!(4)),
            ],
        )
        .await;
    let expected = [
        "created",
        "failed",
        "unchanged",
        "failed",
        "updated",
        "failed",
        "failed",
        "failed",
        "failed",
        "failed",
    ];
    assert_eq!(statuses(&answer), expected, "{}", answer.body);
    let data = &answer.body["data"];
    let counts = ["created", "updated", "unchanged", "failed"].map(|name| &data[name]);
    assert_eq!(counts, [1, 1, 1, 7]);
    let told = |index: usize| {
        let result = &data["results"][index];
        let faults = result["faults"].as_array().unwrap().iter();
        let faults: Vec<(&str, &str)> = faults
            .map(|fault| (fault["field"].as_str().unwrap(), fault["code"].as_str().unwrap()))
            .collect();
        (result["external_id"].as_str(), faults)
    };
    assert_eq!(told(1), (Some("bad"), vec![("condition", "invalid_value")]));
    assert_eq!(told(3), (Some("typo"), vec![("item", "unreadable")]));
    assert_eq!(told(5), (None, vec![("item", "unreadable")]));
    assert_eq!(told(6), (Some("type"), vec![("stock_quantity", "invalid_value")]));
    assert_eq!(told(7), (Some("deep"), vec![("variants[0].price", "invalid_value")]));
    assert_eq!(told(8), (None, vec![("external_id", "invalid_value")]));
    assert_eq!(told(9).1, [("external_id", "duplicate")]);
    assert!(!data.to_string().contains("ignore"), "{data}");
    assert_eq!(market.count("SELECT count(*) FROM product").await, 3);
}

#[tokio::test]
async fn amounts_are_parsed_exactly() {
    let (market, shop) = Market::with_shop().await;
    market.stock(&shop, &[mug("a", json!(0.1)), mug("b", json!("0.10"))]).await;
    let prices = market.count("SELECT count(*) FROM product WHERE price_minor = 10").await;
    assert_eq!(prices, 2);
    // A JSON number is parsed by its digits, not as binary floating point.
    let digits = br#"{"products": [{"external_id": "c", "name": "C", "price": 4503599627.37}]}"#;
    let content_type = "application/x-www-form-urlencoded";
    let answer =
        market.send(&shop, Method::PATCH, "/products", content_type, Body::from(&digits[..])).await;
    assert_eq!(statuses(&answer), ["created"], "whatever the Content-Type");
    assert_eq!(
        market.count("SELECT price_minor FROM product WHERE external_id = 'c'").await,
        450_359_962_737
    );
    for price in
        [json!(1.005), json!(-1), json!("1,50"), json!("1e3"), json!("ignore"), json!(1e30)]
    {
        let answer = market.push(&shop, &[mug("a", price.clone())]).await;
        assert_eq!(statuses(&answer), ["failed"], "{price}");
        let fault = &answer.body["data"]["results"][0]["faults"][0];
        assert_eq!((&fault["field"], &fault["code"]), (&json!("price"), &json!("invalid_amount")));
    }
}

#[tokio::test]
async fn a_push_is_limited_to_500_products_and_16_mebibytes() {
    let (market, shop) = Market::with_shop().await;
    let many = |count: usize| -> Vec<Value> {
        (0..count).map(|number| mug(&format!("m{number}"), json!(1))).collect()
    };
    assert_error(&market.push(&shop, &many(501)).await, 400, "invalid_request", Some("products"));
    let answer = market.push(&shop, &many(500)).await;
    assert_eq!((&answer.body["data"]["created"], answer.status), (&json!(500), 200));
    let answer = market.push(&shop, &[]).await;
    assert_eq!((answer.status, statuses(&answer).len()), (200, 0));
    let mut items: Vec<Value> = Vec::new();
    items.resize(501, json!({ "external_id": "m1", "stock_quantity": 1 }));
    let answer = market.patch(&shop, "/inventory", &json!({ "items": items })).await;
    assert_error(&answer, 400, "invalid_request", Some("items"));
    let large = vec![b' '; (16 << 20) + 1];
    let answer = market.send(&shop, Method::PATCH, "/products", "application/json", large).await;
    assert_error(&answer, 413, "payload_too_large", None);
    for body in ["", "ignore", "[]", r#"{"products": {}, "x": 1}"#, r#"{"items": []}"#] {
        let answer = market.send(&shop, Method::PATCH, "/products", "application/json", body).await;
        assert_eq!(answer.error(), (400, "invalid_request"), "{body}");
        assert!(answer.body["details"]["hint"].as_str().unwrap().contains("/api/docs"));
    }
}

#[tokio::test]
async fn a_product_is_put_by_the_merchants_identifier() {
    let (market, shop) = Market::with_shop().await;
    let address = "/products/caf%C3%A9%2Fno%201%3F";
    let cafe = mug("café/no 1?", json!(5));
    let put = async |address: &str, product: &Value| {
        let answer = market.json(&shop, Method::PUT, address, product).await;
        assert_described_for("put", "/merchant/products/{external_id}", &answer);
        answer
    };
    let answer = put(address, &cafe).await;
    let data = &answer.body["data"];
    assert_eq!((&data["status"], &data["external_id"]), (&json!("created"), &json!("café/no 1?")));
    let id = data["product_id"].clone();
    assert_eq!(put(address, &cafe).await.body["data"]["status"], "unchanged");
    assert_error(&put("/products/other", &cafe).await, 400, "invalid_request", Some("external_id"));
    let wrong = with(cafe.clone(), json!({ "name": "", "price": "ignore" }));
    let answer = put(address, &wrong).await;
    assert_error(&answer, 400, "invalid_request", Some("name"));
    assert_eq!(answer.body["details"]["faults"].as_array().unwrap().len(), 2);
    let wrong = with(cafe.clone(), json!({ "stock_quantity": "ignore" }));
    assert_error(&put(address, &wrong).await, 400, "invalid_request", Some("stock_quantity"));
    for part in ["%FF", "%00", &"x".repeat(101)] {
        let answer = put(&format!("/products/{part}"), &cafe).await;
        assert_error(&answer, 400, "invalid_request", Some("external_id"));
    }
    let delete = async || {
        let answer = market.json(&shop, Method::DELETE, address, &json!(null)).await;
        assert_described_for("delete", "/merchant/products/{external_id}", &answer);
        answer
    };
    let answer = delete().await;
    assert_eq!(answer.body["data"]["status"], "retired");
    assert_eq!(answer.body["data"]["product_id"], id);
    let again = delete().await;
    assert_error(&again, 404, "product_not_found", Some("external_id"));
    let back = put(address, &cafe).await;
    assert_eq!(
        (&back.body["data"]["status"], &back.body["data"]["product_id"]),
        (&json!("updated"), &id)
    );
}

#[tokio::test]
async fn stock_is_updated_without_the_product() {
    let (market, shop) = Market::with_shop().await;
    let shirt = with(
        mug("shirt", json!(20)),
        json!({ "variants": [
            { "sku": "S", "stock_quantity": 3 }, { "sku": "M", "price": 25, "stock_quantity": 0 },
        ]}),
    );
    let ids = market.stock(&shop, &[mug("mug", json!(1)), shirt]).await;
    let items = json!([
        { "external_id": "mug", "stock_quantity": 0 },
        { "external_id": "shirt", "sku": "M", "stock_quantity": 7 },
        { "external_id": "shirt", "stock_quantity": 7 },
        { "external_id": "shirt", "sku": "ignore", "stock_quantity": 7 },
        { "external_id": "none", "stock_quantity": 7 },
        { "external_id": "mug", "stock_quantity": 0 },
        { "external_id": "mug", "stock_quantity": -1 },
        { "external_id": "mug", "stock_status": "ignore" },
        { "external_id": "mug", "quantity": 1 },
        { "external_id": "mug" },
        { "external_id": "a\u{0}b", "stock_quantity": 1 },
        { "external_id": "mug", "stock_status": "preorder" },
    ]);
    let answer = market.patch(&shop, "/inventory", &json!({ "items": items })).await;
    let expected = [
        "updated",
        "updated",
        "failed",
        "not_found",
        "not_found",
        "unchanged",
        "failed",
        "failed",
        "failed",
        "failed",
        "not_found",
        "updated",
    ];
    assert_eq!(statuses(&answer), expected, "{}", answer.body);
    let results = &answer.body["data"]["results"];
    let field = |index: usize| results[index]["faults"][0]["field"].as_str().unwrap();
    assert_eq!(
        [2, 6, 7, 8, 9].map(field),
        ["sku", "stock_quantity", "stock_status", "item", "stock_quantity"]
    );
    assert!(results[7]["faults"][0]["reason"].as_str().unwrap().contains("in_stock"), "{results}");
    assert_eq!(answer.body["data"]["failed"], 8);
    let shirt = market.door.get(&format!("/api/v1/agent/availability/{}", ids[1])).await;
    assert_eq!(shirt.body["data"]["available_quantity"], 10);
    let mug = market.door.get(&format!("/api/v1/agent/availability/{}", ids[0])).await;
    assert_eq!(mug.body["data"]["stock_status"], "preorder");
}

#[tokio::test]
async fn prices_are_updated_and_recorded_in_the_history() {
    let (market, shop) = Market::with_shop().await;
    let shirt =
        with(mug("shirt", json!(20)), json!({ "variants": [{ "sku": "S" }, { "sku": "M" }] }));
    let ids = market.stock(&shop, &[mug("mug", json!(10)), shirt]).await;
    market.test.clock().advance(std::time::Duration::from_mins(1));
    let items = json!([
        { "external_id": "mug", "price": 7.5, "list_price": "10.00" },
        { "external_id": "mug", "price": "7.50", "list_price": 10, "currency": "EUR" },
        { "external_id": "mug", "price": 7, "currency": "USD" },
        { "external_id": "mug", "price": "ignore" },
        { "external_id": "mug", "price": null },
        { "external_id": "shirt", "sku": "M", "price": 15 },
        { "external_id": "shirt", "price": 15 },
        { "external_id": "none", "price": 15 },
    ]);
    let answer = market.patch(&shop, "/prices", &json!({ "items": items })).await;
    let expected =
        ["updated", "unchanged", "failed", "failed", "failed", "updated", "failed", "not_found"];
    assert_eq!(statuses(&answer), expected, "{}", answer.body);
    assert!(!answer.body.to_string().contains("ignore"));
    let history = market.door.get(&format!("/api/v1/agent/products/{}/prices", ids[0])).await;
    assert_described("/agent/products/{product_id}/prices", &history);
    let prices = history.body["data"]["prices"].as_array().unwrap();
    let seen: Vec<_> = prices.iter().map(|line| (&line["price"], &line["list_price"])).collect();
    assert_eq!(seen, [(&json!(7.5), &json!(10.0)), (&json!(10.0), &json!(null))]);
    let shirt = market.door.get(&format!("/api/v1/agent/products/{}", ids[1])).await;
    assert_eq!(shirt.body["data"]["price"], 15.0);
}

#[tokio::test]
async fn a_store_accesses_only_its_own_products_and_jobs() {
    let (market, shop) = Market::with_shop().await;
    let other = market.open("other", Some(0.9), true).await;
    let ids = market.stock(&shop, &[mug("mug", json!(1))]).await;
    let theirs = market.stock(&other, &[mug("mug", json!(2))]).await;
    assert_ne!(ids, theirs);
    let items = json!({ "items": [{ "external_id": "mug", "price": 3 }] });
    assert_eq!(statuses(&market.patch(&other, "/prices", &items).await), ["updated"]);
    let answer = market.json(&other, Method::DELETE, "/products/mug", &json!(null)).await;
    assert_eq!(answer.body["data"]["product_id"], theirs[0]);
    let mine = market.door.get(&format!("/api/v1/agent/products/{}", ids[0])).await;
    assert_eq!(mine.body["data"]["price"], 1.0);
    let sent = market.send(&shop, Method::PUT, "/products", "application/x-ndjson", "{}\n").await;
    let job = sent.body["data"]["job_id"].as_str().unwrap();
    for path in ["", "/faults"] {
        let address = format!("/jobs/{job}{path}");
        assert_eq!(market.read(&shop, &address).await.status, 200);
        let answer = market.read(&other, &address).await;
        assert_error(&answer, 404, "not_found", Some("job_id"));
        assert_described(&format!("/merchant/jobs/{{job_id}}{path}"), &answer);
    }
    assert_eq!(market.read(&other, "/jobs").await.body["meta"]["total"], 0);
    assert_error(&market.read(&shop, "/jobs/ignore").await, 400, "invalid_request", Some("job_id"));
}

#[tokio::test]
async fn an_uploaded_feed_is_queued() {
    let (market, shop) = Market::with_shop().await;
    // No worker ends the runs of this test.
    sqlx::query("INSERT INTO catalog_quota SELECT merchant_id, 'open_feed_runs', 100 FROM store")
        .execute(&mut market.test.raw().await)
        .await
        .unwrap();
    let line = mug("mug", json!(1)).to_string();
    let send = async |method: Method, path: &str, content_type: &str| {
        market.send(&shop, method, path, content_type, line.clone()).await
    };
    let answer = send(Method::PUT, "/products?dry_run=true&force=true", "text/plain").await;
    assert_described_for("put", "/merchant/products", &answer);
    assert_eq!((answer.status, &answer.body["data"]["status"]), (202, &json!("queued")));
    for (content_type, format) in [
        ("application/x-ndjson", "ndjson"),
        ("Application/XML; charset=utf-8", "google_xml"),
        ("text/xml", "google_xml"),
        ("text/tab-separated-values", "google_tsv"),
        ("text/csv", "shopify_csv"),
        ("application/json", "acp_json"),
    ] {
        let answer = send(Method::POST, "/imports?file_name=feed%3Cb%3E", content_type).await;
        assert_described_for("post", "/merchant/imports", &answer);
        let url = answer.body["data"]["status_url"].as_str().unwrap();
        let path = url.strip_prefix("https://souk.example/api/v1/merchant").unwrap();
        let job = market.read(&shop, path).await;
        assert_described("/merchant/jobs/{job_id}", &job);
        let data = &job.body["data"];
        assert_eq!((&data["format"], &data["mode"]), (&json!(format), &json!("merge")));
        assert_eq!((&data["progress"], &data["file_name"]), (&json!(0.0), &json!("feed")));
    }
    let named = send(Method::POST, "/imports?format=ndjson&mode=replace", "image/png").await;
    assert_eq!(named.status, 202);
    for (query, content_type, field) in [
        ("", "image/ignore", "format"),
        ("", "", "format"),
        ("?format=ignore", "text/csv", "format"),
        ("?mode=ignore", "text/csv", "mode"),
        ("?dry_run=ignore", "text/csv", "dry_run"),
    ] {
        let answer = send(Method::POST, &format!("/imports{query}"), content_type).await;
        assert_error(&answer, 400, "invalid_request", Some(field));
        assert_described_for("post", "/merchant/imports", &answer);
        if field == "format" {
            assert!(answer.body["details"]["allowed"].to_string().contains("google_xml"));
        }
    }
    let page = market.read(&shop, "/jobs?limit=3&page=2").await;
    assert_described("/merchant/jobs", &page);
    assert_eq!(page.body["meta"], json!({ "total": 8, "page": 2, "limit": 3 }));
    assert_eq!(page.body["data"].as_array().unwrap().len(), 3);
    let beyond = market.read(&shop, "/jobs?limit=3&page=9").await;
    assert_eq!(beyond.body["meta"]["total"], 8);
}

#[tokio::test]
async fn quality_is_measured_and_defects_are_listed() {
    let (market, shop) = Market::with_shop().await;
    let read = async |query: &str| {
        let answer = market.read(&shop, &format!("/quality{query}")).await;
        assert_described("/merchant/quality", &answer);
        answer
    };
    let empty = read("").await;
    assert_eq!((&empty.body["data"]["catalog_completeness"], empty.status), (&json!(null), 200));
    let number = |product: Value, gtin: &str| with(product, json!({ "gtin": gtin }));
    market
        .stock(
            &shop,
            &[
                number(mug("good", json!(1)), "4006381333931"),
                number(mug("twin-a", json!(1)), GTIN),
                number(mug("twin-b", json!(1)), &format!("0{GTIN}")),
                with(
                    mug("odd", json!(1)),
                    json!({ "stock_status": "in_stock", "stock_quantity": 0 }),
                ),
                with(mug("plain", json!(0)), json!({ "images": [], "currency": "USD" })),
            ],
        )
        .await;
    catalog::refresh_quality(market.test.database(), shop.merchant).await.unwrap();
    let answer = read("").await;
    let data = &answer.body["data"];
    assert_eq!(data["catalog_completeness"], 0.6);
    assert_eq!(data["data_consistency"], 0.2);
    assert_eq!((&data["catalog_freshness"], &data["updating"]), (&json!(1.0), &json!(false)));
    let failing = data["failing"].as_array().unwrap();
    let seen: Vec<_> = failing
        .iter()
        .map(|row| (row["external_id"].as_str().unwrap(), row["defects"].to_string()))
        .collect();
    let expected = [
        ("odd", r#"["missing_gtin","contradicting_stock"]"#),
        ("plain", r#"["missing_price","missing_image","missing_gtin","foreign_currency"]"#),
        ("twin-a", r#"["shared_gtin"]"#),
        ("twin-b", r#"["shared_gtin"]"#),
    ];
    assert_eq!(seen, expected.map(|(id, defects)| (id, defects.to_owned())));
    let twins = read("?defect=shared_gtin&limit=1&page=2").await;
    assert_eq!(twins.body["data"]["failing"][0]["external_id"], "twin-b");
    assert_eq!(twins.body["data"]["meta"], json!({ "total": 2, "page": 2, "limit": 1 }));
    assert_error(&read("?defect=ignore").await, 400, "invalid_request", Some("defect"));
}

#[tokio::test]
async fn a_repeated_upload_with_an_idempotency_key_is_one_job() {
    let (market, shop) = Market::with_shop().await;
    let send = async |method: Method, path: &str, body: String| {
        let key = ("idempotency-key", "one");
        market
            .send_with(&shop, method, path, &[("content-type", "application/x-ndjson"), key], body)
            .await
    };
    let line = |price: i64| mug("mug", json!(price)).to_string();
    let first = send(Method::POST, "/imports", line(1)).await;
    assert_described_for("post", "/merchant/imports", &first);
    assert_eq!((first.status, &first.body["data"]["status"]), (202, &json!("queued")));
    let again = send(Method::POST, "/imports", line(1)).await;
    assert_eq!((again.status, &again.body["data"]), (202, &first.body["data"]));
    let queued = "SELECT count(*) FROM catalog_run WHERE state = 'queued'";
    assert_eq!(market.count(queued).await, 1);
    for (method, path, price) in [
        (Method::POST, "/imports", 2),
        (Method::POST, "/imports?mode=replace", 1),
        (Method::PUT, "/products", 1),
    ] {
        let conflict = send(method.clone(), path, line(price)).await;
        assert_eq!(conflict.error(), (409, "idempotency_conflict"), "{path}");
        let described = path.split('?').next().unwrap();
        let method = method.as_str().to_lowercase();
        assert_described_for(&method, &format!("/merchant{described}"), &conflict);
    }
    assert_eq!(market.count(queued).await, 1);
}
