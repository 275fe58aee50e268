//! What owners do with their store.

use database::{Database, Reading, Work};
use identity::{Actor, Reason};
use merchants::{
    Administration, NoticeKind, SettingsError, Store, StoreCache, StoreError, StoreProfile,
    StoreStatus,
};
use primitives::{Id, UserId};
use testkit::TestDatabase;

use crate::{one, register, store};

fn owner() -> UserId {
    UserId::from_random(1)
}

async fn as_owner(database: &Database, status: StoreStatus) -> Result<bool, StoreError> {
    let mut work = Work::for_store(database, one()).await?;
    let changed = merchants::set_own_status(&mut work, one(), owner(), status).await?;
    work.commit().await?;
    Ok(changed)
}

async fn as_operator(database: &Database, status: StoreStatus) -> bool {
    let reason: Reason = "chargebacks".parse().unwrap();
    let mut work = Work::for_platform(database).await.unwrap();
    let by = Administration { actor: Actor::Operator, reason: &reason };
    let changed = merchants::set_status(&mut work, by, one(), status).await.unwrap();
    work.commit().await.unwrap();
    changed
}

async fn put(database: &Database, profile: &StoreProfile) -> Result<bool, SettingsError> {
    let mut work = Work::for_store(database, one()).await?;
    let changed = merchants::put_profile(&mut work, one(), owner(), profile).await?;
    work.commit().await?;
    Ok(changed)
}

async fn current(database: &Database) -> Store {
    merchants::store(&Reading::for_store(database, one()).unwrap(), one()).await.unwrap()
}

async fn kinds(database: &Database) -> Vec<NoticeKind> {
    let reading = Reading::for_store(database, one()).unwrap();
    let page = merchants::notices(&reading, one(), None, 100).await.unwrap();
    page.notices.into_iter().map(|notice| notice.kind).collect()
}

/// Changes a profile.
type Change = fn(&mut StoreProfile);

#[tokio::test]
async fn an_owner_pauses_closes_and_reopens() {
    let test = TestDatabase::new().await;
    let database = test.database();
    register(database, &store(1, "a")).await.unwrap();
    assert!(!as_owner(database, StoreStatus::Open).await.unwrap());
    for status in [StoreStatus::Paused, StoreStatus::Closed] {
        assert!(as_owner(database, status).await.unwrap());
        assert!(!as_owner(database, status).await.unwrap(), "{status} again");
        let store = current(database).await;
        assert_eq!((store.status, store.status_by_owner, store.is_listed()), (status, true, false));
        assert!(as_owner(database, StoreStatus::Open).await.unwrap());
        assert!(current(database).await.is_listed());
    }
    let expected = [
        NoticeKind::StoreReinstated,
        NoticeKind::StoreClosed,
        NoticeKind::StoreReinstated,
        NoticeKind::StorePaused,
    ];
    assert_eq!(kinds(database).await, expected);
    let audited: i64 =
        sqlx::query_scalar("SELECT count(*) FROM platform.audit_entry WHERE act LIKE 'store.%'")
            .fetch_one(&mut test.raw().await)
            .await
            .unwrap();
    assert_eq!(audited, 4);
}

#[tokio::test]
async fn what_an_operator_decided_stays() {
    let test = TestDatabase::new().await;
    let database = test.database();
    register(database, &store(1, "a")).await.unwrap();
    for status in [StoreStatus::Suspended, StoreStatus::Paused, StoreStatus::Closed] {
        assert!(as_operator(database, status).await);
        for wanted in [StoreStatus::Open, StoreStatus::Paused, StoreStatus::Closed] {
            let refused = as_owner(database, wanted).await;
            assert!(matches!(refused, Err(StoreError::StatusOfOperator)), "{status} {wanted}");
        }
        assert!(as_operator(database, StoreStatus::Open).await);
    }
    // An operator takes over what an owner decided.
    assert!(as_owner(database, StoreStatus::Paused).await.unwrap());
    assert!(as_operator(database, StoreStatus::Paused).await);
    let refused = as_owner(database, StoreStatus::Open).await;
    assert!(matches!(refused, Err(StoreError::StatusOfOperator)));
}

#[tokio::test]
async fn a_reinstatement_does_not_reopen_what_an_owner_paused() {
    let test = TestDatabase::new().await;
    let database = test.database();
    register(database, &store(1, "a")).await.unwrap();
    assert!(as_owner(database, StoreStatus::Paused).await.unwrap());
    assert!(!as_operator(database, StoreStatus::Open).await, "nothing to withdraw");
    assert!(as_operator(database, StoreStatus::Suspended).await);
    let refused = as_owner(database, StoreStatus::Open).await;
    assert!(matches!(refused, Err(StoreError::StatusOfOperator)));
    assert!(as_operator(database, StoreStatus::Open).await);
    let store = current(database).await;
    assert_eq!((store.status, store.status_by_owner), (StoreStatus::Paused, true));
    assert!(as_owner(database, StoreStatus::Open).await.unwrap());
    assert!(current(database).await.is_listed());
}

#[tokio::test]
async fn concurrent_changes_of_the_profile_are_all_applied() {
    let test = TestDatabase::new().await;
    let database = test.database();
    register(database, &store(1, "a")).await.unwrap();
    let change = async |edit: Change| {
        let mut work = Work::for_store(database, one()).await.unwrap();
        let mut profile = merchants::lock_profile(&mut work, one()).await.unwrap();
        edit(&mut profile);
        assert!(merchants::put_profile(&mut work, one(), owner(), &profile).await.unwrap());
        work.commit().await.unwrap();
    };
    tokio::join!(
        change(|it| it.name = String::from("Another name")),
        change(|it| it.description = String::from("All sorts")),
        change(|it| it.support_email = String::from("desk@a.example")),
    );
    let store = current(database).await;
    assert_eq!(
        [store.name, store.description, store.support_email],
        ["Another name", "All sorts", "desk@a.example"]
    );
}

#[tokio::test]
async fn the_list_of_all_stores_is_kept_for_a_while() {
    let test = TestDatabase::new().await;
    let database = test.database();
    let kept = StoreCache::new(database.clone(), StoreCache::AGE_MAX);
    let fresh = StoreCache::new(database.clone(), std::time::Duration::ZERO);
    assert!(kept.listed().await.unwrap().is_empty());
    register(database, &store(1, "a")).await.unwrap();
    assert!(kept.listed().await.unwrap().is_empty());
    assert_eq!(fresh.listed().await.unwrap().len(), 1);
}

#[tokio::test]
async fn another_name_is_audited_and_another_description_is_not() {
    let test = TestDatabase::new().await;
    let database = test.database();
    register(database, &store(1, "a")).await.unwrap();
    let mut profile = StoreProfile::of(&current(database).await);
    profile.description = String::from("All sorts");
    assert!(put(database, &profile).await.unwrap());
    assert!(identity::audit_entries(database, &one().to_string(), 9).await.unwrap().is_empty());
    profile.name = String::from("Another name");
    assert!(put(database, &profile).await.unwrap());
    let entries = identity::audit_entries(database, &one().to_string(), 9).await.unwrap();
    let [entry] = entries.as_slice() else { panic!("{} entries", entries.len()) };
    assert_eq!(entry.action.as_str(), "store.profile_set");
    assert_eq!(entry.details["name"], "Another name");
    assert_eq!(entry.details["changed"], serde_json::json!(["name"]));
}

#[tokio::test]
async fn what_was_stored_before_a_rule_is_accepted_while_it_is_unchanged() {
    let test = TestDatabase::new().await;
    let database = test.database();
    register(database, &store(1, "a")).await.unwrap();
    sqlx::query("UPDATE store SET website_url = 'https://user@a.example/'")
        .execute(&mut test.raw().await)
        .await
        .unwrap();
    let mut profile = StoreProfile::of(&current(database).await);
    profile.description = String::from("All sorts");
    assert!(put(database, &profile).await.unwrap());
    profile.website_url = String::from("https://bank.example@a.example/");
    assert!(put(database, &profile).await.is_err());
}

#[tokio::test]
async fn an_owner_changes_the_profile() {
    let test = TestDatabase::new().await;
    let database = test.database();
    register(database, &store(1, "a")).await.unwrap();
    let profile = StoreProfile {
        name: String::from("Another name"),
        description: String::from("All sorts"),
        website_url: String::from("https://a.example/"),
        logo_url: String::from("https://a.example/logo.svg"),
        support_email: String::from("desk@a.example"),
        support_url: String::from("https://a.example/help"),
    };
    assert!(put(database, &profile).await.unwrap());
    assert!(!put(database, &profile).await.unwrap());
    assert_eq!(StoreProfile::of(&current(database).await), profile);
    assert_eq!(kinds(database).await, [NoticeKind::SettingsChanged]);
    let cases: [(&str, Change); 7] = [
        ("name", |it| it.name.clear()),
        ("website_url", |it| it.website_url = String::from("javascript:x")),
        ("website_url", |it| it.website_url = String::from("https://bank.example@a.example")),
        ("website_url", |it| it.website_url = String::from(r"https:\\a.example\b")),
        ("logo_url", |it| it.logo_url = String::from("logo.svg")),
        ("support_email", |it| it.support_email = String::from("nobody")),
        ("support_url", |it| it.support_url = String::from("x")),
    ];
    for (field, change) in cases {
        let mut wrong = profile.clone();
        change(&mut wrong);
        let refused = put(database, &wrong).await;
        let is_named =
            matches!(&refused, Err(SettingsError::Invalid(error)) if error.field() == field);
        assert!(is_named, "{field}: {refused:?}");
    }
}
