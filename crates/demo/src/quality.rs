//! Data quality of a store's catalog. Stores with a higher trust score have more complete records.

use serde::Deserialize;

/// Quality of a store's records.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Quality {
    /// Nearly every record is complete.
    High,
    /// As `High`, with few ratings.
    NewStore,
    /// As `High`, without ratings.
    Unrated,
    Average,
    /// Noticeable gaps.
    Low,
    /// Many gaps and exaggerated list prices.
    Poor,
    /// As `Poor`, with more gaps than complete records and worse ratings.
    Worst,
}

/// Parameters of generated values. Shares are percentages of the store's products.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Profile {
    pub(crate) without_gtin: u16,
    pub(crate) without_image: u16,
    /// Products with a list price.
    pub(crate) reduced: u16,
    /// Smallest and largest list price, as a percentage of the price.
    pub(crate) list_price_percent: (u16, u16),
    pub(crate) without_rating: u16,
    /// Lowest and highest average rating.
    pub(crate) rating_hundredths: (u16, u16),
    /// The number of ratings grows with its square.
    pub(crate) popularity_max: u16,
    /// Products in stock without a quantity.
    pub(crate) without_quantity: u16,
}

const HIGH: Profile = Profile {
    without_gtin: 1,
    without_image: 1,
    reduced: 18,
    list_price_percent: (110, 135),
    without_rating: 8,
    rating_hundredths: (395, 495),
    popularity_max: 85,
    without_quantity: 0,
};

const POOR: Profile = Profile {
    without_gtin: 24,
    without_image: 12,
    reduced: 70,
    list_price_percent: (190, 480),
    without_rating: 30,
    rating_hundredths: (180, 420),
    popularity_max: 40,
    without_quantity: 35,
};

impl Quality {
    /// Returns the parameters.
    pub(crate) const fn profile(self) -> Profile {
        match self {
            Self::High => HIGH,
            Self::NewStore => Profile { without_rating: 45, popularity_max: 6, ..HIGH },
            Self::Unrated => Profile { without_rating: 100, ..HIGH },
            Self::Average => Profile {
                without_gtin: 3,
                without_image: 2,
                reduced: 20,
                list_price_percent: (112, 145),
                without_rating: 12,
                rating_hundredths: (360, 490),
                popularity_max: 85,
                without_quantity: 2,
            },
            Self::Low => Profile {
                without_gtin: 9,
                without_image: 6,
                reduced: 26,
                list_price_percent: (120, 180),
                without_rating: 18,
                rating_hundredths: (300, 465),
                popularity_max: 60,
                without_quantity: 12,
            },
            Self::Poor => POOR,
            Self::Worst => Profile {
                without_gtin: 60,
                without_image: 25,
                rating_hundredths: (150, 360),
                ..POOR
            },
        }
    }
}
