//! Settings: storage, events and isolation.

use database::{Reading, Work};
use merchants::{
    Benefit, ConfirmationPolicy, CurrentSettings, GtinSource, HoldLimits, Policies, Promotion,
    Settings, SettingsChange, SettingsError, ShippingRate, ShippingZone, TaxRate,
};
use primitives::{Id, MerchantId, Timestamp};
use testkit::TestDatabase;

use crate::{one, register, store};

/// All policies; different numbers have different values in every field.
fn all_policies(number: i32) -> Policies {
    Policies {
        return_window_days: Some(number),
        free_shipping_threshold_minor: Some(number.into()),
        shipping_days_min: Some(number),
        shipping_days_max: Some(number + 1),
        return_summary: Some(format!("return {number}")),
        shipping_summary: Some(format!("shipping {number}")),
        privacy_url: Some(format!("https://a.example/privacy/{number}")),
        terms_url: Some(format!("https://a.example/terms/{number}")),
        warranty_months: Some(number),
    }
}

fn full() -> Settings {
    let text = |text: &str| text.to_owned();
    let rate = ShippingRate {
        name: text("Parcel"),
        price_minor: 490,
        min_subtotal_minor: Some(1000),
        days_min: 1,
        days_max: 3,
    };
    let promotion = |id: &str, benefit: Benefit| Promotion {
        id: text(id),
        name: text("Autumn"),
        benefit,
        code: Some(format!("CODE-{id}")),
        min_subtotal_minor: Some(5000),
        starts_at: Some(Timestamp::from_unix_micros(1)),
        ends_at: Some(Timestamp::from_unix_micros(2)),
        categories: vec![text("Home")],
    };
    Settings {
        policies: all_policies(30),
        confirmation: ConfirmationPolicy::Hosted,
        checkout_url: Some("https://a.example/{items}".parse().unwrap()),
        destination_required: true,
        hold_limits: Some(HoldLimits { holds: 3, units: 40 }),
        gtin_source: GtinSource::Attribute(text("EAN")),
        shipping: vec![ShippingZone {
            name: text("Near"),
            countries: vec![text("PT"), text("ES")],
            rates: vec![rate],
        }],
        taxes: vec![TaxRate {
            country: text("PT"),
            region: Some(text("Madeira")),
            category: None,
            rate_basis_points: 2200,
            included: true,
        }],
        promotions: vec![
            promotion("a", Benefit::Percent { basis_points: 1250 }),
            promotion("b", Benefit::Amount { minor: 500 }),
            promotion("c", Benefit::FreeShipping),
        ],
    }
}

async fn put(
    test: &TestDatabase,
    settings: &Settings,
    expected: Option<i64>,
) -> Result<i64, SettingsError> {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let change =
        SettingsChange { expected_version: expected, ..SettingsChange::by_operator(settings) };
    let version = merchants::put_settings(&mut work, one(), &change).await?;
    work.commit().await.unwrap();
    Ok(version)
}

async fn read(test: &TestDatabase, merchant: MerchantId) -> CurrentSettings {
    let reading = Reading::for_store(test.database(), merchant).unwrap();
    merchants::settings(&reading, merchant).await.unwrap()
}

/// Returns the events about settings as text.
async fn events(test: &TestDatabase) -> Vec<String> {
    sqlx::query_scalar(
        "SELECT topic || payload::text FROM outbox WHERE payload ? 'settings_version'
         ORDER BY position",
    )
    .fetch_all(&mut test.raw().await)
    .await
    .unwrap()
}

#[tokio::test]
async fn settings_are_stored_and_published_once() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    let before = read(&test, one()).await;
    let untouched = CurrentSettings { settings: Settings::default(), version: 0, updated_at: None };
    assert_eq!(before, untouched);
    assert_eq!(put(&test, &full(), None).await.unwrap(), 1);
    let after = read(&test, one()).await;
    assert_eq!((&after.settings, after.version), (&full(), 1));
    test.clock().advance(std::time::Duration::from_hours(1));
    assert_eq!(put(&test, &full(), Some(1)).await.unwrap(), 1);
    assert_eq!(read(&test, one()).await, after, "equal settings are not written");
    assert_eq!(events(&test).await, [r#"store.changed{"settings_version": 1}"#]);
}

#[tokio::test]
async fn every_policy_is_stored_and_shown() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    let reading = Reading::for_store(test.database(), one()).unwrap();
    for policies in [all_policies(1), all_policies(2), Policies::default()] {
        put(&test, &Settings { policies: policies.clone(), ..full() }, None).await.unwrap();
        assert_eq!(read(&test, one()).await.settings.policies, policies);
        let store = merchants::store(&reading, one()).await.unwrap();
        assert_eq!(store.policies, policies);
        let record = serde_json::to_value(store.policy_record()).unwrap();
        // The two delivery times are one field.
        let expected = if policies == Policies::default() { 0 } else { 8 };
        assert_eq!(record.as_object().unwrap().len(), expected, "{record}");
    }
}

#[tokio::test]
async fn a_change_of_policies_alone_is_published() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    put(&test, &full(), None).await.unwrap();
    let mut settings = full();
    settings.policies.warranty_months = Some(24);
    assert_eq!(put(&test, &settings, None).await.unwrap(), 2);
    assert_eq!(read(&test, one()).await.settings, settings);
    assert_eq!(events(&test).await.len(), 2);
}

#[tokio::test]
async fn a_stale_version_replaces_nothing() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    put(&test, &full(), Some(0)).await.unwrap();
    for stale in [0, 2, -1] {
        let refused = put(&test, &Settings::default(), Some(stale)).await;
        assert!(matches!(refused, Err(SettingsError::VersionConflict { version: 1 })), "{stale}");
    }
    assert_eq!(read(&test, one()).await.settings, full());
}

#[tokio::test]
async fn one_of_two_concurrent_first_changes_wins() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    let other = Settings { confirmation: ConfirmationPolicy::Hosted, ..Settings::default() };
    let full = full();
    let (first, second) = tokio::join!(put(&test, &full, Some(0)), put(&test, &other, Some(0)));
    assert!(first.is_ok() != second.is_ok(), "{first:?} {second:?}");
    assert_eq!(events(&test).await.len(), 1);
}

#[tokio::test]
async fn invalid_settings_and_missing_stores_are_rejected() {
    let test = TestDatabase::new().await;
    let missing = put(&test, &full(), None).await;
    assert!(matches!(missing, Err(SettingsError::Store(merchants::StoreError::NotFound))));
    register(test.database(), &store(1, "a")).await.unwrap();
    let mut settings = full();
    settings.taxes[0].rate_basis_points = -1;
    assert!(matches!(put(&test, &settings, None).await, Err(SettingsError::Invalid(_))));
    assert!(events(&test).await.is_empty());
}

#[tokio::test]
async fn a_store_reads_only_its_own_settings() {
    let test = TestDatabase::new().await;
    let other = MerchantId::from_random(2);
    register(test.database(), &store(1, "a")).await.unwrap();
    register(test.database(), &store(2, "b")).await.unwrap();
    put(&test, &full(), None).await.unwrap();
    let mut work = Work::for_store(test.database(), other).await.unwrap();
    let seen: i64 = sqlx::query_scalar("SELECT count(*) FROM store_setting")
        .fetch_one(work.sql())
        .await
        .unwrap();
    assert_eq!(seen, 0);
    drop(work);
    assert_eq!(read(&test, other).await.version, 0);
    // It cannot write the settings of another store either.
    let mut work = Work::for_store(test.database(), other).await.unwrap();
    let settings = full();
    let change = SettingsChange::by_operator(&settings);
    let refused = merchants::put_settings(&mut work, one(), &change).await;
    assert!(refused.is_err());
}
