#![doc = include_str!("../README.md")]

mod abandon;
mod complete;
mod confirmation;
mod counter;
mod create;
mod error;
mod event;
mod forget;
mod look;
mod machine;
mod merchant;
mod once;
mod pay;
mod read;
mod record;
mod session;
mod table;
mod update;

pub use abandon::{NoticeAbandoned, cancel};
pub use complete::{Complete, complete};
pub use confirmation::{
    Confirmation, ConfirmationStatus, Decision, ProofFault, Requested, confirmation, decide,
    elicit, request,
};
pub use counter::Counter;
pub use create::{NewSession, create};
pub use error::CheckoutError;
pub use forget::ForgetSandboxes;
pub use machine::{STEPS, Status, Step, picture};
pub use merchant::{Reported, report_paid};
pub use pay::{AskAgain, Till, pay};
pub use read::{At, owner_of, session};
pub use record::{
    ConfirmationRecord, HumanConfirmationRecord, OrderSummary, SessionLine, SessionMerchant,
    SessionMessage, SessionOrder, SessionRecord, SessionTotals,
};
pub use session::{LIFETIME, Session};
pub use update::{Update, turn_back, update};
