//! How much a reader keeps, whatever a file holds.

/// The largest row, item or element; a larger one is passed over without being kept.
pub(crate) const ROW_BYTES_MAX: usize = 1 << 20;

/// What the rows of one product may come to before it is handed over in parts, which the catalog
/// joins.
pub(crate) const PRODUCT_BYTES_MAX: usize = 4 << 20;

/// What a row of a product counts besides its text: even an empty one becomes a variant.
pub(crate) const ROW_COST_BYTES: usize = 512;
