//! Kinds of webhook events (docs/contract/webhooks.md#events).

primitives::text_enum! {
    // A `CHECK` of the tables has the same names.
    /// Kind of a webhook event.
    #[derive(schemars::JsonSchema)]
    pub enum EventKind {
        #[strum(serialize = "order.created")]
        #[schemars(rename = "order.created")]
        OrderCreated,
        #[strum(serialize = "order.status_changed")]
        #[schemars(rename = "order.status_changed")]
        OrderStatusChanged,
        #[strum(serialize = "order.updated")]
        #[schemars(rename = "order.updated")]
        OrderUpdated,
        #[strum(serialize = "order.refunded")]
        #[schemars(rename = "order.refunded")]
        OrderRefunded,
        #[strum(serialize = "return.created")]
        #[schemars(rename = "return.created")]
        ReturnCreated,
        #[strum(serialize = "return.updated")]
        #[schemars(rename = "return.updated")]
        ReturnUpdated,
        #[strum(serialize = "dispute.opened")]
        #[schemars(rename = "dispute.opened")]
        DisputeOpened,
        #[strum(serialize = "dispute.resolved")]
        #[schemars(rename = "dispute.resolved")]
        DisputeResolved,
        #[strum(serialize = "checkout.abandoned")]
        #[schemars(rename = "checkout.abandoned")]
        CheckoutAbandoned,
        #[strum(serialize = "trust.score_changed")]
        #[schemars(rename = "trust.score_changed")]
        TrustScoreChanged,
        // A test that the merchant requested, which is sent to one endpoint, whatever its filter. Not a doc comment: a schema in
        // which some values are described and others are not is no plain `enum`.
        #[strum(serialize = "webhook.test")]
        #[schemars(rename = "webhook.test")]
        WebhookTest,
    }
}

impl EventKind {
    /// The kinds of an endpoint for which none are requested.
    pub const DEFAULT: &'static [Self] =
        &[Self::OrderCreated, Self::OrderStatusChanged, Self::CheckoutAbandoned];

    /// Returns whether an endpoint can ask for events of this kind.
    #[must_use]
    pub const fn is_selectable(self) -> bool {
        !matches!(self, Self::WebhookTest)
    }

    /// Returns the kinds that an endpoint can ask for.
    pub fn selectable() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|kind| kind.is_selectable())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_can_ask_for_every_kind_but_the_test() {
        assert_eq!(EventKind::selectable().count(), EventKind::ALL.len() - 1);
        assert!(!EventKind::WebhookTest.is_selectable());
        assert!(EventKind::DEFAULT.iter().all(|kind| kind.is_selectable()));
    }

    #[test]
    fn the_schema_has_the_names_of_the_wire() {
        let schema = schemars::schema_for!(EventKind).as_value().to_string();
        for kind in EventKind::ALL {
            assert!(schema.contains(&format!("\"{kind}\"")), "{kind} is missing in {schema}");
        }
    }
}
