//! Store settings, with a store key.

use axum::body::Body;
use axum::http::{Method, Request};
use database::Work;
use primitives::{Currency, KeyId, MerchantId, Timestamp};
use serde_json::{Value, json};
use testkit::{START, StoreBuilder, TestDatabase};

use crate::door::{Answer, Door, secret, send};
use crate::openapi::assert_described_for;

const SETTINGS: &str = "/api/v1/merchant/settings";

/// A store, its key, and the door under test.
struct Shop {
    test: TestDatabase,
    door: Door,
    merchant: MerchantId,
    key_id: KeyId,
    key: String,
}

impl Shop {
    /// Closed and suspended, which must not lock its merchant out.
    async fn shut() -> Self {
        Self::open(false, Some(0.1), Currency::EUR).await
    }

    async fn new() -> Self {
        Self::open(true, Some(0.9), Currency::EUR).await
    }

    async fn open(active: bool, trust_score: Option<f64>, currency: Currency) -> Self {
        let test = TestDatabase::new().await;
        let store = StoreBuilder::new("shop")
            .with(|store| {
                store.name = String::from("The shop");
                store.legal_name = String::from("Example GmbH");
                store.description = String::from("All sorts");
                store.country = String::from("DE");
                store.languages = vec![String::from("de")];
                store.ships_to = vec![String::from("DE")];
                store.member_since = Timestamp::from_unix_micros(START);
            })
            .active(active)
            .currency(currency)
            .score(trust_score)
            .store_key(&secret())
            .build(test.database())
            .await;
        let (merchant, issued) = (store.merchant, store.store_key());
        let (key_id, key) = (issued.key_id, issued.key.clone());
        let door = Door::on(&test);
        Self { test, door, merchant, key_id, key }
    }

    async fn call(&self, method: Method, authorization: &str, body: &Value) -> Answer {
        self.call_with(method, authorization, None, body).await
    }

    async fn call_with(
        &self,
        method: Method,
        authorization: &str,
        if_match: Option<&str>,
        body: &Value,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(SETTINGS)
            .header("authorization", authorization)
            .header("content-type", "application/json");
        if let Some(version) = if_match {
            request = request.header("if-match", version);
        }
        send(&self.door.router, request.body(Body::from(body.to_string())).unwrap()).await
    }

    async fn read(&self) -> Answer {
        self.call(Method::GET, &format!("Bearer {}", self.key), &json!(null)).await
    }

    /// Replaces the settings, whatever their version if the body names none.
    async fn put(&self, body: &Value) -> Answer {
        let any = body["version"].is_null().then_some("*");
        self.put_if(any, body).await
    }

    async fn put_if(&self, if_match: Option<&str>, body: &Value) -> Answer {
        let key = format!("Bearer {}", self.key);
        let answer = self.call_with(Method::PUT, &key, if_match, body).await;
        assert_described_for("put", "/merchant/settings", &answer);
        answer
    }

    async fn patch(&self, body: &Value) -> Answer {
        let answer = self.call(Method::PATCH, &format!("Bearer {}", self.key), body).await;
        assert_described_for("patch", "/merchant/settings", &answer);
        answer
    }

    async fn events(&self) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM outbox WHERE payload ? 'settings_version'")
            .fetch_one(&mut self.test.raw().await)
            .await
            .unwrap()
    }
}

fn full() -> Value {
    json!({
        "policies": {
            "return_window_days": 30,
            "free_shipping_threshold": 49.9,
            "shipping_days_min": 2,
            "shipping_days_max": 4,
            "return_summary": "  Send it back.  ",
            "privacy_url": "https://shop.example/privacy",
        },
        "confirmation_policy": "hosted",
        "destination_required": true,
        "hold_limits": { "holds": 3, "units": 40 },
        "gtin_source": "attribute:EAN",
        "shipping": [
            { "name": "Home", "countries": ["DE", "AT"], "rates": [
                { "name": "Parcel", "price": "4.90", "days_min": 1, "days_max": 3 },
                { "name": "Free", "price": 0, "min_subtotal": 49.9, "days_min": 1, "days_max": 3 },
            ]},
            { "name": "World", "countries": ["*"], "rates": [
                { "name": "Air", "price": 19, "days_min": 5, "days_max": 14 },
            ]},
        ],
        "taxes": [
            { "country": "DE", "rate_basis_points": 1900, "included": true },
            { "country": "DE", "category": "books", "rate_basis_points": 700, "included": true },
        ],
        "promotions": [
            { "id": "p1", "name": "Autumn", "kind": "percent", "value": 12.5, "code": "AUTUMN",
              "starts_at": "2026-11-01T00:00:00Z", "ends_at": "2026-12-01T00:00:00Z",
              "categories": ["home"] },
            { "id": "p2", "name": "Five off", "kind": "amount", "value": "5.00", "min_subtotal": 50 },
            { "id": "p3", "name": "We carry it", "kind": "free_shipping" },
        ],
    })
}

#[tokio::test]
async fn a_new_store_has_the_default_settings() {
    let shop = Shop::new().await;
    let answer = shop.read().await;
    assert_described_for("get", "/merchant/settings", &answer);
    let nothing = json!({
        "version": 0,
        "updated_at": null,
        "currency": "EUR",
        "policies": {
            "return_window_days": null,
            "free_shipping_threshold": null,
            "shipping_days_min": null,
            "shipping_days_max": null,
            "return_summary": null,
            "shipping_summary": null,
            "privacy_url": null,
            "terms_url": null,
            "warranty_months": null,
        },
        "confirmation_policy": "attested",
        "checkout_url_template": null,
        "webhook_url": null,
        "destination_required": false,
        "hold_limits": null,
        "gtin_source": "gtin",
        "shipping": [],
        "taxes": [],
        "promotions": [],
    });
    assert_eq!(answer.body["data"], nothing);
}

#[tokio::test]
async fn settings_are_returned_as_set_and_can_be_sent_back() {
    let shop = Shop::new().await;
    let answer = shop.put(&full()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let set = &answer.body["data"];
    assert_eq!((&set["version"], &set["updated_at"]), (&json!(1), &json!("2026-11-15T08:00:00Z")));
    assert_eq!(set["policies"]["free_shipping_threshold"], 49.9);
    assert_eq!(set["policies"]["return_summary"], "Send it back.");
    assert_eq!(set["confirmation_policy"], "hosted");
    assert_eq!(set["gtin_source"], "attribute:EAN");
    assert_eq!(set["destination_required"], true);
    assert_eq!(set["hold_limits"], json!({ "holds": 3, "units": 40 }));
    assert_eq!(set["shipping"][0]["rates"][0]["price"], 4.9);
    assert_eq!(set["shipping"][0]["rates"][1]["min_subtotal"], 49.9);
    assert_eq!(set["taxes"][1]["category"], "books");
    let given =
        |place: usize| (&set["promotions"][place]["kind"], &set["promotions"][place]["value"]);
    assert_eq!(given(0), (&json!("percent"), &json!(12.5)));
    assert_eq!(given(1), (&json!("amount"), &json!(5.0)));
    assert_eq!(given(2), (&json!("free_shipping"), &json!(null)));
    let read = shop.read().await;
    assert_eq!(read.body, answer.body);
    let again = shop.put(&read.body["data"]).await;
    assert_eq!(again.body, answer.body, "identical settings change nothing");
    assert_eq!(shop.events().await, 1);
    let profile = shop.door.get("/api/v1/stores/shop").await;
    assert_eq!(profile.body["data"]["policies"]["free_shipping_threshold"], 49.9);
}

#[tokio::test]
async fn text_is_sanitized_and_empty_text_is_absent() {
    let shop = Shop::new().await;
    let answer = shop
        .put(&json!({
            "policies": { "return_summary": " <b>Send</b> it\nback. ", "shipping_summary": " " },
            "gtin_source": " attribute:EAN ",
            "checkout_url_template": "",
            "shipping": [{ "name": "<i>Home</i>", "countries": [" DE "], "rates": [
                { "name": " Parcel ", "price": 1, "days_min": 1, "days_max": 3 },
            ]}],
            "taxes": [{ "country": "DE", "region": " ", "rate_basis_points": 1900 }],
            "promotions": [{ "id": " p ", "name": "A <b>b</b>", "kind": "free_shipping",
                             "code": " TEN ", "categories": [" home "] }],
        }))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let set = &answer.body["data"];
    assert_eq!(set["policies"]["return_summary"], "Send it back.");
    assert_eq!(set["policies"]["shipping_summary"], json!(null));
    assert_eq!(set["gtin_source"], "attribute:EAN");
    assert_eq!(set["checkout_url_template"], json!(null));
    let zone = &set["shipping"][0];
    assert_eq!((&zone["name"], &zone["countries"]), (&json!("Home"), &json!(["DE"])));
    assert_eq!(zone["rates"][0]["name"], "Parcel");
    assert_eq!(set["taxes"][0]["region"], json!(null));
    let promotion = &set["promotions"][0];
    assert_eq!((&promotion["id"], &promotion["name"]), (&json!("p"), &json!("A b")));
    assert_eq!((&promotion["code"], &promotion["categories"]), (&json!("TEN"), &json!(["home"])));
    let nameless = json!({ "promotions": [{ "id": " ", "name": "a", "kind": "free_shipping" }] });
    let answer = shop.put(&nameless).await;
    assert_eq!(answer.error(), (400, "invalid_request"));
    assert_eq!(answer.body["details"]["field"], "promotions[0].id");
    assert_eq!(answer.body["details"]["allowed"], "plain text of 1 to 100 characters");
}

#[tokio::test]
async fn amounts_are_stored_exactly() {
    let shop = Shop::new().await;
    // Binary floating point represents neither 1.1 nor 4503599627.37 exactly.
    for price in ["1.10", "0.07", "4503599627.37", "9999999999.99"] {
        let rate = json!({ "name": "Parcel", "price": price, "days_min": 1, "days_max": 3 });
        let zone = json!({ "name": "Home", "countries": ["*"], "rates": [rate] });
        assert_eq!(shop.put(&json!({ "shipping": [zone] })).await.status, 200, "{price}");
        let kept: i64 = sqlx::query_scalar(
            "SELECT (shipping->0->'rates'->0->>'price_minor')::bigint FROM store_setting",
        )
        .fetch_one(&mut shop.test.raw().await)
        .await
        .unwrap();
        assert_eq!(kept.to_string(), price.replace('.', "").trim_start_matches('0'));
    }
}

#[tokio::test]
async fn a_concurrent_change_is_rejected() {
    let shop = Shop::new().await;
    let change = |version: i64, days: i64| {
        let policies = json!({ "return_window_days": days });
        json!({ "version": version, "policies": policies })
    };
    assert_eq!(shop.put(&change(0, 14)).await.body["data"]["version"], 1);
    let late = shop.put(&change(0, 30)).await;
    assert_eq!(late.error(), (409, "invalid_status_transition"));
    assert_eq!(late.body["details"]["field"], "version");
    assert_eq!(late.body["details"]["current_version"], 1);
    assert_eq!(shop.put(&change(1, 30)).await.body["data"]["version"], 2);
    let unguarded = json!({ "policies": { "return_window_days": 31 } });
    let refused = shop.put_if(None, &unguarded).await;
    assert_eq!(refused.error(), (428, "precondition_required"));
    assert_eq!(refused.body["details"]["current_version"], 2);
    assert_eq!(shop.read().await.header("etag"), "\"2\"");
    let stale = shop.put_if(Some("\"1\""), &unguarded).await;
    assert_eq!(stale.error(), (409, "invalid_status_transition"));
    assert_eq!(shop.put_if(Some("\"2\""), &unguarded).await.body["data"]["version"], 3);
    assert_eq!(shop.put_if(Some("nonsense"), &unguarded).await.error(), (400, "invalid_request"));
}

#[tokio::test]
async fn a_patch_changes_what_it_names_and_nothing_else() {
    let shop = Shop::new().await;
    let before = shop.put(&full()).await.body["data"].clone();
    let answer = shop.patch(&json!({ "gtin_source": "sku" })).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let mut expected = before.clone();
    expected["gtin_source"] = json!("sku");
    expected["version"] = json!(2);
    assert_eq!(answer.body["data"], expected);
    let answer = shop
        .patch(&json!({ "policies": { "return_window_days": 14, "privacy_url": null }, "taxes": null }))
        .await;
    expected["policies"]["return_window_days"] = json!(14);
    expected["policies"]["privacy_url"] = json!(null);
    expected["taxes"] = json!([]);
    expected["version"] = json!(3);
    assert_eq!(answer.body["data"], expected);
    let stale = shop.patch(&json!({ "version": 2, "gtin_source": "mpn" })).await;
    assert_eq!(stale.error(), (409, "invalid_status_transition"));
    let unknown = shop.patch(&json!({ "polices": {} })).await;
    assert_eq!(unknown.error(), (400, "invalid_request"));
    assert_eq!(unknown.body["details"]["field"], "polices");
    assert_eq!(shop.patch(&json!([])).await.error(), (400, "invalid_request"));
    assert_eq!(shop.patch(&json!({})).await.body["data"], expected, "nothing differs");
}

#[tokio::test]
async fn concurrent_patches_without_a_version_are_all_applied() {
    let shop = Shop::new().await;
    let patches = [
        json!({ "policies": { "return_window_days": 14 } }),
        json!({ "policies": { "shipping_days_min": 2, "shipping_days_max": 9 } }),
        json!({ "policies": { "return_summary": "Send it back." } }),
        json!({ "policies": { "privacy_url": "https://shop.example/privacy" } }),
        json!({ "policies": { "warranty_months": 24 } }),
        json!({ "gtin_source": "sku" }),
        json!({ "destination_required": true }),
        json!({ "hold_limits": { "holds": 3, "units": 40 } }),
    ];
    let answers = futures::future::join_all(patches.iter().map(|patch| shop.patch(patch))).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    let stored = shop.read().await.body["data"].clone();
    assert_eq!(stored["version"], 8);
    for patch in &patches {
        for (field, value) in patch.as_object().unwrap() {
            if field != "policies" {
                assert_eq!(stored[field], *value, "{field}");
                continue;
            }
            for (field, value) in value.as_object().unwrap() {
                assert_eq!(stored["policies"][field], *value, "{field}");
            }
        }
    }
}

#[tokio::test]
async fn an_invalid_value_has_a_suggestion() {
    let shop = Shop::new().await;
    let zone = |country: &str| {
        let rate = json!({ "name": "a", "price": 1, "days_min": 1, "days_max": 2 });
        json!({ "shipping": [{ "name": "a", "countries": [country], "rates": [rate] }] })
    };
    let tax = |country: &str, points: i64| json!({ "taxes": [{ "country": country, "rate_basis_points": points }] });
    for (body, field, meant) in [
        (zone("UK"), "shipping[0].countries[0]", json!("GB")),
        (zone("de"), "shipping[0].countries[0]", json!("DE")),
        (zone("XX"), "shipping[0].countries[0]", json!(null)),
        (tax("UK", 2000), "taxes[0].country", json!("GB")),
        (tax("PT", 23), "taxes[0].rate_basis_points", json!("2300")),
        (tax("PT", -1), "taxes[0].rate_basis_points", json!(null)),
        (tax("PT", 10_001), "taxes[0].rate_basis_points", json!(null)),
        (json!({ "currency": "USD" }), "currency", json!("EUR")),
        (json!({ "confirmation_policy": "mandate" }), "confirmation_policy", json!("hosted")),
        (json!({ "gtin_source": "GTIN" }), "gtin_source", json!("gtin")),
    ] {
        let answer = shop.patch(&body).await;
        assert_eq!(answer.error(), (400, "invalid_request"), "{body}");
        assert_eq!(answer.body["details"]["field"], field, "{}", answer.body);
        assert_eq!(answer.body["details"]["did_you_mean"], meant, "{}", answer.body);
    }
    for valid in [zone("GB"), tax("PT", 0), tax("PT", 100), tax("PT", 2300)] {
        assert_eq!(shop.patch(&valid).await.status, 200, "{valid}");
    }
}

#[tokio::test]
async fn an_invalid_setting_is_named_and_its_value_not_repeated() {
    let shop = Shop::new().await;
    let rate = |price: Value| json!({ "name": "a", "price": price, "days_min": 1, "days_max": 2 });
    let zone = |rate: Value| {
        let zone = json!({ "name": "a", "countries": ["*"], "rates": [rate] });
        json!({ "shipping": [zone] })
    };
    let promotion = |kind: &str, value: Value| {
        let promotion = json!({ "id": "a", "name": "a", "kind": kind, "value": value });
        json!({ "promotions": [promotion] })
    };
    for (field, body) in [
        ("currency", json!({ "currency": "USD" })),
        ("gtin_source", json!({ "gtin_source": "ignore" })),
        ("checkout_url_template", json!({ "checkout_url_template": "https://ignore.example/" })),
        ("confirmation_policy", json!({ "confirmation_policy": "ignore" })),
        ("confirmation_policy", json!({ "confirmation_policy": "mandate" })),
        ("hold_limits.holds", json!({ "hold_limits": { "holds": 0, "units": 1 } })),
        ("policies.return_window_days", json!({ "policies": { "return_window_days": -1 } })),
        (
            "policies.return_summary",
            json!({ "policies": { "return_summary": "ignore".repeat(400) } }),
        ),
        (
            "policies.free_shipping_threshold",
            json!({ "policies": { "free_shipping_threshold": 1.005 } }),
        ),
        ("shipping[0].rates[0].price", zone(rate(json!("4.999")))),
        ("shipping[0].rates[0].price", zone(rate(json!("ignore")))),
        ("shipping[0].rates[0].price", zone(rate(json!(-1)))),
        ("shipping[0].rates[0].price", zone(rate(json!("1e3")))),
        ("shipping[0].rates[0].price", zone(rate(json!(null)))),
        ("taxes[0].country", json!({ "taxes": [{ "country": "ignore", "rate_basis_points": 1 }] })),
        ("promotions[0].value", promotion("percent", json!(100.01))),
        ("promotions[0].value", promotion("percent", json!(0.001))),
        ("promotions[0].value", promotion("percent", json!(null))),
        ("promotions[0].value", promotion("amount", json!(0))),
        ("promotions[0].value", promotion("free_shipping", json!(5))),
        ("promotions[0].kind", promotion("ignore", json!(5))),
    ] {
        let answer = shop.put(&body).await;
        assert_eq!(answer.error(), (400, "invalid_request"), "{body}");
        assert_eq!(answer.body["details"]["field"], field, "{}", answer.body);
        assert!(!answer.body.to_string().contains("ignore"), "{}", answer.body);
    }
    assert_eq!(shop.put(&json!({ "polices": {} })).await.error(), (400, "invalid_request"));
    assert_eq!(shop.read().await.body["data"]["version"], 0, "nothing was stored");
}

#[tokio::test]
async fn amounts_have_as_many_digits_as_the_stores_currency() {
    let shop = Shop::open(true, None, "JPY".parse().unwrap()).await;
    let threshold = |amount: Value| json!({ "policies": { "free_shipping_threshold": amount } });
    assert_eq!(shop.put(&threshold(json!(5000.5))).await.status, 400);
    let answer = shop.put(&threshold(json!("5000"))).await;
    assert_eq!(answer.body["data"]["policies"]["free_shipping_threshold"], 5000.0);
    assert_eq!(answer.body["data"]["currency"], "JPY");
}

#[tokio::test]
async fn a_store_key_does_not_change_where_buyers_pay() {
    let shop = Shop::new().await;
    let page = "https://shop.example/cart?add={items}&ref={checkout_id}";
    let refused = shop.put(&json!({ "checkout_url_template": page })).await;
    assert_eq!(refused.error(), (403, "forbidden"));
    let details = &refused.body["details"];
    assert_eq!(details["field"], "checkout_url_template");
    assert_eq!(details["reason"], "owner_required");
}

#[tokio::test]
async fn the_merchant_of_a_closed_and_suspended_store_may_change_settings() {
    let shop = Shop::shut().await;
    assert_eq!(shop.read().await.status, 200);
    assert_eq!(shop.put(&full()).await.status, 200);
    assert_eq!(shop.door.get("/api/v1/stores/shop").await.status, 404);
}

#[tokio::test]
async fn a_missing_or_invalid_key_is_unauthorized_with_a_hint() {
    let shop = Shop::new().await;
    let unknown = format!("Bearer mrch_{}", "0".repeat(64));
    let basic = format!("Basic {}", shop.key);
    for authorization in ["", "Bearer", "Bearer ignore", &basic, &shop.key, &unknown] {
        for method in [Method::GET, Method::PUT] {
            // The body is invalid too, which an unauthenticated caller must not learn.
            let answer = shop.call(method, authorization, &json!({ "polices": 1 })).await;
            assert_eq!(answer.error(), (401, "unauthorized"), "{authorization}");
            assert_eq!(answer.header("www-authenticate"), "Bearer");
            let hint = answer.body["details"]["hint"].as_str().unwrap();
            assert!(hint.contains("Authorization: Bearer mrch_…"), "{hint}");
            assert!(!answer.body.to_string().contains("ignore"));
        }
    }
    assert_described_for("get", "/merchant/settings", &shop.door.get(SETTINGS).await);
}

#[tokio::test]
async fn a_revoked_key_and_one_without_a_store_are_unauthorized() {
    let shop = Shop::new().await;
    assert_eq!(shop.read().await.status, 200);
    sqlx::query("DELETE FROM store").execute(&mut shop.test.raw().await).await.unwrap();
    assert_eq!(shop.read().await.error(), (401, "unauthorized"));
    let shop = Shop::new().await;
    let mut work = Work::for_platform(shop.test.database()).await.unwrap();
    identity::revoke_store_key(&mut work, identity::Actor::Operator, shop.merchant, shop.key_id)
        .await
        .unwrap();
    work.commit().await.unwrap();
    assert_eq!(shop.read().await.error(), (401, "unauthorized"));
}
