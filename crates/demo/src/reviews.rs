//! What buyers of the demo store wrote. Other stores hand on no reviews.

use std::time::Duration;

use catalog::Review;
use primitives::Timestamp;

use crate::DEMO_STORE;
use crate::seed::PRESENT;
use crate::world::{Product, Store};

const DAY: Duration = Duration::from_hours(24);

/// Stars, headline, text, author, and how many days ago.
const WRITTEN: [(i16, &str, &str, &str, u32); 5] = [
    (5, "Just right", "Does what it says, and arrived two days early.", "Marta", 12),
    (4, "Good, with one remark", "Well made. The box could have been smaller.", "Jonas", 34),
    (5, "", "Bought a second one for my sister.", "Clara", 58),
    (3, "Fine for the price", "Works, though I had expected it to be heavier.", "Pavel", 71),
    (4, "Would buy again", "In daily use for two months and still like new.", "Aoife", 83),
];

/// The reviews of a product: of one that is rated, two or three.
pub(crate) fn of(store: &Store, product: &Product) -> Vec<Review> {
    if store.slug != DEMO_STORE || product.rating.is_none() {
        return Vec::new();
    }
    let first = usize::from(product.id.as_bytes()[0]);
    let count = 2 + first % 2;
    let review = |number: usize| {
        let (stars, title, text, author, days_ago) = WRITTEN[(first + number) % WRITTEN.len()];
        Review {
            external_id: format!("{}-{number}", product.sku),
            stars,
            title: title.to_owned(),
            text: text.to_owned(),
            author: author.to_owned(),
            written_at: Timestamp::from_unix_micros(PRESENT).minus(DAY * days_ago),
        }
    };
    (0..count).map(review).collect()
}
