//! Feedback of agents.

use jobs::IdempotencyKey;
use orders::{Actor, FeedbackOutcome, Order, OrderContext, OrderError, Viewer};
use primitives::{Id, KeyId, OrderId, UserId};
use serde_json::{Value, json};

use crate::shop::{Shop, agent, order};

fn context(shop: &Shop, actor: Actor, keys: Vec<KeyId>) -> OrderContext<'_> {
    OrderContext {
        database: shop.test.database(),
        merchant: shop.merchant,
        slug: "attic",
        actor,
        viewer: Viewer::Agent(keys),
        idempotency_key: None,
    }
}

/// Returns all feedback: key, outcome and note.
async fn stored(shop: &Shop) -> Vec<(uuid::Uuid, String, Option<String>)> {
    sqlx::query_as("SELECT agent_key_id, outcome, note FROM order_feedback ORDER BY agent_key_id")
        .fetch_all(&mut shop.test.raw().await)
        .await
        .unwrap()
}

#[tokio::test]
async fn feedback_is_stored_for_each_key_and_replaced_without_a_change_of_the_order() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let keys = vec![agent(1), agent(2)];
    let note = Some(String::from(" Fast\u{0} and <b>kind</b>.\n\n\n\nThanks! "));
    for (key, outcome, note) in [
        (agent(1), FeedbackOutcome::ProblemUnresolved, None),
        (agent(2), FeedbackOutcome::WouldNotRepeat, Some(String::from(" \n"))),
        (agent(1), FeedbackOutcome::Completed, note),
    ] {
        let context = context(&shop, Actor::agent(key), keys.clone());
        orders::submit_feedback(&context, order(1).id, outcome, note).await.unwrap();
    }
    let own = (agent(1).uuid(), String::from("completed"));
    let other = (agent(2).uuid(), String::from("would_not_repeat"), None);
    let note = Some(String::from("Fast and kind.\n\nThanks!"));
    assert_eq!(stored(&shop).await, [(own.0, own.1, note), other]);
    assert_eq!(shop.read(order(1).id, None).await.unwrap(), order(1));
    assert_eq!(shop.count("SELECT count(*) FROM order_history").await, 0);
    assert_eq!(shop.count("SELECT count(*) FROM webhook_event").await, 1, "its creation");
}

#[tokio::test]
async fn every_outcome_has_a_name() {
    let shop = Shop::open().await;
    let names: Vec<&str> = FeedbackOutcome::ALL.iter().map(|it| it.as_str()).collect();
    assert_eq!(names, ["completed", "problem_resolved", "problem_unresolved", "would_not_repeat"]);
    shop.place(&Order { is_sandbox: true, ..order(1) }).await.unwrap();
    for outcome in FeedbackOutcome::ALL.iter().copied() {
        let context = context(&shop, Actor::agent(agent(1)), vec![agent(1)]);
        orders::submit_feedback(&context, order(1).id, outcome, None).await.unwrap();
        assert_eq!(stored(&shop).await[0].1, outcome.as_str());
    }
}

#[tokio::test]
async fn a_note_has_at_most_2000_characters() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let submit = async |length| {
        let context = context(&shop, Actor::agent(agent(1)), vec![agent(1)]);
        let note = Some("é".repeat(length));
        orders::submit_feedback(&context, order(1).id, FeedbackOutcome::Completed, note).await
    };
    let refused = submit(2_001).await;
    let Err(OrderError::InvalidField { field, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((field.as_str(), stored(&shop).await.len()), ("note", 0));
    submit(2_000).await.unwrap();
}

#[tokio::test]
async fn only_an_agent_that_sees_the_order_gives_feedback() {
    let shop = Shop::open().await;
    let other = shop.another_merchant().await;
    shop.place(&order(1)).await.unwrap();
    let submit = async |context: OrderContext<'_>, id| {
        orders::submit_feedback(&context, id, FeedbackOutcome::Completed, None).await
    };
    let merchant = Actor::merchant(agent(1).to_string());
    let platform = Actor::platform(UserId::from_random(1));
    for actor in [merchant, platform, Actor::BUYER, Actor::SYSTEM] {
        let refused = submit(context(&shop, actor, vec![agent(1)]), order(1).id).await;
        let Err(OrderError::InvalidField { field, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(field, "actor");
    }
    let own = || context(&shop, Actor::agent(agent(1)), vec![agent(1)]);
    let stranger = context(&shop, Actor::agent(agent(2)), vec![agent(2)]);
    let elsewhere = OrderContext { merchant: other, ..own() };
    for (context, id) in
        [(stranger, order(1).id), (elsewhere, order(1).id), (own(), OrderId::from_random(9))]
    {
        let unknown = submit(context, id).await;
        assert!(matches!(unknown, Err(OrderError::NotFound)), "{unknown:?}");
    }
    assert_eq!(stored(&shop).await, []);
}

#[tokio::test]
async fn feedback_repeated_with_its_idempotency_key_is_stored_once() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let request: (&str, &Value) = ("submit_agent_feedback", &json!({ "order": 1 }));
    let key = IdempotencyKey::new(shop.merchant, &"key_1", "once", request).unwrap();
    let submit = async |idempotency_key, outcome| {
        let context = context(&shop, Actor::agent(agent(1)), vec![agent(1)]);
        let context = OrderContext { idempotency_key, ..context };
        orders::submit_feedback(&context, order(1).id, outcome, None).await.unwrap();
    };
    submit(Some(&key), FeedbackOutcome::ProblemUnresolved).await;
    submit(None, FeedbackOutcome::ProblemResolved).await;
    submit(Some(&key), FeedbackOutcome::ProblemUnresolved).await;
    assert_eq!(stored(&shop).await[0].1, "problem_resolved", "a late repetition replaces nothing");
}
