#![doc = include_str!("../README.md")]
#![expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test that cannot be set up has failed"
)]

mod administration;
mod declared_codes;
mod redis;
mod shown;
mod store_builder;
mod template;
mod test_database;

pub use administration::administration;
pub use declared_codes::assert_codes_are_declared;
pub use redis::redis_url;
pub use shown::{Shown, ShownClient, ShownExample, ShownRequest, ShownResponse, Variables};
pub use store_builder::{StoreBuilder, TestStore, product_draft};
pub use template::Template;
pub use test_database::{START, TestDatabase};
