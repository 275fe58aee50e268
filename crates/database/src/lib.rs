#![doc = include_str!("../README.md")]

mod cells;
mod clock;
mod crash_point;
mod dice;
mod error;
mod migrations;
mod pool;
mod reading;
mod tenant;
mod work;

pub use cells::{CellName, SHARDS, shard_of};
pub use clock::Clock;
pub use crash_point::crash_point;
pub use dice::Dice;
pub use error::DatabaseError;
pub use pool::{Database, PoolState, Settings};
pub use reading::{Reading, Snapshot};
pub use work::Work;
