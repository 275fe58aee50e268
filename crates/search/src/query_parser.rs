//! The words of a search: what they mean in the index, and what was probably meant.

use std::collections::HashMap;

use tantivy::Term;
use tantivy::query::{Bm25StatisticsProvider, FuzzyTermQuery};

use crate::fillers::FILLERS;
use crate::language::{Language, Stems, Words};
use crate::schema::Fields;
use crate::view::{Frequencies, ShardView};

/// More words than this are not looked at: nobody types them, and each costs.
const WORDS_MAX: usize = 24;
/// Words that one misspelt word may stand for.
const MEANT_MAX: usize = 3;

/// One word of a search.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    /// As typed, folded.
    pub(crate) text: String,
    /// Its stems in the languages of the index, those that occur.
    pub(crate) stems: Vec<String>,
    /// It says how other words hang together and need not occur.
    pub(crate) is_filler: bool,
}

/// Reads searches against some shards.
pub(crate) struct Reader<'view> {
    pub(crate) fields: Fields,
    pub(crate) shards: &'view [&'view ShardView],
    stems: Stems,
}

impl<'view> Reader<'view> {
    pub(crate) fn new(fields: Fields, shards: &'view [&'view ShardView], stemming: bool) -> Self {
        let languages: &[Language] = if stemming { &Language::ALL } else { &[] };
        Self { fields, shards, stems: Stems::new(languages) }
    }

    /// The words of a text, each once.
    pub(crate) fn read(&self, text: &str) -> tantivy::Result<Vec<Word>> {
        let mut words: Vec<Word> = Vec::new();
        for text in Words::new().of(text).into_iter().take(WORDS_MAX) {
            if !words.iter().any(|known| known.text == text) {
                words.push(self.word(text)?);
            }
        }
        // A search of nothing but fillers means them.
        if words.iter().all(|word| word.is_filler) {
            for word in &mut words {
                word.is_filler = false;
            }
        }
        Ok(words)
    }

    fn word(&self, text: String) -> tantivy::Result<Word> {
        let mut stems = self.stems.of(&text);
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
        let is_filler = FILLERS.contains(&text.as_str());
        Ok(Word { text, stems: known, is_filler })
    }

    /// What a word was probably meant to be: one slip away, or two in a long word.
    pub(crate) fn meant(&self, word: &Word) -> tantivy::Result<Vec<Word>> {
        let length = word.text.chars().count();
        // A number with another digit is another number.
        if length < 4 || word.text.chars().all(|letter| letter.is_ascii_digit()) {
            return Ok(Vec::new());
        }
        let mut near = self.near(&word.text, 1)?;
        if near.is_empty() && length >= 7 {
            near = self.near(&word.text, 2)?;
        }
        // People rarely get the first letter wrong; then, the commoner word is the likelier one.
        let first = word.text.chars().next();
        let mut near: Vec<(String, u64)> = near.into_iter().collect();
        near.sort_by_key(|(text, count)| {
            (text.chars().next() != first, std::cmp::Reverse(*count), text.clone())
        });
        let most = near.first().map_or(0, |(_, count)| *count);
        let likely = near.into_iter().filter(|(_, count)| count.saturating_mul(10) >= most);
        likely.take(MEANT_MAX).map(|(text, _)| self.word(text)).collect()
    }

    /// The words of the index within so many slips, with how often they occur.
    fn near(&self, text: &str, slips: u8) -> tantivy::Result<HashMap<String, u64>> {
        let term = Term::from_field_text(self.fields.word, text);
        let query = FuzzyTermQuery::new(term, slips, true);
        let mut near = HashMap::new();
        for shard in self.shards {
            for segment in shard.index.searcher.segment_readers() {
                let index = segment.inverted_index(self.fields.word)?;
                let mut stream = index.terms().search(query.automaton()?).into_stream()?;
                while stream.advance() {
                    if let Ok(word) = std::str::from_utf8(stream.key()) {
                        *near.entry(word.to_owned()).or_insert(0) +=
                            u64::from(stream.value().doc_freq);
                    }
                }
            }
        }
        Ok(near)
    }

    /// The words of the index that begin so, the most frequent first.
    pub(crate) fn completions(&self, start: &str, most: usize) -> tantivy::Result<Vec<String>> {
        let mut found: HashMap<String, u64> = HashMap::new();
        for shard in self.shards {
            for segment in shard.index.searcher.segment_readers() {
                let index = segment.inverted_index(self.fields.word)?;
                let mut stream = index.terms().range().ge(start.as_bytes()).into_stream()?;
                while stream.advance() && stream.key().starts_with(start.as_bytes()) {
                    if let Ok(word) = std::str::from_utf8(stream.key()) {
                        *found.entry(word.to_owned()).or_insert(0) +=
                            u64::from(stream.value().doc_freq);
                    }
                }
            }
        }
        let mut found: Vec<(String, u64)> = found.into_iter().collect();
        found.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
        Ok(found.into_iter().take(most).map(|(word, _)| word).collect())
    }
}
