//! Texts of merchants, agents and buyers: sanitized, and rejected above a limit rather than truncated.

use std::borrow::Cow;

use crate::OrderError;

/// The longest text of a field, as the tables have it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    characters_max: usize,
    /// The rule, for errors.
    allowed: &'static str,
}

/// Most characters of a note or of instructions.
pub const NOTE_LENGTH_MAX: usize = 2_000;
/// Most characters of a carrier or a tracking number.
pub const NAME_LENGTH_MAX: usize = 100;
/// Most characters of a reference of another system.
pub const REFERENCE_LENGTH_MAX: usize = 255;

/// Carrier and tracking number.
pub(crate) const NAME: Limit =
    Limit { characters_max: NAME_LENGTH_MAX, allowed: "at most 100 characters" };
/// References of other systems.
pub(crate) const REFERENCE: Limit =
    Limit { characters_max: REFERENCE_LENGTH_MAX, allowed: "at most 255 characters" };
/// Notes and instructions.
pub(crate) const NOTE: Limit =
    Limit { characters_max: NOTE_LENGTH_MAX, allowed: "at most 2,000 characters" };

/// Sanitizes a text of one line. An empty text is none.
pub(crate) fn one_line(
    field: &'static str,
    text: Option<&str>,
    limit: Limit,
) -> Result<Option<String>, OrderError> {
    checked(field, text.map(|text| catalog::one_line(text, usize::MAX)), limit)
}

/// Sanitizes a text of several lines. An empty text is none.
pub(crate) fn paragraphs(
    field: &'static str,
    text: Option<&str>,
    limit: Limit,
) -> Result<Option<String>, OrderError> {
    checked(field, text.map(|text| catalog::paragraphs(text, usize::MAX)), limit)
}

fn checked(
    field: &'static str,
    text: Option<Cow<'_, str>>,
    limit: Limit,
) -> Result<Option<String>, OrderError> {
    let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    match text {
        Some(text) if text.chars().count() > limit.characters_max => {
            Err(OrderError::invalid(field, limit.allowed))
        }
        text => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_sanitized_and_empty_ones_are_none() {
        let line = |text| one_line("carrier", Some(text), NAME).unwrap();
        assert_eq!(line(" Post\u{0}\nNord "), Some(String::from("Post Nord")));
        assert_eq!(line(" \n "), None);
        assert_eq!(one_line("carrier", None, NAME).unwrap(), None);
        let note = paragraphs("note", Some("first\r\n<b>second</b>\u{200b}"), NOTE).unwrap();
        assert_eq!(note.as_deref(), Some("first\nsecond"));
    }

    #[test]
    fn the_limit_counts_characters() {
        assert!(one_line("carrier", Some(&"é".repeat(100)), NAME).is_ok());
        let long = one_line("carrier", Some(&"é".repeat(101)), NAME);
        let Err(OrderError::InvalidField { field, allowed }) = long else { panic!("{long:?}") };
        assert_eq!((field.as_str(), allowed), ("carrier", "at most 100 characters"));
    }
}
