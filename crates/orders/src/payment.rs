//! What is known of the payment of an order. This crate knows nothing of money but what it is told.

use primitives::OrderId;
use serde_json::json;
use webhooks::OrderChange;

use crate::change::{Change, Opened};
use crate::units::requested;
use crate::{
    HistoryKind, OrderContext, OrderError, OrderLine, OrderStatus, OrderTransition, PaymentStatus,
};

/// The reason of an order whose payment was lost.
const PAYMENT_FAILED: &str = "payment_failed";

/// Prepares the change of the status of the payment, which the caller finishes. The refunds decide whether an order is refunded.
pub(crate) async fn prepare_payment_status<'call>(
    context: &'call OrderContext<'call>,
    id: OrderId,
    payment: PaymentStatus,
) -> Result<Opened<'call>, OrderError> {
    context.actor.kind.check_platform()?;
    if matches!(payment, PaymentStatus::PartiallyRefunded | PaymentStatus::Refunded) {
        let allowed = "unpaid, authorized, paid, failed or disputed; refunds are counted";
        return Err(OrderError::invalid("payment_status", allowed));
    }
    let mut change = match Change::open(context, id, None).await? {
        Opened::Fresh(change) => change,
        replay @ Opened::Replay(_) => return Ok(replay),
    };
    if change.order.payment == payment {
        return Ok(Opened::Fresh(change));
    }
    change.order.payment = payment;
    if payment == PaymentStatus::Failed && change.order.status == OrderStatus::Pending {
        change.apply(OrderTransition::Fail, Some(PAYMENT_FAILED), None).await?;
        let unshipped = requested(&change.order, &[], OrderLine::unshipped)?;
        change.restock(&unshipped);
    } else {
        let details = json!({ "payment_status": payment.as_str() });
        change.record(HistoryKind::PaymentChanged, None, details).await?;
        change.publish(None, OrderChange::Updated { fields: vec!["payment_status"] }).await?;
    }
    Ok(Opened::Fresh(change))
}
