//! Characters a text may hold. What nobody can see is a way to say one thing to an agent and another
//! to the person behind it, so it goes: controls, directions, joiners, selectors, tags, private use.

use icu_normalizer::{ComposingNormalizer, ComposingNormalizerBorrowed};
use icu_properties::props::{
    CanonicalCombiningClass, DefaultIgnorableCodePoint, GeneralCategory, NoncharacterCodePoint,
};
use icu_properties::{
    CodePointMapData, CodePointMapDataBorrowed, CodePointSetData, CodePointSetDataBorrowed,
};

use super::{Layout, markup};

/// Living languages stack three marks on a letter, seldom four.
const MARKS_MAX: usize = 4;

/// Below this nothing combines, and everything is composed already.
const FIRST_MARK: char = '\u{300}';

const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const COMBINING: CodePointMapDataBorrowed<'static, CanonicalCombiningClass> =
    CodePointMapData::new();
const IGNORABLE: CodePointSetDataBorrowed<'static> =
    CodePointSetData::new::<DefaultIgnorableCodePoint>();
const NONCHARACTERS: CodePointSetDataBorrowed<'static> =
    CodePointSetData::new::<NoncharacterCodePoint>();
const COMPOSED: ComposingNormalizerBorrowed<'static> = ComposingNormalizer::new_nfc();

/// What a character is to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ink,
    Space,
    Break,
    Unwanted,
}

/// The same text in wanted characters only, composed, with single spaces and no piles of marks.
/// Doing it twice is doing it once: composing yields neither spaces nor unwanted characters, and a
/// pile that loses its top still ends before a character that combines with nothing below.
pub(super) fn plain(text: &str, layout: Layout) -> String {
    let spaced = space_out(text, layout);
    if spaced.chars().all(|c| c < FIRST_MARK) {
        return spaced;
    }
    thin_out(&COMPOSED.normalize(&spaced))
}

/// Whether a text of the common kind is plain already and holds no markup. It may say no to a text
/// that is; it never says yes to one that is not. Nearly all text takes this way, so it looks at
/// bytes and knows only the characters of Western languages.
pub(super) fn are_plain(text: &str, layout: Layout) -> bool {
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

/// Whether no space or line break is one too many.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "without branches the compiler looks at many bytes at once, four times as quick"
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
        // Two in a row are an empty line or a mistake, and three are always one.
        let is_empty_line = is_break(a) & is_break(b) & !is_break(c);
        is_wrong |= is_gap(a) & is_gap(b) & !is_empty_line;
    }
    !is_wrong && (layout == Layout::Paragraphs || !bytes.contains(&b'\n'))
}

/// Where the first byte is that needs a second look: neither ASCII that can be seen, nor white space
/// that stands where it may; or what opens markup.
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

/// How many bytes the first character has, if Western text often holds it and it is fine as it is.
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

/// What stands between one word and the next.
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

/// Leaves out unwanted characters and brings every run of white space down to one gap.
fn space_out(text: &str, layout: Layout) -> String {
    let mut spaced = String::with_capacity(text.len());
    let mut gap = Gap::None;
    let mut previous = '\0';
    for character in text.chars() {
        match kind(character) {
            Kind::Ink => {
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
        '!'..='~' => Kind::Ink,
        ' ' | '\t' => Kind::Space,
        '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => Kind::Break,
        _ if character.is_whitespace() => Kind::Space,
        _ if is_unwanted(character) => Kind::Unwanted,
        _ => Kind::Ink,
    }
}

/// What has no place in a product's text. Unassigned characters may be next year's letters and stay.
fn is_unwanted(character: char) -> bool {
    use GeneralCategory as Category;
    match CATEGORIES.get(character) {
        // Most characters end here, without a search through the sets below.
        Category::UppercaseLetter | Category::LowercaseLetter | Category::DecimalNumber => false,
        Category::Control | Category::Format | Category::PrivateUse | Category::Surrogate => true,
        Category::Unassigned => NONCHARACTERS.contains(character) || IGNORABLE.contains(character),
        _ => IGNORABLE.contains(character),
    }
}

/// Takes the top off piles of marks, which otherwise grow over the lines above and below.
fn thin_out(text: &str) -> String {
    let mut thinned = String::with_capacity(text.len());
    let mut marks = 0;
    for character in text.chars() {
        marks = if is_mark(character) { marks + 1 } else { 0 };
        if marks <= MARKS_MAX {
            thinned.push(character);
        }
    }
    thinned
}

/// Whether a character is drawn over the one before it. Those that change places when composed count,
/// too, else a pile without its top would no longer be in order.
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
