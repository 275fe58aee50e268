//! All SQL of this crate.

mod bulk;
mod category;
mod history;
mod hold;
mod offer;
mod product;
mod quality;
mod read;
mod review;
mod run;
mod scan;
mod variant;

pub(crate) use bulk::{products_after, products_of};
pub(crate) use category::{categories, count_products, departments, ensure, put_category};
pub(crate) use history::{PriceLine, PriceRow, append, prices};
pub(crate) use hold::{
    end_sandbox_hold, forget_sandbox_stock, give_units_back, hold_in_sandbox, hold_units,
    lock_products, sandbox_taken, sell_units,
};
pub(crate) use offer::{hold, write_offers};
pub(crate) use product::{
    Known, confirm, hold_existing, insert, known, retire, update, visible_count,
};
pub(crate) use quality::{failing, measure, put_quality, quality};
pub use read::Lookup;
pub(crate) use read::{deals, find, newest, owner, sellers};
pub(crate) use review::{put_reviews, reviewed, reviews};
pub(crate) use run::{
    Listed, accept_run, advance_run, chunk, drop_chunks, end_orphans, end_run, faults, insert_run,
    is_outdated, listed, note_progress, put_chunk, put_faults, run, runs, state, supersede_older,
    unfinished,
};
pub(crate) use scan::scan;
pub(crate) use variant::{drop_others, held_variants, put_variants, variant_id};

/// A value of ours that PostgreSQL holds in a form nobody writes.
fn unreadable(what: &str) -> sqlx::Error {
    sqlx::Error::Decode(what.into())
}
