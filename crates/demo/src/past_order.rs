//! The order and the checkouts of a purchase, as the store and the agent would have left them.

use std::time::Duration;

use carts::{Destination, Terms, TermsLine, TermsReturns, TermsShipping, TermsStore};
use checkout::{PastCheckout, PastReport};
use merchants::{Band, ShippingRate};
use orders::{
    Actor, ConfirmationLevel, Fulfillment, LineUnits, Order, OrderDetails, OrderLine, OrderStatus,
    PaymentStatus, Refund, RefundReason,
};
use primitives::{
    CartId, CheckoutId, Currency, FulfillmentId, Id, KeyId, LineId, Money, OrderId, ProductId,
    RefundId, Timestamp, UserId, VariantId,
};
use uuid::Uuid;

use crate::hash::between;
use crate::past::{Ending, Purchase};
use crate::past_history;
use crate::seed::SeedError;
use crate::settings::settings;
use crate::world::{self, Product, Store};

/// The name of the payment provider of all these orders: nobody paid.
const PROVIDER: &str = "demo";
const CARRIER: &str = "Example Parcels";
/// For how long a cart can be bought.
const CART_LIFETIME: Duration = Duration::from_mins(30);
/// Time between a report that was rejected and the corrected one.
const CORRECTED_AFTER: Duration = Duration::from_mins(2);
/// Time between the end of a return window and the job that completes the order.
const COMPLETED_AFTER: Duration = Duration::from_mins(5);

/// A purchase at a store, as what belongs to it is derived.
pub(crate) struct Record<'a> {
    pub(crate) store: &'a Store,
    pub(crate) purchase: &'a Purchase,
    /// Whether an order is completed by now depends on it.
    pub(crate) now: Timestamp,
}

impl Record<'_> {
    /// Returns the name-based id of something that belongs to the purchase.
    pub(crate) fn id(&self, kind: &str) -> Uuid {
        world::id(&format!("{kind}/{}/{}", self.store.slug, self.purchase.number))
    }

    /// Returns whoever acts for the store.
    pub(crate) fn merchant(&self) -> Actor {
        let key = world::id(&format!("store-key/{}", self.store.slug));
        Actor::merchant(KeyId::from_uuid(key).to_string())
    }

    /// Returns whoever decides disputes.
    pub(crate) fn administrator() -> Actor {
        Actor::platform(UserId::from_uuid(world::id("administrator")))
    }

    /// Returns the checkouts of the purchase: those that were not completed, and the one that was.
    pub(crate) fn checkouts(&self, order: &Order) -> Vec<PastCheckout> {
        let purchase = self.purchase;
        let agent = purchase.agent.key();
        let unfinished = purchase.unfinished.iter().zip(1..).map(|(at, number): (_, u32)| {
            let id = CheckoutId::from_uuid(self.id(&format!("unfinished-checkout-{number}")));
            PastCheckout { id, agent, started_at: *at, completed_at: None, reports: Vec::new() }
        });
        let completed = PastCheckout {
            id: order.checkout,
            agent,
            started_at: purchase.started_at,
            completed_at: Some(purchase.placed_at),
            reports: self.reports(order),
        };
        unfinished.chain([completed]).collect()
    }

    fn reports(&self, order: &Order) -> Vec<PastReport> {
        let (expected, at) = (order.total, self.purchase.placed_at);
        let report = |reported, at| {
            let reference = order.payment_reference.clone();
            PastReport { reference, expected, reported, at }
        };
        let mut reports = vec![report(expected, at)];
        if self.purchase.is_overcharged {
            // A tenth more than was approved.
            let minor = expected.minor() + expected.minor() / 10 + 1;
            let wrong = Money::new(minor, expected.currency());
            reports.insert(0, report(wrong, at.minus(CORRECTED_AFTER)));
        }
        reports
    }

    /// Returns the order with everything that belongs to it; `None` if the store has nothing to sell.
    pub(crate) fn order(&self) -> Result<Option<OrderDetails>, SeedError> {
        let Some(line) = self.line() else { return Ok(None) };
        let mut order = self.placed(line)?;
        let (fulfillments, refunds) = (self.fulfillments(&order), self.refunds(&order));
        order.refunded_minor = refunds.iter().map(|refund| refund.amount_minor).sum();
        if let Ending::Delivered { delivered_at, .. } = self.purchase.ending {
            let window = Duration::from_hours(24) * order.return_window_days();
            order.delivered_at = Some(delivered_at);
            order.returnable_until = Some(delivered_at.plus(window));
        }
        let dispute = self.dispute(&order);
        let history = past_history::history(self, &order, dispute.as_ref(), &refunds)?;
        if let Some(last) = history.last() {
            order.status = last.status;
            order.version = last.sequence;
            order.updated_at = last.occurred_at;
        }
        let (disputes, returns) = (dispute.into_iter().collect(), Vec::new());
        Ok(Some(OrderDetails { order, fulfillments, refunds, returns, disputes, history }))
    }

    /// Returns when the job completed the order, if the return window has closed.
    pub(crate) fn completed_at(&self, order: &Order) -> Option<Timestamp> {
        let closed = order.returnable_until?.max(self.purchase.ended_at());
        Some(closed.plus(COMPLETED_AFTER)).filter(|at| *at <= self.now)
    }

    /// Returns the line of the order as it was in the end.
    fn line(&self) -> Option<OrderLine> {
        let name = format!("{}/{}", self.store.slug, self.purchase.number);
        let draw = |purpose: &str, count: usize| {
            let last = u16::try_from(count.checked_sub(1)?).ok()?;
            Some(usize::from(between(&name, purpose, 0, last)))
        };
        let is_sold = |it: &&Product| it.currency == self.store.currency;
        let products: Vec<&Product> = self.store.products.iter().filter(is_sold).collect();
        let product = products.get(draw("product", products.len())?)?;
        let variant = draw("variant", product.variants.len());
        let variant = variant.and_then(|index| product.variants.get(index));
        let quantity = u32::from(between(&name, "quantity", 1, 2));
        let unit_minor = variant.map_or(product.price_minor, |variant| variant.price_minor);
        let is_canceled = matches!(self.purchase.ending, Ending::OutOfStock { .. });
        Some(OrderLine {
            line: LineId::from_uuid(self.id("line")),
            product: ProductId::from_uuid(product.id),
            variant: variant.map(|variant| VariantId::from_uuid(variant.id)),
            sku: variant.map_or(&product.sku, |variant| &variant.sku).clone(),
            name: variant.map_or(&product.name, |variant| &variant.name).clone(),
            quantity,
            unit_minor,
            total_minor: unit_minor * i64::from(quantity),
            canceled: if is_canceled { quantity } else { 0 },
            shipped: if is_canceled { 0 } else { quantity },
            returned: 0,
        })
    }

    /// Returns the order as it was placed.
    fn placed(&self, line: OrderLine) -> Result<Order, SeedError> {
        let Purchase { agent, placed_at, .. } = *self.purchase;
        let terms = self.terms(&line)?;
        let quote_hash = terms.hash().map_err(|_| SeedError::Invalid("purchase"))?;
        let shipping_days = terms.shipping.as_ref().map(|it| days(it.days_max));
        let id = self.id("order");
        Ok(Order {
            id: OrderId::from_uuid(id),
            checkout: CheckoutId::from_uuid(self.id("checkout")),
            cart: CartId::from_uuid(self.id("cart")),
            agent: agent.key(),
            agent_name: agent.name(),
            is_sandbox: false,
            status: OrderStatus::Pending,
            payment_provider: PROVIDER.to_owned(),
            payment_reference: format!("demo-{}", id.simple()),
            total: Money::new(terms.total_minor, terms.currency),
            shipping_minor: Some(terms.shipping.as_ref().map_or(0, |it| it.price_minor)),
            tax_minor: terms.tax_minor,
            lines: vec![line],
            quote_hash: *quote_hash.as_bytes(),
            terms: serde_json::to_value(&terms).map_err(|_| SeedError::Invalid("purchase"))?,
            confirmation: ConfirmationLevel::Attested,
            confirmation_id: None,
            same_address: None,
            buyer: None,
            version: 1,
            payment: PaymentStatus::Paid,
            refunded_minor: 0,
            promised_by: shipping_days.map(|days| placed_at.plus(days)),
            delivered_at: None,
            returnable_until: None,
            destination: None,
            note: None,
            created_at: placed_at,
            updated_at: placed_at,
        })
    }

    fn terms(&self, line: &OrderLine) -> Result<Terms, SeedError> {
        let store = self.store;
        let currency: Currency = store.currency.parse()?;
        let shipping = shipping(store, line.total_minor);
        let shipping_minor = shipping.as_ref().map_or(0, |it| it.price_minor);
        Ok(Terms {
            store: TermsStore {
                slug: store.slug.clone(),
                name: store.name.clone(),
                legal_name: store.legal_name.clone(),
                band: store.trust_score.map(Band::of),
                is_provisional: store.provisional,
            },
            agent: self.purchase.agent.name(),
            is_sandbox: false,
            lines: vec![TermsLine {
                name: line.name.clone(),
                sku: line.sku.clone(),
                quantity: line.quantity,
                unit_minor: line.unit_minor,
                total_minor: line.total_minor,
            }],
            currency,
            subtotal_minor: line.total_minor,
            discounts: Vec::new(),
            open: Vec::new(),
            shipping,
            tax_minor: Some(0),
            tax_included_minor: 0,
            total_minor: line.total_minor + shipping_minor,
            destination: Some(Destination {
                country: store.country.clone(),
                ..Destination::default()
            }),
            buyer: None,
            returns: TermsReturns {
                window_days: store.policies.return_window_days,
                summary: store.policies.return_summary.clone(),
            },
            expires_at: self.purchase.started_at.plus(CART_LIFETIME),
        })
    }

    fn fulfillments(&self, order: &Order) -> Vec<Fulfillment> {
        let Ending::Delivered { shipped_at, delivered_at, .. } = self.purchase.ending else {
            return Vec::new();
        };
        let units = |line: &OrderLine| LineUnits { line: line.line, quantity: line.shipped };
        vec![Fulfillment {
            id: FulfillmentId::from_uuid(self.id("fulfillment")),
            carrier: Some(CARRIER.to_owned()),
            tracking_number: Some(order.number()),
            tracking_url: None,
            items: order.lines.iter().map(units).collect(),
            expected_by: order.promised_by,
            shipped_at,
            delivered_at: Some(delivered_at),
        }]
    }

    fn refunds(&self, order: &Order) -> Vec<Refund> {
        let reason = match self.purchase.dispute {
            Some(_) => RefundReason::Dispute,
            None => RefundReason::OutOfStock,
        };
        let refund = |created_at| Refund {
            id: RefundId::from_uuid(self.id("refund")),
            return_id: None,
            amount_minor: self.refund_minor(order),
            reason,
            note: None,
            reference: None,
            created_at,
        };
        self.purchase.refunded_at().map(refund).into_iter().collect()
    }

    /// Returns what is refunded, if anything is: all of an order that was not delivered, half of one that was.
    pub(crate) fn refund_minor(&self, order: &Order) -> i64 {
        match self.purchase.ending {
            Ending::OutOfStock { .. } => order.total.minor(),
            Ending::Delivered { .. } => (order.total.minor() / 2).max(1),
        }
    }
}

/// Returns the cheapest shipping at home; none from a store without a delivery time.
fn shipping(store: &Store, subtotal_minor: i64) -> Option<TermsShipping> {
    let rates = settings(store).shipping.into_iter().next()?.rates;
    let is_reached =
        |rate: &ShippingRate| rate.min_subtotal_minor.is_none_or(|least| subtotal_minor >= least);
    let rate = rates.into_iter().filter(is_reached).min_by_key(|rate| rate.price_minor)?;
    Some(TermsShipping {
        title: rate.name,
        price_minor: rate.price_minor,
        days_min: rate.days_min,
        days_max: rate.days_max,
    })
}

fn days(days: i32) -> Duration {
    Duration::from_hours(24) * u32::try_from(days).unwrap_or_default()
}
