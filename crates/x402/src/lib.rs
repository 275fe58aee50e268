#![doc = include_str!("../README.md")]

mod bounded;
mod chain;
mod contract;
mod decimal;
mod discovery;
mod document;
mod extensions;
mod facilitator;
mod hexadecimal;
pub mod mcp;
mod network;
mod payload;
mod payment_required;
mod requirements;
mod resolve;
mod settlement_response;
mod verify;
mod version;

pub use chain::{
    AccountSnapshot, AuthorizationEvent, AuthorizationEventKind, Block, BlockName,
    CHAIN_RESPONSE_MAX_BYTES, ChainError, ChainReader, EVENT_BLOCKS_MAX, Log, Receipt,
};
pub use decimal::{AtomicAmount, InvalidDecimal};
pub use discovery::{DiscoveredResource, Discovery, ResourceKind};
pub use document::{DOCUMENT_MAX_BYTES, Document, FieldError, HEADER_MAX_BYTES};
pub use extensions::{Extensions, InvalidPaymentIdentifier, PaymentIdentifier};
pub use facilitator::{
    FACILITATOR_TIMEOUT, Facilitator, FacilitatorError, SettleOutcome, Supported, SupportedKind,
    UnknownReason, VerifyOutcome,
};
pub use hexadecimal::{Address, BlockHash, InvalidHexadecimal, Nonce, TransactionHash};
pub use network::{InvalidNetwork, Network};
pub use payload::{
    Authorization, InvalidSignature, PaymentPayload, Signature, SignedAuthorization,
};
pub use payment_required::{PaymentRequired, ResourceInfo};
pub use requirements::{PaymentRequirements, SCHEME_EXACT, Token};
pub use resolve::{FailureReason, Finality, Observation, PendingReason, Resolution, decide};
pub use settlement_response::{SETTLEMENT_PENDING, SettlementResponse};
pub use verify::{
    AuthorizedTransfer, CLOCK_ALLOWANCE_SECONDS, EXPIRY_MARGIN_SECONDS, Rejection,
    VerifiedAuthorization, verify,
};
pub use version::{PROTOCOL_VERSION, ProtocolVersion};
