//! The directory and the profile, against a real database.

use database::Work;
use merchants::{Identity, IdentityStatus, NewStore, Policies, Standing};
use primitives::{Currency, MerchantId};
use serde_json::json;
use testkit::TestDatabase;

use crate::document::assert_described;
use crate::door::{Answer, Door};

/// A store with this standing.
async fn open_store(test: &TestDatabase, slug: &str, score: Option<f64>, active: bool) {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let merchant: MerchantId = work.new_id();
    let now = work.now();
    let newcomer = NewStore {
        merchant,
        slug: slug.parse().unwrap(),
        name: format!("The {slug}"),
        legal_name: String::from("Example GmbH"),
        description: format!("All about {slug}, 100% wool"),
        website_url: String::from("https://shop.example"),
        platform: String::from(if slug.starts_with('b') { "push" } else { "demo" }),
        active,
        country: String::from("DE"),
        currency: "EUR".parse::<Currency>().unwrap(),
        languages: vec![String::from("de")],
        ships_to: vec![String::from("DE"), String::from("AT")],
        support_email: String::from("help@shop.example"),
        member_since: now,
        last_sync_at: None,
    };
    merchants::register(&mut work, &newcomer).await.unwrap();
    let policies = Policies { return_window_days: Some(30), ..Policies::default() };
    merchants::set_policies(&mut work, merchant, &policies).await.unwrap();
    if score.is_some() {
        let standing = Standing { score, provisional: false, computed_at: now };
        merchants::set_standing(&mut work, merchant, &standing).await.unwrap();
    }
    let identity = Identity {
        status: IdentityStatus::Verified,
        level: Some(String::from("company")),
        method: Some(String::from("registry")),
        verified_at: Some(now),
    };
    merchants::set_identity(&mut work, merchant, &identity).await.unwrap();
    let departments = [String::from("Home"), format!("Only {slug}")];
    merchants::describe_catalog(&mut work, merchant, &departments, 12).await.unwrap();
    work.commit().await.unwrap();
}

/// A street of stores: two good ones, one nobody knows yet, one suspended, one closed.
async fn street() -> (TestDatabase, Door) {
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
async fn a_line_of_the_directory() {
    let (_test, door) = street().await;
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
    let (_test, door) = street().await;
    let answer = door.get("/api/v1/stores/directory").await;
    assert_described("/stores/directory", &answer);
    assert_eq!(slugs(&answer), ["attic", "bakery", "chandler"]);
    assert_eq!(answer.body["meta"], json!({ "total": 3, "page": 1, "limit": 20 }));
}

#[tokio::test]
async fn the_directory_is_paged_and_clamps_the_limit() {
    let (_test, door) = street().await;
    let answer = door.get("/api/v1/stores/directory?page=2&limit=2").await;
    assert_eq!(slugs(&answer), ["chandler"]);
    assert_eq!(answer.body["meta"], json!({ "total": 3, "page": 2, "limit": 2 }));
    let answer = door.get("/api/v1/stores/directory?page=0&limit=1000").await;
    assert_eq!(answer.body["meta"], json!({ "total": 3, "page": 1, "limit": 100 }));
}

#[tokio::test]
async fn the_directory_is_filtered() {
    let (_test, door) = street().await;
    let everything = ["attic", "bakery", "chandler"];
    let expected: [(&str, &[&str]); 10] = [
        ("q=BAKERY", &["bakery"]),
        ("q=100%25+wool", &everything),
        ("q=100_+wool", &[]),
        ("category=home", &everything),
        ("category=only+attic", &["attic"]),
        ("min_trust=0.71", &["attic", "bakery"]),
        ("min_trust=1", &[]),
        ("platform=push", &["bakery"]),
        ("q=&category=&platform=", &everything),
        ("unknown=ignored", &everything),
    ];
    for (query, expected) in expected {
        let answer = door.get(&format!("/api/v1/stores/directory?{query}")).await;
        assert_described("/stores/directory", &answer);
        assert_eq!(slugs(&answer), expected, "{query}");
    }
}

#[tokio::test]
async fn a_profile_is_found_by_slug_in_any_case() {
    let (_test, door) = street().await;
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
async fn a_store_that_may_not_be_called_on_is_refused() {
    let (_test, door) = street().await;
    for (slug, refusal) in [
        ("dubious", (403, "store_suspended")),
        ("extinct", (404, "store_not_found")),
        ("nowhere", (404, "store_not_found")),
    ] {
        let answer = door.get(&format!("/api/v1/stores/{slug}")).await;
        assert_described("/stores/{slug}", &answer);
        assert_eq!(answer.refusal(), refusal, "{slug}");
    }
}
