//! Splits any text into words, for rules about prose and identifiers.

/// A word of a text: a run of letters, digits and underscores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word<'t> {
    pub(crate) text: &'t str,
    pub(crate) line: usize,
    /// What separates it from the previous word: a single space if that is whitespace, a line break
    /// in a comment, or a line break in a string literal; otherwise the characters between.
    pub(crate) gap: &'t str,
}

/// Returns the words of a text in order; line numbers start at 1.
pub(crate) fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let (mut rest, mut line) = (text, 1);
    std::iter::from_fn(move || {
        let start = rest.find(is_word_part)?;
        let (gap, after) = rest.split_at(start);
        let (word, after) = after.split_at(after.find(|c| !is_word_part(c)).unwrap_or(after.len()));
        line += gap.matches('\n').count();
        rest = after;
        Some(Word { text: word, line, gap: normalized(gap) })
    })
}

fn is_word_part(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Characters that a wrapped comment or string literal puts around a line break.
const WRAPPING: &str = "/!#*->|\\";

fn normalized(gap: &str) -> &str {
    let separates = match gap.matches('\n').count() {
        0 => !gap.is_empty() && gap.chars().all(char::is_whitespace),
        1 => gap.chars().all(|character| character.is_whitespace() || WRAPPING.contains(character)),
        // A blank line separates paragraphs.
        _ => false,
    };
    if separates { " " } else { gap }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<(&str, usize, &str)> {
        words(text).map(|word| (word.text, word.line, word.gap)).collect()
    }

    #[test]
    fn a_text_is_split_into_words_with_lines_and_gaps() {
        assert_eq!(
            split("carts::owner(a)\n  b_c"),
            [("carts", 1, ""), ("owner", 1, "::"), ("a", 1, "("), ("b_c", 2, ")\n  ")]
        );
    }

    #[test]
    fn a_phrase_continues_over_a_wrapped_line() {
        assert_eq!(split("/// one\n    /// two")[1], ("two", 2, " "));
        assert_eq!(split("\"one \\\n   two\"")[1], ("two", 2, " "));
        assert_eq!(split("one\n\ntwo")[1], ("two", 3, "\n\n"));
        assert_eq!(split("one - two")[1], ("two", 1, " - "));
    }
}
