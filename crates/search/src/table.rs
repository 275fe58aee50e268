//! All SQL of this crate.

mod generation;
mod insight;
mod shard;

pub(crate) use generation::{
    insert_generation, lock_generations, remove_generation, retire, retire_older_forms,
    retired_before, serve,
};
pub(crate) use insight::{Order, add_tallies, remove_tallies, store_tallies, tallies};
pub(crate) use shard::{
    Held, Publication, ShardRow, publish, release_lease, renew_lease, report_damage, shards,
    step_lease, take_lease,
};
