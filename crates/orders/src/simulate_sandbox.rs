//! A job: what a merchant would do with the orders of sandboxes, which no merchant sees.

use std::time::Duration;

use database::{Database, DatabaseError, Reading, Snapshot};
use jobs::{JobError, Sweep, SweepRow};
use primitives::{Id, MerchantId, OrderId, ReturnId, Timestamp};

use crate::complete::is_open;
use crate::context::slug_of;
use crate::{
    OrderContext, OrderDetails, OrderError, OrderReturn, OrderStatus, ReturnAction, ReturnStatus,
    Shipment, Viewer, change_return, deliver, ship, table,
};

/// The time after which the next thing happens to an order (docs/contract/orders.md#sandbox-orders).
const STEP_AFTER: Duration = Duration::from_secs(30);
const CARRIER: &str = "Sandbox Carrier";

/// Ships pending orders of sandboxes, delivers them, and approves and settles their returns. Scheduled every five seconds.
#[derive(Debug)]
pub struct SimulateSandbox;

impl Sweep for SimulateSandbox {
    const NAME: &'static str = "orders.simulate_sandbox";
    type Dependencies = ();

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        let now = sql.now().await?;
        Ok(table::find_simulated(sql, now.minus(STEP_AFTER), after, limit).await?)
    }

    async fn process(database: Database, row: SweepRow, (): ()) -> Result<(), JobError> {
        match simulate(&database, row.merchant, OrderId::from_uuid(row.id)).await {
            // The order was purged with its sandbox, or changed since it was read: a later run continues.
            Err(OrderError::NotFound | OrderError::VersionConflict { .. }) => Ok(()),
            result => Ok(result?),
        }
    }
}

/// What happens next to an order.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Ship,
    Deliver,
    Return(ReturnId, ReturnAction),
}

/// Takes all steps of an order that are due. Each one requires the version that it was chosen for.
async fn simulate(
    database: &Database,
    merchant: MerchantId,
    id: OrderId,
) -> Result<(), OrderError> {
    let slug = slug_of(database, merchant).await?;
    // No other order exists for the verbs, which check it under the lock.
    let viewer = Viewer::Sandbox;
    let context =
        OrderContext { viewer, ..OrderContext::of_job(database, merchant, slug.as_str()) };
    let (mut details, until) = read(&context, id).await?;
    while let Some(step) = next_step(&details, until) {
        let version = Some(details.order.version);
        let changed = match step {
            Step::Ship => ship(&context, id, version, shipment(id)).await?,
            Step::Deliver => deliver(&context, id, version, Vec::new()).await?,
            Step::Return(it, action) => change_return(&context, id, it, version, action).await?,
        };
        details = changed.details;
    }
    Ok(())
}

/// Returns an order, and the time until which something must have happened to it for the next step.
async fn read(
    context: &OrderContext<'_>,
    id: OrderId,
) -> Result<(OrderDetails, Timestamp), OrderError> {
    let merchant = context.merchant;
    Reading::for_store(context.database, merchant)?
        .run(async |sql| {
            let until = sql.now().await?.minus(STEP_AFTER);
            let found = table::find(sql, merchant, Some(id), None).await?;
            let order = found.filter(|it| context.viewer.sees(it)).ok_or(OrderError::NotFound)?;
            Ok((table::details(sql, merchant, order).await?, until))
        })
        .await
}

fn next_step(details: &OrderDetails, until: Timestamp) -> Option<Step> {
    match details.order.status {
        OrderStatus::Pending => (details.order.created_at <= until).then_some(Step::Ship),
        OrderStatus::Shipped => {
            let shipped_at = details.fulfillments.iter().map(|it| it.shipped_at).max()?;
            (shipped_at <= until).then_some(Step::Deliver)
        }
        OrderStatus::Delivered => {
            let is_due = |it: &&OrderReturn| is_open(it.status) && it.requested_at <= until;
            let it = details.returns.iter().find(is_due)?;
            Some(Step::Return(it.id, next_action(it.status)?))
        }
        _ => None,
    }
}

/// Returns what happens next to a return, or `None` if it has ended.
fn next_action(status: ReturnStatus) -> Option<ReturnAction> {
    match status {
        ReturnStatus::Requested => Some(ReturnAction::Approve { instructions: None }),
        ReturnStatus::Approved | ReturnStatus::InTransit => Some(ReturnAction::Receive),
        ReturnStatus::Received | ReturnStatus::Inspected => {
            Some(ReturnAction::Settle { refund: None, restocking_fee: None, reference: None })
        }
        _ => None,
    }
}

/// Returns the only shipment of an order. Its tracking number is part of the order's id, which is random.
fn shipment(id: OrderId) -> Shipment {
    let digits = id.uuid().simple().to_string().to_uppercase();
    // The first digits are the number of the order.
    let number = digits.get(20..).unwrap_or(&digits);
    Shipment {
        carrier: Some(String::from(CARRIER)),
        tracking_number: Some(format!("SANDBOX-{number}")),
        ..Shipment::default()
    }
}
