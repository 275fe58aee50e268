//! The page where buyers pay: who may change it, and to which hosts.

use database::{Database, Reading, Work};
use identity::{Actor, Reason, Role};
use merchants::{
    Administration, ConfirmationPolicy, Editor, NoticeKind, Settings, SettingsChange,
    SettingsError, StoreError,
};
use primitives::{Id, KeyId, MerchantId, UserId};
use testkit::TestDatabase;

use crate::{one, register, store};

fn person(role: Role) -> Editor {
    Editor { actor: Actor::Person(UserId::from_random(5)), role: Some(role) }
}

fn program() -> Editor {
    Editor { actor: Actor::Key(KeyId::from_random(6)), role: None }
}

fn paying_at(template: &str) -> Settings {
    Settings { checkout_url: Some(template.parse().unwrap()), ..Settings::default() }
}

/// Changes the settings in a transaction of the store.
async fn put(
    database: &Database,
    settings: &Settings,
    editor: Editor,
    is_development: bool,
) -> Result<i64, SettingsError> {
    let mut work = Work::for_store(database, one()).await?;
    let change = SettingsChange { editor, is_development, ..SettingsChange::by_operator(settings) };
    let version = merchants::put_settings(&mut work, one(), &change).await?;
    work.commit().await?;
    Ok(version)
}

async fn allow(database: &Database, host: &str) -> Result<bool, SettingsError> {
    let mut work = Work::for_platform(database).await?;
    let reason: Reason = "verified by DNS".parse().unwrap();
    let by = Administration { actor: Actor::Operator, reason: &reason };
    let allowed = merchants::allow_host(&mut work, by, one(), host).await?;
    work.commit().await?;
    Ok(allowed)
}

#[tokio::test]
async fn only_an_owner_changes_it() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    assert!(allow(test.database(), "pay.example").await.unwrap());
    let settings = paying_at("https://pay.example/{items}");
    for editor in [program(), person(Role::Staff)] {
        let refused = put(test.database(), &settings, editor, false).await;
        let field = "checkout_url_template";
        assert!(
            matches!(&refused, Err(SettingsError::OwnerRequired { field: named }) if *named == field),
            "{editor:?}: {refused:?}"
        );
    }
    assert_eq!(put(test.database(), &settings, person(Role::Owner), false).await.unwrap(), 1);
    // Others change the rest, and neither change nor remove it.
    for (editor, version) in [(program(), 2), (person(Role::Staff), 3)] {
        let confirmation = [ConfirmationPolicy::Hosted, ConfirmationPolicy::Attested];
        let confirmation = confirmation[usize::from(version == 3)];
        let other = Settings { confirmation, ..settings.clone() };
        assert_eq!(put(test.database(), &other, editor, false).await.unwrap(), version);
        let refused = put(test.database(), &Settings::default(), editor, false).await;
        assert!(matches!(refused, Err(SettingsError::OwnerRequired { .. })), "{editor:?}");
    }
    assert!(put(test.database(), &Settings::default(), person(Role::Owner), false).await.is_ok());
}

#[tokio::test]
async fn it_is_on_an_allowed_host_with_tls() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    assert!(allow(test.database(), "Pay.Example").await.unwrap());
    assert!(!allow(test.database(), "pay.example").await.unwrap());
    assert!(matches!(
        allow(test.database(), "pay.example/x").await,
        Err(SettingsError::Invalid(_))
    ));
    let owner = person(Role::Owner);
    let try_put = async |template: &str, is_development: bool| {
        put(test.database(), &paying_at(template), owner, is_development).await
    };
    for is_development in [false, true] {
        for elsewhere in
            ["https://evil.example/{items}", "https://pay.example.evil.example/{items}"]
        {
            let refused = try_put(elsewhere, is_development).await;
            let Err(SettingsError::HostNotAllowed { hosts }) = refused else {
                panic!("{elsewhere}")
            };
            assert_eq!(hosts, ["pay.example"]);
        }
        let plain = try_put("http://pay.example/{items}", is_development).await;
        assert!(matches!(plain, Err(SettingsError::Invalid(_))));
    }
    assert!(try_put("http://localhost:3000/{items}", false).await.is_err());
    assert!(try_put("http://localhost:3000/{items}", true).await.is_ok());
    assert!(try_put("https://PAY.example:443/{items}", false).await.is_ok());
}

async fn disallow(database: &Database, host: &str) -> Result<bool, SettingsError> {
    let mut work = Work::for_platform(database).await?;
    let reason: Reason = "phishing".parse().unwrap();
    let by = Administration { actor: Actor::Operator, reason: &reason };
    let disallowed = merchants::disallow_host(&mut work, by, one(), host).await?;
    work.commit().await?;
    Ok(disallowed)
}

#[tokio::test]
async fn a_disallowed_host_is_used_no_longer() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    for host in ["pay.example", "other.example"] {
        allow(test.database(), host).await.unwrap();
    }
    let settings = paying_at("https://pay.example/{items}");
    let owner = person(Role::Owner);
    let version = put(test.database(), &settings, owner, false).await.unwrap();
    assert!(!disallow(test.database(), "third.example").await.unwrap());
    assert!(disallow(test.database(), "other.example").await.unwrap());
    let reading = Reading::for_store(test.database(), one()).unwrap();
    let current = merchants::settings(&reading, one()).await.unwrap();
    assert_eq!((current.version, current.settings), (version, settings.clone()));
    assert!(disallow(test.database(), "Pay.Example:443").await.unwrap());
    assert!(!disallow(test.database(), "pay.example").await.unwrap());
    let current = merchants::settings(&reading, one()).await.unwrap();
    assert_eq!((current.version, current.settings), (version + 1, Settings::default()));
    let refused = put(test.database(), &settings, owner, false).await;
    assert!(matches!(refused, Err(SettingsError::HostNotAllowed { hosts }) if hosts.is_empty()));
    let entries = identity::audit_entries(test.database(), &one().to_string(), 2).await.unwrap();
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["store.checkout_url_set", "store.host_disallowed"]);
    assert_eq!(entries[1].details["reason"], "phishing");
    let notices = merchants::notices(&reading, one(), None, 2).await.unwrap().notices;
    let kinds: Vec<NoticeKind> = notices.iter().map(|notice| notice.kind).collect();
    assert_eq!(kinds, [NoticeKind::PaymentPageChanged, NoticeKind::PaymentHostDisallowed]);
}

#[tokio::test]
async fn another_port_is_another_host() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    assert!(allow(test.database(), "pay.example:443").await.unwrap());
    assert!(!allow(test.database(), "pay.example").await.unwrap(), "443 is the port of https");
    let try_put = async |template: &str| {
        put(test.database(), &paying_at(template), person(Role::Owner), false).await
    };
    for port in [":8443", ":80", ":4430"] {
        let refused = try_put(&format!("https://pay.example{port}/{{items}}")).await;
        assert!(matches!(refused, Err(SettingsError::HostNotAllowed { .. })), "{port}");
    }
    assert!(allow(test.database(), "Pay.Example:8443").await.unwrap());
    assert!(try_put("https://pay.example:8443/{items}").await.is_ok());
    assert!(try_put("https://pay.example/{items}").await.is_ok());
    let refused = try_put("https://pay.example:9443/{items}").await;
    let Err(SettingsError::HostNotAllowed { hosts }) = refused else { panic!("{refused:?}") };
    assert_eq!(hosts, ["pay.example", "pay.example:8443"]);
}

#[tokio::test]
async fn an_owner_changes_the_store_of_the_transaction_only() {
    let test = TestDatabase::new().await;
    for (number, slug) in [(1, "a"), (2, "b")] {
        register(test.database(), &store(number, slug)).await.unwrap();
    }
    allow(test.database(), "pay.example").await.unwrap();
    let settings = paying_at("https://pay.example/{items}");
    let (editor, other) = (person(Role::Owner), MerchantId::from_random(2));
    let change = SettingsChange { editor, ..SettingsChange::by_operator(&settings) };
    let mut work = Work::for_store(test.database(), one()).await.unwrap();
    let refused = merchants::put_settings(&mut work, other, &change).await;
    assert!(matches!(refused, Err(SettingsError::Store(StoreError::NotFound))), "{refused:?}");
    merchants::put_settings(&mut work, one(), &change).await.unwrap();
    // The role of the store is back.
    let update = "UPDATE store_setting SET checkout_url_template = NULL";
    let refused = sqlx::query(update).execute(work.sql()).await.unwrap_err();
    assert!(refused.to_string().contains("permission denied"), "{refused}");
}

#[tokio::test]
async fn a_change_is_audited_and_noticed() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    allow(test.database(), "pay.example").await.unwrap();
    let settings = paying_at("https://pay.example/{items}");
    put(test.database(), &settings, person(Role::Owner), false).await.unwrap();
    let entries = identity::audit_entries(test.database(), &one().to_string(), 10).await.unwrap();
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["store.checkout_url_set", "store.host_allowed"]);
    assert_eq!(entries[0].actor, UserId::from_random(5).to_string());
    let change = &entries[0].details;
    assert_eq!(change["checkout_url_template"], "https://pay.example/{items}");
    let reading = Reading::for_store(test.database(), one()).unwrap();
    let page = merchants::notices(&reading, one(), None, 10).await.unwrap();
    let kinds: Vec<NoticeKind> = page.notices.iter().map(|notice| notice.kind).collect();
    assert_eq!(kinds, [NoticeKind::PaymentPageChanged, NoticeKind::PaymentHostAllowed]);
}

/// The rule of the code is also one of the database: the role of stores cannot write the column.
#[tokio::test]
async fn the_role_of_stores_cannot_write_it() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    let hosted = Settings { confirmation: ConfirmationPolicy::Hosted, ..Settings::default() };
    put(test.database(), &hosted, program(), false).await.unwrap();
    for statement in [
        "UPDATE store_setting SET checkout_url_template = 'https://evil.example/{items}'",
        "INSERT INTO store_host (merchant_id, host, allowed_at)
         SELECT merchant_id, 'evil.example', updated_at FROM store",
        "UPDATE store SET status = 'open'",
    ] {
        let mut work = Work::for_store(test.database(), one()).await.unwrap();
        let refused = sqlx::query(statement).execute(work.sql()).await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{statement}: {refused}");
    }
}
