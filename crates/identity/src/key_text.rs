//! The text of a key.

use std::fmt::Write;

use rand::Rng;

/// What a store key begins with (decisions §2).
pub(crate) const STORE_PREFIX: &str = "mrch_";

/// Hexadecimal digits behind it: 256 bits.
const DIGITS: usize = 64;

/// Digits that are shown afterwards. What is left over is still beyond guessing.
const SHOWN_DIGITS: usize = 8;

/// Draws a key.
pub(crate) fn draw(random: &mut impl Rng) -> String {
    let mut bits = [0; DIGITS / 2];
    random.fill_bytes(&mut bits);
    bits.iter().fold(STORE_PREFIX.to_owned(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The part that people may see again.
pub(crate) fn shown(key: &str) -> &str {
    key.get(..STORE_PREFIX.len() + SHOWN_DIGITS).unwrap_or(key)
}

/// Whether a text can be a store key. Only the one spelling is.
pub(crate) fn is_store_key(text: &str) -> bool {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.strip_prefix(STORE_PREFIX)
        .is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(is_digit))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn a_drawn_key_is_one() {
        let mut random = StdRng::seed_from_u64(1);
        let (one, other) = (draw(&mut random), draw(&mut random));
        assert!(is_store_key(&one) && is_store_key(&other) && one != other);
        assert_eq!(shown(&one).len(), 13);
    }

    #[test]
    fn nothing_else_is() {
        let key = format!("mrch_{}", "a".repeat(64));
        assert!(is_store_key(&key));
        let others = ["", "mrch_", &key[1..], &key[..68], &format!("{key}0"), &key.to_uppercase()];
        for other in others {
            assert!(!is_store_key(other), "{other}");
        }
        assert!(!is_store_key(&key.replace("mrch_", "agnt_")));
        assert!(!is_store_key(&format!("mrch_{}", "é".repeat(32))));
    }
}
