//! Generated reviews, for the products of a store that passes on reviews.

use catalog::ReviewDraft;

use crate::seed::days_ago;
use crate::world::{Product, Store};

/// Stars, title, text, author, and age in days.
const REVIEWS: [(i64, &str, &str, &str, u32); 5] = [
    (5, "Just right", "Does what it says, and arrived two days early.", "Marta", 12),
    (4, "Good, with one remark", "Well made. The box could have been smaller.", "Jonas", 34),
    (5, "", "Bought a second one for my sister.", "Clara", 58),
    (3, "Fine for the price", "Works, though I had expected it to be heavier.", "Pavel", 71),
    (4, "Would buy again", "In daily use for two months and still like new.", "Aoife", 83),
];

/// Returns two or three reviews of a rated product.
pub(crate) fn of(store: &Store, product: &Product) -> Vec<ReviewDraft> {
    if !store.has_reviews || product.rating.is_none() {
        return Vec::new();
    }
    let first = usize::from(product.id.as_bytes()[0]);
    let count = 2 + first % 2;
    let review = |number: usize| {
        let (stars, title, text, author, days) = REVIEWS[(first + number) % REVIEWS.len()];
        ReviewDraft {
            external_id: format!("{}-{number}", product.sku),
            stars,
            title: Some(title.to_owned()),
            text: Some(text.to_owned()),
            author: Some(author.to_owned()),
            written_at: days_ago(days).to_string(),
        }
    };
    (0..count).map(review).collect()
}
