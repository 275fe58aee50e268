//! The text of a key: a prefix for its kind, and 256 random bits in hexadecimal.

use rand::Rng;

/// The kind of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// For a merchant's programs (docs/contract/authentication.md#store-keys).
    Store,
    /// For agents (docs/contract/authentication.md#agent-key-format).
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

/// Length of both prefixes.
const PREFIX_LENGTH: usize = 5;

/// Hexadecimal digits after the prefix: 256 bits.
const DIGITS: usize = 64;

/// Digits that lists show. The remaining 224 bits cannot be guessed.
const SHOWN_DIGITS: usize = 8;

/// Generates a key.
pub(crate) fn generate(kind: Kind, random: &mut impl Rng) -> String {
    let mut bytes = [0; DIGITS / 2];
    random.fill_bytes(&mut bytes);
    format!("{}{}", kind.prefix(), hex::encode(bytes))
}

/// Returns the part of a key that lists show.
pub(crate) fn visible_prefix(key: &str) -> &str {
    key.get(..PREFIX_LENGTH + SHOWN_DIGITS).unwrap_or(key)
}

/// Returns whether a text has the form of a key of this kind. Only the canonical form does.
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
    fn a_generated_key_has_the_form_of_a_key() {
        let mut random = StdRng::seed_from_u64(1);
        let (one, other) = (generate(Kind::Store, &mut random), generate(Kind::Agent, &mut random));
        assert!(is_key(Kind::Store, &one) && is_key(Kind::Agent, &other));
        assert_ne!(one[5..], other[5..]);
        assert_eq!(visible_prefix(&one).len(), 13);
    }

    #[test]
    fn other_texts_do_not_have_the_form_of_a_key() {
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
