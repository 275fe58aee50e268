//! What agents type: short plain text, or nothing.

use crate::CartError;

/// A text of one line, without what cannot be seen. One that is too long is refused and not cut: half an address is
/// another address.
pub(crate) fn line(
    field: &'static str,
    text: &str,
    characters_max: usize,
) -> Result<String, CartError> {
    let wrong = CartError::InvalidText { field, characters_max };
    let text = text.trim();
    if text.is_empty() || text.chars().count() > characters_max || text.contains('\0') {
        return Err(wrong);
    }
    let clean = catalog::one_line(text, characters_max);
    if clean.is_empty() { Err(wrong) } else { Ok(clean.into_owned()) }
}

/// The same of something that may be left out.
pub(crate) fn optional(
    field: &'static str,
    text: Option<String>,
    characters_max: usize,
) -> Result<Option<String>, CartError> {
    text.map(|text| line(field, &text, characters_max)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_short_and_can_be_seen() {
        assert_eq!(line("city", "  Rua\u{202e} Nova\n7 ", 20).unwrap(), "Rua Nova 7");
        for wrong in ["", "  ", "\u{200b}", "a\0b", "far too long"] {
            let refused = line("city", wrong, 10);
            assert!(
                matches!(refused, Err(CartError::InvalidText { field: "city", .. })),
                "{wrong}"
            );
        }
    }
}
