//! Limits on what one agent can hold, and how its holds end.

use carts::CartOwner;
use checkout::{CheckoutCaller, CheckoutContext, CheckoutError, Complete, SessionsFilter, Status};
use database::Work;
use identity::{Actor, NewAgentKey, NewPerson, Secret};
use merchants::{HoldLimits, Settings};
use primitives::{ErrorCode, PageRequest, Plan, Problem, Scope, UserId};

use crate::shop::{Shop, agent};

async fn set_limits(shop: &Shop, holds: u32, units: u32) {
    let known = merchants::settings(&shop.reading(), shop.store.merchant).await.unwrap().settings;
    let hold_limits = Some(HoldLimits { holds, units });
    shop.put_settings(&Settings { hold_limits, ..known }).await;
}

#[tokio::test]
async fn a_key_holds_at_most_what_its_plan_allows() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "1.00", 9_000)]).await;
    let owner = agent(1);
    for _ in 0..20 {
        let cart = shop.cart(&owner, &[(mug, 1)]).await;
        shop.complete(&owner, cart.cart.id).await.unwrap();
    }
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    let refused = shop.complete(&owner, cart.cart.id).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::HoldLimitReached);
    let caller = CheckoutCaller { plan: Plan::Growth, ..CheckoutCaller::default() };
    let context = CheckoutContext { caller, ..shop.context() };
    let request = Complete::cart(cart.cart.id);
    checkout::complete(&context, &owner, &request, None).await.unwrap();
    let other = agent(2);
    let cart = shop.cart(&other, &[(mug, 201)]).await;
    let refused = shop.complete(&other, cart.cart.id).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::HoldLimitReached, "units are limited too");
    assert_eq!(shop.stock_and_held(mug).await, (9_000, 21));
}

#[tokio::test]
async fn concurrent_completions_do_not_exceed_the_limit() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "1.00", 900)]).await;
    set_limits(&shop, 3, 100).await;
    let owner = agent(1);
    let mut carts = Vec::new();
    for _ in 0..10 {
        carts.push(shop.cart(&owner, &[(mug, 1)]).await.cart.id);
    }
    let tries = carts.iter().map(|cart| shop.complete(&owner, *cart));
    let outcomes = futures::future::join_all(tries).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 3);
    assert_eq!(shop.stock_and_held(mug).await, (900, 3));
}

#[tokio::test]
async fn a_key_holds_at_most_half_of_an_article() {
    let shop = Shop::open().await;
    let [mug, pot] = shop.stock(&[("mug", "1.00", 20), ("pot", "1.00", 10)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 6)]).await;
    shop.complete(&owner, cart.cart.id).await.unwrap();
    let cart = shop.cart(&owner, &[(mug, 5)]).await;
    let refused = shop.complete(&owner, cart.cart.id).await.unwrap_err();
    assert!(matches!(refused, CheckoutError::HoldLimitReached { index: Some(0), .. }));
    let cart = shop.cart(&owner, &[(mug, 4)]).await;
    shop.complete(&owner, cart.cart.id).await.unwrap();
    let cart = shop.cart(&owner, &[(pot, 10)]).await;
    shop.complete(&owner, cart.cart.id).await.expect("a small stock is not divided");
    let cart = shop.cart(&agent(2), &[(mug, 5)]).await;
    shop.complete(&agent(2), cart.cart.id).await.unwrap_or_else(|_| panic!("others still buy"));
}

/// Returns an account with so many keys.
async fn account(shop: &Shop, keys: usize) -> (UserId, Vec<CartOwner>) {
    let mut work = Work::for_platform(shop.test.database()).await.unwrap();
    let email = "ada@example.com".parse().unwrap();
    let new = NewPerson { email, plan: Plan::Free, is_admin: false };
    let password = "correct horse battery";
    let person = identity::create_person(&mut work, Actor::Operator, &new, password).await.unwrap();
    let secret = Secret::new("a secret for tests, of 32 bytes and more").unwrap();
    let wanted = NewAgentKey { scopes: [Scope::AgentCheckout].into(), ..NewAgentKey::default() };
    let mut owners = Vec::new();
    for _ in 0..keys {
        let issued = identity::issue_agent_key(&mut work, &secret, person, &wanted).await.unwrap();
        owners.push(CartOwner { key: issued.1.key_id, ..agent(1) });
    }
    work.commit().await.unwrap();
    (person, owners)
}

#[tokio::test]
async fn the_keys_of_an_account_hold_at_most_half_of_an_article_together() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "1.00", 40)]).await;
    let (account, keys) = account(&shop, 3).await;
    let caller = CheckoutCaller { account: Some(account), ..CheckoutCaller::default() };
    let context = CheckoutContext { caller, ..shop.context() };
    let complete = async |owner: &CartOwner, units: i64| {
        let cart = shop.cart(owner, &[(mug, units)]).await;
        checkout::complete(&context, owner, &Complete::cart(cart.cart.id), None).await
    };
    complete(&keys[0], 12).await.unwrap();
    let refused = complete(&keys[1], 9).await.unwrap_err();
    assert!(matches!(refused, CheckoutError::HoldLimitReached { index: Some(0), .. }));
    // At the same time, and with a key that is revoked meanwhile.
    let mut raw = shop.test.raw().await;
    sqlx::query("UPDATE platform.agent_key SET revoked_at = now() WHERE key_id = $1")
        .bind(keys[0].key)
        .execute(&mut raw)
        .await
        .unwrap();
    let outcomes = futures::join!(complete(&keys[1], 8), complete(&keys[2], 8));
    assert_ne!(outcomes.0.is_ok(), outcomes.1.is_ok(), "{outcomes:?}");
    assert_eq!(shop.stock_and_held(mug).await, (40, 20));
    let cart = shop.cart(&agent(2), &[(mug, 20)]).await;
    shop.complete(&agent(2), cart.cart.id).await.unwrap_or_else(|_| panic!("others still buy"));
}

#[tokio::test]
async fn a_session_ends_thirty_minutes_after_its_creation() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "1.00", 20)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    let ends = at.session.started_at.plus(checkout::SESSION_LIFETIME);
    for _ in 0..2 {
        shop.advance(std::time::Duration::from_mins(10));
        let change = checkout::Update::default();
        let (context, id) = (shop.context(), at.session.id);
        checkout::update(&context, &owner, id, &change, None).await.unwrap();
        let again = shop.complete(&owner, cart.cart.id).await.unwrap();
        assert_eq!(again.session.expires_at, ends, "changes do not extend it");
    }
    shop.advance(std::time::Duration::from_mins(11));
    let late = shop.complete(&owner, cart.cart.id).await.unwrap_err();
    assert!(matches!(late, CheckoutError::InvalidTransition { from: Status::Expired }));
}

#[tokio::test]
async fn a_merchant_lists_and_releases_holds() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "1.00", 9)]).await;
    let owner = agent(1);
    let mut sessions = Vec::new();
    for owner in [owner.clone(), owner.clone(), CartOwner { is_sandbox: true, ..agent(2) }] {
        let cart = shop.cart(&owner, &[(mug, 1)]).await;
        sessions.push(shop.complete(&owner, cart.cart.id).await.unwrap().session);
    }
    let list = async |holding_only| {
        let (reading, page) = (shop.reading(), PageRequest::new(None, None));
        let filter = SessionsFilter { holding_only, ..SessionsFilter::default() };
        let listed = checkout::sessions(&reading, shop.store.merchant, &filter, page).await;
        let (found, meta) = listed.unwrap();
        assert_eq!(i64::try_from(found.len()).unwrap(), meta.total);
        found.into_iter().map(|at| at.session.id).collect::<Vec<_>>()
    };
    assert_eq!(list(true).await.len(), 2, "a sandbox holds nothing of the store");
    for _ in 0..2 {
        let released = checkout::release(&shop.context(), sessions[0].id).await.unwrap();
        assert_eq!(released.status(), Status::Canceled);
        assert_eq!(released.session.reason_code.as_deref(), Some("released_by_merchant"));
    }
    assert_eq!(list(true).await, [sessions[1].id]);
    assert_eq!(list(false).await.len(), 2);
    let select = async |status, after| {
        let filter = SessionsFilter { holding_only: false, status, after };
        let (reading, page) = (shop.reading(), PageRequest::new(None, Some(1)));
        let listed = checkout::sessions(&reading, shop.store.merchant, &filter, page).await;
        listed.unwrap().0.into_iter().map(|at| at.session.id).collect::<Vec<_>>()
    };
    assert_eq!(select(Some(Status::Canceled), None).await, [sessions[0].id]);
    assert_eq!(select(Some(Status::RequiresEscalation), None).await, [sessions[1].id]);
    assert!(select(Some(Status::Expired), None).await.is_empty());
    let newest = select(None, None).await[0];
    let older = select(None, Some(newest)).await[0];
    assert_ne!(newest, older);
    assert!(select(None, Some(older)).await.is_empty());
    shop.test.clock().advance(std::time::Duration::from_hours(1));
    assert_eq!(select(Some(Status::Expired), None).await, [sessions[1].id]);
    assert_eq!(shop.stock_and_held(mug).await, (9, 1));
}

#[tokio::test]
async fn a_session_without_its_cart_still_expires() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "1.00", 9)]).await;
    for number in 1..=3 {
        let owner = agent(number);
        let cart = shop.cart(&owner, &[(mug, 1)]).await;
        shop.complete(&owner, cart.cart.id).await.unwrap();
    }
    let mut raw = shop.test.raw().await;
    for breakage in [
        "DELETE FROM cart WHERE cart_id = (SELECT cart_id FROM cart ORDER BY cart_id LIMIT 1)",
        "UPDATE checkout_session SET terms = '{}' WHERE cart_id = (SELECT max(cart_id::text)::uuid FROM cart)",
    ] {
        sqlx::query(breakage).execute(&mut raw).await.unwrap();
    }
    shop.advance(checkout::SESSION_LIFETIME + std::time::Duration::from_mins(1));
    shop.run::<checkout::ExpireSessions>(()).await;
    assert_eq!(shop.stock_and_held(mug).await, (9, 1), "only the unreadable session is left");
    assert_eq!(shop.count("SELECT count(*) FROM sweep_failure").await, 1);
}

#[tokio::test]
async fn the_data_of_a_buyer_is_erased_once_the_checkout_is_over() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "1.00", 9)]).await;
    let owner = agent(1);
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let cart = shop.cart(&owner, &[(mug, 1)]).await;
        sessions.push(shop.complete(&owner, cart.cart.id).await.unwrap());
    }
    shop.pay(&sessions[0], payments::TestInstrument::Approves).await.unwrap();
    let erase = async || {
        let mut work = database::Work::for_platform(shop.test.database()).await.unwrap();
        let reason = "asked for by the buyer".parse().unwrap();
        let by = merchants::Administration { actor: identity::Actor::Operator, reason: &reason };
        let erased = checkout::erase_buyer(&mut work, by, "EVE@example.com").await.unwrap();
        work.commit().await.unwrap();
        (erased.carts, erased.orders)
    };
    assert_eq!(erase().await, (1, 1), "an open checkout keeps its data");
    let left = "SELECT (SELECT count(*) FROM cart WHERE cart::text LIKE '%eve@example%')
                     + (SELECT count(*) FROM checkout_session AS row WHERE row::text LIKE '%eve@example%')
                     + (SELECT count(*) FROM confirmation AS row WHERE row::text LIKE '%eve@example%')
                     + (SELECT count(*) FROM placed_order AS row WHERE row::text LIKE '%eve@example%')";
    assert_eq!(shop.count(left).await, 2, "cart and session of the open checkout");
    checkout::cancel(&shop.context(), &owner, sessions[1].session.id, None, None).await.unwrap();
    assert_eq!(erase().await, (1, 0));
    assert_eq!(shop.count(left).await, 0);
    assert_eq!(shop.count("SELECT count(*) FROM platform.audit_entry").await, 2);
    let (reading, id) = (shop.reading(), sessions[0].session.id);
    let read = checkout::session(&reading, shop.store.merchant, id, None).await;
    assert_eq!(read.unwrap().session.terms.destination.unwrap().country, "DE");
}
