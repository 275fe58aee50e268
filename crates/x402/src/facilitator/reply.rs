//! What the responses of a facilitator mean, and what a missing response means.

use std::collections::BTreeMap;

use http::StatusCode;
use outbound::{RequestError, Response};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::hexadecimal::TransactionHash;
use crate::requirements::PaymentRequirements;
use crate::settlement_response::SETTLEMENT_PENDING;
use crate::version::PROTOCOL_VERSION;

/// Characters of a facilitator's reason that are kept.
const REASON_CHARS_MAX: usize = 128;

/// What became of a request to settle a payment. None of it proves that the payer has paid or has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettleOutcome {
    /// The facilitator says that it settled the payment, in this transaction.
    Claimed { transaction: TransactionHash },
    /// The request was sent, or may have been sent: the payer may have paid, or may pay until the authorization expires.
    Unknown {
        reason: UnknownReason,
        /// A transaction that the facilitator named.
        hint: Option<TransactionHash>,
        /// What the facilitator gave as its reason: untrusted, and different in every implementation.
        facilitator_reason: Option<String>,
    },
    /// The request did not leave this process.
    NotSent { error: RequestError },
}

primitives::text_enum! {
    /// Why it is not known whether a payment was settled.
    #[strum(serialize_all = "snake_case")]
    pub enum UnknownReason {
        /// There was no complete response in time.
        Timeout,
        /// The connection failed while the request or its response was on the way.
        ConnectionLost,
        /// The facilitator submitted the transaction and has not seen it in a block.
        SettlementPending,
        /// The facilitator says that it failed. The transfer may have been made nevertheless, also by somebody else.
        ReportedFailure,
        /// The facilitator claims success without a transaction.
        MissingTransaction,
        ServerError,
        UnexpectedStatus,
        MalformedResponse,
    }
}

/// The opinion of a facilitator before settlement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerifyOutcome {
    Valid,
    /// With what the facilitator gave as its reason: untrusted, and different in every implementation.
    Invalid {
        facilitator_reason: Option<String>,
    },
}

/// Why a facilitator gave no opinion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FacilitatorError {
    #[error("the facilitator did not respond: {}", .0.message())]
    Request(RequestError),
    #[error("the facilitator responded with status {0}")]
    Status(StatusCode),
    #[error("the response of the facilitator is malformed")]
    Malformed,
}

/// What a facilitator can settle.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Supported {
    pub kinds: Vec<SupportedKind>,
    #[serde(default)]
    pub extensions: Vec<String>,
    /// Accounts that submit transactions, by patterns of networks.
    #[serde(default)]
    pub signers: BTreeMap<String, Vec<String>>,
}

/// A scheme on a network. Facilitators also list networks that are no EVM chains.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SupportedKind {
    #[serde(rename = "x402Version")]
    pub version: u64,
    pub scheme: String,
    pub network: String,
}

impl Supported {
    /// Returns whether the facilitator settles payments with these requirements.
    #[must_use]
    pub fn includes(&self, requirements: &PaymentRequirements) -> bool {
        let network = requirements.network.to_string();
        self.kinds.iter().any(|kind| {
            kind.version == PROTOCOL_VERSION
                && kind.scheme == requirements.scheme
                && kind.network == network
        })
    }
}

/// The response to `/settle`, as far as it is read. Implementations differ in all other fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SettleReply {
    success: bool,
    #[serde(default, deserialize_with = "reason")]
    error_reason: Option<String>,
    #[serde(default, deserialize_with = "transaction")]
    transaction: Option<TransactionHash>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VerifyReply {
    is_valid: bool,
    #[serde(default, deserialize_with = "reason")]
    invalid_reason: Option<String>,
}

pub(super) fn settled(response: Result<Response, RequestError>) -> SettleOutcome {
    let error = match response {
        Ok(response) => return settle_reply(&response),
        Err(error) if error.is_before_sending() => return SettleOutcome::NotSent { error },
        Err(error) => error,
    };
    let reason = match error {
        RequestError::Timeout => UnknownReason::Timeout,
        RequestError::InvalidResponse => UnknownReason::MalformedResponse,
        _ => UnknownReason::ConnectionLost,
    };
    SettleOutcome::Unknown { reason, hint: None, facilitator_reason: None }
}

fn settle_reply(response: &Response) -> SettleOutcome {
    let reply = serde_json::from_slice::<SettleReply>(&response.body).ok();
    let is_success = response.status.is_success();
    let (success, reason, transaction) = match reply {
        Some(reply) => (reply.success, reply.error_reason, reply.transaction),
        None if is_success => return malformed(),
        None => (false, None, None),
    };
    if let (true, true, Some(transaction)) = (is_success, success, transaction) {
        return SettleOutcome::Claimed { transaction };
    }
    let unknown = if reason.as_deref() == Some(SETTLEMENT_PENDING) {
        UnknownReason::SettlementPending
    } else if response.status.is_server_error() {
        UnknownReason::ServerError
    } else if !is_success {
        UnknownReason::UnexpectedStatus
    } else if success {
        UnknownReason::MissingTransaction
    } else {
        UnknownReason::ReportedFailure
    };
    SettleOutcome::Unknown { reason: unknown, hint: transaction, facilitator_reason: reason }
}

fn malformed() -> SettleOutcome {
    let reason = UnknownReason::MalformedResponse;
    SettleOutcome::Unknown { reason, hint: None, facilitator_reason: None }
}

pub(super) fn verified(response: &Response) -> Result<VerifyOutcome, FacilitatorError> {
    let status = response.status;
    let reply = serde_json::from_slice::<VerifyReply>(&response.body);
    match reply {
        Ok(reply) if reply.is_valid && status.is_success() => Ok(VerifyOutcome::Valid),
        // Some implementations respond with a client error.
        Ok(reply) if !reply.is_valid && !status.is_server_error() => {
            Ok(VerifyOutcome::Invalid { facilitator_reason: reply.invalid_reason })
        }
        Err(_) if status.is_success() => Err(FacilitatorError::Malformed),
        _ => Err(FacilitatorError::Status(status)),
    }
}

pub(super) fn supported(response: &Response) -> Result<Supported, FacilitatorError> {
    if !response.status.is_success() {
        return Err(FacilitatorError::Status(response.status));
    }
    serde_json::from_slice(&response.body).map_err(|_| FacilitatorError::Malformed)
}

/// Reads the reason, whatever its type, without control characters.
fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = match Value::deserialize(deserializer)? {
        Value::String(text) if !text.is_empty() => text,
        _ => return Ok(None),
    };
    let kept = text.chars().filter(|character| !character.is_control()).take(REASON_CHARS_MAX);
    Ok(Some(kept.collect()))
}

/// Reads the hash, or nothing if it is something else: a wrong hint is no reason to lose the rest of the response.
fn transaction<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<TransactionHash>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(value.as_str().and_then(|text| text.parse().ok()))
}

#[cfg(test)]
mod tests;
