//! The response to a request without payment.

use serde::{Deserialize, Serialize};

use crate::bounded;
use crate::document::Document;
use crate::extensions::Extensions;
use crate::requirements::PaymentRequirements;
use crate::version::ProtocolVersion;

/// Alternatives that are offered at most.
const ACCEPTS_MAX: usize = 16;

/// What is paid for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceInfo {
    #[serde(deserialize_with = "bounded::text::<2_048, _>")]
    pub url: String,
    #[serde(
        default,
        deserialize_with = "bounded::optional_text::<1_024, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    #[serde(
        default,
        deserialize_with = "bounded::optional_text::<128, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub mime_type: Option<String>,
}

/// Tells an agent how to pay: the header of a 402 response, or the result of an MCP tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentRequired {
    #[serde(rename = "x402Version")]
    pub version: ProtocolVersion,
    /// Why payment is required, for people.
    #[serde(
        default,
        deserialize_with = "bounded::optional_text::<1_024, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub error: Option<String>,
    pub resource: ResourceInfo,
    /// Alternatives, of which the payer takes one.
    #[serde(deserialize_with = "bounded::list::<ACCEPTS_MAX, _, _>")]
    pub accepts: Vec<PaymentRequirements>,
    #[serde(default, skip_serializing_if = "Extensions::is_empty")]
    pub extensions: Extensions,
}

impl Document for PaymentRequired {
    const HEADER: &'static str = "payment-required";
}
