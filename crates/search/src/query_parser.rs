//! Parses the words of a query: their stems in the index, spelling corrections and completions.

use std::collections::HashMap;

use tantivy::Term;
use tantivy::query::{Bm25StatisticsProvider, FuzzyTermQuery};

use crate::language::{Language, Stemmers, Tokenizer};
use crate::schema::Fields;
use crate::snapshot::{Frequencies, ShardSnapshot};
use crate::stop_words::STOP_WORDS;

/// Further words are ignored: each has a cost.
const WORDS_MAX: usize = 24;
/// Corrections per misspelled word.
const CORRECTIONS_MAX: usize = 3;

/// A word of a query.
#[derive(Debug, Clone)]
pub(crate) struct QueryWord {
    /// As typed, in lower case and without accents.
    pub(crate) text: String,
    /// Its stems in all supported languages, as far as they occur in the index.
    pub(crate) stems: Vec<String>,
    pub(crate) is_stop_word: bool,
}

/// Parses queries against some shards.
pub(crate) struct QueryParser<'snapshot> {
    pub(crate) fields: Fields,
    pub(crate) shards: &'snapshot [&'snapshot ShardSnapshot],
    stemmers: Stemmers,
}

impl<'snapshot> QueryParser<'snapshot> {
    pub(crate) fn new(
        fields: Fields,
        shards: &'snapshot [&'snapshot ShardSnapshot],
        stemming: bool,
    ) -> Self {
        let languages: &[Language] = if stemming { &Language::ALL } else { &[] };
        Self { fields, shards, stemmers: Stemmers::new(languages) }
    }

    /// Returns the distinct words of a text.
    pub(crate) fn parse(&self, text: &str) -> tantivy::Result<Vec<QueryWord>> {
        let mut words: Vec<QueryWord> = Vec::new();
        for text in Tokenizer::new().words(text).into_iter().take(WORDS_MAX) {
            if !words.iter().any(|known| known.text == text) {
                words.push(self.word(text)?);
            }
        }
        // If all words are stop words, they are all required.
        if words.iter().all(|word| word.is_stop_word) {
            for word in &mut words {
                word.is_stop_word = false;
            }
        }
        Ok(words)
    }

    fn word(&self, text: String) -> tantivy::Result<QueryWord> {
        let mut stems = self.stemmers.stems(&text);
        if stems.is_empty() {
            stems.push(text.clone());
        }
        let mut known = Vec::with_capacity(stems.len());
        for stem in stems {
            let term = Term::from_field_text(self.fields.text, &stem);
            if Frequencies(self.shards).doc_freq(&term)? > 0 {
                known.push(stem);
            }
        }
        let is_stop_word = STOP_WORDS.contains(&text.as_str());
        Ok(QueryWord { text, stems: known, is_stop_word })
    }

    /// Returns spelling corrections of a word: words within an edit distance of 1, or of 2 for a long word.
    pub(crate) fn corrections(&self, word: &QueryWord) -> tantivy::Result<Vec<QueryWord>> {
        let length = word.text.chars().count();
        // A number with one digit changed is a different number.
        if length < 4 || word.text.chars().all(|letter| letter.is_ascii_digit()) {
            return Ok(Vec::new());
        }
        let mut similar = self.similar_words(&word.text, 1)?;
        if similar.is_empty() && length >= 7 {
            similar = self.similar_words(&word.text, 2)?;
        }
        // The first letter is rarely wrong; after that, the more frequent word is more likely.
        let first = word.text.chars().next();
        let mut similar: Vec<(String, u64)> = similar.into_iter().collect();
        similar.sort_by_key(|(text, count)| {
            (text.chars().next() != first, std::cmp::Reverse(*count), text.clone())
        });
        let frequency = similar.first().map_or(0, |(_, count)| *count);
        let likely = similar.into_iter().filter(|(_, count)| count.saturating_mul(10) >= frequency);
        likely.take(CORRECTIONS_MAX).map(|(text, _)| self.word(text)).collect()
    }

    /// Returns the words of the index within an edit distance, with their document frequencies.
    fn similar_words(&self, text: &str, distance: u8) -> tantivy::Result<HashMap<String, u64>> {
        let term = Term::from_field_text(self.fields.word, text);
        let query = FuzzyTermQuery::new(term, distance, true);
        let mut similar = HashMap::new();
        for shard in self.shards {
            for segment in shard.index.searcher.segment_readers() {
                let index = segment.inverted_index(self.fields.word)?;
                let mut stream = index.terms().search(query.automaton()?).into_stream()?;
                while stream.advance() {
                    if let Ok(word) = std::str::from_utf8(stream.key()) {
                        *similar.entry(word.to_owned()).or_insert(0) +=
                            u64::from(stream.value().doc_freq);
                    }
                }
            }
        }
        Ok(similar)
    }

    /// Returns the words of the index with this prefix, the most frequent first.
    pub(crate) fn completions(&self, prefix: &str, limit: usize) -> tantivy::Result<Vec<String>> {
        let mut found: HashMap<String, u64> = HashMap::new();
        for shard in self.shards {
            for segment in shard.index.searcher.segment_readers() {
                let index = segment.inverted_index(self.fields.word)?;
                let mut stream = index.terms().range().ge(prefix.as_bytes()).into_stream()?;
                while stream.advance() && stream.key().starts_with(prefix.as_bytes()) {
                    if let Ok(word) = std::str::from_utf8(stream.key()) {
                        *found.entry(word.to_owned()).or_insert(0) +=
                            u64::from(stream.value().doc_freq);
                    }
                }
            }
        }
        let mut found: Vec<(String, u64)> = found.into_iter().collect();
        found.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
        Ok(found.into_iter().take(limit).map(|(word, _)| word).collect())
    }
}
