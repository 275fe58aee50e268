//! Scores wait for facts to be counted, and not for single days that cannot be.

use std::time::Duration;

use database::Reading;

use crate::purchases::{Purchases, key};

/// A store with figures and a checkout that is not counted yet, at 08:00 (UTC). All facts of before the first epoch are counted, and
/// no worker has seen the epoch of 12:00.
async fn with_a_stale_day() -> Purchases {
    let shop = Purchases::open().await;
    shop.compute().await;
    shop.list_products(9).await;
    shop.start(1, key(1, 1)).await;
    shop.follow().await;
    shop
}

/// Computes what is due, and returns the number of scores of the current epoch.
async fn scores(shop: &Purchases) -> usize {
    shop.compute().await;
    shop.revisions().await.len()
}

#[tokio::test]
async fn a_day_that_cannot_be_counted_delays_no_score_and_is_tried_again() {
    let shop = with_a_stale_day().await;
    shop.execute("ALTER TABLE trust_agent_day ADD CONSTRAINT broken CHECK (started = 0)").await;
    shop.advance(Duration::from_mins(1));
    shop.roll_up().await;
    // 17:58, when all slots are due.
    shop.advance(Duration::from_hours(9) + Duration::from_mins(57));
    assert_eq!(scores(&shop).await, 1);
    let platform = Reading::for_platform(shop.database());
    let failed = async || {
        let status = trust::status(&platform).await.unwrap();
        let health = trust::health(&platform).await.unwrap();
        assert_eq!(status.failed_days, health.failed_days);
        (status.failed_days, status.stale_days)
    };
    assert_eq!(failed().await, (1, 1));

    shop.execute("ALTER TABLE trust_agent_day DROP CONSTRAINT broken").await;
    shop.roll_up().await;
    assert_eq!(failed().await, (0, 0));
    assert_eq!(shop.days(1).await, ["2026-11-15: started 1"]);
    shop.check().await;
}

#[tokio::test]
async fn a_day_that_nobody_counts_delays_scores_for_ten_minutes() {
    let shop = with_a_stale_day().await;
    // 17:49. The day has waited for hours, as after an outage: a worker sees the epoch first.
    shop.advance(Duration::from_hours(9) + Duration::from_mins(49));
    assert_eq!(scores(&shop).await, 0);
    shop.advance(Duration::from_mins(9));
    assert_eq!(scores(&shop).await, 0);
    shop.advance(Duration::from_mins(1));
    assert_eq!(scores(&shop).await, 1);
}

#[tokio::test]
async fn a_day_that_is_due_for_a_few_minutes_is_waited_for() {
    let shop = with_a_stale_day().await;
    // 17:40.
    shop.advance(Duration::from_hours(9) + Duration::from_mins(40));
    assert_eq!(scores(&shop).await, 0);
    shop.advance(Duration::from_mins(14));
    shop.roll_up().await;
    shop.start(2, key(1, 1)).await;
    shop.follow().await;
    shop.advance(Duration::from_mins(5));
    assert_eq!(scores(&shop).await, 0);
    shop.roll_up().await;
    assert_eq!(scores(&shop).await, 1);
}
