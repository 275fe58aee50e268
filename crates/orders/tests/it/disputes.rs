//! Disputes: opening them. The modules have what follows.

mod answers;
mod deadlines;
mod ends;
mod lists;

use std::time::Duration;

use database::Reading;
use jobs::IdempotencyKey;
use merchants::NoticeKind;
use orders::{
    Actor, ActorKind, Changed, Decision, Dispute, DisputeReason, DisputeStatus, HistoryKind,
    NewDispute, NewStatement, Order, OrderContext, OrderDetails, OrderError, OrderStatus,
    Resolution, Viewer,
};
use primitives::{
    Currency, Details, DisputeId, HintNames, Id, Money, OrderId, Problem, Timestamp, UserId,
};
use serde_json::{Value, json};

use crate::shop::{Shop, agent, order};

const DAY: Duration = Duration::from_hours(24);
const MICRO: Duration = Duration::from_micros(1);
const OPENED: &str = "SELECT count(*) FROM webhook_event WHERE kind = 'dispute.opened'";
const RESOLVED: &str = "SELECT count(*) FROM webhook_event WHERE kind = 'dispute.resolved'";
const DISPUTES: &str = "SELECT count(*) FROM order_dispute";

fn by_agent() -> Actor {
    Actor::agent(agent(1))
}

fn by_merchant() -> Actor {
    Actor::merchant(String::from("key_1"))
}

fn by_platform() -> Actor {
    Actor::platform(UserId::from_random(1))
}

fn new_dispute() -> NewDispute {
    NewDispute {
        reason: DisputeReason::NotReceived,
        statement: String::from("Nothing arrived."),
        evidence: vec![String::from("https://files.example/label.jpg")],
    }
}

fn statement(text: &str) -> NewStatement {
    NewStatement { text: text.to_owned(), evidence: Vec::new(), proposed_refund: None }
}

fn euros(minor: i64) -> Money {
    Money::new(minor, Currency::EUR)
}

fn decision(resolution: Resolution, refund: Option<Money>) -> Decision {
    Decision { resolution, refund, reason: String::from("The parcel was lost.") }
}

/// Returns the name of the invalid field.
fn field<T: std::fmt::Debug>(result: Result<T, OrderError>) -> String {
    let Err(OrderError::InvalidField { field, .. }) = result else { panic!("{result:?}") };
    field
}

/// Returns the status in which a dispute cannot be changed like this.
fn refused_in<T: std::fmt::Debug>(result: &Result<T, OrderError>) -> &'static str {
    let Err(OrderError::InvalidDisputeTransition { from }) = result else { panic!("{result:?}") };
    from.as_str()
}

/// Returns the dispute that is open already.
fn already_open(error: &OrderError) -> DisputeId {
    let OrderError::DisputeAlreadyOpen { id, .. } = error else { panic!("{error:?}") };
    *id
}

/// Returns the details of an error.
fn facts(error: &OrderError) -> Value {
    let mut details = Details::default();
    error.details(&mut details);
    Value::Object(details.into_json(HintNames::MCP))
}

/// A store with order 1, and its parties.
struct Case {
    shop: Shop,
}

impl Case {
    async fn new() -> Self {
        Self::with(order(1)).await
    }

    async fn with(order: Order) -> Self {
        let shop = Shop::open().await;
        shop.place(&order).await.unwrap();
        Self { shop }
    }

    /// Returns the context of a caller of this store.
    fn context(&self, actor: &Actor) -> OrderContext<'_> {
        let viewer = match actor.kind {
            ActorKind::Agent => Viewer::Agent(vec![agent(1)]),
            ActorKind::Merchant => Viewer::Merchant,
            _ => Viewer::All,
        };
        OrderContext {
            database: self.shop.test.database(),
            merchant: self.shop.merchant,
            slug: "attic",
            actor: actor.clone(),
            viewer,
            idempotency_key: None,
        }
    }

    fn reading(&self) -> Reading {
        Reading::for_store(self.shop.test.database(), self.shop.merchant).unwrap()
    }

    fn advance(&self, span: Duration) {
        self.shop.test.clock().advance(span);
    }

    async fn try_open(&self, actor: &Actor, new: NewDispute) -> Result<Changed, OrderError> {
        orders::open_dispute(&self.context(actor), order(1).id, new).await
    }

    /// Opens a dispute about order 1 as its agent.
    async fn open(&self) -> DisputeId {
        let opened = self.try_open(&by_agent(), new_dispute()).await.unwrap();
        opened.subject.unwrap().parse().unwrap()
    }

    async fn answer(
        &self,
        actor: &Actor,
        id: DisputeId,
        statement: NewStatement,
    ) -> Result<Changed, OrderError> {
        orders::answer_dispute(&self.context(actor), order(1).id, id, statement).await
    }

    async fn propose(&self, id: DisputeId, refund: Money) -> Result<Changed, OrderError> {
        let proposed_refund = Some(refund);
        let proposal = NewStatement { proposed_refund, ..statement("We refund a part.") };
        self.answer(&by_merchant(), id, proposal).await
    }

    async fn decide(
        &self,
        actor: &Actor,
        id: DisputeId,
        decision: Decision,
    ) -> Result<Changed, OrderError> {
        let (context, by) = (self.context(actor), testkit::administration());
        orders::decide_dispute(&context, by, order(1).id, id, decision).await
    }

    async fn accept(&self, actor: &Actor, id: DisputeId) -> Result<Changed, OrderError> {
        orders::accept_proposal(&self.context(actor), order(1).id, id).await
    }

    async fn withdraw(&self, actor: &Actor, id: DisputeId) -> Result<Changed, OrderError> {
        orders::withdraw_dispute(&self.context(actor), order(1).id, id).await
    }

    /// Reads a dispute with its order, as a job.
    async fn read(&self, id: DisputeId) -> (OrderDetails, Dispute) {
        let merchant = self.shop.merchant;
        orders::dispute(&self.reading(), merchant, id, &Viewer::All).await.unwrap()
    }

    /// Returns the kinds and details of all notices, the oldest first.
    async fn notices(&self) -> Vec<(NoticeKind, Value)> {
        let page = merchants::notices(&self.reading(), self.shop.merchant, None, 100).await;
        let notices = page.unwrap().notices.into_iter().rev();
        notices.map(|notice| (notice.kind, Value::Object(notice.details))).collect()
    }
}

#[tokio::test]
async fn a_dispute_is_stored_recorded_published_and_announced_to_the_merchant() {
    let case = Case::new().await;
    case.advance(DAY);
    let now = Timestamp::from_unix_micros(testkit::START).plus(DAY);
    let new = NewDispute {
        statement: String::from(" Nothing\u{0} arrived.\n\n\n\n<b>Nothing.</b> "),
        ..new_dispute()
    };
    let changed = case.try_open(&by_agent(), new).await.unwrap();
    let id: DisputeId = changed.subject.as_deref().unwrap().parse().unwrap();
    let (details, dispute) = case.read(id).await;
    assert_eq!(changed.details, details);
    assert_eq!(details.disputes, std::slice::from_ref(&dispute));
    assert_eq!((dispute.status, dispute.opened_by), (DisputeStatus::Open, ActorKind::Agent));
    assert_eq!(dispute.reason, DisputeReason::NotReceived);
    assert_eq!((dispute.respond_by, dispute.decide_by), (now.plus(DAY * 7), None));
    assert_eq!((dispute.opened_at, dispute.updated_at, dispute.resolved_at), (now, now, None));
    let [said] = dispute.statements.as_slice() else { panic!("{dispute:?}") };
    assert_eq!((said.actor, said.created_at), (ActorKind::Agent, now));
    assert_eq!(said.text, "Nothing arrived.\n\nNothing.");
    assert_eq!(said.evidence, ["https://files.example/label.jpg"]);

    let [entry] = details.history.as_slice() else { panic!("{details:?}") };
    assert_eq!((entry.sequence, entry.kind), (2, HistoryKind::DisputeOpened));
    assert_eq!((&entry.actor, entry.reason.as_deref()), (&by_agent(), Some("not_received")));
    assert_eq!(entry.details, json!({ "dispute_id": id }));
    assert_eq!((details.order.version, details.order.status), (2, OrderStatus::Pending));

    let respond_by = json!(dispute.respond_by);
    let expected = json!({ "order_id": order(1).id, "dispute_id": id, "respond_by": respond_by });
    assert_eq!(case.notices().await, [(NoticeKind::DisputeOpened, expected)]);
    assert_eq!(case.shop.count(OPENED).await, 1);
    let body: Vec<u8> = sqlx::query_scalar(
        "SELECT webhook_body.body FROM webhook_event JOIN webhook_body USING (merchant_id, event_id)
         WHERE kind = 'dispute.opened'",
    )
    .fetch_one(&mut case.shop.test.raw().await)
    .await
    .unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&body["orderId"], &body["disputeId"]), (&json!(order(1).id), &json!(id)));
    assert_eq!((&body["sequence"], &body["changedBy"]), (&json!(2), &json!("agent")));
    assert_eq!((&body["reason"], &body["respondBy"]), (&json!("not_received"), &respond_by));
    assert_eq!((&body["disputeStatus"], body.get("resolution")), (&json!("open"), None));
    assert!(!body.to_string().contains("Nothing arrived"), "texts are not part of events: {body}");
}

#[tokio::test]
async fn an_order_in_any_status_can_be_disputed_by_its_agent_and_its_buyer() {
    let shop = Shop::open().await;
    let case = Case { shop };
    for (index, status) in OrderStatus::ALL.iter().enumerate() {
        let number = 1 + index as u128;
        case.shop.place(&Order { status: *status, ..order(number) }).await.unwrap();
        let actor = if index % 2 == 0 { by_agent() } else { Actor::BUYER };
        let context = case.context(&actor);
        let opened = orders::open_dispute(&context, order(number).id, new_dispute()).await.unwrap();
        assert_eq!(opened.details.order.status, *status);
        assert_eq!(opened.details.disputes[0].opened_by, actor.kind);
    }
}

#[tokio::test]
async fn only_the_agent_and_the_buyer_open_disputes() {
    let case = Case::new().await;
    for actor in [by_merchant(), by_platform(), Actor::SYSTEM] {
        assert_eq!(field(case.try_open(&actor, new_dispute()).await), "actor");
    }
    assert_eq!((case.shop.count(DISPUTES).await, case.shop.count(OPENED).await), (0, 0));
}

#[tokio::test]
async fn an_invalid_text_or_link_opens_no_dispute() {
    let case = Case::new().await;
    let long = "x".repeat(4_001);
    for statement in ["", " \n ", &long] {
        let new = NewDispute { statement: statement.to_owned(), ..new_dispute() };
        assert_eq!(field(case.try_open(&by_agent(), new).await), "statement");
    }
    let insecure = vec![String::from("https://a.example/"), String::from("http://a.example/")];
    let new = NewDispute { evidence: insecure, ..new_dispute() };
    assert_eq!(field(case.try_open(&by_agent(), new).await), "evidence[1]");
    let new =
        NewDispute { evidence: vec![String::from("https://a.example/"); 11], ..new_dispute() };
    assert_eq!(field(case.try_open(&by_agent(), new).await), "evidence");
    assert_eq!(case.shop.count(DISPUTES).await, 0);
    // The longest ones are stored as they are.
    let url = format!("https://a.example/{}", "a".repeat(1_982));
    let longest = NewDispute {
        statement: "é".repeat(4_000),
        evidence: vec![url; 10],
        reason: DisputeReason::Other,
    };
    let opened = case.try_open(&by_agent(), longest.clone()).await.unwrap();
    let stored = &opened.details.disputes[0].statements[0];
    assert_eq!((&stored.text, &stored.evidence), (&longest.statement, &longest.evidence));
}

#[tokio::test]
async fn a_sandbox_order_can_be_disputed_without_event_and_notice() {
    let case = Case::with(Order { is_sandbox: true, ..order(1) }).await;
    let id = case.open().await;
    case.withdraw(&by_agent(), id).await.unwrap();
    assert_eq!(case.shop.count("SELECT count(*) FROM webhook_event").await, 0);
    assert_eq!(case.notices().await, []);
    assert_eq!(case.read(id).await.0.history.len(), 2);
}

#[tokio::test]
async fn an_undelivered_order_can_be_disputed_until_120_days_after_its_placement() {
    let case = Case::new().await;
    case.advance((DAY * 120).saturating_sub(MICRO));
    let id = case.open().await;
    case.withdraw(&by_agent(), id).await.unwrap();
    case.advance(MICRO);
    let refused = case.try_open(&by_agent(), new_dispute()).await.unwrap_err();
    assert_eq!(refused.code(), primitives::ErrorCode::InvalidRequest);
    let OrderError::InvalidField { field, allowed } = refused else { panic!("{refused}") };
    assert_eq!(field, "order_id");
    assert!(allowed.contains("120 days"), "{allowed}");
}

#[tokio::test]
async fn a_delivered_order_can_be_disputed_until_120_days_after_its_delivery() {
    let case = Case::with(Order { status: OrderStatus::Completed, ..order(1) }).await;
    let delivered = "UPDATE placed_order SET delivered_at = '2026-11-25T08:00:00Z'";
    case.shop.execute(delivered).await.unwrap();
    case.advance((DAY * 130).saturating_sub(MICRO));
    let id = case.open().await;
    case.withdraw(&by_agent(), id).await.unwrap();
    case.advance(MICRO);
    assert_eq!(field(case.try_open(&by_agent(), new_dispute()).await), "order_id");
}

#[tokio::test]
async fn an_order_has_one_open_dispute_and_at_most_five_of_the_agent_and_of_the_buyer() {
    let case = Case::new().await;
    for number in 1..=5 {
        let id = case.open().await;
        for _ in ["open", "under review"] {
            let second = case.try_open(&Actor::BUYER, new_dispute()).await;
            assert_eq!(already_open(&second.unwrap_err()), id);
            case.answer(&by_merchant(), id, statement("It was delivered.")).await.unwrap();
        }
        let ended = case.withdraw(&by_agent(), id).await.unwrap();
        assert_eq!(ended.details.disputes.len(), number);
    }
    assert_eq!(field(case.try_open(&by_agent(), new_dispute()).await), "order_id");
    assert_eq!((case.shop.count(OPENED).await, case.shop.count(RESOLVED).await), (5, 5));
    // Those of the agent take nothing from the buyer.
    for number in 6..=10 {
        let opened = case.try_open(&Actor::BUYER, new_dispute()).await.unwrap();
        assert_eq!(opened.details.disputes.len(), number);
        let id = opened.subject.unwrap().parse().unwrap();
        case.withdraw(&Actor::BUYER, id).await.unwrap();
    }
    for actor in [by_agent(), Actor::BUYER] {
        assert_eq!(field(case.try_open(&actor, new_dispute()).await), "order_id");
    }
    // The database rejects a second open dispute by itself.
    let reopened = "UPDATE order_dispute SET status = 'open'";
    let refused = case.shop.execute(reopened).await.unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().constraint(), Some("order_dispute_open"));
}

#[tokio::test]
async fn of_concurrent_openings_one_succeeds() {
    let case = Case::new().await;
    let (agent, buyer) = (by_agent(), Actor::BUYER);
    let open = |actor| case.try_open(actor, new_dispute());
    let results =
        tokio::join!(open(&agent), open(&buyer), open(&agent), open(&buyer), open(&agent));
    let results = [results.0, results.1, results.2, results.3, results.4];
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
    for refused in results.into_iter().filter_map(Result::err) {
        already_open(&refused);
    }
    assert_eq!((case.shop.count(DISPUTES).await, case.shop.count(OPENED).await), (1, 1));
    assert_eq!(case.notices().await.len(), 1);
}

#[tokio::test]
async fn a_repeated_opening_with_the_same_idempotency_key_opens_one_dispute() {
    let case = Case::new().await;
    let key = |arguments: Value| {
        let request = ("open_dispute", &arguments);
        IdempotencyKey::new(case.shop.merchant, &"key_1", "once", request).unwrap()
    };
    let (first, other) = (key(json!({ "order": 1 })), key(json!({ "order": 2 })));
    let agent = by_agent();
    let context = OrderContext { idempotency_key: Some(&first), ..case.context(&agent) };
    let opened = orders::open_dispute(&context, order(1).id, new_dispute()).await.unwrap();
    let again = orders::open_dispute(&context, order(1).id, new_dispute()).await.unwrap();
    assert_eq!((again.subject, again.details), (opened.subject, opened.details));
    let context = OrderContext { idempotency_key: Some(&other), ..case.context(&agent) };
    let conflict = orders::open_dispute(&context, order(1).id, new_dispute()).await;
    assert!(matches!(conflict, Err(OrderError::Idempotency(_))), "{conflict:?}");
    assert_eq!((case.shop.count(DISPUTES).await, case.shop.count(OPENED).await), (1, 1));
}

#[tokio::test]
async fn a_foreign_order_or_dispute_is_as_unknown_as_one_that_does_not_exist() {
    let case = Case::new().await;
    let other = case.shop.another_merchant().await;
    case.shop.place(&order(2)).await.unwrap();
    let id = case.open().await;
    let agent = by_agent();
    let stranger =
        OrderContext { viewer: Viewer::Agent(vec![crate::shop::agent(2)]), ..case.context(&agent) };
    let elsewhere = OrderContext { merchant: other, ..case.context(&agent) };
    for (context, order) in [
        (&stranger, order(1).id),
        (&elsewhere, order(1).id),
        (&case.context(&agent), OrderId::from_random(9)),
    ] {
        let opened = orders::open_dispute(context, order, new_dispute()).await;
        let said = orders::answer_dispute(context, order, id, statement("a")).await;
        let accepted = orders::accept_proposal(context, order, id).await;
        let withdrawn = orders::withdraw_dispute(context, order, id).await;
        for result in [opened, said, accepted, withdrawn] {
            assert!(matches!(result, Err(OrderError::NotFound)), "{result:?}");
        }
    }
    // A dispute of another order of the same agent, and none at all.
    for (order, id) in [(order(2).id, id), (order(1).id, DisputeId::from_random(9))] {
        let context = case.context(&agent);
        let said = orders::answer_dispute(&context, order, id, statement("a")).await;
        let withdrawn = orders::withdraw_dispute(&context, order, id).await;
        let platform = by_platform();
        let (platform, verdict) = (case.context(&platform), decision(Resolution::Buyer, None));
        let by = testkit::administration();
        let decided = orders::decide_dispute(&platform, by, order, id, verdict).await;
        for result in [said, withdrawn, decided] {
            assert!(matches!(result, Err(OrderError::DisputeNotFound)), "{result:?}");
        }
    }
    assert_eq!(case.read(id).await.1.statements.len(), 1);
}
