//! The store directory and store profiles.

use merchants::{Identity, IdentityStatus, Policies};
use primitives::Timestamp;
use serde_json::json;
use testkit::{START, StoreBuilder, TestDatabase};

use crate::door::{Answer, Door};
use crate::openapi::assert_described;

/// Registers a store with this standing.
async fn open_store(test: &TestDatabase, slug: &str, trust_score: Option<f64>, active: bool) {
    let now = Timestamp::from_unix_micros(START);
    let mut store = StoreBuilder::new(slug)
        .with(|store| {
            store.name = format!("The {slug}");
            store.legal_name = String::from("Example GmbH");
            store.description = format!("All about {slug}, 100% wool");
            store.website_url = String::from("https://shop.example");
            store.platform = String::from(if slug.starts_with('b') { "push" } else { "demo" });
            store.country = String::from("DE");
            store.languages = vec![String::from("de")];
            store.ships_to = vec![String::from("DE"), String::from("AT")];
            store.support_email = String::from("help@shop.example");
            store.member_since = now;
        })
        .active(active)
        .policies(Policies { return_window_days: Some(30), ..Policies::default() })
        .identity(Identity {
            status: IdentityStatus::Verified,
            level: Some(String::from("company")),
            method: Some(String::from("registry")),
            verified_at: Some(now),
        })
        .catalog_summary(&["Home", format!("Only {slug}").as_str()], 12);
    if trust_score.is_some() {
        store = store.score(trust_score);
    }
    store.build(test.database()).await;
}

/// Registers five stores: two with a good score, one without a score, one suspended, one closed.
async fn seeded_stores() -> (TestDatabase, Door) {
    let test = TestDatabase::new().await;
    for (slug, score, active) in [
        ("attic", Some(0.96), true),
        ("bakery", Some(0.71), true),
        ("chandler", None, true),
        ("dubious", Some(0.1), true),
        ("extinct", Some(0.9), false),
    ] {
        open_store(&test, slug, score, active).await;
    }
    let door = Door::on(&test);
    (test, door)
}

fn slugs(answer: &Answer) -> Vec<&str> {
    assert_eq!((answer.status, &answer.body["success"]), (200, &json!(true)), "{}", answer.body);
    let stores = answer.body["data"].as_array().unwrap();
    stores.iter().map(|store| store["slug"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_entry_of_the_directory() {
    let (_test, door) = seeded_stores().await;
    let answer = door.get("/api/v1/stores/directory?q=attic").await;
    assert_described("/stores/directory", &answer);
    insta::assert_json_snapshot!(answer.body, @r#"
    {
      "data": [
        {
          "categories": [
            "Home",
            "Only attic"
          ],
          "country": "DE",
          "description": "All about attic, 100% wool",
          "endpoints": {
            "mcp": "https://souk.example/attic/mcp"
          },
          "identity_verification": "verified",
          "name": "The attic",
          "platform": "demo",
          "product_count": 12,
          "provisional": false,
          "slug": "attic",
          "trust_score": 0.96,
          "verification_level": "ELITE"
        }
      ],
      "meta": {
        "limit": 20,
        "page": 1,
        "total": 1
      },
      "success": true
    }
    "#);
}

#[tokio::test]
async fn the_directory_lists_open_stores_best_first() {
    let (_test, door) = seeded_stores().await;
    let answer = door.get("/api/v1/stores/directory").await;
    assert_described("/stores/directory", &answer);
    assert_eq!(slugs(&answer), ["attic", "bakery", "chandler"]);
    assert_eq!(answer.body["meta"], json!({ "total": 3, "page": 1, "limit": 20 }));
}

#[tokio::test]
async fn the_directory_is_paged_and_clamps_the_limit() {
    let (_test, door) = seeded_stores().await;
    let answer = door.get("/api/v1/stores/directory?page=2&limit=2").await;
    assert_eq!(slugs(&answer), ["chandler"]);
    assert_eq!(answer.body["meta"], json!({ "total": 3, "page": 2, "limit": 2 }));
    let answer = door.get("/api/v1/stores/directory?page=0&limit=1000").await;
    assert_eq!(answer.body["meta"], json!({ "total": 3, "page": 1, "limit": 100 }));
}

#[tokio::test]
async fn the_directory_is_filtered() {
    let (_test, door) = seeded_stores().await;
    let everything = ["attic", "bakery", "chandler"];
    let expected: [(&str, &[&str]); 9] = [
        ("q=BAKERY", &["bakery"]),
        ("q=100%25+wool", &everything),
        ("q=100_+wool", &[]),
        ("category=home", &everything),
        ("category=only+attic", &["attic"]),
        ("min_trust=0.71", &["attic", "bakery"]),
        ("min_trust=1", &[]),
        ("platform=push", &["bakery"]),
        ("q=&category=&platform=", &everything),
    ];
    for (query, expected) in expected {
        let answer = door.get(&format!("/api/v1/stores/directory?{query}")).await;
        assert_described("/stores/directory", &answer);
        assert_eq!(slugs(&answer), expected, "{query}");
    }
}

#[tokio::test]
async fn a_profile_is_found_by_slug_in_any_case() {
    let (_test, door) = seeded_stores().await;
    for slug in ["attic", "Attic"] {
        let answer = door.get(&format!("/api/v1/stores/{slug}")).await;
        assert_described("/stores/{slug}", &answer);
        assert_eq!((answer.status, &answer.body["success"]), (200, &json!(true)));
        let store = &answer.body["data"];
        assert_eq!(store["slug"], "attic");
        assert_eq!(store["verification_level"], "ELITE");
        assert_eq!(store["policies"]["return_window_days"], 30);
        assert_eq!(store["endpoints"]["mcp"], "https://souk.example/attic/mcp");
    }
    let answer = door.get("/api/v1/stores/chandler").await;
    assert_described("/stores/{slug}", &answer);
    assert_eq!(answer.body["data"]["trust_score"], json!(null));
}

#[tokio::test]
async fn a_closed_or_suspended_store_is_rejected() {
    let (_test, door) = seeded_stores().await;
    for (slug, refusal) in [
        ("dubious", (403, "store_suspended")),
        ("extinct", (404, "store_not_found")),
        ("nowhere", (404, "store_not_found")),
    ] {
        let answer = door.get(&format!("/api/v1/stores/{slug}")).await;
        assert_described("/stores/{slug}", &answer);
        assert_eq!(answer.error(), refusal, "{slug}");
    }
}

#[tokio::test]
async fn agents_cannot_check_out_at_a_store_that_an_operator_suspended() {
    let (test, door) = seeded_stores().await;
    let agent_checkout = async || {
        let answer = door.get("/api/v1/trust/scores/attic").await;
        assert_described("/trust/scores/{slug}", &answer);
        let cache = merchants::StoreCache::new(test.database().clone(), std::time::Duration::ZERO);
        let store = cache.find(&"attic".parse().unwrap()).await.unwrap();
        (answer.body["data"]["agent_checkout"].clone(), store.record("").trust.agent_checkout)
    };
    assert_eq!(agent_checkout().await, (json!(true), true));
    let suspend = "UPDATE store SET status = 'suspended' WHERE slug = 'attic'";
    sqlx::query(suspend).execute(&mut test.raw().await).await.unwrap();
    assert_eq!(agent_checkout().await, (json!(false), false));
}
