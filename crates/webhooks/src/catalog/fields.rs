//! What the fields of events mean.

use crate::EventKind;

/// Fields by their path. A field of several kinds means the same in all of them, unless [`meaning`] says otherwise.
const FIELDS: &[(&str, &str)] = &[
    ("event", "kind of the event"),
    ("id", "ID of the event: the same in every attempt, and in `webhook-id`"),
    ("timestamp", "time of the event, RFC 3339, UTC; not that of the attempt"),
    ("merchantSlug", "slug of the store"),
    ("orderId", "ID of the order"),
    ("totalAmount", "total of the order, in `currency`"),
    ("currency", "currency of all amounts, ISO 4217"),
    ("status", "status of the order after the event"),
    (
        "sequence",
        "position in the history of the order: sort the events of an order by it. Entries of the history that send no event leave gaps",
    ),
    ("checkoutId", "ID of the checkout session"),
    ("agentInitiated", "always true: an agent made the purchase"),
    ("humanConfirmation", "how a person confirmed the purchase"),
    ("humanConfirmation.required", "always true"),
    ("humanConfirmation.level", "`attested`, `elicited`, `hosted` or `mandate`"),
    ("items", "units that the event is about"),
    ("items[].lineId", "line of the cart and the order"),
    ("items[].productId", "ID of the product"),
    ("items[].variantId", "ID of the variant; absent without variants"),
    ("items[].sku", "SKU"),
    ("items[].quantity", "units"),
    ("items[].unitPrice", "price of one unit, in `currency`"),
    ("previousStatus", "status before the event"),
    ("reason", "code of the reason, or null"),
    ("changedBy", "`agent`, `buyer`, `merchant`, `platform` or `system`"),
    ("fulfillment", "the shipment, if the change is one; otherwise null"),
    ("fulfillment.id", "ID of the shipment"),
    ("fulfillment.carrier", "carrier, or null"),
    ("fulfillment.trackingNumber", "tracking number, or null"),
    ("fulfillment.trackingUrl", "page of the shipment, or null"),
    ("fulfillment.items", "units of the shipment"),
    ("fulfillment.items[].lineId", "line of the order"),
    ("fulfillment.items[].quantity", "units"),
    (
        "fields",
        "what changed: `destination`, `note`, `items` (units were canceled), `payment_status`",
    ),
    ("refundId", "ID of the refund"),
    ("amount", "amount of the refund, in `currency`"),
    ("refundedTotal", "sum of all refunds of the order"),
    ("returnId", "ID of the return"),
    ("returnStatus", "status of the return"),
    ("previousReturnStatus", "status of the return before the event"),
    ("outcome", "what the buyer asked for: `refund`, `exchange`, `store_credit` or `replacement`"),
    ("disputeId", "ID of the dispute"),
    ("disputeStatus", "`open`, `under_review`, `resolved` or `withdrawn`"),
    ("disputeReason", "what the dispute is about"),
    ("resolution", "`buyer`, `merchant` or `agreement`; absent unless it was decided or agreed"),
    ("refundAmount", "refund that you have to make, in `currency`; absent if there is none"),
    ("respondBy", "until when you may answer"),
    ("cartId", "ID of the cart"),
    ("stage", "status of the checkout before it ended"),
    ("startedAt", "when the checkout started"),
    ("lastActivityAt", "last activity of the agent or the buyer"),
    ("reasonCode", "code of the cancellation, or null"),
    ("recoveryUrl", "page of your shop with the same items, or null"),
    ("endpointId", "ID of the endpoint"),
    ("score", "trust score in force, 0 to 1; null while the store is unscored"),
    ("previousScore", "trust score before; null if there was none"),
    ("band", "label of the score; null while the store is unscored"),
    ("previousBand", "label of the score before; null if there was none"),
    ("provisional", "whether the store has fewer than twenty delivered orders"),
    ("suspended", "whether the score suspends the store"),
    ("previouslySuspended", "whether the score before suspended the store"),
    ("methodologyVersion", "version of the methodology in force"),
    ("suspensionThreshold", "score at which a suspension ends"),
    ("ends", "what would end the suspension; null unless the store is suspended"),
    ("ends.when", "the rule"),
    ("ends.pointsMissing", "what the score lacks of the threshold"),
    ("ends.nextComputationAt", "by when the next score is computed"),
    ("reasons", "components that cost most, the largest loss first"),
    ("reasons[].component", "name of the component, or of the dimension of methodology 4.1.0"),
    ("reasons[].value", "its value, 0 to 1"),
    ("reasons[].pointsLost", "what the score would gain if the value were 1"),
    ("reasons[].remedy", "what improves it"),
];

/// Fields that have another meaning in one kind.
const OF_KIND: &[(EventKind, &str, &str)] = &[
    (EventKind::OrderCreated, "sequence", "position in the history of the order: always 1"),
    (EventKind::OrderCreated, "items", "lines of the order"),
    (
        EventKind::OrderCreated,
        "status",
        "first status of the order: `pending`, or `manual_review` after a late payment",
    ),
    (EventKind::OrderRefunded, "returnId", "the return that it settles; absent without one"),
    (EventKind::CheckoutAbandoned, "totalAmount", "total of the checkout, in `currency`"),
    (EventKind::CheckoutAbandoned, "status", "`expired` or `canceled`"),
    (EventKind::CheckoutAbandoned, "items", "lines of the checkout"),
];

/// Returns what a field means.
pub(super) fn meaning(kind: EventKind, path: &str) -> Option<&'static str> {
    let of_kind = OF_KIND.iter().find(|(other, name, _)| *other == kind && *name == path);
    let general = || FIELDS.iter().find(|(name, _)| *name == path).map(|(_, meaning)| *meaning);
    of_kind.map(|(.., meaning)| *meaning).or_else(general)
}

/// Returns the paths that are described.
#[cfg(test)]
pub(super) fn described() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|(path, _)| *path).chain(OF_KIND.iter().map(|(_, path, _)| *path))
}
