//! GTINs of the demo data: EAN-13, thirteen digits with a check digit.

use crate::hash::fnv1a;

/// Reserved by GS1 for demonstrations: no GTIN here belongs to a real article.
const DEMONSTRATION_PREFIX: &str = "952";

/// Returns the EAN-13 that follows from a hash of the name.
pub(crate) fn ean13(name: &str) -> String {
    let body = format!("{DEMONSTRATION_PREFIX}{:09}", fnv1a(name) % 1_000_000_000);
    let check = check_digit(&body);
    format!("{body}{check}")
}

/// From the right, the weights of the digits alternate between three and one; the check digit completes a multiple of ten.
fn check_digit(body: &str) -> u32 {
    let digits = body.chars().rev().filter_map(|digit| digit.to_digit(10));
    let sum: u32 =
        digits.zip([3, 1].into_iter().cycle()).map(|(digit, weight)| digit * weight).sum();
    (10 - sum % 10) % 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_has_the_same_gtin() {
        assert_eq!(ean13("shared/anything"), ean13("shared/anything"));
        assert_ne!(ean13("shared/anything"), ean13("shared/anything else"));
        assert!(ean13("shared/anything").parse::<catalog::Gtin>().is_ok());
    }
}
