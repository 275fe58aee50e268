//! Stock status, in words.

use catalog::StockStatus;

/// Returns the label of a stock status, and whether the product can be ordered.
pub(crate) fn stock_view(status: StockStatus) -> (&'static str, bool) {
    match status {
        StockStatus::InStock => ("In stock", true),
        StockStatus::LowStock => ("Few left", true),
        StockStatus::OutOfStock => ("Out of stock", false),
        StockStatus::Backorder => ("Can be ordered, delivered later", true),
        StockStatus::Preorder => ("Can be preordered", true),
        StockStatus::Discontinued => ("No longer sold", false),
        StockStatus::Unknown => ("Stock not stated", true),
    }
}
