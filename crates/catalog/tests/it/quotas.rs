//! The quotas of a store.

use std::time::Duration;

use catalog::{
    CatalogError, FeedFormat, FeedRunMode, FeedRunState, NewFeedRun, ProductDraft, PutOutcome,
    Quota, QuotaExceeded, Upload, UploadGate,
};
use primitives::{ErrorCode, Failure, Problem};

use crate::shop::{Shop, merchant, mug, variant};

fn merge() -> NewFeedRun {
    let (format, mode) = (FeedFormat::Ndjson, FeedRunMode::Merge);
    NewFeedRun { format, mode, dry_run: false, force: false, file_name: None, columns: None }
}

impl Shop {
    async fn upload(
        &self,
        gate: &UploadGate,
        announced: Option<u64>,
    ) -> Result<Upload, CatalogError> {
        Upload::begin(self.test.database(), gate, merchant(), &merge(), announced).await
    }

    async fn states(&self) -> Vec<FeedRunState> {
        let page = primitives::PageRequest::new(None, None);
        let (runs, _) = catalog::feed_runs(&self.reading(), merchant(), page).await.unwrap();
        runs.iter().map(|run| run.state).collect()
    }
}

fn exceeded(error: Option<CatalogError>) -> QuotaExceeded {
    match error {
        Some(CatalogError::QuotaExceeded(exceeded)) => exceeded,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_store_has_few_open_runs() {
    let (shop, gate) = (Shop::open().await, UploadGate::without_disk());
    shop.set_quota(Quota::OpenFeedRuns, 2).await;
    for _ in 0..2 {
        let mut upload = shop.upload(&gate, None).await.unwrap();
        upload.write(b"{}").await.unwrap();
        upload.finish().await.unwrap();
    }
    let refused = exceeded(shop.upload(&gate, None).await.err());
    assert_eq!((refused.quota, refused.limit, refused.used), (Quota::OpenFeedRuns, 2, 2));
    let envelope = Failure::from(CatalogError::from(refused)).envelope("req_1");
    assert_eq!(
        (&envelope["error"], &envelope["details"]["bucket"]),
        (&"rate_limit_exceeded".into(), &"open_feed_runs".into())
    );
    assert_eq!(envelope["details"]["retry_after_seconds"], 60);
    assert!(envelope["details"]["hint"].as_str().unwrap().contains("/merchant/jobs"));
    assert_eq!(shop.states().await, [FeedRunState::Queued; 2], "nothing was created");
}

#[tokio::test]
async fn bytes_are_counted_by_day() {
    let (shop, gate) = (Shop::open().await, UploadGate::without_disk());
    shop.set_quota(Quota::UploadBytesPerDay, 3 << 20).await;
    let announced = exceeded(shop.upload(&gate, Some((3 << 20) + 1)).await.err());
    assert_eq!((announced.quota, announced.used), (Quota::UploadBytesPerDay, 0));
    let mut upload = shop.upload(&gate, Some(2 << 20)).await.unwrap();
    upload.write(&vec![b' '; 2 << 20]).await.unwrap();
    upload.finish().await.unwrap();
    // A body without a length is stopped where it exceeds the quota.
    let mut unannounced = shop.upload(&gate, None).await.unwrap();
    unannounced.write(&vec![b' '; 1 << 20]).await.unwrap();
    let stopped = exceeded(unannounced.write(&vec![b' '; 1 << 20]).await.err());
    assert_eq!((stopped.limit, stopped.used), (3 << 20, 3 << 20));
    assert!((1..=86_400).contains(&stopped.retry_after_seconds));
    unannounced.abort("quota").await.unwrap();
    let mut work = shop.work().await;
    let pushed = catalog::count_upload(&mut work, merchant(), 1).await;
    assert_eq!(pushed.err().map(|error| error.code()), Some(ErrorCode::RateLimitExceeded));
    drop(work);
    shop.test.clock().advance(Duration::from_hours(24));
    let mut work = shop.work().await;
    assert!(catalog::count_upload(&mut work, merchant(), 1).await.is_ok());
}

#[tokio::test]
async fn stored_feeds_are_counted_until_they_are_deleted() {
    let (shop, gate) = (Shop::open().await, UploadGate::without_disk());
    shop.set_quota(Quota::StoredFeedBytes, 1 << 20).await;
    let mut upload = shop.upload(&gate, None).await.unwrap();
    upload.write(&vec![b' '; 1 << 20]).await.unwrap();
    let full = exceeded(upload.write(&vec![b' '; 1 << 20]).await.err());
    assert_eq!(full.quota, Quota::StoredFeedBytes);
    upload.abort("quota").await.unwrap();
    let refused = exceeded(shop.upload(&gate, Some(1)).await.err());
    assert_eq!((refused.quota, refused.used), (Quota::StoredFeedBytes, 1 << 20));
}

#[tokio::test]
async fn an_upload_that_is_dropped_fails() {
    let (shop, gate) = (Shop::open().await, UploadGate::without_disk());
    let upload = shop.upload(&gate, None).await.unwrap();
    assert_eq!(shop.states().await, [FeedRunState::Receiving]);
    drop(upload);
    for _ in 0..100 {
        if shop.states().await == [FeedRunState::Failed] {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{:?}", shop.states().await);
}

#[tokio::test]
async fn an_upload_that_takes_too_long_is_stopped() {
    let (shop, gate) = (Shop::open().await, UploadGate::without_disk());
    let mut upload = shop.upload(&gate, None).await.unwrap();
    upload.write(b"{}").await.unwrap();
    upload.abort("test").await.unwrap();
    let mut upload = shop.upload(&gate.with_grace(Duration::ZERO), None).await.unwrap();
    let stopped = upload.write(b"{}").await.unwrap_err();
    assert_eq!(stopped.code(), ErrorCode::InvalidRequest);
    let envelope = Failure::from(stopped).envelope("req_1");
    assert_eq!(envelope["details"]["reason"], "upload_too_slow");
}

#[tokio::test]
async fn a_store_has_as_many_products_and_variants_as_its_quotas_allow() {
    let shop = Shop::open().await;
    shop.set_quota(Quota::Products, 3).await;
    shop.set_quota(Quota::Variants, 2).await;
    let shirt = |id: &str, variants: usize| {
        let of = |number| variant(&format!("{id}{number}"), "5", 1);
        ProductDraft { variants: (0..variants).map(of).collect(), ..mug(id, "5") }
    };
    let (created, updated) = (PutOutcome::Created, PutOutcome::Updated);
    let (no_product, no_variant) =
        (PutOutcome::OverQuota(Quota::Products), PutOutcome::OverQuota(Quota::Variants));
    assert_eq!(
        shop.put(&[shirt("a", 2), shirt("b", 1), mug("c", "1")]).await,
        [created, no_variant, created]
    );
    assert_eq!(shop.put(&[mug("d", "1"), mug("e", "1")]).await, [created, no_product]);
    assert_eq!(shop.put(&[shirt("a", 3)]).await, [no_variant]);
    assert_eq!(shop.product("a").await.unwrap().variants.len(), 2, "nothing was written");
    assert_eq!(shop.put(&[shirt("a", 1)]).await, [updated], "fewer are always allowed");
    assert_eq!(shop.put(&[shirt("c", 1)]).await, [updated]);
    assert_eq!(shop.put(&[mug("c", "9")]).await, [updated]);
    let size = "SELECT products * 10 + variants FROM catalog_size";
    assert_eq!(shop.count(size).await, 31);
    let exact = "SELECT (SELECT count(*) FROM product) * 10 + (SELECT count(*) FROM variant)";
    assert_eq!(shop.count(exact).await, 31);
}
