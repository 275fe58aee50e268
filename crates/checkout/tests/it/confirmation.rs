//! Human confirmation.

use std::time::Duration;

use carts::{CartOwner, CartRef, Edit, PricedCart};
use checkout::{
    CheckoutError, Complete, ConfirmationProof, ConfirmationRequest, ConfirmationStatus, Decision,
    Elicitation, ElicitationResponse, NewSession, ProofClaim, ProofRejection, Status,
};
use merchants::ConfirmationPolicy;
use orders::ConfirmationLevel;
use primitives::{ConfirmationId, ErrorCode, Id, Problem};

use crate::shop::{Shop, agent, visitor};

async fn request(shop: &Shop, owner: &CartOwner) -> (PricedCart, ConfirmationRequest) {
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let cart = shop.cart(owner, &[(mug, 1)]).await;
    let requested = checkout::request(&shop.context(), owner, cart.cart.id).await.unwrap();
    (cart, requested)
}

async fn decide(
    shop: &Shop,
    requested: &ConfirmationRequest,
    decision: Decision,
) -> ConfirmationRequest {
    let it = &requested.confirmation;
    let context = shop.context();
    checkout::decide(&context, it.id, decision, &it.form_token, it.quote_hash, visitor())
        .await
        .unwrap()
}

fn claiming(cart: &PricedCart, proof: ConfirmationId) -> Complete {
    let claim = ProofClaim::new(None, Some(proof), None).unwrap();
    Complete { claim, ..Complete::cart(cart.cart.id) }
}

/// Returns the request of a client that asked the person.
fn elicited(cart: &PricedCart, confirmation: ConfirmationId, decision: Decision) -> Complete {
    let response = ElicitationResponse { confirmation, decision: Some(decision) };
    let elicitation = Elicitation { is_supported: true, response: Some(response) };
    Complete { elicitation, ..Complete::cart(cart.cart.id) }
}

async fn rejection(
    shop: &Shop,
    owner: &CartOwner,
    cart: &PricedCart,
    proof: ConfirmationId,
) -> ProofRejection {
    let request = claiming(cart, proof);
    match checkout::complete(&shop.context(), owner, &request, None).await {
        Err(CheckoutError::ConfirmationRequired { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_store_can_require_a_hosted_confirmation() {
    let shop = Shop::with_policy(ConfirmationPolicy::Hosted).await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    let refused = shop.complete(&owner, cart.cart.id).await.unwrap_err();
    let CheckoutError::ConfirmationRequired { reason, requested: Some(requested) } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(reason, ProofRejection::Insufficient);
    assert_eq!(requested.confirmation.quote_hash, cart.quote_hash);
    assert!(requested.confirm_url.ends_with(&requested.confirmation.id.to_string()));
    let id = requested.confirmation.id;
    assert_eq!(rejection(&shop, &owner, &cart, id).await, ProofRejection::Pending);
    let decided = decide(&shop, &requested, Decision::Approve).await;
    assert_eq!(decided.confirmation.status(decided.now), ConfirmationStatus::Confirmed);
    let request = claiming(&cart, id);
    let at = checkout::complete(&shop.context(), &owner, &request, None).await.unwrap();
    assert_eq!((at.status(), at.level()), (Status::RequiresEscalation, ConfirmationLevel::Hosted));
    let proof = ConfirmationProof { level: ConfirmationLevel::Hosted, confirmation: Some(id) };
    assert_eq!(at.session.confirmation, Some(proof));
}

#[tokio::test]
async fn a_mandate_is_not_supported_yet() {
    let shop = Shop::with_policy(ConfirmationPolicy::Hosted).await;
    // The settings reject the policy; earlier versions stored it.
    sqlx::query("UPDATE store_setting SET confirmation_policy = 'mandate'")
        .execute(&mut shop.test.raw().await)
        .await
        .unwrap();
    let owner = agent(1);
    let (cart, requested) = request(&shop, &owner).await;
    decide(&shop, &requested, Decision::Approve).await;
    let reason = rejection(&shop, &owner, &cart, requested.confirmation.id).await;
    assert_eq!(reason, ProofRejection::MandateNotSupported);
}

#[tokio::test]
async fn a_confirmation_is_bound_to_its_agent_and_cart() {
    let shop = Shop::open().await;
    let (owner, other) = (agent(1), agent(2));
    let (cart, requested) = request(&shop, &owner).await;
    let (others, _) = request(&shop, &other).await;
    let (second, _) = request(&shop, &owner).await;
    decide(&shop, &requested, Decision::Approve).await;
    let id = requested.confirmation.id;
    assert_eq!(rejection(&shop, &other, &others, id).await, ProofRejection::Unknown);
    assert_eq!(rejection(&shop, &owner, &second, id).await, ProofRejection::Unknown);
    let made_up = "cnf_00000000000000000000000001".parse();
    if let Ok(made_up) = made_up {
        assert_eq!(rejection(&shop, &owner, &cart, made_up).await, ProofRejection::Unknown);
    }
    let foreign = checkout::confirmation(&shop.context(), id, Some(other.key)).await;
    assert!(matches!(foreign, Err(CheckoutError::ConfirmationNotFound)));
    let request = elicited(&cart, id, Decision::Approve);
    let foreign = checkout::complete(&shop.context(), &other, &request, None).await;
    assert!(matches!(foreign, Err(CheckoutError::ConfirmationNotFound)));
}

#[tokio::test]
async fn only_the_first_decision_counts() {
    let shop = Shop::open().await;
    let owner = agent(1);
    let (cart, requested) = request(&shop, &owner).await;
    decide(&shop, &requested, Decision::Reject).await;
    let again = decide(&shop, &requested, Decision::Approve).await;
    assert_eq!(again.confirmation.status(again.now), ConfirmationStatus::Rejected);
    let reason = rejection(&shop, &owner, &cart, requested.confirmation.id).await;
    assert_eq!(reason, ProofRejection::Rejected);
}

#[tokio::test]
async fn a_confirmation_of_other_terms_is_stale() {
    let shop = Shop::open().await;
    let owner = agent(1);
    let (cart, requested) = request(&shop, &owner).await;
    decide(&shop, &requested, Decision::Approve).await;
    let more = [Edit::Replace(vec![carts::Item {
        quantity: carts::Quantity::new(2).unwrap(),
        ..cart.cart.lines[0].item
    }])];
    let changed = CartRef { agent: owner.key, id: cart.cart.id };
    carts::change(shop.test.database(), &shop.store, changed, None, &more, None).await.unwrap();
    let reason = rejection(&shop, &owner, &cart, requested.confirmation.id).await;
    assert_eq!(reason, ProofRejection::Stale);
}

#[tokio::test]
async fn a_confirmation_expires_and_is_used_once() {
    let shop = Shop::open().await;
    let owner = agent(1);
    let (cart, requested) = request(&shop, &owner).await;
    let id = requested.confirmation.id;
    decide(&shop, &requested, Decision::Approve).await;
    shop.advance(checkout::CONFIRMATION_LIFETIME + Duration::from_mins(1));
    assert_eq!(rejection(&shop, &owner, &cart, id).await, ProofRejection::Expired);
    let fresh = checkout::request(&shop.context(), &owner, cart.cart.id).await.unwrap();
    assert_ne!(fresh.confirmation.id, id);
    let same = checkout::request(&shop.context(), &owner, cart.cart.id).await.unwrap();
    assert_eq!(same.confirmation.id, fresh.confirmation.id, "an open request is returned again");
    decide(&shop, &fresh, Decision::Approve).await;
    let request = claiming(&cart, fresh.confirmation.id);
    let at = checkout::complete(&shop.context(), &owner, &request, None).await.unwrap();
    let used = checkout::confirmation(&shop.context(), fresh.confirmation.id, None).await.unwrap();
    assert_eq!(used.confirmation.used_by, Some(at.session.id));
}

#[tokio::test]
async fn a_forged_form_is_rejected() {
    let shop = Shop::open().await;
    let owner = agent(1);
    let (cart, requested) = request(&shop, &owner).await;
    let it = &requested.confirmation;
    let context = shop.context();
    let forged =
        checkout::decide(&context, it.id, Decision::Approve, &[7; 16], it.quote_hash, visitor())
            .await;
    assert!(matches!(forged, Err(CheckoutError::CsrfRejected)));
    let short =
        checkout::decide(&context, it.id, Decision::Approve, b"", it.quote_hash, visitor()).await;
    assert!(matches!(short, Err(CheckoutError::CsrfRejected)));
    let other = carts::QuoteHash::from_bytes(&[7; 32]).unwrap();
    let moved =
        checkout::decide(&context, it.id, Decision::Approve, &it.form_token, other, visitor())
            .await;
    assert!(matches!(moved, Err(CheckoutError::CsrfRejected)));
    assert_eq!(rejection(&shop, &owner, &cart, it.id).await, ProofRejection::Pending);
}

/// Returns the confirmation that a client is asked to put to the person.
async fn ask_client(shop: &Shop, owner: &CartOwner) -> (PricedCart, ConfirmationRequest) {
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let cart = shop.cart(owner, &[(mug, 1)]).await;
    let elicitation = Elicitation { is_supported: true, response: None };
    let request = Complete { elicitation, ..Complete::cart(cart.cart.id) };
    match checkout::complete(&shop.context(), owner, &request, None).await {
        Err(CheckoutError::ConfirmationRequired { requested: Some(requested), .. }) => {
            (cart, *requested)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_client_cannot_answer_a_request_for_the_hosted_page() {
    let shop = Shop::open().await;
    let owner = agent(1);
    let (cart, requested) = request(&shop, &owner).await;
    let id = requested.confirmation.id;
    let refused =
        checkout::complete(&shop.context(), &owner, &elicited(&cart, id, Decision::Approve), None)
            .await
            .unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ConfirmationRequired);
    let still = checkout::confirmation(&shop.context(), id, None).await.unwrap();
    assert_eq!(still.confirmation.stored_status(), ConfirmationStatus::Pending);
}

#[tokio::test]
async fn the_hosted_page_replaces_a_decision_of_the_client() {
    let shop = Shop::open().await;
    let owner = agent(1);
    let (_, requested) = ask_client(&shop, &owner).await;
    let id = requested.confirmation.id;
    sqlx::query(
        "UPDATE confirmation SET status = 'confirmed', level = 'elicited', decided_at = created_at",
    )
    .execute(&mut shop.test.raw().await)
    .await
    .unwrap();
    let decided = decide(&shop, &requested, Decision::Reject).await;
    assert_eq!(decided.confirmation.stored_status(), ConfirmationStatus::Rejected);
    let again = decide(&shop, &requested, Decision::Approve).await;
    assert_eq!(again.confirmation.id, id);
    assert_eq!(again.confirmation.stored_status(), ConfirmationStatus::Rejected);
}

#[tokio::test]
async fn a_no_stands_for_the_same_items_in_any_cart() {
    let shop = Shop::open().await;
    let (owner, other) = (agent(1), agent(2));
    let (cart, requested) = request(&shop, &owner).await;
    decide(&shop, &requested, Decision::Reject).await;
    let declined = |outcome: CheckoutError| {
        assert!(
            matches!(
                outcome,
                CheckoutError::ConfirmationRequired {
                    reason: ProofRejection::Rejected,
                    requested: None
                }
            ),
            "{outcome:?}"
        );
    };
    declined(shop.complete(&owner, cart.cart.id).await.unwrap_err());
    let product = cart.cart.lines[0].item.product;
    let second = shop.cart(&owner, &[(product, 1)]).await;
    declined(shop.complete(&owner, second.cart.id).await.unwrap_err());
    declined(checkout::request(&shop.context(), &owner, second.cart.id).await.unwrap_err());
    let more = shop.cart(&owner, &[(product, 2)]).await;
    shop.complete(&owner, more.cart.id).await.unwrap();
    let others = shop.cart(&other, &[(product, 1)]).await;
    shop.complete(&other, others.cart.id).await.unwrap();
    shop.advance(checkout::DECLINE_LIFETIME + Duration::from_secs(1));
    let later = shop.cart(&owner, &[(product, 1)]).await;
    shop.complete(&owner, later.cart.id).await.unwrap();
}

#[tokio::test]
async fn a_later_approval_on_the_page_withdraws_a_no() {
    let shop = Shop::open().await;
    let owner = agent(1);
    let (_, first) = request(&shop, &owner).await;
    let (cart, second) = request(&shop, &owner).await;
    decide(&shop, &first, Decision::Reject).await;
    assert!(shop.complete(&owner, cart.cart.id).await.is_err());
    decide(&shop, &second, Decision::Approve).await;
    assert_eq!(
        shop.complete(&owner, cart.cart.id).await.unwrap().level(),
        ConfirmationLevel::Hosted
    );
}

#[tokio::test]
async fn an_elicited_confirmation_is_weaker_than_a_hosted_one() {
    let shop = Shop::open().await;
    let owner = agent(1);
    let (cart, requested) = ask_client(&shop, &owner).await;
    let known = merchants::settings(&shop.reading(), shop.store.merchant).await.unwrap().settings;
    let confirmation = ConfirmationPolicy::Hosted;
    shop.put_settings(&merchants::Settings { confirmation, ..known }).await;
    let id = requested.confirmation.id;
    let request = elicited(&cart, id, Decision::Approve);
    let refused = checkout::complete(&shop.context(), &owner, &request, None).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ConfirmationRequired);
    let decided = checkout::confirmation(&shop.context(), id, None).await.unwrap();
    assert_eq!(decided.confirmation.level, Some(ConfirmationLevel::Elicited));
    assert_eq!(rejection(&shop, &owner, &cart, id).await, ProofRejection::Insufficient);
}

#[tokio::test]
async fn a_client_that_can_ask_the_person_has_to_ask() {
    let shop = Shop::open().await;
    let owner = agent(1);
    for decision in [Decision::Approve, Decision::Reject] {
        let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
        let cart = shop.cart(&owner, &[(mug, 1)]).await;
        let elicitation = Elicitation { is_supported: true, response: None };
        let request = Complete { elicitation, ..Complete::cart(cart.cart.id) };
        let asked = checkout::complete(&shop.context(), &owner, &request, None).await;
        let Err(CheckoutError::ConfirmationRequired { reason, requested: Some(requested) }) = asked
        else {
            panic!("{asked:?}")
        };
        assert_eq!(reason, ProofRejection::NotAsked);
        let request = elicited(&cart, requested.confirmation.id, decision);
        let outcome = checkout::complete(&shop.context(), &owner, &request, None).await;
        match decision {
            Decision::Approve => assert_eq!(outcome.unwrap().level(), ConfirmationLevel::Elicited),
            Decision::Reject => {
                assert_eq!(outcome.unwrap_err().code(), ErrorCode::ConfirmationRequired);
            }
        }
    }
}

#[tokio::test]
async fn a_client_need_not_ask_about_a_session_that_exists() {
    let shop = Shop::open().await;
    let owner = agent(1);
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    let new = NewSession::default();
    checkout::create(&shop.context(), &owner, cart.cart.id, &new, None).await.unwrap();
    let elicitation = Elicitation { is_supported: true, response: None };
    let request = Complete { elicitation, ..Complete::cart(cart.cart.id) };
    let at = checkout::complete(&shop.context(), &owner, &request, None).await.unwrap();
    assert_eq!(at.status(), Status::RequiresEscalation);
}

#[test]
fn a_mandate_cannot_be_claimed() {
    let id = Some(ConfirmationId::from_random(1));
    let rejected = |level, id| match ProofClaim::new(Some(level), id, None) {
        Err(CheckoutError::ConfirmationRequired { reason, .. }) => Some(reason),
        other => {
            assert!(other.is_ok(), "{other:?}");
            None
        }
    };
    assert_eq!(rejected(ConfirmationLevel::Attested, None), None);
    assert_eq!(rejected(ConfirmationLevel::Hosted, None), None);
    assert_eq!(rejected(ConfirmationLevel::Hosted, id), None);
    let mandate = rejected(ConfirmationLevel::Mandate, id);
    assert_eq!(mandate, Some(ProofRejection::MandateNotSupported));
}

#[tokio::test]
async fn an_agent_can_want_a_stronger_confirmation_than_the_store_requires() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    let claim = ProofClaim::new(Some(ConfirmationLevel::Hosted), None, None).unwrap();
    let wanting = Complete { claim, ..Complete::cart(cart.cart.id) };
    let refused = checkout::complete(&shop.context(), &owner, &wanting, None).await.unwrap_err();
    let CheckoutError::ConfirmationRequired { reason, requested: Some(requested) } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(reason, ProofRejection::Insufficient);
    assert_eq!(shop.stock_and_held(mug).await, (9, 0), "nothing is held before the person decides");
    decide(&shop, &requested, Decision::Approve).await;
    let at = checkout::complete(&shop.context(), &owner, &wanting, None).await.unwrap();
    assert_eq!(at.level(), ConfirmationLevel::Hosted);
}

#[tokio::test]
async fn a_confirmation_is_found_if_the_agent_does_not_name_it() {
    let shop = Shop::with_policy(ConfirmationPolicy::Hosted).await;
    let owner = agent(1);
    let (cart, requested) = request(&shop, &owner).await;
    assert!(shop.complete(&owner, cart.cart.id).await.is_err());
    decide(&shop, &requested, Decision::Approve).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    assert_eq!(at.level(), ConfirmationLevel::Hosted);
}

#[tokio::test]
async fn a_no_after_the_completion_ends_the_checkout() {
    let shop = Shop::open().await;
    let owner = agent(1);
    let (cart, requested) = request(&shop, &owner).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    assert_eq!(at.status(), Status::RequiresEscalation, "the store accepts the attestation");
    decide(&shop, &requested, Decision::Reject).await;
    let product = cart.cart.lines[0].item.product;
    assert_eq!(shop.stock_and_held(product).await, (9, 0));
    let refused = shop.complete(&owner, cart.cart.id).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::ConfirmationRequired);
    let read = checkout::session(&shop.reading(), shop.store.merchant, at.session.id, None).await;
    assert_eq!(read.unwrap().status(), Status::Incomplete);
}

#[tokio::test]
async fn a_confirmation_of_a_started_checkout_lives_as_long_as_its_session() {
    let shop = Shop::with_policy(ConfirmationPolicy::Hosted).await;
    let owner = agent(1);
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    shop.advance(Duration::from_mins(25));
    let new = NewSession::default();
    checkout::create(&shop.context(), &owner, cart.cart.id, &new, None).await.unwrap();
    shop.advance(Duration::from_mins(6));
    let refused = shop.complete(&owner, cart.cart.id).await.unwrap_err();
    let CheckoutError::ConfirmationRequired { requested: Some(requested), .. } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(requested.confirmation.status(requested.now), ConfirmationStatus::Pending);
    decide(&shop, &requested, Decision::Approve).await;
    shop.complete(&owner, cart.cart.id).await.unwrap();
}
