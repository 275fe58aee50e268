//! The session and the question as every door serves them (decisions §8).

use carts::Terms;
use merchants::Band;
use primitives::{
    CartId, CheckoutId, ConfirmationId, LineId, Money, OrderId, ProductId, Timestamp, VariantId,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{At, Requested, Status};

/// A checkout session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionRecord {
    /// Session identifier.
    pub checkout_id: CheckoutId,
    /// The cart it is of.
    pub cart_id: CartId,
    /// The store.
    pub merchant: SessionMerchant,
    /// Where it stands: `incomplete`, `ready_for_complete`, `requires_escalation` (a person pays at `checkout_url`),
    /// `complete_in_progress`, `completed`, `canceled` or `expired`.
    pub status: String,
    /// How it will be paid, if the agent said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_method: Option<String>,
    /// Currency of all amounts.
    pub currency: String,
    /// What is bought.
    pub items: Vec<SessionLine>,
    /// What it costs.
    pub totals: SessionTotals,
    /// The purchase in a few figures, to be told to the person.
    pub order_summary: OrderSummary,
    /// Where a person reviews and pays. Give it to the person; no agent pays there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkout_url: Option<String>,
    /// The same address, under the name of another standard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continue_url: Option<String>,
    /// How sure we are that a person agreed.
    pub human_confirmation: HumanConfirmationRecord,
    /// What the agent wanted to find again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = "object"))]
    pub metadata: Option<Value>,
    /// What to know or to do next.
    pub messages: Vec<SessionMessage>,
    /// The hash of everything the person agrees to.
    pub quote_hash: String,
    /// The order it became.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<SessionOrder>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Until when it can be paid; what is held goes back then.
    pub expires_at: Timestamp,
}

/// The store of a session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionMerchant {
    /// Store slug.
    pub slug: String,
    /// The label of its trust score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_level: Option<Band>,
}

/// A line of a session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionLine {
    /// Line identifier, as in the cart.
    pub line_id: LineId,
    /// The product.
    pub product_id: ProductId,
    /// The form of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant_id: Option<VariantId>,
    /// The merchant's own number.
    pub sku: String,
    /// What it is called.
    pub name: String,
    /// How many.
    pub quantity: i64,
    /// What one costs.
    pub unit_price: f64,
    /// What they cost, after discounts.
    pub line_total: f64,
}

/// What a session costs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionTotals {
    /// The goods, before discounts.
    pub subtotal: f64,
    /// How much less they cost.
    pub discount: f64,
    /// Shipping; left out until a way is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipping: Option<f64>,
    /// Taxes on top; left out until it is known where the goods go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tax: Option<f64>,
    /// Taxes that the prices hold already.
    pub tax_included: f64,
    /// All of it.
    pub total: f64,
}

/// A purchase in a few figures.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OrderSummary {
    /// How many things, all lines together.
    pub item_count: i64,
    /// What all of it costs.
    pub total: f64,
    /// Currency of the amount.
    pub currency: String,
    /// Days to return in, if the store says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_window_days: Option<i64>,
}

/// How sure we are that a person agreed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HumanConfirmationRecord {
    /// Always true: a person approves every purchase.
    pub required: bool,
    /// attested (the agent says so), elicited (in the agent's client), hosted (on our page).
    pub level: String,
    /// The proof, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation_id: Option<ConfirmationId>,
}

/// Something to know or to do next.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionMessage {
    /// What it is about, as a stable name.
    pub code: String,
    /// A sentence.
    pub content: String,
}

/// The order of a session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionOrder {
    /// Order identifier.
    pub order_id: OrderId,
}

/// A question to a person.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ConfirmationRecord {
    /// Its identifier: `complete_checkout` takes it when the person has confirmed.
    pub confirmation_id: ConfirmationId,
    /// The cart it is about.
    pub cart_id: CartId,
    /// pending, confirmed, rejected or expired.
    pub status: String,
    /// How it was answered: hosted or elicited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Where the person answers. Give it to the person.
    pub confirm_url: String,
    /// The purchase in a few figures.
    pub summary: OrderSummary,
    /// The hash of everything the person is shown.
    pub quote_hash: String,
    /// The checkout it was used for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_by: Option<CheckoutId>,
    /// Until when it can be answered and used.
    pub expires_at: Timestamp,
    /// When it was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
}

impl At {
    /// The record for the merchant: without what the agent keeps for itself.
    #[must_use]
    pub fn record_for_merchant(&self) -> SessionRecord {
        SessionRecord { metadata: None, ..self.record() }
    }

    /// The record.
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
            status: self.status().name().to_owned(),
            payment_method: session.payment_method.map(|method| method.name().to_owned()),
            currency: terms.currency.to_string(),
            items: session.lines.iter().map(line).collect(),
            totals: totals(terms),
            order_summary: summary(terms),
            checkout_url: self.payable_at(),
            continue_url: self.payable_at(),
            human_confirmation: HumanConfirmationRecord {
                required: true,
                level: self.level().name().to_owned(),
                confirmation_id: session.confirmation.and_then(|(_, id)| id),
            },
            metadata: session.metadata.clone(),
            messages: self.messages(),
            quote_hash: session.quote_hash.to_string(),
            order: session.order.map(|order_id| SessionOrder { order_id }),
            created_at: session.started_at,
            updated_at: session.updated_at,
            expires_at: session.expires_at,
        }
    }

    /// Where a person pays, while they can.
    fn payable_at(&self) -> Option<String> {
        let ended = matches!(self.status(), Status::Canceled | Status::Expired);
        self.session.checkout_url.clone().filter(|_| !ended)
    }

    fn messages(&self) -> Vec<SessionMessage> {
        let mut messages = Vec::new();
        let mut say = |code: &str, content: &str| {
            messages.push(SessionMessage { code: code.to_owned(), content: content.to_owned() });
        };
        if self.session.is_payment_failed {
            say(
                "payment_failed",
                "the payment was refused; the person may try again at checkout_url",
            );
        }
        match self.status() {
            Status::Incomplete => {
                say(
                    "incomplete",
                    "preview_checkout says what is missing; update_checkout changes it",
                );
            }
            Status::ReadyForComplete => {
                say("ready", "complete_checkout holds the items and gives checkout_url");
            }
            Status::RequiresEscalation => {
                say(
                    "buyer_review_required",
                    "give checkout_url to the person: they review and pay there",
                );
            }
            Status::CompleteInProgress => {
                say("payment_under_way", "get_checkout tells what came of it");
            }
            Status::Completed | Status::Canceled => {}
            Status::Expired => say("expired", "nobody paid in time; make a new cart"),
        }
        messages
    }
}

impl Requested {
    /// The record.
    #[must_use]
    pub fn record(&self) -> ConfirmationRecord {
        let it = &self.confirmation;
        ConfirmationRecord {
            confirmation_id: it.id,
            cart_id: it.cart,
            status: it.status(self.now).name().to_owned(),
            level: it.level.map(|level| level.name().to_owned()),
            confirm_url: self.confirm_url.clone(),
            summary: summary(&it.terms),
            quote_hash: it.quote_hash.to_string(),
            used_by: it.used_by,
            expires_at: it.expires_at,
            decided_at: it.decided_at,
        }
    }

    /// What is asked, in one line and in our own words.
    #[must_use]
    pub fn question(&self) -> String {
        let terms = &self.confirmation.terms;
        let total = Money::new(terms.total_minor, terms.currency);
        let (count, slug) = (item_count(terms), &terms.store.slug);
        format!("Buy {count} item(s) for {total} from {slug}? All about it: {}", self.confirm_url)
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

fn totals(terms: &Terms) -> SessionTotals {
    let money = |minor: i64| Money::new(minor, terms.currency).to_decimal();
    SessionTotals {
        subtotal: money(terms.subtotal_minor),
        discount: money(terms.discounts.iter().map(|(_, minor)| minor).sum()),
        shipping: terms.shipping.as_ref().map(|way| money(way.price_minor)),
        tax: terms.tax_minor.map(money),
        tax_included: money(terms.tax_included_minor),
        total: money(terms.total_minor),
    }
}
