//! What the endpoints of orders share: who sees which order, and the parts of bodies.

use std::sync::Arc;

use carts::Quantity;
use database::Reading;
use jobs::IdempotencyKey;
use merchants::Store;
use orders::{
    Actor, Changed, Dispute, DisputeRecord, LineUnits, OrderContext, OrderDetails, OrderError,
    OrderRecord, ReturnRecord, Viewer,
};
use primitives::{Currency, DisputeId, ErrorCode, LineId, Money, OrderId, ReturnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request::InvalidField;
use crate::{AgentCaller, ErrorResponse, Rest, StoreCaller};

/// Codes of a request that reads an order.
pub(crate) const READ_ERRORS: &[ErrorCode] = &[ErrorCode::OrderNotFound];
/// Codes of a request that changes an order.
pub(crate) const WRITE_ERRORS: &[ErrorCode] =
    &[ErrorCode::OrderNotFound, ErrorCode::InvalidStatusTransition];
/// Codes of a request that changes a return or a dispute of an order.
pub(crate) const PART_ERRORS: &[ErrorCode] =
    &[ErrorCode::OrderNotFound, ErrorCode::NotFound, ErrorCode::InvalidStatusTransition];

/// Most characters of a note or of instructions.
pub(crate) const NOTE_CHARACTERS_MAX: usize = orders::NOTE_LENGTH_MAX;
/// Most characters of a carrier or a tracking number.
pub(crate) const NAME_CHARACTERS_MAX: usize = orders::NAME_LENGTH_MAX;
/// Most characters of a merchant's own reference.
pub(crate) const REFERENCE_CHARACTERS_MAX: usize = orders::REFERENCE_LENGTH_MAX;
/// Most characters of a statement.
pub(crate) const STATEMENT_CHARACTERS_MAX: usize = orders::STATEMENT_LENGTH_MAX;
/// Most links of a statement.
pub(crate) const EVIDENCE_MAX: usize = orders::EVIDENCE_MAX;
/// Most characters of a tracking URL.
pub(crate) const URL_CHARACTERS_MAX: usize = orders::TRACKING_URL_LENGTH_MAX;
/// Most characters of a cursor.
pub(crate) const CURSOR_CHARACTERS_MAX: usize = 60;
/// Most lines that a request names.
pub(crate) const ITEMS_MAX: usize = orders::ITEMS_MAX;
/// Most units of a line: a cart has no more.
pub(crate) const QUANTITY_MAX: u32 = Quantity::MAX;

/// An order that an agent addresses.
pub(crate) struct AgentOrder {
    pub(crate) store: Arc<Store>,
    pub(crate) viewer: Viewer,
}

impl AgentOrder {
    /// Returns the store of an order, in every state of the store (docs/contract/stores.md#unavailable-exceptions), and whose
    /// orders the agent sees. Whether this order is among them is not checked. An order at a store to which the key lost
    /// access does not exist.
    async fn locate(rest: &Rest, agent: &AgentCaller, id: OrderId) -> Result<Self, ErrorResponse> {
        let merchant = orders::merchant_of(&rest.database, id).await?;
        agent.require_store(merchant).map_err(|_| OrderError::NotFound)?;
        let viewer = agent.viewer(&rest.database).await?;
        Ok(Self { store: rest.stores.find_merchant(merchant).await?, viewer })
    }

    /// Returns the store of an order and whose orders the agent sees, and adds the store to the log line of the request. An
    /// order that the agent does not see is rejected before anything else of the request, as one that does not exist.
    pub(crate) async fn find(
        rest: &Rest,
        agent: &AgentCaller,
        id: OrderId,
    ) -> Result<Self, ErrorResponse> {
        let found = Self::locate(rest, agent, id).await?;
        let merchant = found.store.merchant;
        let reading = Reading::for_store(&rest.database, merchant)?;
        orders::order(&reading, merchant, id, &found.viewer).await?;
        agent.record.set_store(&found.store.slug);
        Ok(found)
    }

    /// Returns an order that the agent sees, with everything that belongs to it.
    pub(crate) async fn read(
        rest: &Rest,
        agent: &AgentCaller,
        id: OrderId,
    ) -> Result<(Self, OrderDetails), ErrorResponse> {
        let found = Self::locate(rest, agent, id).await?;
        let merchant = found.store.merchant;
        let reading = Reading::for_store(&rest.database, merchant)?;
        let details = orders::details(&reading, merchant, id, &found.viewer).await?;
        agent.record.set_store(&found.store.slug);
        Ok((found, details))
    }

    /// Returns the record of a dispute about an order that the agent sees.
    pub(crate) async fn dispute(
        rest: &Rest,
        agent: &AgentCaller,
        order: OrderId,
        id: DisputeId,
    ) -> Result<DisputeRecord, ErrorResponse> {
        let found = Self::locate(rest, agent, order).await?;
        let merchant = found.store.merchant;
        let reading = Reading::for_store(&rest.database, merchant)?;
        let (details, dispute) =
            orders::dispute_of_order(&reading, merchant, order, id, &found.viewer).await?;
        agent.record.set_store(&found.store.slug);
        Ok(dispute.record(&details.order, found.store.slug.as_str()))
    }

    /// Returns the context of a change by the agent.
    pub(crate) fn context<'call>(
        &'call self,
        rest: &'call Rest,
        agent: &AgentCaller,
        idempotency_key: Option<&'call IdempotencyKey>,
    ) -> OrderContext<'call> {
        OrderContext {
            database: &rest.database,
            merchant: self.store.merchant,
            slug: self.store.slug.as_str(),
            actor: Actor::agent(agent.key),
            viewer: self.viewer.clone(),
            idempotency_key,
        }
    }

    /// Returns the link to the buyer's page of the order.
    pub(crate) fn page_url(&self, rest: &Rest, id: OrderId) -> String {
        let (slug, merchant) = (self.store.slug.as_str(), self.store.merchant);
        rest.credentials.order_links.url(slug, merchant, id)
    }

    /// Returns the record of the order for the agent.
    pub(crate) fn record(&self, rest: &Rest, details: &OrderDetails) -> OrderRecord {
        agent_record(rest, &self.store, details)
    }
}

/// Returns the record of an order for the agent that it belongs to, with the link to the buyer's page.
pub(crate) fn agent_record(rest: &Rest, store: &Store, details: &OrderDetails) -> OrderRecord {
    let slug = store.slug.as_str();
    let link = rest.credentials.order_links.url(slug, store.merchant, details.order.id);
    details.record(slug, Some(link))
}

/// Returns the context of a change by a merchant.
pub(crate) fn merchant_context<'call>(
    rest: &'call Rest,
    caller: &'call StoreCaller,
    idempotency_key: Option<&'call IdempotencyKey>,
) -> OrderContext<'call> {
    OrderContext {
        database: &rest.database,
        merchant: caller.merchant,
        slug: caller.store.slug.as_str(),
        actor: Actor::merchant(caller.editor.actor.to_string()),
        viewer: Viewer::Merchant,
        idempotency_key,
    }
}

/// Description of `If-Match` in requests that change an order.
pub(crate) const IF_MATCH: &str = "The version of the order that is changed, as the `ETag` of `GET /merchant/orders/{order_id}`, in place of `version` in the body. `*` is any version.";

/// Units of a line.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LineQuantity {
    /// Line of the order.
    line_id: LineId,
    /// Units.
    #[schemars(range(min = 1, max = QUANTITY_MAX))]
    quantity: u32,
}

/// Returns the units that a request names; none without a list.
pub(crate) fn units(items: Option<Vec<LineQuantity>>) -> Vec<LineUnits> {
    let items = items.unwrap_or_default().into_iter();
    items.map(|item| LineUnits { line: item.line_id, quantity: item.quantity }).collect()
}

/// The currency of the amounts of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amounts(Option<Currency>);

impl Amounts {
    /// Parses the currency. It is required with an amount, and invalid without one. `amounts` are all that the request can
    /// have.
    pub(crate) fn in_currency(
        currency: Option<&str>,
        amounts: &[Option<f64>],
    ) -> Result<Self, InvalidField> {
        let invalid = InvalidField { field: "currency" };
        match currency {
            Some(_) if amounts.iter().all(Option::is_none) => Err(invalid),
            Some(currency) => currency.parse().map(|it| Self(Some(it))).map_err(|_| invalid),
            None => Ok(Self(None)),
        }
    }

    /// Parses an amount.
    pub(crate) fn money(
        self,
        field: &'static str,
        amount: Option<f64>,
    ) -> Result<Option<Money>, InvalidField> {
        let Some(amount) = amount else { return Ok(None) };
        let currency = self.0.ok_or(InvalidField { field: "currency" })?;
        Money::from_decimal(amount, currency).map(Some).map_err(|_| InvalidField { field })
    }
}

/// Returns the record of the return that a change concerned.
pub(crate) fn changed_return(changed: &Changed, id: ReturnId) -> Result<ReturnRecord, OrderError> {
    let order = &changed.details.order;
    let found = changed.details.returns.iter().find(|it| it.id == id);
    found.map(|it| it.record(order.id, order.currency())).ok_or(OrderError::ReturnNotFound)
}

/// Returns the record of the dispute that a change concerned.
pub(crate) fn dispute_of(
    details: &OrderDetails,
    id: DisputeId,
    slug: &str,
) -> Result<DisputeRecord, OrderError> {
    let found: Option<&Dispute> = details.disputes.iter().find(|it| it.id == id);
    found.map(|it| it.record(&details.order, slug)).ok_or(OrderError::DisputeNotFound)
}

/// Returns the id of what a change concerned.
pub(crate) fn subject<I: std::str::FromStr>(changed: &Changed) -> Result<I, OrderError> {
    let subject = changed.subject.as_deref().and_then(|id| id.parse().ok());
    subject.ok_or(OrderError::Unreadable)
}
