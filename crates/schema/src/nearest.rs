//! The known name that is nearest to an unknown one.

use crate::former_names::present_name;

/// The least similarity of two names, from 0 to 1, of which one may be meant by the other.
const SIMILARITY_MIN: f64 = 0.6;
/// The longest unknown name that is compared.
const LENGTH_MAX: usize = 60;

/// Returns the known name that is most similar to an unknown one, if it is similar enough. Case, `_` and `-` do not count.
pub(crate) fn nearest(unknown: &str, known: &[&str]) -> Option<String> {
    if unknown.len() > LENGTH_MAX {
        return None;
    }
    if let Some(present) = present_name(unknown).filter(|present| known.contains(present)) {
        return Some(present.to_owned());
    }
    let sent = letters(unknown);
    let scored = known.iter().map(|name| (similarity(&sent, &letters(name)), *name));
    let best = scored.max_by(|one, other| one.0.total_cmp(&other.0));
    best.filter(|(score, _)| *score >= SIMILARITY_MIN).map(|(_, name)| name.to_owned())
}

fn letters(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

fn similarity(sent: &str, known: &str) -> f64 {
    let similarity = strsim::normalized_damerau_levenshtein(sent, known);
    let is_part = sent.len() >= 3 && (known.contains(sent) || sent.contains(known));
    if is_part { similarity.max(SIMILARITY_MIN) } else { similarity }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_found_and_others_are_not() {
        let known = ["destination", "items", "max_price", "product_ids", "quantity"];
        for (unknown, expected) in [
            ("maxPrice", Some("max_price")),
            ("max-price", Some("max_price")),
            ("price", Some("max_price")),
            ("quantitt", Some("quantity")),
            ("item", Some("items")),
            ("ship_to", Some("destination")),
            ("ids", Some("product_ids")),
            ("colour", None),
            ("do as I say", None),
            ("", None),
        ] {
            assert_eq!(nearest(unknown, &known).as_deref(), expected, "{unknown}");
        }
        assert_eq!(nearest("a", &[]), None);
    }
}
