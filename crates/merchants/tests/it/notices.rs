//! Notices: their order, their pages and their isolation.

use std::time::Duration;

use database::{Reading, Work};
use identity::Actor;
use jobs::{Runner, RunnerSettings, Scheduled};
use merchants::{NoticeCursor, NoticeKind, PurgeNotices, Settings, SettingsChange};
use primitives::{Id, MerchantId};
use serde_json::json;
use testkit::TestDatabase;

use crate::{one, register, store};

#[tokio::test]
async fn notices_are_listed_newest_first_in_pages() {
    let test = TestDatabase::new().await;
    let mut work = Work::for_store(test.database(), one()).await.unwrap();
    for number in 0..5 {
        let details = json!({ "number": number });
        let kind = NoticeKind::HoldReleased;
        merchants::post_notice(&mut work, one(), kind, details).await.unwrap();
    }
    work.commit().await.unwrap();
    let reading = Reading::for_store(test.database(), one()).unwrap();
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let page = merchants::notices(&reading, one(), cursor, 2).await.unwrap();
        seen.extend(page.notices.iter().map(|notice| notice.details["number"].as_i64().unwrap()));
        let Some(next) = page.next else { break };
        cursor = Some(next.to_string().parse::<NoticeCursor>().unwrap());
    }
    assert_eq!(seen, [4, 3, 2, 1, 0]);
    let record = merchants::notices(&reading, one(), None, 1).await.unwrap().notices.remove(0);
    let record = serde_json::to_value(record.record()).unwrap();
    assert_eq!(
        (&record["kind"], &record["details"]),
        (&json!("hold_released"), &json!({ "number": 4 }))
    );
    assert!(record["notice_id"].as_str().unwrap().starts_with("ntc_"));
}

#[tokio::test]
async fn a_store_reads_and_writes_only_its_own_notices() {
    let test = TestDatabase::new().await;
    let other = MerchantId::from_random(2);
    let mut work = Work::for_store(test.database(), one()).await.unwrap();
    let kind = NoticeKind::SettingsChanged;
    merchants::post_notice(&mut work, one(), kind, json!({})).await.unwrap();
    work.commit().await.unwrap();
    let reading = Reading::for_store(test.database(), other).unwrap();
    assert!(merchants::notices(&reading, one(), None, 10).await.unwrap().notices.is_empty());
    let mut work = Work::for_store(test.database(), other).await.unwrap();
    assert!(merchants::post_notice(&mut work, one(), kind, json!({})).await.is_err());
    // And none is changed or deleted by its store.
    for statement in ["UPDATE merchant_notice SET kind = 'x'", "DELETE FROM merchant_notice"] {
        let mut work = Work::for_store(test.database(), one()).await.unwrap();
        let refused = sqlx::query(statement).execute(work.sql()).await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{statement}: {refused}");
    }
}

#[tokio::test]
async fn changed_settings_are_named() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    let settings = Settings { destination_required: true, ..Settings::default() };
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let change = SettingsChange::by_operator(&settings);
    for _ in 0..2 {
        merchants::put_settings(&mut work, one(), &change).await.unwrap();
    }
    work.commit().await.unwrap();
    let reading = Reading::for_store(test.database(), one()).unwrap();
    let notices = merchants::notices(&reading, one(), None, 10).await.unwrap().notices;
    assert_eq!((notices.len(), notices[0].kind), (1, NoticeKind::SettingsChanged));
    let details = json!({ "actor": "operator", "fields": ["destination_required"] });
    assert_eq!(serde_json::to_value(&notices[0].details).unwrap(), details);
}

#[tokio::test]
async fn a_field_that_another_crate_stores_is_a_new_version_and_is_named() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    let settings = Settings::default();
    let other_fields: &[&'static str] = &["webhook_url"];
    let change = SettingsChange { other_fields, ..SettingsChange::by_operator(&settings) };
    let mut work = Work::for_platform(test.database()).await.unwrap();
    assert_eq!(merchants::put_settings(&mut work, one(), &change).await.unwrap(), 1);
    assert_eq!(merchants::put_settings(&mut work, one(), &change).await.unwrap(), 2);
    work.commit().await.unwrap();
    let reading = Reading::for_store(test.database(), one()).unwrap();
    let notices = merchants::notices(&reading, one(), None, 10).await.unwrap().notices;
    let details = json!({ "actor": "operator", "fields": other_fields });
    assert_eq!(serde_json::to_value(&notices[0].details).unwrap(), details);
}

#[tokio::test]
async fn a_field_that_is_changed_elsewhere_changes_nothing_but_the_version() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    let settings = Settings { destination_required: true, ..Settings::default() };
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let change = SettingsChange::by_operator(&settings);
    merchants::put_settings(&mut work, one(), &change).await.unwrap();
    work.commit().await.unwrap();
    let mut work = Work::for_store(test.database(), one()).await.unwrap();
    let actor = Actor::Operator;
    merchants::touch_settings(&mut work, one(), actor, "webhook_url").await.unwrap();
    work.commit().await.unwrap();
    let reading = Reading::for_store(test.database(), one()).unwrap();
    let current = merchants::settings(&reading, one()).await.unwrap();
    assert_eq!((current.version, current.settings), (2, settings));
    let notices = merchants::notices(&reading, one(), None, 10).await.unwrap().notices;
    assert_eq!(notices[0].details["fields"], json!(["webhook_url"]));
}

#[tokio::test]
async fn notices_are_kept_for_two_years() {
    let test = TestDatabase::new().await;
    let day = Duration::from_hours(24);
    let post = async |number: i64| {
        let mut work = Work::for_store(test.database(), one()).await.unwrap();
        let details = json!({ "number": number });
        let kind = NoticeKind::HoldReleased;
        merchants::post_notice(&mut work, one(), kind, details).await.unwrap();
        work.commit().await.unwrap();
    };
    let kept = async || {
        let mut work = Work::for_platform(test.database()).await.unwrap();
        jobs::enqueue(&mut work, &PurgeNotices::for_epoch(1)).await.unwrap();
        work.commit().await.unwrap();
        let runner = Runner::new(test.database().clone(), RunnerSettings::default());
        runner.register::<PurgeNotices>(()).run_until_idle().await.unwrap();
        let reading = Reading::for_store(test.database(), one()).unwrap();
        let page = merchants::notices(&reading, one(), None, 10).await.unwrap();
        let numbers = page.notices.iter().map(|notice| notice.details["number"].as_i64());
        numbers.flatten().collect::<Vec<_>>()
    };
    post(1).await;
    test.clock().advance(day * 2);
    post(2).await;
    test.clock().advance(day * 728);
    assert_eq!(kept().await, [2, 1], "exactly two years");
    test.clock().advance(day);
    assert_eq!(kept().await, [2]);
    // More than one batch.
    sqlx::query(
        "INSERT INTO merchant_notice (merchant_id, notice_id, kind, details, created_at)
         SELECT merchant_id, gen_random_uuid(), kind, details, created_at - interval '2 days'
         FROM merchant_notice, generate_series(1, 2500)",
    )
    .execute(&mut test.raw().await)
    .await
    .unwrap();
    assert_eq!(kept().await, [2]);
}
