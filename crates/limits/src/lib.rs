#![doc = include_str!("../README.md")]

mod caller;
mod charge;
mod gate;
mod headers;
mod limiter;
mod local;
mod places;
mod refusal;
mod shared;
mod verdict;

pub use caller::Caller;
pub use charge::{Bucket, Charge, Class, tier_limit};
pub use gate::{Entered, Gate};
pub use headers::write_refusal;
pub use limiter::Limiter;
pub use places::{Place, Places};
pub use refusal::Limited;
pub use verdict::Verdict;
