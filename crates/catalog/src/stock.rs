//! Whether something can be had.

/// The stock status of decisions §1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StockStatus {
    /// There is enough.
    InStock,
    /// There are few.
    LowStock,
    /// There is none.
    OutOfStock,
    /// There is none, but it can be ordered.
    Backorder,
    /// It is not out yet, but can be ordered.
    Preorder,
    /// It will not come again.
    Discontinued,
}

impl StockStatus {
    /// All of them with their names, as on the wire and in PostgreSQL.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::InStock, "in_stock"),
        (Self::LowStock, "low_stock"),
        (Self::OutOfStock, "out_of_stock"),
        (Self::Backorder, "backorder"),
        (Self::Preorder, "preorder"),
        (Self::Discontinued, "discontinued"),
    ];

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(status, _)| *status == self).map_or("", |(_, name)| name)
    }

    /// The status of a name.
    #[must_use]
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(status, _)| *status)
    }
}
