//! Merchant text becomes plain text: no markup, nothing invisible, no more than a field may hold.
//! Agents read it as words of a stranger; a person who reads the same answer must see the same words.
//!
//! What comes out is settled: cleaning it again changes nothing (docs/decisions/0014).

mod characters;
mod markup;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

/// How often markup is looked for. A shop's own export escapes a text once or twice; whoever needs
/// more than this is trying something.
const PASSES_MAX: usize = 8;

/// A cut looks this far back for a space, so that it does not leave half a word.
const LOOK_BACK_CHARACTERS: usize = 20;

/// What becomes of line breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// They are spaces.
    OneLine,
    /// They stay, with at most one empty line in a row.
    Paragraphs,
}

/// Plain text of one line: names, brands, attributes.
#[must_use]
pub fn one_line(text: &str, characters_max: usize) -> Cow<'_, str> {
    clean(text, Layout::OneLine, characters_max)
}

/// Plain text of several lines: descriptions, reviews. Blocks and list items of markup become lines.
#[must_use]
pub fn paragraphs(text: &str, characters_max: usize) -> Cow<'_, str> {
    clean(text, Layout::Paragraphs, characters_max)
}

fn clean(text: &str, layout: Layout, characters_max: usize) -> Cow<'_, str> {
    if characters::are_plain(text, layout) {
        return Cow::Borrowed(cut(text, characters_max));
    }
    let mut settled = settle(text, layout);
    settled.truncate(cut(&settled, characters_max).len());
    // An equal text costs its owner nothing to keep.
    if settled == text { Cow::Borrowed(text) } else { Cow::Owned(settled) }
}

/// Removes markup until there is none. Taking something away can lay bare what it hid: an escaped
/// tag, or a tag written around a character that is gone now.
///
/// This ends by itself: an entity has more characters than what it stands for, and a tag more than
/// the line break it leaves, so every pass that changes the text shortens it. But `&amp;amp;amp;…`
/// asks for a pass per link of the chain, which is quadratic. So after a few passes the two
/// characters that start markup go, and what remains cannot hold any, however often it is read.
fn settle(text: &str, layout: Layout) -> String {
    let mut settled = characters::plain(text, layout);
    for _ in 0..PASSES_MAX {
        if !markup::is_likely(&settled) {
            return settled;
        }
        let bare = markup::strip(&settled);
        if bare == settled {
            return settled;
        }
        settled = characters::plain(&bare, layout);
    }
    if markup::is_likely(&settled) {
        settled = characters::plain(&settled.replace(['<', '&'], " "), layout);
    }
    settled
}

/// The beginning of a settled text, which is settled, too: markup is known by its first characters,
/// and a part of a composed text is composed.
fn cut(text: &str, characters_max: usize) -> &str {
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
        head.char_indices().rev().take(LOOK_BACK_CHARACTERS).find(|(_, c)| c.is_whitespace());
    space.map_or(head, |(at, _)| head[..at].trim_end())
}
