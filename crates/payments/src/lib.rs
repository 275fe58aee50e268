#![doc = include_str!("../README.md")]

mod error;
mod method;
mod payment;
mod provider;
mod table;
mod test_provider;

pub use error::PaymentError;
pub use method::PaymentMethod;
pub use payment::{Payment, PaymentStatus, begin, end, paid, stuck};
pub use provider::{Answer, Asked, Outcome, Provider, Unanswered};
pub use test_provider::{TestInstrument, TestProvider};
