//! Sessions and confirmations as every door returns them (docs/contract/checkout.md#session-record).

mod confirmation;

use carts::{ApprovalScope, OpenPart, Terms};
use merchants::Band;
use primitives::{
    CartId, CheckoutId, ConfirmationId, LineId, Money, OrderId, ProductId, Timestamp, VariantId,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

pub use confirmation::ConfirmationRecord;

use crate::{SessionSnapshot, Status};

/// A checkout session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionRecord {
    /// Session identifier.
    pub checkout_id: CheckoutId,
    /// Cart identifier.
    pub cart_id: CartId,
    /// Store of the session.
    pub merchant: SessionMerchant,
    /// Status: `incomplete`, `ready_for_complete`, `requires_escalation` (a person has to pay at `checkout_url`),
    /// `complete_in_progress`, `completed`, `canceled` or `expired`.
    pub status: String,
    /// Payment method named by the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_method: Option<String>,
    /// Currency of all amounts.
    pub currency: String,
    /// Lines of the session.
    pub items: Vec<SessionLine>,
    /// Totals of the session.
    pub totals: SessionTotals,
    /// What is not decided yet and the person enters or sees on the payment page: `destination`, `shipping`, `tax`, `buyer`. Empty if the total is final.
    pub open: Vec<OpenPart>,
    /// Summary of the purchase, to show to the person.
    pub order_summary: OrderSummary,
    /// URL where the person reviews and pays. Show it to the person; an agent must not pay there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkout_url: Option<String>,
    /// Same as `checkout_url`, named as in UCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continue_url: Option<String>,
    /// Human confirmation of the purchase.
    pub human_confirmation: HumanConfirmationRecord,
    /// Metadata set by the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = "object"))]
    pub metadata: Option<Value>,
    /// The `return_url` that the agent set. It is stored and returned only: no page links to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_url: Option<String>,
    /// Messages: what to know or to do next.
    pub messages: Vec<SessionMessage>,
    /// Hash of everything the person approves.
    pub quote_hash: String,
    /// Order of the session, once it is paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<SessionOrder>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Time at which the session expires and held items are released.
    pub expires_at: Timestamp,
}

/// The store of a session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionMerchant {
    /// Store slug.
    pub slug: String,
    /// Trust band of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_level: Option<Band>,
}

/// A line of a session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionLine {
    /// Line identifier, as in the cart.
    pub line_id: LineId,
    /// Product identifier.
    pub product_id: ProductId,
    /// Variant identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant_id: Option<VariantId>,
    /// The merchant's SKU.
    pub sku: String,
    /// Name of the product or variant.
    pub name: String,
    /// Quantity.
    pub quantity: i64,
    /// Unit price.
    pub unit_price: f64,
    /// Price of the line after discounts.
    pub line_total: f64,
}

/// Totals of a session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionTotals {
    /// All lines, before discounts.
    pub subtotal: f64,
    /// Sum of all discounts.
    pub discount: f64,
    /// Price of shipping; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipping: Option<f64>,
    /// Taxes added to the prices; absent if they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tax: Option<f64>,
    /// Taxes already included in the prices; not added to the total.
    pub tax_included: f64,
    /// Total.
    pub total: f64,
    /// Whether shipping or taxes are estimated or not known. The person sees the final amounts on the payment page before paying.
    pub is_estimate: bool,
}

/// Summary of a purchase.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OrderSummary {
    /// Sum of the quantities of all lines.
    pub item_count: i64,
    /// Total; without what is open in a confirmation, with estimates in a session.
    pub total: f64,
    /// Currency of the amount.
    pub currency: String,
    /// Length of the return window in days, if the store states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_window_days: Option<i64>,
}

/// Human confirmation of a purchase.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HumanConfirmationRecord {
    /// Always true: a person has to approve every purchase.
    pub required: bool,
    /// Level of confirmation: `attested` (stated by the agent), `elicited` (in the agent's client), `hosted` (on the
    /// confirmation page).
    pub level: String,
    /// What is approved: `items` while parts of the total are open, otherwise `total`.
    pub scope: ApprovalScope,
    /// Confirmation identifier; absent for `attested`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation_id: Option<ConfirmationId>,
}

/// A message about a session: something to know or to do next.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionMessage {
    /// Stable name of the message.
    pub code: String,
    /// Text of the message.
    pub content: String,
}

/// The order of a session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionOrder {
    /// Order identifier.
    pub order_id: OrderId,
}

impl SessionSnapshot {
    /// Returns the record for the merchant: without what belongs to the agent.
    #[must_use]
    pub fn record_for_merchant(&self) -> SessionRecord {
        SessionRecord { metadata: None, return_url: None, ..self.record() }
    }

    /// Returns the record for the agent.
    #[must_use]
    pub fn record(&self) -> SessionRecord {
        let (session, terms) = (&self.session, &self.session.terms);
        let money = |minor: i64| Money::new(minor, terms.currency).to_decimal();
        let line = |line: &orders::OrderLine| SessionLine {
            line_id: line.line,
            product_id: line.product,
            variant_id: line.variant,
            sku: line.sku.clone(),
            name: line.name.clone(),
            quantity: i64::from(line.quantity),
            unit_price: money(line.unit_minor),
            line_total: money(line.total_minor),
        };
        let slug = terms.store.slug.clone();
        SessionRecord {
            checkout_id: session.id,
            cart_id: session.cart,
            merchant: SessionMerchant { slug, verification_level: terms.store.band },
            status: self.status().to_string(),
            payment_method: session.payment_method.map(|method| method.to_string()),
            currency: terms.currency.to_string(),
            items: session.lines.iter().map(line).collect(),
            totals: self.totals(),
            open: terms.open.clone(),
            order_summary: OrderSummary { total: session.total.to_decimal(), ..summary(terms) },
            checkout_url: self.active_checkout_url(),
            continue_url: self.active_checkout_url(),
            human_confirmation: HumanConfirmationRecord {
                required: true,
                level: self.level().to_string(),
                scope: session.confirmed_scope.unwrap_or_else(|| terms.scope()),
                confirmation_id: session.confirmation.and_then(|proof| proof.confirmation),
            },
            metadata: session.metadata.clone(),
            return_url: session.return_url.clone(),
            messages: self.messages(),
            quote_hash: session.quote_hash.to_string(),
            order: session.order.map(|order_id| SessionOrder { order_id }),
            created_at: session.started_at,
            updated_at: session.updated_at,
            expires_at: session.expires_at,
        }
    }

    /// Returns the checkout URL unless the session was canceled or has expired.
    fn active_checkout_url(&self) -> Option<String> {
        let ended = matches!(self.status(), Status::Canceled | Status::Expired);
        self.session.checkout_url.clone().filter(|_| !ended)
    }

    fn totals(&self) -> SessionTotals {
        let (session, terms) = (&self.session, &self.session.terms);
        let money = |minor: i64| Money::new(minor, terms.currency).to_decimal();
        SessionTotals {
            subtotal: money(terms.subtotal_minor),
            discount: money(terms.discounts.iter().map(|(_, minor)| minor).sum()),
            shipping: session.amounts.shipping_minor.map(money),
            tax: session.amounts.tax_minor.map(money),
            tax_included: money(session.amounts.tax_included_minor),
            total: session.total.to_decimal(),
            is_estimate: terms.open_amounts().is_some() && session.order.is_none(),
        }
    }

    fn messages(&self) -> Vec<SessionMessage> {
        let mut messages = Vec::new();
        let mut add = |code: &str, content: &str| {
            messages.push(SessionMessage { code: code.to_owned(), content: content.to_owned() });
        };
        if self.session.is_payment_failed {
            add(
                "payment_failed",
                "the payment was declined; the person can try again at checkout_url",
            );
        }
        match self.status() {
            Status::Incomplete => {
                add(
                    "incomplete",
                    "required data is missing, an item is not available, nobody can pay at the store, or the person declined; the preview of the cart lists what is missing",
                );
            }
            // After a declined payment the units are still held.
            Status::ReadyForComplete if self.session.is_holding => {}
            Status::ReadyForComplete => {
                add("ready", "complete the checkout to reserve the items and get checkout_url");
            }
            Status::RequiresEscalation if self.session.terms.needs_destination() => {
                add(
                    "buyer_review_required",
                    "show checkout_url to the person: they enter the address, see the final total and pay there",
                );
            }
            Status::RequiresEscalation => {
                add(
                    "buyer_review_required",
                    "show checkout_url to the person: they review and pay there",
                );
            }
            Status::CompleteInProgress => {
                add(
                    "payment_under_way",
                    "a payment is pending; read the checkout again for the outcome",
                );
            }
            Status::Completed | Status::Canceled => {}
            Status::Expired => {
                add("expired", "the session was not paid in time; create a new cart");
            }
        }
        messages
    }
}

fn item_count(terms: &Terms) -> i64 {
    terms.lines.iter().map(|line| i64::from(line.quantity)).sum()
}

fn summary(terms: &Terms) -> OrderSummary {
    OrderSummary {
        item_count: item_count(terms),
        total: Money::new(terms.total_minor, terms.currency).to_decimal(),
        currency: terms.currency.to_string(),
        return_window_days: terms.returns.window_days.map(i64::from),
    }
}
