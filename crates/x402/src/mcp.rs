//! Where documents are in MCP.
//!
//! A tool that requires payment returns a result with `isError` and a [`PaymentRequired`](crate::PaymentRequired), both as
//! `structuredContent` and as the text of its first content. It is a result and no error of JSON-RPC.

/// The key of a [`PaymentPayload`](crate::PaymentPayload) in `_meta` of the parameters of `tools/call`.
pub const PAYMENT_KEY: &str = "x402/payment";

/// The key of a [`SettlementResponse`](crate::SettlementResponse) in `_meta` of the result.
pub const PAYMENT_RESPONSE_KEY: &str = "x402/payment-response";
