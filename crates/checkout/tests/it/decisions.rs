//! The verbs of a confirmation, driven in every order: every change of a stored status is a transition of the table, and
//! every transition of the table is taken. A trigger records the changes.

use std::time::Duration;

use carts::{CartOwner, PricedCart};
use checkout::{
    CONFIRMATION_LIFETIME, CONFIRMATION_TRANSITIONS, CheckoutError, Complete, ConfirmationRequest,
    ConfirmationStatus, Decision, Elicitation, ElicitationResponse,
};
use sqlx::PgConnection;

use crate::shop::{Shop, agent, visitor};

const RECORD_CHANGES: &str = "
    CREATE TABLE decision_change (before text, after text);
    CREATE FUNCTION record_decision_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            INSERT INTO decision_change VALUES (NULL, NEW.status);
        ELSIF NEW.status <> OLD.status THEN
            INSERT INTO decision_change VALUES (OLD.status, NEW.status);
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER record_decision_change AFTER INSERT OR UPDATE ON confirmation
        FOR EACH ROW EXECUTE FUNCTION record_decision_change();";

/// A call of a verb.
#[derive(Debug, Clone, Copy)]
enum Call {
    /// The person decides on the hosted page.
    Decide(Decision),
    /// The person decides in the agent's client, and the agent completes the checkout.
    Elicit(Decision),
    /// The confirmation's lifetime elapses.
    Expire,
}

const CALLS: [Call; 5] = [
    Call::Decide(Decision::Approve),
    Call::Decide(Decision::Reject),
    Call::Elicit(Decision::Approve),
    Call::Elicit(Decision::Reject),
    Call::Expire,
];

async fn call(
    shop: &Shop,
    owner: &CartOwner,
    cart: &PricedCart,
    requested: &ConfirmationRequest,
    call: Call,
) -> Result<(), CheckoutError> {
    let (context, it) = (shop.context(), &requested.confirmation);
    match call {
        Call::Decide(decision) => {
            let (token, hash) = (&it.form_token, it.quote_hash);
            checkout::decide(&context, it.id, decision, token, hash, visitor()).await?;
        }
        Call::Elicit(decision) => {
            let response = ElicitationResponse { confirmation: it.id, decision: Some(decision) };
            let elicitation = Elicitation { is_supported: true, response: Some(response) };
            let request = Complete { elicitation, ..Complete::cart(cart.cart.id) };
            checkout::complete(&context, owner, &request, None).await?;
        }
        Call::Expire => shop.advance(CONFIRMATION_LIFETIME + Duration::from_secs(1)),
    }
    Ok(())
}

type Change = (Option<ConfirmationStatus>, ConfirmationStatus);

async fn take_changes(log: &mut PgConnection) -> Vec<Change> {
    let stored: Vec<(Option<String>, String)> =
        sqlx::query_as("DELETE FROM decision_change RETURNING before, after")
            .fetch_all(log)
            .await
            .unwrap();
    let parse = |name: &str| ConfirmationStatus::parse(name).unwrap();
    stored.iter().map(|(from, to)| (from.as_deref().map(parse), parse(to))).collect()
}

#[tokio::test]
async fn the_verbs_take_exactly_the_transitions_of_the_table() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 999)]).await;
    let mut log = shop.test.raw().await;
    sqlx::raw_sql(RECORD_CHANGES).execute(&mut log).await.unwrap();
    let mut observed = Vec::new();
    let pairs = CALLS.iter().flat_map(|first| CALLS.map(|second| (*first, second)));
    for (number, (first, second)) in pairs.enumerate() {
        // A decline counts for the agent that asked.
        let owner = agent(u128::try_from(number).unwrap());
        let cart = shop.cart(&owner, &[(mug, 1)]).await;
        let elicitation = Elicitation { is_supported: true, response: None };
        let request = Complete { elicitation, ..Complete::cart(cart.cart.id) };
        let asked = checkout::complete(&shop.context(), &owner, &request, None).await;
        let Err(CheckoutError::ConfirmationRequired { requested: Some(requested), .. }) = asked
        else {
            panic!("{asked:?}")
        };
        for next in [first, second] {
            // A decision that comes too late may reject the checkout; the stored status is what counts.
            drop(call(&shop, &owner, &cart, &requested, next).await);
        }
        let changes = take_changes(&mut log).await;
        let decided = changes.iter().filter(|(from, _)| from.is_some()).count();
        // The hosted page replaces a decision of the client, unless the checkout used it.
        assert!(decided <= 1, "only the first of {first:?}, {second:?} counts: {changes:?}");
        observed.extend(changes);
    }
    for change in &observed {
        let is_allowed = match change {
            (None, to) => *to == ConfirmationStatus::Pending,
            (Some(from), to) => {
                CONFIRMATION_TRANSITIONS.iter().any(|(a, _, b)| (a, b) == (from, to))
            }
        };
        assert!(is_allowed, "{change:?} is not in the table");
    }
    // An approval in the client completes the checkout, so that the page can no longer replace it here.
    let first = |(from, ..): &&(ConfirmationStatus, Decision, ConfirmationStatus)| {
        *from == ConfirmationStatus::Pending
    };
    for (from, decision, to) in CONFIRMATION_TRANSITIONS.iter().filter(first) {
        assert!(observed.contains(&(Some(*from), *to)), "{from} > {to} ({decision:?}) not taken");
    }
}
