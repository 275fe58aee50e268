//! All SQL of this crate.

mod bulk;
mod category;
mod fallback_search;
mod feed_run;
mod history;
mod hold;
mod offer;
mod own_products;
mod product;
mod purge;
mod quality;
mod quota;
mod read;
mod restock;
mod review;
mod row_error;
mod variant;

pub(crate) use bulk::{keys_after, products_after, products_of};
pub(crate) use category::{
    categories, count_products, ensure_categories, put_category, top_level_names,
};
pub(crate) use fallback_search::fallback_search;
pub(crate) use feed_run::{
    ActiveRun, ListedProduct, active_run, advance_run, chunk, end_run, insert_run, is_outdated,
    listed_products, put_chunk, queue_run, record_progress, run, runs, state, supersede_older,
    unfinished,
};
pub(crate) use history::{PriceChange, append_prices, prices};
pub(crate) use hold::{
    end_sandbox_hold, hold_in_sandbox, hold_units, lock_products, purge_sandbox_stock,
    release_units, sandbox_units, sell_units, stock_and_held,
};
pub(crate) use offer::{listed_external_id, lock_offers, prices_due, set_price_due, write_offers};
pub(crate) use own_products::{
    count_own_products, listed_after, nth_external_id, own_products, products_in_any_state,
    stored_products,
};
pub(crate) use product::{
    ExistingProduct, confirm_products, existing_products, insert_products, lock_existing_products,
    other_external_ids, put_fingerprints, retire_products, update_products, visible_count,
};
pub(crate) use purge::{
    delete_chunks, delete_prices, delete_row_errors, delete_runs, delete_uploads,
    ended_runs_with_files, fail_orphaned_run, orphaned_runs, set_searchable, unsearchable_runs,
};
pub(crate) use quality::{
    compute_quality, outdated_figures, products_with_defects, put_quality, quality,
};
pub(crate) use quota::{
    CatalogSize, add_to_size, add_upload, lock_size, lock_upload_usage, put_quota, quota, quotas,
    recount_size, stored_bytes, variant_counts,
};
pub use read::Lookup;
pub(crate) use read::{deals, find, merchant_of, newest, sellers};
pub(crate) use restock::{restock_in_sandbox, restock_units};
pub(crate) use review::{put_reviews, reviewed, reviews};
pub(crate) use row_error::{put_row_errors, row_errors};
pub(crate) use variant::{
    delete_other_variants, delete_retired_variants, put_variants, variant_id, variant_prices,
};

/// Returns the error of a stored value that this crate would not write.
fn unreadable(what: &str) -> sqlx::Error {
    sqlx::Error::Decode(format!("the database holds an invalid value of {what}").into())
}
