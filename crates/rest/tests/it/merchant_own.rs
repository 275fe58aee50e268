//! What merchants see of their own products: lists, single products, exports, retirement.

use axum::body::Body;
use axum::http::{Method, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::door::Answer;
use crate::market::{GTIN, Market, Shop, mug, statuses, with};
use crate::openapi::assert_described_for;

#[track_caller]
fn assert_error(answer: &Answer, status: u16, code: &str) {
    assert_eq!(answer.error(), (status, code), "{}", answer.body);
}

/// Returns the external ids of a list.
fn ids(answer: &Answer) -> Vec<&str> {
    let products = answer.body["data"].as_array().unwrap().iter();
    products.map(|product| product["external_id"].as_str().unwrap()).collect()
}

async fn list(market: &Market, shop: &Shop, query: &str) -> Answer {
    let answer = market.read(shop, &format!("/products{query}")).await;
    assert_described_for("get", "/merchant/products", &answer);
    answer
}

async fn one(market: &Market, shop: &Shop, id: &str) -> Answer {
    let answer = market.read(shop, &format!("/products/{id}")).await;
    assert_described_for("get", "/merchant/products/{external_id}", &answer);
    answer
}

/// A market with a listed, a retired and a foreign product, and one without defects.
async fn stocked() -> (Market, Shop) {
    let (market, shop) = Market::with_shop().await;
    let image = json!({ "images": [{ "url": "https://shop.example/a.jpg" }], "gtin": GTIN });
    market
        .stock(
            &shop,
            &[
                with(mug("a", json!(1)), image),
                mug("b", json!(2)),
                with(mug("c", json!(3)), json!({ "currency": "GBP" })),
                mug("d", json!(4)),
            ],
        )
        .await;
    let retired = market.send(&shop, Method::DELETE, "/products/d", "", Body::empty()).await;
    assert_eq!(retired.status, 200);
    (market, shop)
}

#[tokio::test]
async fn products_are_listed_with_the_reason_why_agents_do_not_see_them() {
    let (market, shop) = stocked().await;
    let all = list(&market, &shop, "").await;
    assert_eq!(ids(&all), ["a", "b", "c", "d"]);
    assert_eq!(all.body["meta"], json!({ "total": 4, "page": 1, "limit": 20 }));
    let told = |index: usize| {
        let product = &all.body["data"][index];
        (product["status"].as_str().unwrap(), product["hidden"]["reason"].as_str())
    };
    assert_eq!(told(0), ("listed", None));
    assert_eq!(told(1), ("listed", None));
    assert_eq!(told(2), ("hidden", Some("unsupported_currency")));
    assert_eq!(told(3), ("hidden", Some("retired")));
    assert_eq!(ids(&list(&market, &shop, "?status=listed").await), ["a", "b"]);
    assert_eq!(ids(&list(&market, &shop, "?status=hidden").await), ["c", "d"]);
    let failing = list(&market, &shop, "?status=failing").await;
    assert_eq!(ids(&failing), ["b", "c"]);
    assert_eq!(failing.body["data"][0]["defects"], json!(["missing_gtin"]));
    // The two definitions of defects, of a page and of the whole catalog, agree.
    let quality = market.read(&shop, "/quality").await;
    let judged: Vec<(&Value, &Value)> = quality.body["data"]["failing"]
        .as_array()
        .unwrap()
        .iter()
        .map(|product| (&product["external_id"], &product["defects"]))
        .collect();
    let listed: Vec<(&Value, &Value)> = failing.body["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|product| (&product["external_id"], &product["defects"]))
        .collect();
    assert_eq!(listed, judged);
    for wrong in ["?status=blocked", "?cursor=nonsense", "?changed_since=yesterday"] {
        assert_error(&list(&market, &shop, wrong).await, 400, "invalid_request");
    }
}

#[tokio::test]
async fn products_of_a_closed_store_are_hidden() {
    let market = Market::new().await;
    let shop = market.open("shut", Some(0.1), true).await;
    market.stock(&shop, &[mug("a", json!(1))]).await;
    let hidden = list(&market, &shop, "?status=hidden").await;
    assert_eq!(hidden.body["data"][0]["hidden"]["reason"], "store_unavailable");
    assert!(ids(&list(&market, &shop, "?status=listed").await).is_empty());
    assert_eq!(one(&market, &shop, "a").await.body["data"]["listed"], json!(null));
}

#[tokio::test]
async fn pages_follow_each_other_by_cursor() {
    let (market, shop) = Market::with_shop().await;
    let products: Vec<Value> = (0..7).map(|number| mug(&format!("p{number}"), json!(1))).collect();
    market.stock(&shop, &products).await;
    let (mut seen, mut query) = (Vec::new(), String::from("?limit=3"));
    loop {
        let page = list(&market, &shop, &query).await;
        assert_eq!(page.body["meta"]["total"], 7);
        seen.extend(ids(&page).into_iter().map(str::to_owned));
        let Some(next) = page.body["meta"]["next_cursor"].as_str() else { break };
        query = format!("?limit=3&cursor={next}");
    }
    assert_eq!(seen, ["p0", "p1", "p2", "p3", "p4", "p5", "p6"]);
}

#[tokio::test]
async fn changed_products_are_listed_since_a_time() {
    let (market, shop) = Market::with_shop().await;
    market.stock(&shop, &[mug("old", json!(1)), mug("gone", json!(1))]).await;
    market.test.clock().advance(std::time::Duration::from_hours(1));
    market.stock(&shop, &[mug("new", json!(1)), mug("old", json!(1))]).await;
    market.send(&shop, Method::DELETE, "/products/gone", "", Body::empty()).await;
    let since = "2026-11-15T08:30:00Z";
    let changed = list(&market, &shop, &format!("?changed_since={since}")).await;
    assert_eq!(ids(&changed), ["gone", "new"]);
}

#[tokio::test]
async fn a_product_is_shown_as_stored_and_as_listed() {
    let (market, shop) = stocked().await;
    let shown = one(&market, &shop, "a").await;
    let data = &shown.body["data"];
    assert_eq!((&data["stored"]["price"], &data["listed"]["price"]), (&json!("1.00"), &json!(1.0)));
    assert_eq!(data["listed"]["id"], data["product_id"]);
    for (id, reason) in [("c", "unsupported_currency"), ("d", "retired")] {
        let shown = one(&market, &shop, id).await;
        let data = &shown.body["data"];
        assert_eq!((&data["listed"], &data["hidden"]["reason"]), (&json!(null), &json!(reason)));
        assert_eq!(data["stored"]["external_id"], id);
    }
    assert_error(&one(&market, &shop, "nothing").await, 404, "product_not_found");
    let other = market.open("other", Some(0.9), true).await;
    assert_error(&one(&market, &other, "a").await, 404, "product_not_found");
    assert!(ids(&list(&market, &other, "").await).is_empty());
    // What is stored can be sent back and changes nothing.
    let stored = one(&market, &shop, "a").await.body["data"]["stored"].clone();
    let again = market.push(&shop, &[stored]).await;
    assert_eq!(statuses(&again), ["unchanged"], "{}", again.body);
}

/// Begins an export.
async fn begin_export(market: &Market, shop: &Shop, format: &str) -> axum::response::Response {
    let request = Request::builder()
        .uri(format!("/api/v1/merchant/export?format={format}"))
        .header("authorization", format!("Bearer {}", shop.key()))
        .extension(primitives::RequestId::from_caller("req_of_this_test").unwrap())
        .extension(primitives::ClientAddress(std::net::IpAddr::from([127, 0, 0, 1])));
    let request = request.body(Body::empty()).unwrap();
    market.door.router.clone().oneshot(request).await.unwrap()
}

/// Returns the bytes of an export.
async fn export(market: &Market, shop: &Shop, format: &str) -> (u16, String, Vec<u8>) {
    let response = begin_export(market, shop, format).await;
    let status = response.status().as_u16();
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, kind, bytes.to_vec())
}

#[tokio::test]
async fn an_export_has_all_pages_and_no_retired_product() {
    let (market, shop) = Market::with_shop().await;
    let products: Vec<Value> =
        (0..450).map(|number| mug(&format!("p{number:03}"), json!(1))).collect();
    market.stock(&shop, &products).await;
    market.send(&shop, Method::DELETE, "/products/p007", "", Body::empty()).await;
    let (status, kind, bytes) = export(&market, &shop, "ndjson").await;
    assert_eq!((status, kind.as_str()), (200, "application/x-ndjson"));
    let lines: Vec<Value> = std::str::from_utf8(&bytes)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 449);
    assert!(lines.is_sorted_by_key(|line| line["external_id"].as_str().unwrap().to_owned()));
    assert!(lines.iter().all(|line| line["external_id"] != "p007"));
    let again = market.push(&shop, &lines[..5]).await;
    assert_eq!(statuses(&again), ["unchanged"; 5], "{}", again.body);
    let (status, ..) = export(&market, &shop, "xml").await;
    assert_eq!(status, 400);
    let empty = market.open("empty", Some(0.9), true).await;
    assert_eq!(export(&market, &empty, "ndjson").await.2, b"");
}

#[tokio::test]
async fn an_export_imported_into_its_own_store_changes_nothing() {
    let (market, shop) = Market::with_shop().await;
    let rich = json!({
        "external_id": "rich", "sku": "R-1", "name": "A mug", "description": "Two\n\nparagraphs.", "brand": "Salgueira",
        "gtin": "9520000000004", "mpn": "M-1", "url": "https://shop.example/mug",
        "category": ["Home & Kitchen", "Mugs, large"], "condition": "refurbished", "price": "12.50",
        "list_price": "15.00", "sale_price": "9.99", "sale_starts_at": "2026-11-01T00:00:00Z",
        "sale_ends_at": "2026-12-01T00:00:00Z", "stock_status": "low_stock", "stock_quantity": 7,
        "images": [{ "url": "https://shop.example/a.jpg", "alt": "The mug" },
                   { "url": "/demo/images/demo-store/POUR-101.svg" }],
        "attributes": { "material": "stoneware", "volume": "300 ml" },
        "rating": { "average": "4.05", "count": 12 },
        "reviews": [{ "external_id": "r1", "stars": 5, "title": "Good", "text": "Holds coffee.", "author": "Ada",
                      "written_at": "2026-10-01T08:00:00Z" }],
        "policies": { "return_window_days": 0, "shipping_days_min": 1, "shipping_days_max": 2, "warranty_months": 6 },
        "listed_at": "2026-09-01T08:00:00Z",
    });
    let variants = json!({
        "external_id": "shirt", "name": "A shirt",
        "variants": [
            { "sku": "S", "name": "Small", "options": { "size": "S", "color": "red" }, "price": "10.00",
              "list_price": "12.00", "gtin": "4006381333931", "stock_status": "backorder", "stock_quantity": 0,
              "image": "https://shop.example/s.jpg" },
            { "sku": "L", "name": "Large", "options": { "size": "L" }, "price": "11.00", "sale_price": "8.00" },
        ],
    });
    market.stock(&shop, &[rich, variants, mug("plain", json!(1))]).await;
    // A category may have another name than the one of its path, as those of the demo stores have.
    market.test.clock().advance(std::time::Duration::from_hours(1));
    let raw = "UPDATE category SET name = 'Large mugs' WHERE path = 'home-kitchen/mugs-large'";
    sqlx::raw_sql(raw).execute(&mut market.test.raw().await).await.unwrap();
    let (_, _, bytes) = export(&market, &shop, "ndjson").await;
    let lines: Vec<Value> = std::str::from_utf8(&bytes)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[1]["category"], json!(["Home & Kitchen", "mugs-large"]), "{}", lines[1]);
    let events = "SELECT count(*) FROM outbox";
    let before = market.count(events).await;
    let again = market.push(&shop, &lines).await;
    assert_eq!(statuses(&again), ["unchanged"; 3], "{}", again.body);
    assert_eq!(market.count(events).await, before);
    assert_eq!(export(&market, &shop, "ndjson").await.2, bytes);
}

#[tokio::test]
async fn a_store_has_two_exports_at_a_time() {
    let (market, shop) = Market::with_shop().await;
    let products: Vec<Value> =
        (0..450).map(|number| mug(&format!("p{number:03}"), json!(1))).collect();
    market.stock(&shop, &products).await;
    let begun = [
        begin_export(&market, &shop, "ndjson").await,
        begin_export(&market, &shop, "ndjson").await,
    ];
    assert!(begun.iter().all(|response| response.status() == 200));
    let third = begin_export(&market, &shop, "ndjson").await;
    assert_eq!(third.status(), 429, "exports that nobody reads are not counted");
    let evidence = market.read(&shop, "/trust/evidence").await;
    assert_eq!(evidence.status, 429, "the evidence of a score is an export: {}", evidence.body);
    assert_eq!(market.read(&shop, "/trust").await.status, 200);
    let other = market.open("other", Some(0.9), true).await;
    assert_eq!(begin_export(&market, &other, "ndjson").await.status(), 200);
    for response in begun {
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(std::str::from_utf8(&bytes).unwrap().lines().count(), 450);
    }
    // The permits are released by the tasks that sent the pages.
    for _ in 0..100 {
        if begin_export(&market, &shop, "ndjson").await.status() == 200 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the permits of complete exports are not released");
}

#[tokio::test]
async fn each_identifier_is_retired_or_refused_by_itself() {
    let (market, shop) = Market::with_shop().await;
    market.stock(&shop, &[mug("a", json!(1)), mug("b", json!(1)), mug("c", json!(1))]).await;
    let retire = async |body: Value| {
        let answer = market.json(&shop, Method::POST, "/retire", &body).await;
        assert_described_for("post", "/merchant/retire", &answer);
        answer
    };
    let answer = retire(json!({ "external_ids": ["a", "x", "b", "a"] })).await;
    assert_eq!(statuses(&answer), ["retired", "not_found", "retired", "failed"]);
    let data = &answer.body["data"];
    assert_eq!((&data["retired"], &data["failed"]), (&json!(2), &json!(2)));
    assert_eq!(
        statuses(&retire(json!({ "external_ids": ["a", "c"] })).await),
        ["unchanged", "retired"]
    );
    assert_eq!(market.count("SELECT count(*) FROM product WHERE retired_at IS NULL").await, 0);
    assert_error(&retire(json!({ "external_ids": [] })).await, 400, "invalid_request");
    let many: Vec<String> = (0..1_001).map(|number| number.to_string()).collect();
    assert_error(&retire(json!({ "external_ids": many })).await, 400, "invalid_request");
}

#[tokio::test]
async fn promotions_name_categories_by_their_path() {
    let (market, shop) = Market::with_shop().await;
    let coffee = json!({ "category": ["Home & Kitchen", "Coffee"] });
    market.stock(&shop, &[with(mug("a", json!(1)), coffee)]).await;
    let patch = async |category: &str| {
        let promotion = json!({ "id": "p", "name": "Autumn", "kind": "percent", "value": 10,
                                "categories": [category] });
        market.json(&shop, Method::PATCH, "/settings", &json!({ "promotions": [promotion] })).await
    };
    for (sent, meant) in [
        ("Home & Kitchen", json!("home-kitchen")),
        ("Coffee", json!("home-kitchen/coffee")),
        ("Garden furniture", json!(null)),
    ] {
        let answer = patch(sent).await;
        assert_error(&answer, 400, "invalid_request");
        assert_eq!(answer.body["details"]["field"], "promotions[0].categories[0]");
        assert_eq!(answer.body["details"]["did_you_mean"], meant, "{sent}");
    }
    let answer = patch("home-kitchen/coffee").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}
