//! Whether something can be had.

/// Whether something can be had.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
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

    /// At most so many count as few.
    pub const FEW: i32 = 5;

    /// What follows from a number, where the merchant names no status.
    #[must_use]
    pub fn of_quantity(quantity: i32) -> Self {
        match quantity {
            ..=0 => Self::OutOfStock,
            1..=Self::FEW => Self::LowStock,
            _ => Self::InStock,
        }
    }

    /// Whether it can be had at once.
    #[must_use]
    pub fn is_at_hand(self) -> bool {
        matches!(self, Self::InStock | Self::LowStock)
    }

    /// The status of a product whose variants have these: the best one can get.
    #[must_use]
    pub fn best(of: impl IntoIterator<Item = Self>) -> Option<Self> {
        const BEST_FIRST: [StockStatus; 6] = [
            StockStatus::InStock,
            StockStatus::LowStock,
            StockStatus::Backorder,
            StockStatus::Preorder,
            StockStatus::OutOfStock,
            StockStatus::Discontinued,
        ];
        let rank = |status: &Self| BEST_FIRST.iter().position(|other| other == status);
        of.into_iter().min_by_key(rank)
    }

    /// Whether a status and a number contradict each other.
    #[must_use]
    pub fn contradicts(self, quantity: Option<i32>) -> bool {
        match (self, quantity) {
            (Self::InStock | Self::LowStock, Some(quantity)) => quantity == 0,
            (Self::OutOfStock, Some(quantity)) => quantity > 0,
            _ => false,
        }
    }

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
