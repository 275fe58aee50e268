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
    let bytes = text.as_bytes();
    // A text starts with no white space at all, as if an empty line stood before it.
    let mut gap = Gap::Lines(2);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if IS_INK[usize::from(byte)] {
            gap = Gap::None;
            at += 1;
            continue;
        }
        match (byte, gap) {
            (b' ', Gap::None) => gap = Gap::Space,
            (b'\n', Gap::None | Gap::Lines(1)) if layout == Layout::Paragraphs => {
                gap = gap.and_break();
            }
            _ => {
                let Some(more) = further_bytes_of_ink(&bytes[at..]) else {
                    return false;
                };
                gap = Gap::None;
                at += more;
            }
        }
        at += 1;
    }
    gap == Gap::None || text.is_empty()
}

/// The bytes that are ink whatever follows: ASCII that can be seen, without what opens markup.
const IS_INK: [bool; 256] = {
    let mut is_ink = [false; 256];
    let mut byte = b'!';
    while byte <= b'~' {
        is_ink[byte as usize] = byte != b'<' && byte != b'&';
        byte += 1;
    }
    is_ink
};

/// How many bytes belong to the first one, if it starts a character that is common in Western text and
/// needs no second look.
fn further_bytes_of_ink(bytes: &[u8]) -> Option<usize> {
    match *bytes {
        [first @ (b'<' | b'&'), second, ..] if markup::starts_markup(first, second) => None,
        [b'<' | b'&', ..] => Some(0),
        // U+00A1 to U+00BF without the soft hyphen, then letters up to U+02FF.
        [0xc2, 0xa1..=0xac | 0xae.., ..] | [0xc3..=0xcb, ..] => Some(1),
        // Dashes, quotation marks, bullets, the ellipsis: U+2010 to U+2027.
        [0xe2, 0x80, 0x90..=0xa7, ..] => Some(2),
        // Currencies, U+20A0 to U+20BF, and the trade mark sign.
        [0xe2, 0x82, 0xa0..=0xbf, ..] | [0xe2, 0x84, 0xa2, ..] => Some(2),
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
    use GeneralCategory::{EnclosingMark, NonspacingMark};
    character >= FIRST_MARK
        && (matches!(CATEGORIES.get(character), NonspacingMark | EnclosingMark)
            || COMBINING.get(character) != CanonicalCombiningClass::NotReordered)
}
