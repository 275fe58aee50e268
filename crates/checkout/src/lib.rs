#![doc = include_str!("../README.md")]

mod agent_activity;
mod cancel;
mod complete;
mod confirmation;
mod context;
mod create;
mod deliver;
mod erase;
mod error;
mod event;
mod expire;
mod gateway;
mod holds;
mod idempotency;
mod import;
mod input;
mod machine;
mod pay;
mod payment_page;
mod purge;
mod read;
mod reconcile;
mod record;
mod report;
mod revalidate;
mod session;
mod table;
mod update;

pub use agent_activity::{ActiveDay, AgentActivity, agent_activity};
pub use cancel::{cancel, release, release_by_operator};
pub use complete::{Complete, Source, complete};
pub use confirmation::{
    CONFIRMATION_LIFETIME, CONFIRMATION_TRANSITIONS, Confirmation, ConfirmationProof,
    ConfirmationRequest, ConfirmationStatus, DECLINE_LIFETIME, Decision, Elicitation,
    ElicitationResponse, ProofClaim, ProofRejection, Visitor, confirmation, decide, declined_until,
    request,
};
pub use context::{CheckoutCaller, CheckoutContext};
pub use create::create;
pub use deliver::deliver;
pub use erase::{Erased, erase_buyer};
pub use error::{
    CANCEL_ERRORS, COMPLETE_ERRORS, CheckoutError, PriceChange, READ_ERRORS, RELEASE_ERRORS,
    REPORT_ERRORS, UPDATE_ERRORS,
};
pub use expire::ExpireSessions;
pub use gateway::PaymentGateway;
pub use holds::hold_limits;
pub use import::{PastCheckout, PastReport, import};
pub use input::{Metadata, ProofRequest, ReasonCode, ReturnUrl};
pub use machine::{INITIAL_STATUSES, Status, TRANSITIONS, Transition, state_diagram};
pub use orders::ConfirmationLevel;
pub use pay::{PayRequest, PayResult, pay};
pub use payment_page::PaymentPage;
pub use purge::{EVENT_LIFETIME, PurgeCarts, PurgeCheckoutEvents};
pub use read::{SessionsFilter, merchant_of, session, sessions};
pub use reconcile::ReconcilePayments;
pub use record::{
    ConfirmationRecord, HumanConfirmationRecord, OrderSummary, SessionLine, SessionMerchant,
    SessionMessage, SessionOrder, SessionRecord, SessionTotals,
};
pub use report::{PaymentReport, ReportedAmounts, report_paid};
pub use session::{
    Amounts, NewSession, SESSION_LIFETIME, SESSION_LIFETIME_MAX, Session, SessionSnapshot,
};
pub use update::{Update, decline, update};
