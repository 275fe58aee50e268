//! The text of a key: a prefix that says whose program holds it, and 256 random bits.

use std::fmt::Write;

use rand::Rng;

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Programs of a merchant (decisions §2).
    Store,
    /// Agents (spec §2.5).
    Agent,
}

impl Kind {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Store => "mrch_",
            Self::Agent => "agnt_",
        }
    }
}

/// Both prefixes have this length.
const PREFIX_LENGTH: usize = 5;

/// Hexadecimal digits behind it: 256 bits.
const DIGITS: usize = 64;

/// Digits that are shown afterwards. What is left over is still beyond guessing.
const SHOWN_DIGITS: usize = 8;

/// Draws a key.
pub(crate) fn draw(kind: Kind, random: &mut impl Rng) -> String {
    let mut bits = [0; DIGITS / 2];
    random.fill_bytes(&mut bits);
    bits.iter().fold(kind.prefix().to_owned(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The part that people may see again.
pub(crate) fn shown(key: &str) -> &str {
    key.get(..PREFIX_LENGTH + SHOWN_DIGITS).unwrap_or(key)
}

/// Whether a text can be a key of a kind. Only the one spelling is.
pub(crate) fn is_key(kind: Kind, text: &str) -> bool {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.strip_prefix(kind.prefix())
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
        let (one, other) = (draw(Kind::Store, &mut random), draw(Kind::Agent, &mut random));
        assert!(is_key(Kind::Store, &one) && is_key(Kind::Agent, &other));
        assert_ne!(one[5..], other[5..]);
        assert_eq!(shown(&one).len(), 13);
    }

    #[test]
    fn nothing_else_is() {
        let key = format!("mrch_{}", "a".repeat(64));
        assert!(is_key(Kind::Store, &key));
        let others = ["", "mrch_", &key[1..], &key[..68], &format!("{key}0"), &key.to_uppercase()];
        for other in others {
            assert!(!is_key(Kind::Store, other), "{other}");
        }
        assert!(!is_key(Kind::Store, &key.replace("mrch_", "agnt_")));
        assert!(!is_key(Kind::Store, &format!("mrch_{}", "é".repeat(32))));
    }
}
