//! Payments on the pages of payment processors, with an account of the store, at test doubles.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use identity::{Actor, Secret};
use payments::{
    AccountCredentials, AccountError, AccountStatus, Attempt, CallError, ChargeOutcome, NextStep,
    PageRequest, PaymentAccount, PaymentAccounts, ProcessorProvider, Provider, ProviderName,
    ProviderPage, ProviderStatus, RefundAttempt, RefundStatus,
};
use primitives::{Id, Money, RefundId, Timestamp};
use serde_json::json;

use crate::double::Double;
use crate::shop::{Shop, TOTAL, session};

/// A store with an account at a double of a processor.
struct World {
    shop: Shop,
    double: Double,
    accounts: PaymentAccounts,
    account: PaymentAccount,
    provider: ProcessorProvider,
}

/// Returns the credentials that the double of a processor accepts.
fn credentials(provider: ProviderName) -> AccountCredentials {
    match provider {
        ProviderName::Stripe => AccountCredentials::Stripe {
            api_key: "sk_live_double".to_owned(),
            webhook_secrets: vec!["whsec_double".to_owned()],
        },
        _ => AccountCredentials::Paypal {
            is_live: true,
            client_id: "client-double".to_owned(),
            client_secret: "secret-double".to_owned(),
            webhook_id: "9XL90610J3647323C".to_owned(),
        },
    }
}

/// The time of the machine, which the doubles use.
#[expect(clippy::disallowed_methods, reason = "the doubles are other processes with the real time")]
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_unix_micros(i64::try_from(since.as_micros()).unwrap())
}

fn secret() -> Secret {
    Secret::new("a secret for tests, of 32 bytes and more").unwrap()
}

impl World {
    async fn start(name: ProviderName) -> Option<Self> {
        let double = Double::start(name)?;
        let shop = Shop::open().await;
        let database = shop.test.database().clone();
        let accounts = PaymentAccounts::new(database, &secret(), double.processors().await);
        let connected = accounts.connect(shop.merchant, Actor::Operator, &credentials(name)).await;
        let mut providers = ProcessorProvider::all(&accounts).into_iter();
        let provider = providers.find(|provider| provider.name() == name).unwrap();
        Some(Self { shop, double, accounts, account: connected.unwrap(), provider })
    }

    async fn all() -> Vec<Self> {
        let mut worlds = Vec::new();
        for name in [ProviderName::Stripe, ProviderName::Paypal] {
            worlds.extend(Self::start(name).await);
        }
        worlds
    }

    fn is_paypal(&self) -> bool {
        self.double.provider == ProviderName::Paypal
    }

    fn attempt(&self, number: u128) -> Attempt {
        let begun_at = now();
        Attempt {
            payment: Id::from_random(number),
            merchant: self.shop.merchant,
            checkout: session(number),
            account: Some(self.account.id),
            amount: TOTAL,
            instrument: self.double.provider.to_string(),
            reference: None,
            charge: None,
            begun_at,
            expires_at: begun_at.plus(Duration::from_mins(30)),
        }
    }

    /// Starts an attempt, and returns it with its page.
    async fn begin(&self, number: u128) -> (Attempt, ProviderPage) {
        let attempt = self.attempt(number);
        let next = self.provider.begin(&attempt, &page()).await.unwrap();
        let NextStep::Redirect(page) = next else { panic!("{next:?}") };
        (Attempt { reference: Some(page.reference.clone()), ..attempt }, page)
    }

    /// Returns a paid attempt.
    async fn paid(&self, number: u128) -> Attempt {
        let (attempt, page) = self.begin(number).await;
        self.double.press(&page.url, "pay").await;
        let status = self.provider.capture(&attempt).await.unwrap();
        let ProviderStatus::Done(ChargeOutcome::Paid(charge)) = status else {
            panic!("{status:?}")
        };
        assert_eq!(charge.amount, TOTAL);
        assert!(charge.fee.unwrap().minor() > 0);
        Attempt { charge: Some(charge.reference), ..attempt }
    }
}

fn page() -> PageRequest {
    PageRequest {
        description: String::from("Attic"),
        success_url: String::from("https://souk.example/return"),
        cancel_url: String::from("https://souk.example/"),
        buyer_email: Some(String::from("ada@example.com")),
    }
}

const ENDED: ProviderStatus = ProviderStatus::Done(ChargeOutcome::Ended);
const DECLINED: ProviderStatus = ProviderStatus::Done(ChargeOutcome::Declined);

#[tokio::test]
async fn a_payment_is_paid_on_the_page_of_the_processor() {
    for world in World::all().await {
        let (attempt, page) = world.begin(1).await;
        assert_eq!(world.provider.status(&attempt).await, Ok(ProviderStatus::Open));
        world.double.press(&page.url, "pay").await;
        let status = world.provider.status(&attempt).await.unwrap();
        if world.is_paypal() {
            assert_eq!(status, ProviderStatus::Approved, "no money is taken yet");
        }
        let captured = world.provider.capture(&attempt).await.unwrap();
        assert_eq!(captured, world.provider.status(&attempt).await.unwrap());
        let ProviderStatus::Done(ChargeOutcome::Paid(charge)) = captured else { panic!() };
        assert_eq!(charge.amount, TOTAL);
        // Another attempt cannot be credited with it.
        let mut other = world.attempt(2);
        other.reference = attempt.reference.clone();
        assert_eq!(world.provider.status(&other).await, Err(CallError::Refused));
        let other = Attempt { amount: Money::new(1, TOTAL.currency()), ..attempt };
        let status = world.provider.status(&other).await.unwrap();
        assert_eq!(
            status,
            ProviderStatus::Done(ChargeOutcome::Paid(charge)),
            "the caller compares"
        );
    }
}

#[tokio::test]
async fn a_closed_payment_cannot_be_paid() {
    for world in World::all().await {
        let (attempt, page) = world.begin(1).await;
        assert_eq!(world.provider.expire(&attempt).await, Ok(ENDED));
        world.double.press(&page.url, "pay").await;
        assert_eq!(world.provider.expire(&attempt).await, Ok(ENDED));
        if world.is_paypal() {
            assert_eq!(world.double.count("captures").await, 0);
        }
        // One of which nobody got the page is closed without a call.
        let unknown = world.attempt(2);
        assert_eq!(world.provider.status(&unknown).await, Ok(ENDED));
        assert_eq!(world.provider.expire(&unknown).await, Ok(ENDED));
        let paid = world.paid(3).await;
        let status = world.provider.expire(&paid).await.unwrap();
        assert!(matches!(status, ProviderStatus::Done(ChargeOutcome::Paid(_))), "{status:?}");
    }
}

#[tokio::test]
async fn a_declined_capture_ends_the_attempt() {
    let Some(world) = World::start(ProviderName::Paypal).await else { return };
    let (attempt, page) = world.begin(1).await;
    world.double.press(&page.url, "pay").await;
    world.double.control("outcomes", json!({ "payments": "decline" })).await;
    assert_eq!(world.provider.capture(&attempt).await, Ok(DECLINED));
    // The order is open again at PayPal; it is not captured any more.
    assert_eq!(world.provider.status(&attempt).await, Ok(ProviderStatus::Open));
    assert_eq!(world.provider.capture(&attempt).await, Ok(DECLINED));
}

#[tokio::test]
async fn a_call_without_an_answer_is_unknown_and_can_be_repeated() {
    for world in World::all().await {
        let attempt = world.attempt(1);
        world.double.fault("create", "drop_answer").await;
        let lost = world.provider.begin(&attempt, &page()).await;
        assert_eq!(lost, Err(CallError::Unknown));
        let Ok(NextStep::Redirect(again)) = world.provider.begin(&attempt, &page()).await else {
            panic!("not repeated")
        };
        let kind = if world.is_paypal() { "orders" } else { "sessions" };
        assert_eq!(world.double.count(kind).await, 1);
        let attempt = Attempt { reference: Some(again.reference), ..attempt };
        world.double.press(&again.url, "pay").await;
        if world.is_paypal() {
            world.double.fault("capture", "drop_answer").await;
            assert_eq!(world.provider.capture(&attempt).await, Err(CallError::Unknown));
        }
        world.double.fault("fetch", "status_429").await;
        assert_eq!(world.provider.status(&attempt).await, Err(CallError::NotSent));
        let captured = world.provider.capture(&attempt).await.unwrap();
        assert!(matches!(captured, ProviderStatus::Done(ChargeOutcome::Paid(_))));
    }
}

#[tokio::test]
async fn a_payment_is_refunded_in_parts_and_never_more_than_once_each() {
    for world in World::all().await {
        let attempt = world.paid(1).await;
        let refund = |number, minor| RefundAttempt {
            refund: RefundId::from_random(number),
            attempt: attempt.clone(),
            amount: Money::new(minor, TOTAL.currency()),
            reference: None,
        };
        let first = refund(1, 1_000);
        world.double.fault("refund", "drop_answer").await;
        assert_eq!(world.provider.refund(&first).await, Err(CallError::Unknown));
        let done = world.provider.refund(&first).await.unwrap();
        let RefundStatus::Done { reference } = &done else { panic!("{done:?}") };
        let known = RefundAttempt { reference: Some(reference.clone()), ..first };
        assert_eq!(world.provider.refund(&known).await.unwrap(), done);
        assert_eq!(world.double.count("refunds").await, 1);
        let rest = world.provider.refund(&refund(2, 1_990)).await.unwrap();
        assert!(matches!(rest, RefundStatus::Done { .. }));
        let more = world.provider.refund(&refund(3, 1)).await.unwrap();
        assert_eq!(more, RefundStatus::Refused);
        // The money was taken, whatever was returned since.
        let status = world.provider.status(&attempt).await.unwrap();
        assert!(matches!(status, ProviderStatus::Done(ChargeOutcome::Paid(_))), "{status:?}");
    }
}

#[tokio::test]
async fn payments_are_completed_with_the_account_that_they_were_started_with() {
    let Some(world) = World::start(ProviderName::Stripe).await else { return };
    let World { shop, accounts, provider, account, .. } = &world;
    let attempt = world.paid(1).await;
    shop.create(attempt.checkout).await.unwrap();
    // The payment of the database refers to the account.
    let mut raw = shop.test.raw().await;
    let refer = "UPDATE payment SET account_id = $1";
    sqlx::query(refer).bind(account.id).execute(&mut raw).await.unwrap();
    let disconnect =
        async || accounts.disconnect(shop.merchant, Actor::Operator, ProviderName::Stripe).await;
    assert_eq!(disconnect().await.unwrap().id, account.id);
    assert!(matches!(disconnect().await, Err(AccountError::NotFound)));
    assert_eq!(accounts.list(shop.merchant).await.unwrap(), []);
    shop.test.clock().advance(Duration::from_hours(2));
    let connect = async |provider| {
        accounts.connect(shop.merchant, Actor::Operator, &credentials(provider)).await
    };
    let second = connect(ProviderName::Stripe).await.unwrap();
    let status = provider.status(&attempt).await.unwrap();
    assert!(matches!(status, ProviderStatus::Done(ChargeOutcome::Paid(_))), "{status:?}");
    // An account to which no payment refers is deleted after a while.
    shop.test.clock().advance(Duration::from_hours(2));
    let third = connect(ProviderName::Stripe).await.unwrap();
    shop.test.clock().advance(Duration::from_hours(2));
    connect(ProviderName::Stripe).await.unwrap();
    let all = "SELECT account_id FROM payment_account";
    let kept: Vec<primitives::PaymentAccountId> =
        sqlx::query_scalar(all).fetch_all(&mut raw).await.unwrap();
    assert!(kept.contains(&account.id) && kept.contains(&third.id), "{kept:?}");
    assert!(!kept.contains(&second.id), "{kept:?}");
}

#[tokio::test]
async fn credentials_are_checked_encrypted_and_of_one_store() {
    for world in World::all().await {
        let World { shop, accounts, account, .. } = &world;
        let status = accounts.status(shop.merchant, account).await.unwrap();
        assert_eq!(status, AccountStatus::Working);
        let wrong = match credentials(world.double.provider) {
            AccountCredentials::Stripe { webhook_secrets, .. } => {
                AccountCredentials::Stripe { api_key: "sk_live_other".to_owned(), webhook_secrets }
            }
            AccountCredentials::Paypal { is_live, client_id, webhook_id, .. } => {
                let client_secret = "other".to_owned();
                AccountCredentials::Paypal { is_live, client_id, client_secret, webhook_id }
            }
        };
        let refused = accounts.connect(shop.merchant, Actor::Operator, &wrong).await;
        assert!(matches!(refused, Err(AccountError::CredentialsRefused)), "{refused:?}");
        assert_eq!(accounts.list(shop.merchant).await.unwrap(), [account.clone()]);
        let other = shop.another_merchant().await;
        assert_eq!(accounts.list(other).await.unwrap(), []);
        let stored = "SELECT credentials FROM payment_account";
        let sealed: Vec<u8> =
            sqlx::query_scalar(stored).fetch_one(&mut shop.test.raw().await).await.unwrap();
        for secret in ["sk_live_double", "whsec_double", "secret-double"] {
            assert!(!sealed.windows(secret.len()).any(|part| part == secret.as_bytes()));
        }
        // Another server secret does not read them.
        let key = Secret::new("another secret for tests, of 32 bytes and more").unwrap();
        let database = shop.test.database().clone();
        let stranger = PaymentAccounts::new(database, &key, world.double.processors().await);
        let unreadable = stranger.status(shop.merchant, account).await;
        assert!(matches!(unreadable, Err(AccountError::Unreadable)), "{unreadable:?}");
    }
}
