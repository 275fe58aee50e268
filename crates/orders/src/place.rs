//! A verb: placing an order, in the transaction that settles its payment.

use database::Work;
use primitives::MerchantId;
use webhooks::{OrderCreated, WebhookEvent};

use crate::change::publish_changed;
use crate::{Order, OrderError, table};

/// Inserts an order and publishes `order.created` and, in the outbox alone, `order.changed`. It exists only if the work commits.
pub async fn place(
    work: &mut Work,
    merchant: MerchantId,
    slug: &str,
    order: &Order,
) -> Result<(), OrderError> {
    table::insert(work, merchant, order).await?;
    if order.is_sandbox {
        return Ok(());
    }
    let event = WebhookEvent::OrderCreated(OrderCreated {
        order: order.id,
        checkout: order.checkout,
        slug: slug.to_owned(),
        total: order.total,
        status: order.status.as_str(),
        items: order.lines.iter().map(|line| line.line_item(order.currency())).collect(),
        confirmation: order.confirmation.as_str(),
    });
    webhooks::publish(work, merchant, &event).await?;
    Ok(publish_changed(work, merchant, order).await?)
}
