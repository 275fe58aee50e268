//! Pronounceable words, brands and categories.

use super::Stream;
use super::random::{SplitMix64, WeightedIndex};

/// Number of words in the vocabulary.
const WORDS: u32 = 60_000;
/// The most frequent words are short.
const SHORT_WORDS: u32 = 4_000;
const BRANDS: u32 = 20_000;
const DEPARTMENTS: usize = 20;
const CATEGORIES: u64 = 300;
/// Number of words that are typical of a category.
const WORDS_PER_CATEGORY: usize = 200;
/// Flattens the head of the distribution: the most frequent word is in half of all products, not in all.
const OFFSET: f64 = 5.0;

const CONSONANTS: &[u8] = b"bcdfghjklmnprstvwyz";
const VOWELS: &[u8] = b"aeiou";
/// Final letters. No word ends in s, so that its plural is another form.
const FINAL_LETTERS: &[u8] = b"nrltkm";

/// The vocabulary, most frequent first.
pub(crate) struct Vocabulary {
    texts: Vec<String>,
    weights: WeightedIndex,
    /// Frequencies of the words of a category.
    category_weights: WeightedIndex,
}

impl Vocabulary {
    pub(crate) fn new() -> Self {
        let text = |rank: u32| {
            pronounceable_word(rank, if rank < SHORT_WORDS { 2 } else { 3 }, FINAL_LETTERS)
        };
        let texts: Vec<String> = (0..WORDS).map(text).collect();
        let weights = WeightedIndex::zipf(texts.len(), OFFSET);
        Self { texts, weights, category_weights: WeightedIndex::zipf(WORDS_PER_CATEGORY, OFFSET) }
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn text(&self, rank: usize) -> &str {
        &self.texts[rank]
    }

    /// Returns the rank of a random word.
    pub(crate) fn sample(&self, rng: &mut SplitMix64) -> usize {
        self.weights.sample(rng)
    }

    /// Returns the rank of a random word that is typical of a category.
    pub(crate) fn sample_for(&self, category: &Category, rng: &mut SplitMix64) -> usize {
        category.words[self.category_weights.sample(rng)]
    }
}

/// Returns the n-th word with this number of syllables; no two are equal.
fn pronounceable_word(number: u32, syllables: u32, finals: &[u8]) -> String {
    /// Makes words of adjacent ranks dissimilar. Coprime to the number of possible words.
    const SPREAD: u64 = 7_919;
    let count = |letters: &[u8]| u64::try_from(letters.len()).unwrap_or(1);
    let pairs = count(CONSONANTS) * count(VOWELS);
    let all = pairs.pow(syllables) * count(finals);
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
    word.push(take(finals));
    word
}

/// Returns brand names, with an ending that no other word has.
pub(crate) fn brands() -> Vec<String> {
    (0..BRANDS).map(|number| capitalized(&pronounceable_word(number, 3, b"x"))).collect()
}

pub(crate) fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// A category, the same in every store that uses it.
pub(crate) struct Category {
    /// Slug of the department.
    pub(crate) department: String,
    pub(crate) department_name: String,
    pub(crate) path: String,
    pub(crate) name: String,
    /// Ranks of the words in its name and path.
    pub(crate) name_words: [usize; 2],
    /// Ranks of the words that are typical of its products.
    words: Vec<usize>,
}

/// Returns all categories. Their words come from the middle of the vocabulary, neither the most frequent nor
/// the rarest ones.
pub(crate) fn categories(seed: u64, words: &Vocabulary) -> Vec<Category> {
    const FIRST: usize = 100;
    const MIDDLE: usize = 20_000;
    let category = |number: u64| {
        let mut rng = SplitMix64::new(seed, Stream::Category as u64, number);
        // A product of two uniform numbers: more frequent words are more likely.
        let mut typical = || FIRST + rng.index(MIDDLE) * rng.index(MIDDLE) / MIDDLE;
        let typical_words: Vec<usize> = (0..WORDS_PER_CATEGORY).map(|_| typical()).collect();
        let index = usize::try_from(number).unwrap_or(0);
        let department_word = words.len() / 2 + index % DEPARTMENTS;
        let own_word = words.len() / 2 + DEPARTMENTS + index;
        let (department, own) = (words.text(department_word), words.text(own_word));
        Category {
            department: department.to_owned(),
            department_name: capitalized(department),
            path: format!("{department}/{own}"),
            name: capitalized(own),
            name_words: [department_word, own_word],
            words: typical_words,
        }
    };
    (0..CATEGORIES).map(category).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn words_and_brands_are_distinct() {
        let words = Vocabulary::new();
        let distinct: HashSet<&String> = words.texts.iter().collect();
        assert_eq!(distinct.len(), words.texts.len());
        let brands = brands();
        assert_eq!(brands.iter().collect::<HashSet<_>>().len(), brands.len());
    }

    #[test]
    fn categories_are_distinct() {
        let categories = categories(1, &Vocabulary::new());
        let distinct: HashSet<&String> = categories.iter().map(|category| &category.path).collect();
        assert_eq!(distinct.len(), categories.len());
    }
}
