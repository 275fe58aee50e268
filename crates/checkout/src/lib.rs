#![doc = include_str!("../README.md")]

mod abandon;
mod agent_activity;
mod agent_pay;
mod alarm;
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
mod late;
mod machine;
mod observe;
mod open_page;
mod page_methods;
mod pay;
mod payment_page;
mod payment_webhook;
mod purge;
mod read;
mod reconcile;
mod record;
mod record_refunds;
mod refund_payment;
mod report;
mod revalidate;
mod session;
mod settle;
mod table;
mod update;

pub use abandon::abandon_payment;
pub use agent_activity::{ActiveDay, AgentActivity, agent_activity};
pub use agent_pay::{
    AGENT_PAYMENT_ERRORS, AGENT_PAYMENT_PATH, AgentPayment, AgentPaymentError, AgentPaymentRecord,
    AgentPaymentRequest, AgentPaymentStatus, agent_payment, pay_by_agent,
};
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
pub use observe::{observe_payment, refresh_payment};
pub use open_page::{OpenPage, open_page};
pub use orders::ConfirmationLevel;
pub use page_methods::{PageMethod, PageMethods};
pub use pay::{PayRequest, PayResult, pay};
pub use payment_page::PaymentPage;
pub use payment_webhook::{ObservePayment, PaymentWebhook, receive_webhook};
pub use purge::{EVENT_LIFETIME, PurgeCarts, PurgeCheckoutEvents};
pub use read::{SessionsFilter, merchant_of, session, sessions};
pub use reconcile::ReconcilePayments;
pub use record::{
    ConfirmationRecord, HumanConfirmationRecord, OrderSummary, SessionLine, SessionMerchant,
    SessionMessage, SessionOrder, SessionRecord, SessionTotals,
};
pub use record_refunds::RecordRefunds;
pub use refund_payment::{ReconcileRefunds, RefundRequest, refund_payment};
pub use report::{PaymentReport, ReportedAmounts, report_paid};
pub use session::{
    Amounts, NewSession, SESSION_LIFETIME, SESSION_LIFETIME_MAX, Session, SessionSnapshot,
};
pub use update::{Update, decline, update};
