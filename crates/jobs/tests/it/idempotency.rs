//! Idempotency keys: carried out once, answered twice.

use database::Work;
use jobs::{Claim, IdempotencyError, IdempotencyKey};
use primitives::{Id, MerchantId};
use serde_json::json;
use testkit::TestDatabase;

fn key(merchant: u128, hash: u8) -> IdempotencyKey {
    IdempotencyKey {
        merchant: MerchantId::from_random(merchant),
        caller: String::from("key_1"),
        key: String::from("once"),
        request_hash: vec![hash; 32],
    }
}

async fn open(test: &TestDatabase, key: &IdempotencyKey) -> Work {
    Work::for_store(test.database(), key.merchant).await.unwrap()
}

#[tokio::test]
async fn the_second_request_gets_the_first_answer() {
    let test = TestDatabase::new().await;
    let key = key(1, 1);
    let mut work = open(&test, &key).await;
    assert_eq!(jobs::claim(&mut work, &key).await.unwrap(), Claim::Fresh);
    jobs::answer(&mut work, &key, &json!({ "cart_id": "cart_1" })).await.unwrap();
    work.commit().await.unwrap();

    let mut again = open(&test, &key).await;
    let claim = jobs::claim(&mut again, &key).await.unwrap();
    assert_eq!(claim, Claim::Replay(json!({ "cart_id": "cart_1" })));
}

#[tokio::test]
async fn another_request_under_the_same_key_is_refused() {
    let test = TestDatabase::new().await;
    let mut work = open(&test, &key(1, 1)).await;
    jobs::claim(&mut work, &key(1, 1)).await.unwrap();
    work.commit().await.unwrap();
    let mut other = open(&test, &key(1, 2)).await;
    let refused = jobs::claim(&mut other, &key(1, 2)).await;
    assert!(matches!(refused, Err(IdempotencyError::Conflict)));
}

#[tokio::test]
async fn a_request_that_was_undone_leaves_the_key_free() {
    let test = TestDatabase::new().await;
    let mut work = open(&test, &key(1, 1)).await;
    jobs::claim(&mut work, &key(1, 1)).await.unwrap();
    work.abandon().await.unwrap();
    let mut again = open(&test, &key(1, 2)).await;
    assert_eq!(jobs::claim(&mut again, &key(1, 2)).await.unwrap(), Claim::Fresh);
}

#[tokio::test]
async fn of_many_at_once_one_is_carried_out() {
    let test = TestDatabase::new().await;
    let requests = (0..20).map(|_| {
        let database = test.database().clone();
        tokio::spawn(async move {
            let key = key(1, 1);
            let mut work = Work::for_store(&database, key.merchant).await.unwrap();
            let fresh = jobs::claim(&mut work, &key).await.unwrap() == Claim::Fresh;
            if fresh {
                jobs::answer(&mut work, &key, &json!("done")).await.unwrap();
            }
            work.commit().await.unwrap();
            fresh
        })
    });
    let mut carried_out = 0;
    for request in requests.collect::<Vec<_>>() {
        carried_out += u32::from(request.await.unwrap());
    }
    assert_eq!(carried_out, 1);
}
