//! The stored form of a query.

/// Characters stored of a query.
const LENGTH_MAX: usize = 60;
/// More consecutive digits than this may be a personal, order or card number.
const DIGITS_MAX: usize = 5;
/// The same for digits with spaces and punctuation between them: telephone numbers are written that way, sizes and
/// model numbers are shorter.
const SPREAD_DIGITS_MAX: usize = 8;

/// Returns the query in lower case, with one space between words, truncated; `None` if nothing is left. A query that
/// may contain personal data becomes a placeholder.
pub(super) fn normalize(query: &str) -> Option<String> {
    if query.contains(['@', '\u{ff20}']) {
        return Some(String::from("(address)"));
    }
    if has_long_number(query) {
        return Some(String::from("(number)"));
    }
    let mut normalized = String::new();
    let mut length = 0;
    let is_separator = |letter: char| letter.is_whitespace() || letter.is_control();
    for word in query.split(is_separator).filter(|word| !word.is_empty()) {
        let space = (!normalized.is_empty()).then_some(' ');
        let letters = word.chars().flat_map(char::to_lowercase);
        for letter in space.into_iter().chain(letters).take(LENGTH_MAX - length) {
            normalized.push(letter);
            length += 1;
        }
    }
    let normalized = normalized.trim_end();
    (!normalized.is_empty()).then(|| normalized.to_owned())
}

fn has_long_number(query: &str) -> bool {
    let (mut consecutive, mut spread) = (0, 0);
    for letter in query.chars() {
        if letter.is_numeric() {
            consecutive += 1;
            spread += 1;
            if consecutive > DIGITS_MAX || spread > SPREAD_DIGITS_MAX {
                return true;
            }
        } else {
            consecutive = 0;
            if !(letter.is_whitespace() || "-+./()".contains(letter)) {
                spread = 0;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn queries_that_differ_in_case_and_space_are_one() {
        assert_eq!(normalize("  Red\t\u{a0}SHOES \n").as_deref(), Some("red shoes"));
        assert_eq!(normalize("ÄPFEL").as_deref(), Some("äpfel"));
        assert_eq!(normalize("nul\0l").as_deref(), Some("nul l"));
        assert_eq!(normalize(" \u{7} "), None);
    }

    #[test]
    fn personal_data_is_not_stored() {
        let cases = [
            ("jane@doe.example", "(address)"),
            ("order 123456 of Jane", "(number)"),
            ("+353 86 123 4567", "(number)"),
            ("(0660) 123-45-67", "(number)"),
            ("4006381333931", "(number)"),
            ("iphone 15 pro 256", "iphone 15 pro 256"),
            ("screw 4.5 x 60 din 7505", "screw 4.5 x 60 din 7505"),
            ("lego 42115", "lego 42115"),
        ];
        for (query, expected) in cases {
            assert_eq!(normalize(query).as_deref(), Some(expected), "{query}");
        }
    }

    proptest! {
        #[test]
        fn stored_queries_are_short_and_clean(query in "\\PC{0,200}|.{0,200}") {
            if let Some(normalized) = normalize(&query) {
                prop_assert!((1..=LENGTH_MAX).contains(&normalized.chars().count()));
                prop_assert!(!normalized.chars().any(char::is_control) && !normalized.contains("  "));
                prop_assert!(!normalized.contains('@') && !has_long_number(&normalized));
            }
        }
    }
}
