//! Stock status, in words.

use catalog::StockStatus;

/// Returns the label of a stock status, and whether agents can order the product.
pub(crate) fn stock_view(status: StockStatus) -> (&'static str, bool) {
    let label = match status {
        StockStatus::InStock => "In stock",
        StockStatus::LowStock => "Few left",
        StockStatus::OutOfStock => "Out of stock",
        StockStatus::Backorder => "On backorder",
        StockStatus::Preorder => "Not released yet",
        StockStatus::Discontinued => "No longer sold",
        StockStatus::Unknown => "Stock not stated",
    };
    (label, status.is_available())
}
