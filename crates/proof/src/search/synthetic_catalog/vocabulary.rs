//! Words that can be spoken, and where they are used.

use super::Kind;
use super::dice::{Dice, Weighted};

/// Words of the vocabulary.
const WORDS: u32 = 60_000;
/// The first so many are short.
const SHORT_WORDS: u32 = 4_000;
const BRANDS: u32 = 20_000;
const DEPARTMENTS: usize = 20;
const PLACES: u64 = 300;
/// Words that are typical of one place.
const WORDS_OF_A_PLACE: usize = 200;
/// Flattens the beginning: the most frequent word stands in half of all products, not in all.
const OFFSET: f64 = 5.0;

const CONSONANTS: &[u8] = b"bcdfghjklmnprstvwyz";
const VOWELS: &[u8] = b"aeiou";
/// No word ends in s, so that the plural is another form of it.
const ENDS: &[u8] = b"nrltkm";

/// The vocabulary, most frequent first.
pub(crate) struct Words {
    texts: Vec<String>,
    draw: Weighted,
    /// How often the words of a place are used, whatever they are.
    place_draw: Weighted,
}

impl Words {
    pub(crate) fn new() -> Self {
        let text = |rank: u32| spoken(rank, if rank < SHORT_WORDS { 2 } else { 3 }, ENDS);
        let texts: Vec<String> = (0..WORDS).map(text).collect();
        let draw = Weighted::zipf(texts.len(), OFFSET);
        Self { texts, draw, place_draw: Weighted::zipf(WORDS_OF_A_PLACE, OFFSET) }
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn text(&self, rank: usize) -> &str {
        &self.texts[rank]
    }

    /// The rank of any word.
    pub(crate) fn draw(&self, dice: &mut Dice) -> usize {
        self.draw.draw(dice)
    }

    /// The rank of a word that is typical of a place.
    pub(crate) fn draw_of(&self, place: &Place, dice: &mut Dice) -> usize {
        place.words[self.place_draw.draw(dice)]
    }
}

/// The n-th word of so many syllables; no two are equal.
fn spoken(number: u32, syllables: u32, ends: &[u8]) -> String {
    /// Neighbours in rank shall not look alike. It shares no factor with the number of words there are.
    const SPREAD: u64 = 7_919;
    let count = |letters: &[u8]| u64::try_from(letters.len()).unwrap_or(1);
    let pairs = count(CONSONANTS) * count(VOWELS);
    let all = pairs.pow(syllables) * count(ends);
    let mut rest = u64::from(number) * SPREAD % all;
    let mut take = |letters: &[u8]| {
        let index = usize::try_from(rest % count(letters)).unwrap_or(0);
        rest /= count(letters);
        char::from(letters[index])
    };
    let mut word = String::new();
    for _ in 0..syllables {
        word.push(take(CONSONANTS));
        word.push(take(VOWELS));
    }
    word.push(take(ends));
    word
}

/// Names of makers: an ending that no other word has.
pub(crate) fn brands() -> Vec<String> {
    (0..BRANDS).map(|number| capital(&spoken(number, 3, b"x"))).collect()
}

pub(crate) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// A category, the same in every store that has it.
pub(crate) struct Place {
    /// The department, its slug and its name.
    pub(crate) department: String,
    pub(crate) department_name: String,
    pub(crate) path: String,
    pub(crate) name: String,
    /// The ranks of the words its name and path are made of.
    pub(crate) name_words: [usize; 2],
    /// The ranks of the words its products are described with.
    words: Vec<usize>,
}

/// All categories. Their words come from the middle of the vocabulary: neither filling words nor
/// words that hardly exist.
pub(crate) fn places(seed: u64, words: &Words) -> Vec<Place> {
    const FIRST: usize = 100;
    const MIDDLE: usize = 20_000;
    let place = |number: u64| {
        let mut dice = Dice::of(seed, Kind::Place as u64, number);
        // By the square: earlier words more often.
        let mut typical = || FIRST + dice.place(MIDDLE) * dice.place(MIDDLE) / MIDDLE;
        let words_of: Vec<usize> = (0..WORDS_OF_A_PLACE).map(|_| typical()).collect();
        let index = usize::try_from(number).unwrap_or(0);
        let department_word = words.len() / 2 + index % DEPARTMENTS;
        let own_word = words.len() / 2 + DEPARTMENTS + index;
        let (department, own) = (words.text(department_word), words.text(own_word));
        Place {
            department: department.to_owned(),
            department_name: capital(department),
            path: format!("{department}/{own}"),
            name: capital(own),
            name_words: [department_word, own_word],
            words: words_of,
        }
    };
    (0..PLACES).map(place).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_words_or_brands_are_equal() {
        let words = Words::new();
        let distinct: HashSet<&String> = words.texts.iter().collect();
        assert_eq!(distinct.len(), words.texts.len());
        let brands = brands();
        assert_eq!(brands.iter().collect::<HashSet<_>>().len(), brands.len());
    }

    #[test]
    fn no_two_places_are_equal() {
        let places = places(1, &Words::new());
        let distinct: HashSet<&String> = places.iter().map(|place| &place.path).collect();
        assert_eq!(distinct.len(), places.len());
    }
}
