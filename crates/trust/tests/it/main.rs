//! The history of scores, against PostgreSQL.

use std::collections::BTreeMap;

use database::{Reading, Work};
use primitives::{Id, MerchantId, Timestamp};
use testkit::TestDatabase;
use trust::{Basis, Component, Computation};

fn computation(second: i64, value: f64) -> Computation {
    let components = BTreeMap::from([(Component::PriceAccuracy, value)]);
    Computation {
        computed_at: Timestamp::from_unix_micros(second * 1_000_000),
        score: Computation::weighted_sum(&components),
        provisional: false,
        basis: Basis::Computed,
        components,
    }
}

#[tokio::test]
async fn a_history_is_appended_to_and_never_changed() {
    let test = TestDatabase::new().await;
    let merchant = MerchantId::from_random(1);
    let mut work = Work::for_platform(test.database()).await.unwrap();
    for (second, value) in [(10, 0.5), (20, 0.75), (20, 0.1)] {
        trust::append(&mut work, merchant, &computation(second, value)).await.unwrap();
    }
    trust::append(&mut work, MerchantId::from_random(2), &computation(30, 0.2)).await.unwrap();
    work.commit().await.unwrap();

    let reading = Reading::for_store(test.database(), merchant).unwrap();
    let past = trust::history(&reading, merchant, None, None).await.unwrap();
    assert_eq!(past, [computation(20, 0.75), computation(10, 0.5)]);
    assert_eq!(trust::latest(&reading, merchant).await.unwrap(), Some(computation(20, 0.75)));
    let until = Some(Timestamp::from_unix_micros(15_000_000));
    let early = trust::history(&reading, merchant, None, until).await.unwrap();
    assert_eq!(early, [computation(10, 0.5)]);

    for statement in ["UPDATE trust_score SET score = 1", "DELETE FROM trust_score"] {
        let mut work = Work::for_platform(test.database()).await.unwrap();
        let refused = sqlx::query(statement).execute(work.sql()).await;
        assert!(refused.is_err(), "{statement}");
    }
}
