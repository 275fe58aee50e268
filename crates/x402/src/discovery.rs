//! The document at `/.well-known/x402`, by which crawlers find what can be paid for.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bounded;
use crate::requirements::PaymentRequirements;
use crate::version::ProtocolVersion;

/// The version of the document, which the protocol does not specify: its readers ask for 1.
const DOCUMENT_VERSION: u32 = 1;

/// What can be paid for. A superset of the two shapes in use: a list of URLs, and a list of resources with their terms. The
/// 402 response of a resource is authoritative.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Discovery {
    version: u32,
    #[serde(rename = "x402Version")]
    protocol: ProtocolVersion,
    /// Absolute URLs.
    resources: Vec<String>,
    items: Vec<DiscoveredResource>,
    /// How to use the resources, for agents; Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
}

/// A resource, in the form of the protocol's discovery API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveredResource {
    /// The absolute URL.
    pub resource: String,
    #[serde(rename = "type")]
    pub kind: ResourceKind,
    #[serde(rename = "x402Version")]
    pub version: ProtocolVersion,
    /// Empty if the terms depend on the request.
    pub accepts: Vec<PaymentRequirements>,
    /// Unix seconds.
    pub last_updated: i64,
    #[serde(default, deserialize_with = "bounded::object", skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

primitives::text_enum! {
    /// How a resource is requested.
    #[strum(serialize_all = "snake_case")]
    pub enum ResourceKind {
        Http,
        Mcp,
    }
}

impl Discovery {
    /// Returns the document for these resources.
    #[must_use]
    pub fn new(items: Vec<DiscoveredResource>, instructions: Option<String>) -> Self {
        Self {
            version: DOCUMENT_VERSION,
            protocol: ProtocolVersion,
            resources: items.iter().map(|item| item.resource.clone()).collect(),
            items,
            instructions,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_document_has_both_shapes() {
        let item = DiscoveredResource {
            resource: "https://souk.example/api/v1/agent/payment".to_owned(),
            kind: ResourceKind::Http,
            version: ProtocolVersion,
            accepts: Vec::new(),
            last_updated: 1_800_000_000,
            metadata: Map::new(),
        };
        let discovery = Discovery::new(vec![item], None);
        let expected = json!({
            "version": 1,
            "x402Version": 2,
            "resources": ["https://souk.example/api/v1/agent/payment"],
            "items": [{
                "resource": "https://souk.example/api/v1/agent/payment",
                "type": "http",
                "x402Version": 2,
                "accepts": [],
                "lastUpdated": 1_800_000_000
            }]
        });
        assert_eq!(serde_json::to_value(&discovery).unwrap(), expected);
        assert_eq!(serde_json::from_value::<Discovery>(expected).unwrap(), discovery);
    }
}
