//! How well a shop keeps its records. Standing and data quality go together in the demo world.

/// Shares are percentages of the shop's products.
#[derive(Clone, Copy)]
pub(crate) struct Habits {
    pub(crate) without_gtin: u16,
    pub(crate) without_image: u16,
    pub(crate) reduced: u16,
    /// A reduced product's list price, as the lowest and highest percentage of its price.
    pub(crate) list_price_percent: (u16, u16),
    pub(crate) without_rating: u16,
    /// The worst and the best average rating, in hundredths.
    pub(crate) rating_hundredths: (u16, u16),
    /// How well known its products can be; ratings grow with the square of it.
    pub(crate) fame: u16,
    /// Products in stock of which the shop does not say how many there are.
    pub(crate) without_quantity: u16,
}

/// Nearly every record is complete.
pub(crate) const CAREFUL: Habits = Habits {
    without_gtin: 1,
    without_image: 1,
    reduced: 18,
    list_price_percent: (110, 135),
    without_rating: 8,
    rating_hundredths: (395, 495),
    fame: 85,
    without_quantity: 0,
};

/// Complete, but hardly anybody has bought there yet.
pub(crate) const NEW: Habits = Habits { without_rating: 45, fame: 6, ..CAREFUL };

/// Complete, and nobody has bought there at all.
pub(crate) const UNTRIED: Habits = Habits { without_rating: 100, ..CAREFUL };

/// As most shops are.
pub(crate) const USUAL: Habits = Habits {
    without_gtin: 3,
    without_image: 2,
    reduced: 20,
    list_price_percent: (112, 145),
    without_rating: 12,
    rating_hundredths: (360, 490),
    fame: 85,
    without_quantity: 2,
};

/// Gaps a buyer notices.
pub(crate) const CARELESS: Habits = Habits {
    without_gtin: 9,
    without_image: 6,
    reduced: 26,
    list_price_percent: (120, 180),
    without_rating: 18,
    rating_hundredths: (300, 465),
    fame: 60,
    without_quantity: 12,
};

/// Missing numbers and list prices nobody ever paid.
pub(crate) const SLOPPY: Habits = Habits {
    without_gtin: 24,
    without_image: 12,
    reduced: 70,
    list_price_percent: (190, 480),
    without_rating: 30,
    rating_hundredths: (180, 420),
    fame: 40,
    without_quantity: 35,
};
