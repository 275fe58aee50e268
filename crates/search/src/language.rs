//! From text to the words and stems that are compared.

use frostem::{Algorithm, Stemmer};
use tantivy::tokenizer::{
    AsciiFoldingFilter, LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer, TokenStream,
};

/// Longer words are numbers of some kind, and nobody searches for a part of them.
const WORD_BYTES_MAX: usize = 40;

/// A language whose inflections are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
}

impl Language {
    pub(crate) const ALL: [Self; 7] = [
        Self::English,
        Self::German,
        Self::French,
        Self::Spanish,
        Self::Italian,
        Self::Portuguese,
        Self::Dutch,
    ];

    /// The language of an ISO 639 code, also with a region behind it.
    fn of_code(code: &str) -> Option<Self> {
        match code.split(['-', '_']).next()? {
            "en" => Some(Self::English),
            "de" => Some(Self::German),
            "fr" => Some(Self::French),
            "es" => Some(Self::Spanish),
            "it" => Some(Self::Italian),
            "pt" => Some(Self::Portuguese),
            "nl" => Some(Self::Dutch),
            _ => None,
        }
    }

    /// The languages a store writes in; English, if it names none that is understood.
    pub(crate) fn of_store(codes: &[String]) -> Vec<Self> {
        let mut languages: Vec<Self> = Vec::new();
        for language in codes.iter().filter_map(|code| Self::of_code(code)) {
            if !languages.contains(&language) {
                languages.push(language);
            }
        }
        if languages.is_empty() {
            languages.push(Self::English);
        }
        languages
    }

    fn stemmer(self) -> Stemmer {
        Stemmer::new(match self {
            Self::English => Algorithm::English,
            Self::German => Algorithm::German,
            Self::French => Algorithm::French,
            Self::Spanish => Algorithm::Spanish,
            Self::Italian => Algorithm::Italian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Dutch => Algorithm::Dutch,
        })
    }
}

/// Splits text into words, without case and accents.
pub(crate) struct Words(TextAnalyzer);

impl Words {
    pub(crate) fn new() -> Self {
        // Folding comes before stemming, so that a word typed without its accents finds the same stem.
        let analyzer = TextAnalyzer::builder(SimpleTokenizer::default())
            .filter(RemoveLongFilter::limit(WORD_BYTES_MAX))
            .filter(LowerCaser)
            .filter(AsciiFoldingFilter)
            .build();
        Self(analyzer)
    }

    /// The words of a text, in order.
    pub(crate) fn of(&mut self, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut stream = self.0.token_stream(text);
        while stream.advance() {
            words.push(stream.token().text.clone());
        }
        words
    }

    /// The words of a text with one blank between them: two names that look alike become one.
    pub(crate) fn folded(&mut self, text: &str) -> String {
        self.of(text).join(" ")
    }
}

/// The stems of a word in some languages, each once.
pub(crate) struct Stems(Vec<Stemmer>);

impl Stems {
    pub(crate) fn new(languages: &[Language]) -> Self {
        Self(languages.iter().map(|language| language.stemmer()).collect())
    }

    pub(crate) fn of(&self, word: &str) -> Vec<String> {
        let mut stems: Vec<String> = Vec::with_capacity(self.0.len());
        for stemmer in &self.0 {
            let stem = stemmer.stem(word);
            if !stems.iter().any(|known| *known == stem) {
                stems.push(stem.into_owned());
            }
        }
        stems
    }
}
