//! Article numbers: thirteen digits, the last of which checks the others.

use crate::spread::fnv1a;

/// GS1 reserves this prefix for demonstrations, so no number here belongs to a real article.
const DEMONSTRATION_PREFIX: &str = "952";

/// The EAN-13 of whatever the seed names.
pub(crate) fn ean13(seed: &str) -> String {
    let body = format!("{DEMONSTRATION_PREFIX}{:09}", fnv1a(seed) % 1_000_000_000);
    let check = check_digit(&body);
    format!("{body}{check}")
}

/// From the right, digits weigh three and one in turn; the check digit completes a multiple of ten.
fn check_digit(body: &str) -> u32 {
    let digits = body.chars().rev().filter_map(|digit| digit.to_digit(10));
    let sum: u32 =
        digits.zip([3, 1].into_iter().cycle()).map(|(digit, weight)| digit * weight).sum();
    (10 - sum % 10) % 10
}

#[cfg(test)]
pub(crate) fn is_valid(code: &str) -> bool {
    let Some((body, check)) = code.split_at_checked(code.len().saturating_sub(1)) else {
        return false;
    };
    code.bytes().all(|byte| byte.is_ascii_digit())
        && matches!(code.len(), 8 | 12 | 13 | 14)
        && check == check_digit(body).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_printed_in_the_gs1_manual_are_valid() {
        for code in ["6291041500213", "4006381333931", "036000291452", "96385074"] {
            assert!(is_valid(code), "{code}");
        }
        for code in ["6291041500214", "036000291453", "629104150021", "", "629104150021X"] {
            assert!(!is_valid(code), "{code}");
        }
    }

    #[test]
    fn a_seed_always_names_the_same_article() {
        assert_eq!(ean13("shared/anything"), ean13("shared/anything"));
        assert_ne!(ean13("shared/anything"), ean13("shared/anything else"));
        assert!(is_valid(&ean13("shared/anything")));
    }
}
