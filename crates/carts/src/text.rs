//! Validation of short texts from callers.

use crate::CartError;

/// Returns the text normalized to one line without invisible characters. A text that is too long is an error and not
/// truncated, because a truncated address is a different address.
pub(crate) fn single_line(
    field: &'static str,
    text: &str,
    characters_max: usize,
) -> Result<String, CartError> {
    let invalid = CartError::InvalidText { field, characters_max };
    let text = text.trim();
    if text.is_empty() || text.chars().count() > characters_max || text.contains('\0') {
        return Err(invalid);
    }
    let clean = catalog::one_line(text, characters_max);
    if clean.is_empty() { Err(invalid) } else { Ok(clean.into_owned()) }
}

/// Like [`single_line`], for an optional text.
pub(crate) fn optional(
    field: &'static str,
    text: Option<String>,
    characters_max: usize,
) -> Result<Option<String>, CartError> {
    text.map(|text| single_line(field, &text, characters_max)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_short_visible_line() {
        assert_eq!(single_line("city", "  Rua\u{202e} Nova\n7 ", 20).unwrap(), "Rua Nova 7");
        for wrong in ["", "  ", "\u{200b}", "a\0b", "far too long"] {
            let refused = single_line("city", wrong, 10);
            assert!(
                matches!(refused, Err(CartError::InvalidText { field: "city", .. })),
                "{wrong}"
            );
        }
    }
}
