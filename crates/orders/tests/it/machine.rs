//! Every verb in every status, and every edge of the state machine.

use std::collections::BTreeSet;
use std::time::Duration;

use orders::{
    CancelReason, Cancellation, Changed, CompleteOrders, HistoryKind, OrderContext, OrderError,
    OrderStatus, OrderUpdate, PaymentStatus, Shipment, TRANSITIONS,
};

use crate::fulfillment::{shipment, units};
use crate::shop::{Shop, order};
/// One step of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Confirm,
    Review,
    Process,
    ShipOne,
    ShipRest,
    Deliver,
    CancelOne,
    CancelRest,
    FailPayment,
    Update,
    /// The return window ends, and the job runs.
    Complete,
}

impl Shop {
    /// Acts on the order with this number, whose first line has the same number.
    pub(crate) async fn act(
        &self,
        context: &OrderContext<'_>,
        number: u128,
        step: Step,
    ) -> Result<Changed, OrderError> {
        let id = order(number).id;
        let reason = CancelReason::BuyerRequest;
        let cancellation = |items| Cancellation { items, reason, note: None };
        match step {
            Step::Confirm => orders::confirm(context, id, None).await,
            Step::Review => orders::hold_for_review(context, id, None).await,
            Step::Process => orders::start_processing(context, id, None).await,
            Step::ShipOne => orders::ship(context, id, None, shipment(&[units(number, 1)])).await,
            Step::ShipRest => orders::ship(context, id, None, Shipment::default()).await,
            Step::Deliver => orders::deliver(context, id, None, Vec::new()).await,
            Step::CancelOne => {
                orders::cancel(context, id, None, cancellation(vec![units(number + 100, 1)])).await
            }
            Step::CancelRest => orders::cancel(context, id, None, cancellation(Vec::new())).await,
            Step::FailPayment => self.set_payment(number, PaymentStatus::Failed).await,
            Step::Update => {
                let note = Some(String::from("Ring twice."));
                orders::update(context, id, None, OrderUpdate { note, destination: None }).await
            }
            Step::Complete => {
                self.test.clock().advance(Duration::from_hours(14 * 24));
                self.run::<CompleteOrders>().await;
                Ok(Changed { details: self.details(id).await, subject: None })
            }
        }
    }

    /// Places the order with this number and leads it to a status.
    pub(crate) async fn lead(&self, number: u128, to: OrderStatus) {
        use Step::{
            CancelRest, Complete, Confirm, Deliver, FailPayment, Process, Review, ShipOne, ShipRest,
        };
        let steps: &[Step] = match to {
            OrderStatus::Pending => &[],
            OrderStatus::Confirmed => &[Confirm],
            OrderStatus::Processing => &[Process],
            OrderStatus::PartiallyShipped => &[ShipOne],
            OrderStatus::Shipped => &[ShipRest],
            OrderStatus::Delivered => &[ShipRest, Deliver],
            OrderStatus::Completed => &[ShipRest, Deliver, Complete],
            OrderStatus::ManualReview => &[Review],
            OrderStatus::Canceled => &[CancelRest],
            OrderStatus::Failed => &[FailPayment],
        };
        self.place(&order(number)).await.unwrap();
        for step in steps {
            self.act(&self.as_merchant(), number, *step).await.unwrap();
        }
        assert_eq!(self.read(order(number).id, None).await.unwrap().status, to);
    }

    /// Leads an order to each status and acts on it, and returns the outcome: the new status, `=` if nothing changed,
    /// `+` if the history has another entry, or `-` if the step was refused because of the status.
    async fn outcomes(&self, context: &OrderContext<'_>, steps: &[Step]) -> String {
        let (mut table, mut number) = (String::new(), 0);
        for status in OrderStatus::ALL {
            table.extend(["\n", status.as_str(), ":"]);
            for step in steps {
                number += 1;
                self.lead(number, *status).await;
                let before = self.details(order(number).id).await;
                let acted = self.act(context, number, *step).await;
                let after = self.details(order(number).id).await;
                let outcome = match acted {
                    Err(
                        OrderError::InvalidTransition { from } | OrderError::CancelTooLate { from },
                    ) => {
                        assert_eq!((from, &after), (*status, &before));
                        "-"
                    }
                    Err(error) => panic!("{status} {step:?}: {error}"),
                    Ok(changed) => {
                        assert_eq!(changed.details, after);
                        match after.order.status {
                            now if now != *status => now.as_str(),
                            _ if after == before => "=",
                            _ => "+",
                        }
                    }
                };
                table.extend([" ", outcome]);
            }
        }
        table
    }
}

#[tokio::test]
async fn every_verb_of_the_merchant_does_in_every_status_what_the_table_says() {
    use Step::{
        CancelOne, CancelRest, Confirm, Deliver, Process, Review, ShipOne, ShipRest, Update,
    };
    let shop = Shop::open().await;
    let steps =
        [Confirm, Review, Process, ShipOne, ShipRest, Deliver, CancelOne, CancelRest, Update];
    insta::assert_snapshot!(shop.outcomes(&shop.as_merchant(), &steps).await, @r#"
    pending: confirmed manual_review processing partially_shipped shipped - + canceled +
    confirmed: = manual_review processing partially_shipped shipped - + canceled +
    processing: = - = partially_shipped shipped - + canceled +
    partially_shipped: = - = + shipped + + shipped -
    shipped: = - = - - delivered - - -
    delivered: = - = - - = - - -
    completed: = - = - - = - - -
    manual_review: confirmed = - - - - + canceled +
    canceled: - - - - - - - - -
    failed: - - - - - - - - -
    "#);
}

#[tokio::test]
async fn agents_and_buyers_cancel_until_the_merchant_processes_the_order_and_change_it_until_it_is_shipped()
 {
    let shop = Shop::open().await;
    let steps = [Step::CancelOne, Step::CancelRest, Step::Update];
    let by_agent = shop.outcomes(&shop.as_agent(1), &steps).await;
    insta::assert_snapshot!(by_agent, @r#"
    pending: + canceled +
    confirmed: + canceled +
    processing: - - +
    partially_shipped: - - -
    shipped: - - -
    delivered: - - -
    completed: - - -
    manual_review: + canceled +
    canceled: - - -
    failed: - - -
    "#);
    let buyer = shop.acting(orders::Actor::BUYER, orders::Viewer::All);
    shop.lead(51, OrderStatus::Processing).await;
    let refused = shop.act(&buyer, 51, Step::CancelRest).await;
    assert!(matches!(refused, Err(OrderError::CancelTooLate { .. })), "{refused:?}");
    shop.lead(52, OrderStatus::Confirmed).await;
    shop.act(&buyer, 52, Step::CancelRest).await.unwrap();
}

#[tokio::test]
async fn the_verbs_make_exactly_the_transitions_of_the_table() {
    use Step::{
        CancelOne, CancelRest, Complete, Confirm, Deliver, FailPayment, Process, Review, ShipOne,
        ShipRest,
    };
    let shop = Shop::open().await;
    let mut made = BTreeSet::new();
    let scripts: [&[Step]; 9] = [
        &[Confirm, Process, ShipOne, ShipOne, CancelOne, ShipRest, Deliver, Complete],
        &[Review, Confirm, Review, CancelRest],
        &[Confirm, Review, Confirm, CancelRest],
        &[CancelOne, CancelRest],
        &[Process, CancelRest],
        &[ShipRest, Deliver, Complete],
        &[ShipOne, Deliver, CancelRest, Complete],
        &[ShipOne, CancelRest, Deliver],
        &[FailPayment],
    ];
    for (number, script) in (1..).zip(scripts) {
        shop.place(&order(number)).await.unwrap();
        for step in script {
            shop.act(&shop.as_merchant(), number, *step).await.unwrap();
        }
        let history = shop.details(order(number).id).await.history;
        let transitions = history.iter().filter(|it| it.kind == HistoryKind::StatusChanged);
        made.extend(transitions.map(|it| (it.previous_status, it.status)));
    }
    let table: BTreeSet<_> = TRANSITIONS.iter().map(|(from, _, to)| (*from, *to)).collect();
    assert_eq!(made, table);
}
