//! What a person agreed to, and what is no proof of it.

use std::time::Duration;

use carts::{Edit, Owner, Priced};
use checkout::{
    CheckoutError, Complete, ConfirmationStatus, Decision, ProofFault, Requested, Status,
};
use merchants::ConfirmationPolicy;
use orders::ConfirmationLevel;
use primitives::ConfirmationId;

use crate::shop::{Shop, agent};

async fn asked(shop: &Shop, owner: &Owner) -> (Priced, Requested) {
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let cart = shop.cart(owner, &[(mug, 1)]).await;
    let requested = checkout::request(&shop.counter(), owner, cart.cart.id).await.unwrap();
    (cart, requested)
}

async fn answer(shop: &Shop, requested: &Requested, decision: Decision) -> Requested {
    let it = &requested.confirmation;
    let counter = shop.counter();
    checkout::decide(&counter, it.id, decision, &it.form_token, it.quote_hash).await.unwrap()
}

async fn fault(shop: &Shop, owner: &Owner, cart: &Priced, proof: ConfirmationId) -> ProofFault {
    let asked = Complete { confirmation: Some(proof), ..Complete::cart(cart.cart.id) };
    match checkout::complete(&shop.counter(), owner, &asked, None).await {
        Err(CheckoutError::ConfirmationRequired { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_store_that_wants_a_person_gets_one() {
    let shop = Shop::with_policy(ConfirmationPolicy::Hosted).await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    let refused = shop.complete(&owner, cart.cart.id).await.unwrap_err();
    let CheckoutError::ConfirmationRequired { fault, requested: Some(requested) } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(fault, ProofFault::TooWeak);
    assert_eq!(requested.confirmation.quote_hash, cart.quote_hash);
    assert!(requested.confirm_url.ends_with(&requested.confirmation.id.to_string()));
    let id = requested.confirmation.id;
    assert_eq!(self::fault(&shop, &owner, &cart, id).await, ProofFault::Pending);
    let answered = answer(&shop, &requested, Decision::Approve).await;
    assert_eq!(answered.confirmation.status(answered.now), ConfirmationStatus::Confirmed);
    let asked = Complete { confirmation: Some(id), ..Complete::cart(cart.cart.id) };
    let at = checkout::complete(&shop.counter(), &owner, &asked, None).await.unwrap();
    assert_eq!((at.status(), at.level()), (Status::RequiresEscalation, ConfirmationLevel::Hosted));
    assert_eq!(at.session.confirmation, Some((ConfirmationLevel::Hosted, Some(id))));
}

#[tokio::test]
async fn a_mandate_is_not_accepted_yet() {
    let shop = Shop::with_policy(ConfirmationPolicy::Mandate).await;
    let owner = agent(1);
    let (cart, requested) = asked(&shop, &owner).await;
    answer(&shop, &requested, Decision::Approve).await;
    let fault = fault(&shop, &owner, &cart, requested.confirmation.id).await;
    assert_eq!(fault, ProofFault::MandateNotYet);
}

#[tokio::test]
async fn nobody_elses_and_no_other_carts_proof() {
    let shop = Shop::open().await;
    let (owner, other) = (agent(1), agent(2));
    let (cart, requested) = asked(&shop, &owner).await;
    let (others, _) = asked(&shop, &other).await;
    let (second, _) = asked(&shop, &owner).await;
    answer(&shop, &requested, Decision::Approve).await;
    let id = requested.confirmation.id;
    assert_eq!(fault(&shop, &other, &others, id).await, ProofFault::Unknown);
    assert_eq!(fault(&shop, &owner, &second, id).await, ProofFault::Unknown);
    let made_up = "cnf_00000000000000000000000001".parse();
    if let Ok(made_up) = made_up {
        assert_eq!(fault(&shop, &owner, &cart, made_up).await, ProofFault::Unknown);
    }
    let foreign = checkout::confirmation(&shop.counter(), id, Some(other.key)).await;
    assert!(matches!(foreign, Err(CheckoutError::ConfirmationNotFound)));
    let elicited = checkout::elicit(&shop.counter(), &other, id, Decision::Approve).await;
    assert!(matches!(elicited, Err(CheckoutError::ConfirmationNotFound)));
}

#[tokio::test]
async fn a_no_is_a_no_and_an_answer_is_given_once() {
    let shop = Shop::open().await;
    let owner = agent(1);
    let (cart, requested) = asked(&shop, &owner).await;
    answer(&shop, &requested, Decision::Reject).await;
    let again = answer(&shop, &requested, Decision::Approve).await;
    assert_eq!(again.confirmation.status(again.now), ConfirmationStatus::Rejected);
    let fault = fault(&shop, &owner, &cart, requested.confirmation.id).await;
    assert_eq!(fault, ProofFault::Rejected);
}

#[tokio::test]
async fn a_proof_of_something_else_is_stale() {
    let shop = Shop::open().await;
    let owner = agent(1);
    let (cart, requested) = asked(&shop, &owner).await;
    answer(&shop, &requested, Decision::Approve).await;
    let more = [Edit::Replace(vec![carts::Item {
        quantity: carts::Quantity::new(2).unwrap(),
        ..cart.cart.lines[0].item
    }])];
    let who = (owner.key, cart.cart.id);
    carts::change(shop.test.database(), &shop.store, who, None, &more, None).await.unwrap();
    let fault = fault(&shop, &owner, &cart, requested.confirmation.id).await;
    assert_eq!(fault, ProofFault::Stale);
}

#[tokio::test]
async fn a_proof_lasts_a_quarter_of_an_hour_and_is_used_once() {
    let shop = Shop::open().await;
    let owner = agent(1);
    let (cart, requested) = asked(&shop, &owner).await;
    let id = requested.confirmation.id;
    answer(&shop, &requested, Decision::Approve).await;
    shop.advance(Duration::from_mins(16));
    assert_eq!(fault(&shop, &owner, &cart, id).await, ProofFault::Expired);
    let fresh = checkout::request(&shop.counter(), &owner, cart.cart.id).await.unwrap();
    assert_ne!(fresh.confirmation.id, id);
    let same = checkout::request(&shop.counter(), &owner, cart.cart.id).await.unwrap();
    assert_eq!(same.confirmation.id, fresh.confirmation.id, "the same question is put once");
    answer(&shop, &fresh, Decision::Approve).await;
    let asked =
        Complete { confirmation: Some(fresh.confirmation.id), ..Complete::cart(cart.cart.id) };
    let at = checkout::complete(&shop.counter(), &owner, &asked, None).await.unwrap();
    let used = checkout::confirmation(&shop.counter(), fresh.confirmation.id, None).await.unwrap();
    assert_eq!(used.confirmation.used_by, Some(at.session.id));
}

#[tokio::test]
async fn a_form_of_another_page_presses_no_button() {
    let shop = Shop::open().await;
    let owner = agent(1);
    let (cart, requested) = asked(&shop, &owner).await;
    let it = &requested.confirmation;
    let counter = shop.counter();
    let forged =
        checkout::decide(&counter, it.id, Decision::Approve, &[7; 16], it.quote_hash).await;
    assert!(matches!(forged, Err(CheckoutError::ForeignForm)));
    let short = checkout::decide(&counter, it.id, Decision::Approve, b"", it.quote_hash).await;
    assert!(matches!(short, Err(CheckoutError::ForeignForm)));
    let other = carts::QuoteHash::from_bytes(&[7; 32]).unwrap();
    let moved = checkout::decide(&counter, it.id, Decision::Approve, &it.form_token, other).await;
    assert!(matches!(moved, Err(CheckoutError::ForeignForm)));
    assert_eq!(fault(&shop, &owner, &cart, it.id).await, ProofFault::Pending);
}

#[tokio::test]
async fn what_was_agreed_to_in_the_clients_own_window_counts_for_less() {
    let shop = Shop::with_policy(ConfirmationPolicy::Hosted).await;
    let owner = agent(1);
    let (cart, requested) = asked(&shop, &owner).await;
    let id = requested.confirmation.id;
    let answered = checkout::elicit(&shop.counter(), &owner, id, Decision::Approve).await.unwrap();
    assert_eq!(answered.confirmation.level, Some(ConfirmationLevel::Elicited));
    assert_eq!(fault(&shop, &owner, &cart, id).await, ProofFault::TooWeak);
}

#[tokio::test]
async fn a_proof_counts_also_when_the_agent_forgets_to_name_it() {
    let shop = Shop::with_policy(ConfirmationPolicy::Hosted).await;
    let owner = agent(1);
    let (cart, requested) = asked(&shop, &owner).await;
    assert!(shop.complete(&owner, cart.cart.id).await.is_err());
    answer(&shop, &requested, Decision::Approve).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    assert_eq!(at.level(), ConfirmationLevel::Hosted);
}
