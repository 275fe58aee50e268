//! A store whose orders are delivered, refunded and returned.

use std::time::Duration;

use database::{Database, Reading};
use jobs::{Runner, RunnerSettings, Sweep};
use orders::{
    Actor, Changed, Order, OrderContext, OrderDetails, OrderError, OrderLine, OrderReturn,
    RequestedItem, ReturnAction, ReturnOutcome, ReturnReason, ReturnRequest, ReturnStatus,
    Shipment, Viewer,
};
use primitives::{Currency, Id, LineId, MerchantId, Money, OrderId, ReturnId};
use serde_json::{Value, json};

use crate::shop::{Shop, agent, order};

/// Returns an amount in euros.
pub(crate) const fn euros(minor: i64) -> Money {
    Money::new(minor, Currency::EUR)
}

/// Returns an order of 22.77: three units for 10.00 after discounts, one for 5.01, 2.86 of tax and 4.90 of shipping. The
/// terms grant 30 days to return.
pub(crate) fn priced(number: u128) -> Order {
    let plain = order(number);
    let line = |index: usize, quantity, total_minor| OrderLine {
        quantity,
        total_minor,
        ..plain.lines[index].clone()
    };
    Order {
        lines: vec![line(0, 3, 10_00), line(1, 1, 5_01)],
        tax_minor: Some(2_86),
        shipping_minor: Some(4_90),
        total: euros(22_77),
        terms: json!({ "returns": { "window_days": 30 } }),
        ..plain
    }
}

/// Returns the context of a merchant's call.
pub(crate) fn merchant(database: &Database, merchant: MerchantId) -> OrderContext<'_> {
    OrderContext {
        database,
        merchant,
        slug: "attic",
        actor: Actor::merchant(String::from("key_1")),
        viewer: Viewer::Merchant,
        idempotency_key: None,
    }
}

/// Returns units of a return.
pub(crate) fn item(line: LineId, quantity: u32) -> RequestedItem {
    RequestedItem { line, quantity, reason: ReturnReason::SizeIssue }
}

pub(crate) struct Desk {
    pub(crate) shop: Shop,
}

impl Desk {
    pub(crate) async fn open() -> Self {
        let shop = Shop::open().await;
        Self { shop }
    }

    /// Opens a store with a delivered order.
    pub(crate) async fn with_delivered(order: &Order) -> Self {
        let desk = Self::open().await;
        desk.deliver(order).await;
        desk
    }

    pub(crate) fn database(&self) -> &Database {
        self.shop.test.database()
    }

    pub(crate) fn merchant(&self) -> OrderContext<'_> {
        merchant(self.database(), self.shop.merchant)
    }

    /// Returns the context of a call by the agent with this number.
    pub(crate) fn agent(&self, number: u128) -> OrderContext<'_> {
        let (actor, viewer) = (Actor::agent(agent(number)), Viewer::Agent(vec![agent(number)]));
        OrderContext { actor, viewer, ..self.merchant() }
    }

    pub(crate) fn buyer(&self) -> OrderContext<'_> {
        OrderContext { actor: Actor::BUYER, viewer: Viewer::All, ..self.merchant() }
    }

    /// Places an order, ships it as one shipment and delivers it.
    pub(crate) async fn deliver(&self, order: &Order) {
        self.shop.place(order).await.unwrap();
        // The merchant does not see orders of sandboxes.
        let context = OrderContext { viewer: Viewer::All, ..self.merchant() };
        orders::ship(&context, order.id, None, Shipment::default()).await.unwrap();
        orders::deliver(&context, order.id, None, Vec::new()).await.unwrap();
    }

    pub(crate) async fn details(&self, id: OrderId) -> OrderDetails {
        let reading = Reading::for_store(self.database(), self.shop.merchant).unwrap();
        orders::details(&reading, self.shop.merchant, id, &Viewer::All).await.unwrap()
    }

    /// Returns the only return of an order.
    pub(crate) async fn only_return(&self, id: OrderId) -> OrderReturn {
        let mut returns = self.details(id).await.returns;
        assert_eq!(returns.len(), 1);
        returns.remove(0)
    }

    /// Requests a return as the agent.
    pub(crate) async fn request(
        &self,
        order: &Order,
        items: Vec<RequestedItem>,
        outcome: ReturnOutcome,
    ) -> Result<ReturnId, OrderError> {
        let request = ReturnRequest { items, outcome, note: None };
        let changed = orders::request_return(&self.agent(1), order.id, request).await?;
        Ok(changed.subject.unwrap().parse().unwrap())
    }

    /// Requests a return of units of the first line, to be refunded.
    pub(crate) async fn request_units(&self, order: &Order, quantity: u32) -> ReturnId {
        let items = vec![item(order.lines[0].line, quantity)];
        self.request(order, items, ReturnOutcome::Refund).await.unwrap()
    }

    /// Changes a return as the one who may: the agent cancels, the merchant does everything else.
    pub(crate) async fn change(
        &self,
        order: &Order,
        id: ReturnId,
        action: ReturnAction,
    ) -> Result<Changed, OrderError> {
        let is_agent = action == ReturnAction::Cancel;
        let context = if is_agent { self.agent(1) } else { self.merchant() };
        orders::change_return(&context, order.id, id, None, action).await
    }

    /// Approves and receives a return.
    pub(crate) async fn receive(&self, order: &Order, id: ReturnId) {
        let approve = ReturnAction::Approve { instructions: None };
        self.change(order, id, approve).await.unwrap();
        self.change(order, id, ReturnAction::Receive).await.unwrap();
    }

    /// Settles a received return by the computed refund, and returns that refund.
    pub(crate) async fn settle(&self, order: &Order, id: ReturnId) -> i64 {
        let changed = self.change(order, id, settle(None, None)).await.unwrap();
        let it = changed.details.returns.into_iter().find(|it| it.id == id).unwrap();
        assert_eq!(it.status, ReturnStatus::Refunded);
        it.refund_minor.unwrap()
    }

    /// Returns the bodies of all events of a kind, in their order.
    pub(crate) async fn events(&self, kind: &str) -> Vec<Value> {
        let bodies: Vec<Vec<u8>> = sqlx::query_scalar(
            "SELECT webhook_body.body FROM webhook_event JOIN webhook_body USING (merchant_id, event_id)
             WHERE kind = $1",
        )
        .bind(kind)
        .fetch_all(&mut self.shop.test.raw().await)
        .await
        .unwrap();
        let parse = |body: &Vec<u8>| serde_json::from_slice(body).unwrap();
        let mut bodies: Vec<Value> = bodies.iter().map(parse).collect();
        bodies.sort_by_key(|body| body["sequence"].as_i64());
        bodies
    }

    /// Advances the clock by days.
    pub(crate) fn advance_days(&self, days: u64) {
        self.shop.test.clock().advance(Duration::from_hours(days * 24));
    }

    /// Runs a sweep once.
    pub(crate) async fn sweep<S: Sweep<Dependencies = ()>>(&self) {
        let mut work = database::Work::for_platform(self.database()).await.unwrap();
        jobs::enqueue_sweep::<S>(&mut work).await.unwrap();
        work.commit().await.unwrap();
        let runner = Runner::new(self.database().clone(), RunnerSettings::default());
        let runner = runner.sweep::<S>(Duration::from_hours(9_999), ());
        assert_eq!(runner.run_until_idle().await.unwrap(), 1);
    }
}

/// Returns a settlement by a refund in minor units, with a restocking fee.
pub(crate) fn settle(refund: Option<i64>, restocking_fee: Option<i64>) -> ReturnAction {
    ReturnAction::Settle {
        refund: refund.map(euros),
        restocking_fee: restocking_fee.map(euros),
        reference: None,
    }
}

/// Returns the field of an `InvalidField`.
pub(crate) fn invalid_field<T: std::fmt::Debug>(result: Result<T, OrderError>) -> String {
    let Err(OrderError::InvalidField { field, .. }) = result else { panic!("{result:?}") };
    field
}

/// Returns the field of a `RefundExceeded`, and what is available according to it.
pub(crate) fn available<T: std::fmt::Debug>(result: &Result<T, OrderError>) -> String {
    let Err(OrderError::RefundExceeded { field, available, currency }) = result else {
        panic!("{result:?}")
    };
    format!("{field}: {available:.2} {currency}")
}

/// Returns the id of a return that no order has.
pub(crate) fn unknown_return() -> ReturnId {
    ReturnId::from_random(999)
}
