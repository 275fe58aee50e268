//! What is kept of a query.

/// Characters kept of a query.
const LENGTH_MAX: usize = 60;
/// So many digits in a row may be the number of a person, an order or a card.
const DIGITS_MAX: usize = 5;
/// The same, with blanks and signs between them: telephone numbers are written that way, sizes and
/// models are shorter.
const SPREAD_DIGITS_MAX: usize = 8;

/// What is kept: lower case, one blank between words, not too long. None if nothing is left.
pub(super) fn fold(query: &str) -> Option<String> {
    if query.contains(['@', '\u{ff20}']) {
        return Some(String::from("(address)"));
    }
    if has_long_number(query) {
        return Some(String::from("(number)"));
    }
    let mut folded = String::new();
    let mut length = 0;
    let is_gap = |letter: char| letter.is_whitespace() || letter.is_control();
    for word in query.split(is_gap).filter(|word| !word.is_empty()) {
        let blank = (!folded.is_empty()).then_some(' ');
        let letters = word.chars().flat_map(char::to_lowercase);
        for letter in blank.into_iter().chain(letters).take(LENGTH_MAX - length) {
            folded.push(letter);
            length += 1;
        }
    }
    let folded = folded.trim_end();
    (!folded.is_empty()).then(|| folded.to_owned())
}

fn has_long_number(query: &str) -> bool {
    let (mut in_a_row, mut spread) = (0, 0);
    for letter in query.chars() {
        if letter.is_numeric() {
            in_a_row += 1;
            spread += 1;
            if in_a_row > DIGITS_MAX || spread > SPREAD_DIGITS_MAX {
                return true;
            }
        } else {
            in_a_row = 0;
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
    fn what_looks_alike_is_one_query() {
        assert_eq!(fold("  Red\t\u{a0}SHOES \n").as_deref(), Some("red shoes"));
        assert_eq!(fold("ÄPFEL").as_deref(), Some("äpfel"));
        assert_eq!(fold("nul\0l").as_deref(), Some("nul l"));
        assert_eq!(fold(" \u{7} "), None);
    }

    #[test]
    fn what_could_be_personal_is_not_kept() {
        let kept = [
            ("jane@doe.example", "(address)"),
            ("order 123456 of Jane", "(number)"),
            ("+353 86 123 4567", "(number)"),
            ("(0660) 123-45-67", "(number)"),
            ("4006381333931", "(number)"),
            ("iphone 15 pro 256", "iphone 15 pro 256"),
            ("screw 4.5 x 60 din 7505", "screw 4.5 x 60 din 7505"),
            ("lego 42115", "lego 42115"),
        ];
        for (query, expected) in kept {
            assert_eq!(fold(query).as_deref(), Some(expected), "{query}");
        }
    }

    proptest! {
        #[test]
        fn what_is_kept_is_short_and_clean(query in "\\PC{0,200}|.{0,200}") {
            if let Some(folded) = fold(&query) {
                prop_assert!((1..=LENGTH_MAX).contains(&folded.chars().count()));
                prop_assert!(!folded.chars().any(char::is_control) && !folded.contains("  "));
                prop_assert!(!folded.contains('@') && !has_long_number(&folded));
            }
        }
    }
}
