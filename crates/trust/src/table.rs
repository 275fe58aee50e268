//! All SQL of this crate, by subject.

pub(crate) mod adverse_orders;
pub(crate) mod alert;
pub(crate) mod backfill;
pub(crate) mod detail;
pub(crate) mod epoch;
pub(crate) mod failure;
pub(crate) mod history;
pub(crate) mod recomputation;
pub(crate) mod rollup;
pub(crate) mod score;
pub(crate) mod state;
pub(crate) mod status;
