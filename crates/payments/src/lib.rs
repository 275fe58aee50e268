#![doc = include_str!("../README.md")]

mod error;
mod method;
mod payment;
mod provider;
mod table;
mod test_provider;

pub use error::PaymentError;
pub use method::{PaymentHandler, PaymentMethod, PaymentType};
pub use payment::{
    Payment, PaymentStatus, create, find, find_paid, find_pending, purge, record_outcome,
};
pub use provider::{ChargeFuture, ChargeOutcome, ChargeRequest, Provider, ProviderUnavailable};
pub use test_provider::{TestInstrument, TestProvider};
