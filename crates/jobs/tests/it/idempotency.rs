//! Idempotency keys: a repeated request is executed once and gets the same response.

use database::Work;
use jobs::{Claim, IdempotencyError, IdempotencyKey};
use primitives::{Id, MerchantId};
use serde_json::json;
use testkit::TestDatabase;

fn key(merchant: u128, hash: u8) -> IdempotencyKey {
    IdempotencyKey {
        merchant: MerchantId::from_random(merchant),
        caller: String::from("key_1"),
        key: String::from("idempotency-key"),
        request_hash: vec![hash; 32],
    }
}

async fn open(test: &TestDatabase, key: &IdempotencyKey) -> Work {
    Work::for_store(test.database(), key.merchant).await.unwrap()
}

#[tokio::test]
async fn the_second_request_gets_the_first_response() {
    let test = TestDatabase::new().await;
    let key = key(1, 1);
    let mut work = open(&test, &key).await;
    assert_eq!(jobs::claim_key(&mut work, &key).await.unwrap(), Claim::Fresh);
    jobs::record_response(&mut work, &key, &json!({ "cart_id": "cart_1" })).await.unwrap();
    work.commit().await.unwrap();

    let mut again = open(&test, &key).await;
    let claim = jobs::claim_key(&mut again, &key).await.unwrap();
    assert_eq!(claim, Claim::Replay(json!({ "cart_id": "cart_1" })));
}

#[tokio::test]
async fn a_different_request_under_the_same_key_is_rejected() {
    let test = TestDatabase::new().await;
    let mut work = open(&test, &key(1, 1)).await;
    jobs::claim_key(&mut work, &key(1, 1)).await.unwrap();
    work.commit().await.unwrap();
    let mut other = open(&test, &key(1, 2)).await;
    let rejected = jobs::claim_key(&mut other, &key(1, 2)).await;
    assert!(matches!(rejected, Err(IdempotencyError::Conflict)));
}

#[tokio::test]
async fn a_rolled_back_request_leaves_the_key_free() {
    let test = TestDatabase::new().await;
    let mut work = open(&test, &key(1, 1)).await;
    jobs::claim_key(&mut work, &key(1, 1)).await.unwrap();
    work.rollback().await.unwrap();
    let mut again = open(&test, &key(1, 2)).await;
    assert_eq!(jobs::claim_key(&mut again, &key(1, 2)).await.unwrap(), Claim::Fresh);
}

#[tokio::test]
async fn one_of_many_concurrent_requests_is_executed() {
    let test = TestDatabase::new().await;
    let requests = (0..20).map(|_| {
        let database = test.database().clone();
        tokio::spawn(async move {
            let key = key(1, 1);
            let mut work = Work::for_store(&database, key.merchant).await.unwrap();
            let fresh = jobs::claim_key(&mut work, &key).await.unwrap() == Claim::Fresh;
            if fresh {
                jobs::record_response(&mut work, &key, &json!("done")).await.unwrap();
            }
            work.commit().await.unwrap();
            fresh
        })
    });
    let mut executed = 0;
    for request in requests.collect::<Vec<_>>() {
        executed += u32::from(request.await.unwrap());
    }
    assert_eq!(executed, 1);
}
