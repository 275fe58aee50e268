//! Limits on the memory of a reader.

/// Maximum size of a row, item or element; a larger one is skipped without being buffered.
pub(crate) const ROW_BYTES_MAX: usize = 1 << 20;

/// Maximum size of the rows of one product; a larger product is emitted in parts, which the catalog
/// joins.
pub(crate) const PRODUCT_BYTES_MAX: usize = 4 << 20;

/// Size that each row counts in addition to its text, because even an empty row becomes a variant.
pub(crate) const ROW_COST_BYTES: usize = 512;
