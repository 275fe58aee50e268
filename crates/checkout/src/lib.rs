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
pub use complete::{Complete, complete};
pub use confirmation::{
    CONFIRMATION_LIFETIME, Confirmation, ConfirmationRequest, ConfirmationStatus, Decision,
    ProofRejection, confirmation, decide, elicit, request,
};
pub use context::CheckoutContext;
pub use create::{NewSession, create};
pub use error::{CheckoutError, PriceChange};
pub use expire::ExpireSessions;
pub use gateway::PaymentGateway;
pub use machine::{Status, TRANSITIONS, Transition, state_diagram};
pub use pay::pay;
pub use purge::PurgeSandboxes;
pub use read::{SessionSnapshot, merchant_of, session};
pub use reconcile::ReconcilePayments;
pub use record::{
    ConfirmationRecord, HumanConfirmationRecord, OrderSummary, SessionLine, SessionMerchant,
    SessionMessage, SessionOrder, SessionRecord, SessionTotals,
};
pub use report::{PaymentReport, report_paid};
pub use session::{ConfirmationProof, SESSION_LIFETIME, Session};
pub use update::{Update, decline, update};
