#![doc = include_str!("../README.md")]

mod component;
mod computation;
mod error;
mod methodology;
mod record;
mod table;

pub use component::{Component, Evidence};
pub use computation::{Basis, Computation, append, history, latest};
pub use error::TrustError;
pub use methodology::{Dimensions, DisputeProcess, METHODOLOGY_VERSION, Methodology, Threshold};
pub use record::{ComponentRecord, HistoryPoint, HistoryRecord, ScoreRecord};
