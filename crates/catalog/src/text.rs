//! Sanitizing merchant text: no markup, no invisible characters, no more than a field may hold. The text is untrusted
//! input of agents, and a person who reads the same response must see the same words.
//!
//! Sanitizing is idempotent (docs/decisions/0014).

mod characters;
mod markup;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

/// Most passes that remove markup. An export of a shop system escapes a text once or twice; more is an attack.
const PASSES_MAX: usize = 8;

/// Characters before the limit in which truncation looks for a space, so that it does not split a word.
const WORD_BOUNDARY_CHARACTERS: usize = 20;

/// Treatment of line breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// They become spaces.
    OneLine,
    /// They are kept, with at most one consecutive empty line.
    Paragraphs,
}

/// Sanitizes a text of one line, such as a name or an attribute.
#[must_use]
pub fn one_line(text: &str, characters_max: usize) -> Cow<'_, str> {
    sanitize(text, Layout::OneLine, characters_max)
}

/// Sanitizes a text of several lines, such as a description. Block elements and list items become lines.
#[must_use]
pub fn paragraphs(text: &str, characters_max: usize) -> Cow<'_, str> {
    sanitize(text, Layout::Paragraphs, characters_max)
}

fn sanitize(text: &str, layout: Layout, characters_max: usize) -> Cow<'_, str> {
    if characters::are_normalized(text, layout) {
        return Cow::Borrowed(truncate(text, characters_max));
    }
    let mut plain = to_plain_text(text, layout);
    plain.truncate(truncate(&plain, characters_max).len());
    // Borrowing saves the caller a copy.
    if plain == text { Cow::Borrowed(text) } else { Cow::Owned(plain) }
}

/// Removes markup until there is none. Removing one piece can uncover another: an escaped tag, or a tag that was split by
/// a removed character.
///
/// The loop terminates: an entity has more characters than what it stands for, and a tag more than the line break that
/// replaces it, so that every pass that changes the text shortens it. But `&amp;amp;amp;…` needs one pass per link of
/// the chain, which is quadratic. Hence after a few passes the two characters that start markup are removed, and the
/// rest cannot contain any.
fn to_plain_text(text: &str, layout: Layout) -> String {
    let mut plain = characters::normalize(text, layout);
    for _ in 0..PASSES_MAX {
        if !markup::may_contain_markup(&plain) {
            return plain;
        }
        let stripped = markup::strip(&plain);
        if stripped == plain {
            return plain;
        }
        plain = characters::normalize(&stripped, layout);
    }
    if markup::may_contain_markup(&plain) {
        plain = characters::normalize(&plain.replace(['<', '&'], " "), layout);
    }
    plain
}

/// Truncates a plain text. The result is plain text too: markup is recognized by its first characters, and a prefix of a
/// composed text is composed.
fn truncate(text: &str, characters_max: usize) -> &str {
    // A character has at least one byte.
    if text.len() <= characters_max {
        return text;
    }
    let Some((end, next)) = text.char_indices().nth(characters_max) else {
        return text;
    };
    let head = &text[..end];
    if next.is_whitespace() {
        return head.trim_end();
    }
    let space =
        head.char_indices().rev().take(WORD_BOUNDARY_CHARACTERS).find(|(_, c)| c.is_whitespace());
    space.map_or(head, |(at, _)| head[..at].trim_end())
}
