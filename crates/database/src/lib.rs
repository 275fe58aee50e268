#![doc = include_str!("../README.md")]

mod cells;
mod clock;
mod crash_point;
mod error;
mod migrations;
mod pool;
mod random_source;
mod reading;
mod server_info;
mod statement_timeout;
mod store_permits;
mod tenant;
mod work;

pub use cells::{CellName, SHARDS, shard_of};
pub use clock::Clock;
pub use crash_point::{crash_point, crash_point_of};
pub use error::DatabaseError;
pub use pool::{Database, PoolState, Settings};
pub use random_source::RandomSource;
pub use reading::{Reading, Snapshot};
pub use server_info::ServerInfo;
pub use statement_timeout::set_statement_timeout;
pub use work::Work;
