//! Stock status of a product or variant.

primitives::text_enum! {
    /// Stock status of a product or variant.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum StockStatus {
        /// In stock.
        InStock,
        /// In stock, but only a few units.
        LowStock,
        /// Out of stock.
        OutOfStock,
        /// Out of stock, expected again; cannot be ordered through agents.
        Backorder,
        /// Not released yet; cannot be ordered through agents.
        Preorder,
        /// No longer sold.
        Discontinued,
        /// The merchant states no stock. It can be bought, and does not count as in stock.
        Unknown,
    }
}

impl StockStatus {
    /// Largest quantity that counts as low stock.
    pub const LOW_STOCK_MAX: i32 = 5;

    /// Returns the status that follows from a quantity, for merchants that send no status.
    #[must_use]
    pub fn of_quantity(quantity: i32) -> Self {
        match quantity {
            ..=0 => Self::OutOfStock,
            1..=Self::LOW_STOCK_MAX => Self::LowStock,
            _ => Self::InStock,
        }
    }

    /// The statuses whose products can be ordered: units are in stock, or the merchant states no stock. A backorder and a
    /// preorder cannot, since a checkout holds units and promises a delivery time.
    pub(crate) const AVAILABLE: [Self; 3] = [Self::InStock, Self::LowStock, Self::Unknown];

    /// Whether units can be ordered, in carts, on pages and in queries.
    #[must_use]
    pub fn is_available(self) -> bool {
        Self::AVAILABLE.contains(&self)
    }

    /// Returns the names of the statuses whose products can be ordered, for queries.
    pub(crate) fn available_names() -> Vec<String> {
        Self::AVAILABLE.iter().map(|status| status.as_str().to_owned()).collect()
    }

    /// Whether the merchant states that units are in stock: the filter `in_stock_only`.
    #[must_use]
    pub fn is_in_stock(self) -> bool {
        matches!(self, Self::InStock | Self::LowStock)
    }

    /// Returns the status of a product whose variants have these: the best of them.
    #[must_use]
    pub fn best(of: impl IntoIterator<Item = Self>) -> Option<Self> {
        const BEST_FIRST: [StockStatus; 7] = [
            StockStatus::InStock,
            StockStatus::LowStock,
            StockStatus::Unknown,
            StockStatus::Backorder,
            StockStatus::Preorder,
            StockStatus::OutOfStock,
            StockStatus::Discontinued,
        ];
        let rank = |status: &Self| BEST_FIRST.iter().position(|other| other == status);
        of.into_iter().min_by_key(rank)
    }

    /// Whether the status and a quantity contradict each other.
    #[must_use]
    pub fn contradicts(self, quantity: Option<i32>) -> bool {
        match (self, quantity) {
            (Self::InStock | Self::LowStock, Some(quantity)) => quantity == 0,
            (Self::OutOfStock, Some(quantity)) => quantity > 0,
            _ => false,
        }
    }
}
