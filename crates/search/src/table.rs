//! All SQL of this crate.

mod analytics;
mod bulk;
mod generation;
mod shard;
mod skipped;

pub(crate) use analytics::{Order, add_tallies, remove_tallies, store_tallies, tallies};
pub(crate) use bulk::{WaitingChange, bulk_stores, delete_bulk, next_bulk, put_bulk};
pub(crate) use generation::{
    insert_generation, lock_generations, mark_serving, remove_generation, retire, retire_all,
    retire_older_formats, retired_before,
};
pub(crate) use shard::{
    CaughtUpTimes, LeasedShard, Publication, ShardRow, acquire_lease, lock_lease, publish,
    release_lease, renew_lease, report_damage, shards,
};
pub(crate) use skipped::{delete_skipped, put_skipped, skipped};
