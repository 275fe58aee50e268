//! Product data for agents, across stores.

use std::slice::from_ref;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use crate::door::Answer;
use crate::market::{GTIN, Market, assert_error, mug, with};
use crate::openapi::{assert_described, assert_described_for};

const UNKNOWN: &str = "prod_00000000000000000000000000000000";

async fn compare(market: &Market, ids: &Value) -> Answer {
    let body = Body::from(json!({ "product_ids": ids }).to_string());
    let request = Request::post("/api/v1/agent/compare").body(body).unwrap();
    let answer = market.door.send(request).await;
    assert_described_for("post", "/agent/compare", &answer);
    answer
}

/// The slugs of the stores whose products a response lists.
fn sellers(answer: &Answer) -> Vec<&str> {
    let products = answer.body["data"].as_array().unwrap_or_else(|| panic!("{}", answer.body));
    products.iter().map(|product| product["merchant"]["slug"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_product_is_read_by_its_id_alone() {
    let (market, shop) = Market::with_shop().await;
    let ids = market.stock(&shop, &[mug("mug", json!(12.5))]).await;
    let answer = market.door.get(&format!("/api/v1/agent/products/{}", ids[0])).await;
    assert_described("/agent/products/{product_id}", &answer);
    let product = &answer.body["data"];
    assert_eq!((&product["name"], &product["price"]), (&json!("Mug mug"), &json!(12.5)));
    assert_eq!(product["merchant"]["slug"], "shop");
    assert_eq!(product["policies"]["return_window_days"], 30);
    for path in ["products", "availability"] {
        let answer = market.door.get(&format!("/api/v1/agent/{path}/{UNKNOWN}")).await;
        assert_error(&answer, 404, "product_not_found", Some("product_id"));
        let answer = market.door.get(&format!("/api/v1/agent/{path}/ignore")).await;
        assert_error(&answer, 400, "invalid_request", Some("product_id"));
    }
    let profile = market.door.get("/api/v1/agent/merchants/shop").await;
    assert_described("/agent/merchants/{slug}", &profile);
    assert_eq!(profile.body["data"]["slug"], "shop");
    assert_eq!(
        market.door.get("/api/v1/agent/merchants/none").await.error(),
        (404, "store_not_found")
    );
}

#[tokio::test]
async fn products_of_closed_and_suspended_stores_are_not_served() {
    let market = Market::new().await;
    let suspended = market.open("suspended", Some(0.1), true).await;
    let closed = market.open("closed", Some(0.9), false).await;
    let good = market.open("good", Some(0.9), true).await;
    let article = with(mug("mug", json!(5)), json!({ "gtin": GTIN, "list_price": 10 }));
    let fine = market.stock(&good, from_ref(&article)).await;
    for (shop, refusal) in
        [(suspended, (403, "store_suspended")), (closed, (404, "store_not_found"))]
    {
        let ids = market.stock(&shop, from_ref(&article)).await;
        for (path, suffix) in [
            ("products", ""),
            ("products", "/prices"),
            ("products", "/reviews"),
            ("availability", ""),
        ] {
            let answer = market.door.get(&format!("/api/v1/agent/{path}/{}{suffix}", ids[0])).await;
            assert_eq!(answer.error(), refusal, "{path}{suffix}");
            assert_described(&format!("/agent/{path}/{{product_id}}{suffix}"), &answer);
        }
        assert_eq!(compare(&market, &json!([ids[0], fine[0]])).await.error(), refusal);
    }
    for address in [format!("/api/v1/agent/products?gtin={GTIN}"), String::from("/api/v1/deals")] {
        assert_eq!(sellers(&market.door.get(&address).await), ["good"], "{address}");
    }
    let answer =
        market.door.get(&format!("/api/v1/agent/products?gtin={GTIN}&merchant=suspended")).await;
    assert_eq!(answer.error(), (403, "store_suspended"));
    assert_eq!(market.door.get("/api/v1/stores/closed/new-arrivals").await.error().0, 404);
}

#[tokio::test]
async fn a_product_in_an_unsupported_currency_is_not_found() {
    let (market, shop) = Market::with_shop().await;
    let yen = with(mug("yen", json!(500)), json!({ "currency": "JPY", "sku": "Y" }));
    let ids = market.stock(&shop, &[yen]).await;
    let answer = market.door.get(&format!("/api/v1/agent/products/{}", ids[0])).await;
    assert_eq!(answer.error(), (404, "product_not_found"));
    let found = market.door.get("/api/v1/agent/products?merchant=shop&sku=Y").await;
    assert_eq!(found.body["data"], json!([]));
}

#[tokio::test]
async fn products_are_found_by_gtin_in_all_stores_and_by_sku_and_url_in_one() {
    let market = Market::new().await;
    let fair = market.open("fair", Some(0.75), true).await;
    let best = market.open("best", Some(0.97), true).await;
    let other = market.open("other", Some(0.99), true).await;
    let page = "https://shop.example/mug?color=red";
    let article = with(mug("mug", json!(5)), json!({ "gtin": GTIN, "sku": "MUG 1", "url": page }));
    let shirt = json!({ "variants": [{ "sku": "S", "gtin": GTIN }, { "sku": "M" }] });
    market.stock(&fair, from_ref(&article)).await;
    market.stock(&best, &[with(mug("shirt", json!(9)), shirt)]).await;
    market.stock(&other, &[mug("mug", json!(9))]).await;
    let find = async |query: &str| {
        let answer = market.door.get(&format!("/api/v1/agent/products?{query}")).await;
        assert_described("/agent/products", &answer);
        answer
    };
    for gtin in [GTIN, "09520000000004", "952-0000000004"] {
        let answer = find(&format!("gtin={gtin}")).await;
        if answer.status == 200 {
            assert_eq!(sellers(&answer), ["best", "fair"], "{gtin}");
            assert_eq!(answer.body["meta"]["total"], 2);
        } else {
            assert_error(&answer, 400, "invalid_request", Some("gtin"));
        }
    }
    assert_eq!(sellers(&find(&format!("gtin={GTIN}&merchant=fair")).await), ["fair"]);
    assert_eq!(sellers(&find("sku=MUG%201&merchant=fair").await), ["fair"]);
    assert_eq!(sellers(&find("sku=M&merchant=best").await), ["best"]);
    let url = "url=https%3A%2F%2Fshop.example%2Fmug%3Fcolor%3Dred&merchant=fair";
    assert_eq!(sellers(&find(url).await), ["fair"]);
    assert_eq!(find("sku=MUG%201&merchant=best").await.body["data"], json!([]));
    assert_error(&find("sku=%00&merchant=best").await, 400, "invalid_request", Some("sku"));
    for (query, field) in [
        ("", "gtin"),
        ("merchant=fair", "gtin"),
        ("sku=ignore", "merchant"),
        ("url=https://ignore.example", "merchant"),
        ("gtin=9520000000005", "gtin"),
        ("gtin=ignore", "gtin"),
        ("url=ignore&merchant=fair", "url"),
        ("gtin=9520000000004&sku=ignore", "gtin"),
    ] {
        assert_error(&find(query).await, 400, "invalid_request", Some(field));
    }
    assert_error(&find("sku=1&merchant=ignore_me").await, 400, "invalid_slug", Some("merchant"));
    assert_eq!(find("sku=1&merchant=none").await.error(), (404, "store_not_found"));
}

#[tokio::test]
async fn products_are_compared() {
    let market = Market::new().await;
    let cheap = market.open("cheap", Some(0.75), true).await;
    let best = market.open("best", Some(0.97), true).await;
    let red = with(mug("a", json!(5)), json!({ "attributes": { "color": "red", "size": "big" } }));
    let blue =
        with(mug("b", json!(6)), json!({ "attributes": { "color": "blue", "size": "big" } }));
    let dollars = with(mug("c", json!(4)), json!({ "currency": "USD", "brand": "Other" }));
    let ids = market.stock(&cheap, &[red, dollars]).await;
    let theirs = market.stock(&best, &[blue]).await;
    let (a, b, c) = (&ids[0], &theirs[0], &ids[1]);
    let answer = compare(&market, &json!([a, b, c])).await;
    let data = &answer.body["data"];
    assert_eq!(data["products"][1]["id"], *b);
    assert_eq!(data["cheapest"], json!({ "EUR": a, "USD": c }));
    assert_eq!(data["most_trusted"], *b);
    let differences = &data["differences"];
    assert_eq!(differences["color"], json!(["red", "blue", null]));
    assert_eq!(differences["size"], json!(["big", "big", null]));
    assert_eq!(differences["brand"], json!(["Salgueira", "Salgueira", "Other"]));
    assert_eq!(differences["merchant"], json!(["cheap", "best", "cheap"]));
    assert!(differences.get("condition").is_none(), "{differences}");
    let two = compare(&market, &json!([a, b])).await;
    assert!(two.body["data"]["differences"].get("size").is_none());
    let eleven: Vec<String> = (0..11).map(|number| format!("prod_{number:032x}")).collect();
    for ids in [json!([]), json!([a]), json!([a, a]), json!(eleven), json!("ignore")] {
        assert_error(&compare(&market, &ids).await, 400, "invalid_request", Some("product_ids"));
    }
    let answer = compare(&market, &json!(["ignore", a])).await;
    assert_error(&answer, 400, "invalid_request", Some("product_ids[0]"));
    assert_error(
        &compare(&market, &json!([a, UNKNOWN])).await,
        404,
        "product_not_found",
        Some("product_id"),
    );
}

#[tokio::test]
async fn availability_covers_the_product_and_each_variant() {
    let (market, shop) = Market::with_shop().await;
    let shirt = json!({ "variants": [
        { "sku": "S", "options": { "size": "S" }, "stock_quantity": 2 },
        { "sku": "M", "options": { "size": "M" }, "stock_status": "backorder" },
    ]});
    let ids = market.stock(&shop, &[with(mug("shirt", json!(9)), shirt)]).await;
    let answer = market.door.get(&format!("/api/v1/agent/availability/{}", ids[0])).await;
    assert_described("/agent/availability/{product_id}", &answer);
    let data = &answer.body["data"];
    assert_eq!(data["stock_status"], "low_stock");
    assert!(
        data.get("available_quantity").is_none(),
        "the quantity of one variant is unknown: {data}"
    );
    assert_eq!(data["variants"][0]["available_quantity"], 2);
    assert_eq!(data["variants"][1]["stock_status"], "backorder");
    assert_eq!(data["variants"][1]["options"], json!({ "size": "M" }));
}

#[tokio::test]
async fn deals_are_sorted_by_discount() {
    let market = Market::new().await;
    let good = market.open("good", Some(0.9), true).await;
    let doubtful = market.open("doubtful", Some(0.6), true).await;
    let deal = |id: &str, price: i64| with(mug(id, json!(price)), json!({ "list_price": 100 }));
    let gone = with(deal("gone", 1), json!({ "stock_quantity": 0 }));
    let later = with(deal("later", 1), json!({ "stock_status": "backorder" }));
    let soon = with(deal("soon", 1), json!({ "stock_status": "preorder" }));
    let full = mug("full", json!(1));
    let products = [deal("d10", 90), deal("d50", 50), deal("d4", 96), full, gone, later, soon];
    market.stock(&good, &products).await;
    market.stock(&doubtful, &[deal("d99", 1)]).await;
    let deals = async |query: &str| {
        let answer = market.door.get(&format!("/api/v1/deals{query}")).await;
        assert_described("/deals", &answer);
        answer
    };
    let names = |answer: &Answer| -> Vec<String> {
        let products = answer.body["data"].as_array().unwrap();
        products.iter().map(|product| product["sku"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&deals("").await), ["d50", "d10"]);
    assert_eq!(names(&deals("?min_discount=0").await), ["d50", "d10", "d4"]);
    assert_eq!(names(&deals("?min_discount=10").await), ["d50", "d10"]);
    assert_eq!(names(&deals("?min_discount=50.5").await), [""; 0]);
    let second = deals("?min_discount=0&limit=1&page=2").await;
    assert_eq!(
        (names(&second), &second.body["meta"]["total"]),
        (vec![String::from("d10")], &json!(3))
    );
    assert_eq!(deals("?min_discount=0&page=9").await.body["meta"]["total"], 3);
    for least in ["-1", "101", "NaN", "ignore"] {
        let answer = deals(&format!("?min_discount={least}")).await;
        assert_error(&answer, 400, "invalid_request", Some("min_discount"));
    }
}

#[tokio::test]
async fn new_arrivals_are_paged() {
    let (market, shop) = Market::with_shop().await;
    for id in ["first", "second", "third"] {
        market.stock(&shop, &[mug(id, json!(1))]).await;
        market.test.clock().advance(Duration::from_mins(1));
    }
    let page = async |query: &str| {
        let answer = market.door.get(&format!("/api/v1/stores/shop/new-arrivals{query}")).await;
        assert_described("/stores/{slug}/new-arrivals", &answer);
        answer
    };
    let all = page("").await;
    let skus: Vec<_> = all.body["data"].as_array().unwrap().iter().map(|it| &it["sku"]).collect();
    assert_eq!(skus, ["third", "second", "first"]);
    assert_eq!(
        all.body["meta"]["total"], 3,
        "although the catalog statistics are not refreshed yet"
    );
    let second = page("?limit=2&page=2").await;
    assert_eq!(second.body["data"][0]["sku"], "first");
    assert_eq!(second.body["meta"]["total"], 3);
    assert_eq!(
        page("?page=9").await.body["meta"]["total"],
        0,
        "the total of the last catalog statistics"
    );
    assert_error(&page("?limit=ignore").await, 400, "invalid_request", Some("limit"));
    assert_eq!(
        market.door.get("/api/v1/stores/none/new-arrivals").await.error(),
        (404, "store_not_found")
    );
}

#[tokio::test]
async fn reviews_name_their_source() {
    let (market, shop) = Market::with_shop().await;
    let review = |id: &str, day: u8| {
        json!({ "external_id": id, "stars": 4, "title": "<b>Good</b>", "text": "Holds coffee.",
                "author": "A. Buyer", "written_at": format!("2026-11-0{day}T08:00:00Z") })
    };
    let draft =
        with(mug("mug", json!(12.5)), json!({ "reviews": [review("r1", 1), review("r2", 2)] }));
    let ids = market.stock(&shop, &[draft]).await;
    let answer = market.door.get(&format!("/api/v1/agent/products/{}/reviews", ids[0])).await;
    assert_described("/agent/products/{product_id}/reviews", &answer);
    let reviews = answer.body["data"]["reviews"].as_array().unwrap();
    assert_eq!(reviews.len(), 2);
    assert_eq!(reviews[0]["written_at"], "2026-11-02T08:00:00Z");
    assert_eq!((&reviews[0]["title"], &reviews[0]["source"]), (&json!("Good"), &json!("merchant")));
}
