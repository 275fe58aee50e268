#![doc = include_str!("../README.md")]

mod cancel;
mod complete;
mod confirmation;
mod context;
mod create;
mod error;
mod event;
mod expire;
mod gateway;
mod idempotency;
mod input;
mod machine;
mod pay;
mod purge;
mod read;
mod reconcile;
mod record;
mod report;
mod revalidate;
mod session;
mod table;
mod update;

pub use cancel::cancel;
pub use complete::{Complete, Source, complete};
pub use confirmation::{
    CONFIRMATION_LIFETIME, CONFIRMATION_TRANSITIONS, Confirmation, ConfirmationProof,
    ConfirmationRequest, ConfirmationStatus, Decision, Elicitation, ElicitationResponse,
    ProofClaim, ProofRejection, confirmation, decide, request,
};
pub use context::CheckoutContext;
pub use create::create;
pub use error::{
    CANCEL_ERRORS, COMPLETE_ERRORS, CheckoutError, PriceChange, READ_ERRORS, REPORT_ERRORS,
    UPDATE_ERRORS,
};
pub use expire::ExpireSessions;
pub use gateway::PaymentGateway;
pub use input::{Metadata, ProofRequest, ReasonCode, ReturnUrl};
pub use machine::{INITIAL_STATUSES, Status, TRANSITIONS, Transition, state_diagram};
pub use orders::ConfirmationLevel;
pub use pay::pay;
pub use purge::PurgeSandboxes;
pub use read::{merchant_of, session};
pub use reconcile::ReconcilePayments;
pub use record::{
    ConfirmationRecord, HumanConfirmationRecord, OrderSummary, SessionLine, SessionMerchant,
    SessionMessage, SessionOrder, SessionRecord, SessionTotals,
};
pub use report::{PaymentReport, report_paid};
pub use session::{NewSession, SESSION_LIFETIME, Session, SessionSnapshot};
pub use update::{Update, decline, update};
