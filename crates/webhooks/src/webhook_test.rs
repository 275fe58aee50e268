//! The payload of a test: an event that a merchant requests to see whether an endpoint works.

use primitives::{EndpointId, EventId, Timestamp};
use serde::Serialize;

use crate::EventKind;

/// A test of an endpoint.
#[derive(Debug, Clone)]
pub(crate) struct WebhookTest {
    pub(crate) endpoint: EndpointId,
    /// The slug of the store.
    pub(crate) slug: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WebhookTestBody<'event> {
    event: EventKind,
    id: EventId,
    timestamp: Timestamp,
    merchant_slug: &'event str,
    endpoint_id: EndpointId,
}

impl WebhookTest {
    /// Returns the body, byte for byte as it is sent.
    pub(crate) fn body(&self, id: EventId, at: Timestamp) -> serde_json::Result<String> {
        serde_json::to_string(&WebhookTestBody {
            event: EventKind::WebhookTest,
            id,
            timestamp: at,
            merchant_slug: &self.slug,
            endpoint_id: self.endpoint,
        })
    }
}

#[cfg(test)]
mod tests {
    use primitives::Id;

    use super::*;

    #[test]
    fn a_test_names_its_endpoint() {
        let test =
            WebhookTest { endpoint: EndpointId::from_random(1), slug: String::from("attic") };
        let at = Timestamp::from_unix_micros(1_800_000_000_000_000);
        let body = test.body(EventId::from_random(2), at).unwrap();
        assert_eq!(
            body,
            "{\"event\":\"webhook.test\",\"id\":\"evt_00000000000000000000000000000002\",\
             \"timestamp\":\"2027-01-15T08:00:00Z\",\"merchantSlug\":\"attic\",\
             \"endpointId\":\"whk_00000000000000000000000000000001\"}"
        );
    }
}
