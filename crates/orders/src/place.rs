//! A verb: placing an order, in the transaction that learned of its payment.

use database::Work;
use primitives::{MerchantId, Money};
use webhooks::{Announcement, OrderCreated, OrderedItem};

use crate::{Order, OrderError, table};

/// Places an order and tells the merchant of it. It exists only if the work commits.
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
    let item = |line: &crate::OrderLine| OrderedItem {
        line_id: line.line,
        product_id: line.product,
        variant_id: line.variant,
        sku: line.sku.clone(),
        quantity: line.quantity,
        unit_price: Money::new(line.unit_minor, order.currency()).to_decimal(),
    };
    let told = Announcement::OrderCreated(OrderCreated {
        order: order.id,
        checkout: order.checkout,
        slug: slug.to_owned(),
        total: order.total,
        items: order.lines.iter().map(item).collect(),
        confirmation: order.confirmation.name(),
    });
    webhooks::announce(work, merchant, &told).await?;
    Ok(())
}
