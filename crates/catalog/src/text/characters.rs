//! Normalizing the characters of a text. Invisible characters are removed, because they allow a text to tell an agent
//! something else than the person behind it: controls, directional marks, joiners, variation selectors, tags, private
//! use.

use icu_normalizer::{ComposingNormalizer, ComposingNormalizerBorrowed};
use icu_properties::props::{
    CanonicalCombiningClass, DefaultIgnorableCodePoint, GeneralCategory, NoncharacterCodePoint,
};
use icu_properties::{
    CodePointMapData, CodePointMapDataBorrowed, CodePointSetData, CodePointSetDataBorrowed,
};

use super::{Layout, markup};

/// Most combining marks on a letter. Living languages stack three, rarely four.
const MARKS_MAX: usize = 4;

/// The first combining mark; characters below it need no composition.
const FIRST_MARK: char = '\u{300}';

const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const COMBINING: CodePointMapDataBorrowed<'static, CanonicalCombiningClass> =
    CodePointMapData::new();
const IGNORABLE: CodePointSetDataBorrowed<'static> =
    CodePointSetData::new::<DefaultIgnorableCodePoint>();
const NONCHARACTERS: CodePointSetDataBorrowed<'static> =
    CodePointSetData::new::<NoncharacterCodePoint>();
const COMPOSED: ComposingNormalizerBorrowed<'static> = ComposingNormalizer::new_nfc();

/// Role of a character in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Visible,
    Space,
    Break,
    Unwanted,
}

/// Removes unwanted characters, composes the text (NFC), reduces white space to single spaces or line breaks, and limits
/// combining marks. It is idempotent: composing yields neither spaces nor unwanted characters, and limiting the marks
/// does not change what composes.
pub(super) fn normalize(text: &str, layout: Layout) -> String {
    let spaced = normalize_spaces(text, layout);
    if spaced.chars().all(|c| c < FIRST_MARK) {
        return spaced;
    }
    limit_marks(&COMPOSED.normalize(&spaced))
}

/// Whether a text is already normalized and contains no markup. It may return false for such a text, but never true for
/// another one. Nearly all texts take this path, so that it works on bytes and knows only the characters of Western
/// languages.
pub(super) fn are_normalized(text: &str, layout: Layout) -> bool {
    let mut rest = text.as_bytes();
    if !are_well_spaced(rest, layout) {
        return false;
    }
    while let Some(at) = first_uncommon(rest) {
        match known_bytes(&rest[at..]) {
            Some(count) => rest = &rest[at + count..],
            None => return false,
        }
    }
    true
}

/// Whether there is no superfluous space or line break.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "without branches the compiler vectorizes the loop, which is four times as fast"
)]
fn are_well_spaced(bytes: &[u8], layout: Layout) -> bool {
    let ([first, second @ ..], [.., last]) = (bytes, bytes) else {
        return true;
    };
    let third = second.get(1..).unwrap_or_default();
    let is_break = |byte: u8| byte == b'\n';
    let is_gap = |byte: u8| (byte == b' ') | is_break(byte);
    let mut is_wrong = is_gap(*first) | is_gap(*last);
    for ((&a, &b), &c) in bytes.iter().zip(second).zip(third) {
        // Two in a row are valid only as an empty line; three are never valid.
        let is_empty_line = is_break(a) & is_break(b) & !is_break(c);
        is_wrong |= is_gap(a) & is_gap(b) & !is_empty_line;
    }
    !is_wrong && (layout == Layout::Paragraphs || !bytes.contains(&b'\n'))
}

/// Returns the position of the first byte that needs a closer check: one that is neither printable ASCII nor a line
/// break, or that may start markup.
#[expect(clippy::needless_bitwise_bool, reason = "as above")]
fn first_uncommon(bytes: &[u8]) -> Option<usize> {
    let is_uncommon = |byte: u8| {
        (!(b' '..=b'~').contains(&byte) & (byte != b'\n')) | (byte == b'<') | (byte == b'&')
    };
    let mut start = 0;
    for chunk in bytes.chunks(32) {
        if chunk.iter().fold(false, |any, byte| any | is_uncommon(*byte)) {
            return chunk.iter().position(|byte| is_uncommon(*byte)).map(|at| start + at);
        }
        start += chunk.len();
    }
    None
}

/// Returns the length of the first character in bytes, if it is common in Western text and normalized.
fn known_bytes(bytes: &[u8]) -> Option<usize> {
    match *bytes {
        [first @ (b'<' | b'&'), second, ..] if markup::starts_markup(first, second) => None,
        [b'<' | b'&', ..] => Some(1),
        // U+00A1 to U+00BF without the soft hyphen, then letters up to U+02FF.
        [0xc2, 0xa1..=0xac | 0xae.., ..] | [0xc3..=0xcb, ..] => Some(2),
        // Dashes, quotation marks, bullets, the ellipsis; currencies; the trade mark sign.
        [0xe2, 0x80, 0x90..=0xa7, ..] | [0xe2, 0x82, 0xa0..=0xbf, ..] | [0xe2, 0x84, 0xa2, ..] => {
            Some(3)
        }
        _ => None,
    }
}

/// White space between two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gap {
    None,
    Space,
    Lines(u8),
}

impl Gap {
    fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Space => " ",
            Self::Lines(1) => "\n",
            Self::Lines(_) => "\n\n",
        }
    }

    fn and_space(self) -> Self {
        if self == Self::None { Self::Space } else { self }
    }

    fn and_break(self) -> Self {
        match self {
            Self::None | Self::Space => Self::Lines(1),
            Self::Lines(_) => Self::Lines(2),
        }
    }
}

/// Removes unwanted characters and reduces each run of white space to one gap.
fn normalize_spaces(text: &str, layout: Layout) -> String {
    let mut spaced = String::with_capacity(text.len());
    let mut gap = Gap::None;
    let mut previous = '\0';
    for character in text.chars() {
        match kind(character) {
            Kind::Visible => {
                if !spaced.is_empty() {
                    spaced.push_str(gap.text());
                }
                spaced.push(character);
                gap = Gap::None;
            }
            // The second half of one line break.
            Kind::Break if previous == '\r' && character == '\n' => {}
            Kind::Break if layout == Layout::Paragraphs => gap = gap.and_break(),
            Kind::Space | Kind::Break => gap = gap.and_space(),
            Kind::Unwanted => {}
        }
        previous = character;
    }
    spaced
}

fn kind(character: char) -> Kind {
    match character {
        '!'..='~' => Kind::Visible,
        ' ' | '\t' => Kind::Space,
        '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => Kind::Break,
        _ if character.is_whitespace() => Kind::Space,
        _ if is_unwanted(character) => Kind::Unwanted,
        _ => Kind::Visible,
    }
}

/// Whether a character is removed from a product's text. Unassigned characters may become letters and are kept.
fn is_unwanted(character: char) -> bool {
    use GeneralCategory as Category;
    match CATEGORIES.get(character) {
        // Most characters are decided here, without a lookup in the sets below.
        Category::UppercaseLetter | Category::LowercaseLetter | Category::DecimalNumber => false,
        Category::Control | Category::Format | Category::PrivateUse | Category::Surrogate => true,
        Category::Unassigned => NONCHARACTERS.contains(character) || IGNORABLE.contains(character),
        _ => IGNORABLE.contains(character),
    }
}

/// Limits stacked combining marks, which would otherwise cover the lines above and below.
fn limit_marks(text: &str) -> String {
    let mut limited = String::with_capacity(text.len());
    let mut marks = 0;
    for character in text.chars() {
        marks = if is_mark(character) { marks + 1 } else { 0 };
        if marks <= MARKS_MAX {
            limited.push(character);
        }
    }
    limited
}

/// Whether a character is a combining mark. Spacing marks that composition reorders count too, or else a limited stack
/// would not be in canonical order.
fn is_mark(character: char) -> bool {
    character >= FIRST_MARK
        && match CATEGORIES.get(character) {
            GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark => true,
            GeneralCategory::SpacingMark => {
                COMBINING.get(character) != CanonicalCombiningClass::NotReordered
            }
            _ => false,
        }
}
