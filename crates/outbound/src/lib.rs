#![doc = include_str!("../README.md")]

mod address;
mod classify;
mod client;
mod destination;
mod error;
mod idle_hosts;
mod policy;
mod port;
mod resolver;
mod response;
mod settings;

pub use address::{NAT64, is_public};
pub use client::Client;
pub use destination::{Destination, URL_MAX_BYTES};
pub use error::{ClientError, DestinationError, RequestError};
pub use policy::Policy;
pub use response::{RESPONSE_MAX_BYTES, Response};
pub use settings::{Settings, TOTAL_TIMEOUT};
