//! What operators do with a store.

use std::time::Duration;

use database::{Database, Reading, Work};
use identity::{Actor, Reason};
use merchants::{
    Administration, DirectoryQuery, IdentityStatus, NewStore, NoticeKind, SettingsError,
    StoreCache, StoreError, StoreStatus, Unavailability, VerificationResult,
};
use primitives::{Id, MerchantId, PageRequest};
use testkit::TestDatabase;

use crate::{one, register, slug, store};

fn reason() -> Reason {
    "chargebacks".parse().unwrap()
}

async fn set_status(
    database: &Database,
    merchant: MerchantId,
    status: StoreStatus,
) -> Result<bool, StoreError> {
    let mut work = Work::for_platform(database).await?;
    let by = Administration { actor: Actor::Operator, reason: &reason() };
    let changed = merchants::set_status(&mut work, by, merchant, status).await?;
    work.commit().await?;
    Ok(changed)
}

fn identity(status: IdentityStatus) -> VerificationResult {
    let (level, method) = (Some(String::from("business")), Some(String::from("register")));
    VerificationResult { status, level, method }
}

async fn listed(database: &Database) -> i64 {
    let page = PageRequest::new(None, None);
    let query =
        DirectoryQuery { words: None, category: None, min_trust: None, platform: None, page };
    merchants::directory(database, &query).await.unwrap().meta.total
}

#[tokio::test]
async fn a_suspended_paused_or_closed_store_is_neither_admitted_nor_listed() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    let cache = StoreCache::new(test.database().clone(), Duration::ZERO);
    for (status, why) in [
        (StoreStatus::Suspended, Unavailability::Suspended),
        (StoreStatus::Paused, Unavailability::Paused),
        (StoreStatus::Closed, Unavailability::Closed),
    ] {
        assert_eq!(listed(test.database()).await, 1);
        assert!(set_status(test.database(), one(), status).await.unwrap());
        assert!(!set_status(test.database(), one(), status).await.unwrap());
        let refused = cache.admit(&slug("a")).await;
        assert!(matches!(refused, Err(StoreError::Suspended(found)) if found == why), "{status}");
        assert_eq!(listed(test.database()).await, 0);
        // Registering it again, as a seed does, does not reopen it.
        register(test.database(), &store(1, "a")).await.unwrap();
        assert!(cache.admit(&slug("a")).await.is_err());
        assert!(set_status(test.database(), one(), StoreStatus::Open).await.unwrap());
        assert!(cache.admit(&slug("a")).await.unwrap().is_listed());
    }
    let unknown = MerchantId::from_random(7);
    let unknown = set_status(test.database(), unknown, StoreStatus::Paused).await;
    assert!(matches!(unknown, Err(StoreError::NotFound)));
}

#[tokio::test]
async fn each_change_has_an_audit_entry_a_notice_and_an_event() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    for status in [StoreStatus::Paused, StoreStatus::Paused, StoreStatus::Open] {
        set_status(test.database(), one(), status).await.unwrap();
    }
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let by = Administration { actor: Actor::Operator, reason: &reason() };
    merchants::verify_identity(&mut work, by, one(), &identity(IdentityStatus::Verified))
        .await
        .unwrap();
    work.commit().await.unwrap();
    let entries = identity::audit_entries(test.database(), &one().to_string(), 10).await.unwrap();
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["store.identity_set", "store.reinstated", "store.paused"]);
    assert!(entries.iter().all(|entry| entry.details["reason"] == "chargebacks"));
    let reading = Reading::for_store(test.database(), one()).unwrap();
    let notices = merchants::notices(&reading, one(), None, 10).await.unwrap().notices;
    let kinds: Vec<NoticeKind> = notices.iter().map(|notice| notice.kind).collect();
    let expected =
        [NoticeKind::IdentityVerificationSet, NoticeKind::StoreReinstated, NoticeKind::StorePaused];
    assert_eq!(kinds, expected);
    let events: i64 =
        sqlx::query_scalar("SELECT count(*) FROM outbox WHERE topic = 'store.changed'")
            .fetch_one(&mut test.raw().await)
            .await
            .unwrap();
    assert_eq!(events, 4, "registered, paused, reopened, verified");
}

#[tokio::test]
async fn only_a_verified_identity_has_a_time_of_verification() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    let by = Administration { actor: Actor::Operator, reason: &reason() };
    let mut work = Work::for_platform(test.database()).await.unwrap();
    for (status, is_verified) in [
        (IdentityStatus::Pending, false),
        (IdentityStatus::Verified, true),
        (IdentityStatus::Failed, false),
    ] {
        merchants::verify_identity(&mut work, by, one(), &identity(status)).await.unwrap();
        let stored = merchants::store_now(&mut work, one()).await.unwrap().identity;
        assert_eq!((stored.status, stored.verified_at), (status, is_verified.then(|| work.now())));
    }
}

#[tokio::test]
async fn a_store_is_created_once() {
    let test = TestDatabase::new().await;
    let by = Administration { actor: Actor::Operator, reason: &reason() };
    let mut work = Work::for_platform(test.database()).await.unwrap();
    merchants::create_store(&mut work, by, &store(1, "a")).await.unwrap();
    let taken = merchants::create_store(&mut work, by, &store(2, "a")).await;
    assert!(matches!(taken, Err(SettingsError::Store(StoreError::SlugTaken))));
    for wrong in [
        NewStore { name: String::new(), ..store(3, "c") },
        NewStore { country: String::from("Portugal"), ..store(3, "c") },
        NewStore { currency: "SEK".parse().unwrap(), ..store(3, "c") },
        NewStore { website_url: String::from("javascript:x"), ..store(3, "c") },
        NewStore { support_email: String::from("nobody"), ..store(3, "c") },
        // Paths of the service begin with it.
        store(3, "stores"),
    ] {
        let refused = merchants::create_store(&mut work, by, &wrong).await;
        assert!(matches!(refused, Err(SettingsError::Invalid(_))), "{wrong:?}");
    }
}
