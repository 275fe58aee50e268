//! Splits text into words and reduces words to stems.

use frostem::{Algorithm, Stemmer};
use tantivy::tokenizer::{
    AsciiFoldingFilter, LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer, TokenStream,
};

/// Longer words are identifiers, which are not searched by word.
const WORD_BYTES_MAX: usize = 40;

/// A language with a stemmer. The names of the variants are stored in the index, see `indexed_languages`.
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

    /// Returns the language of an ISO 639 code, which may have a region subtag.
    fn from_code(code: &str) -> Option<Self> {
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

    /// Returns the supported languages of a store; English if it has none.
    pub(crate) fn of_store(codes: &[String]) -> Vec<Self> {
        let mut languages: Vec<Self> = Vec::new();
        for language in codes.iter().filter_map(|code| Self::from_code(code)) {
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

/// Splits text into lower-case words without accents.
pub(crate) struct Tokenizer(TextAnalyzer);

impl Tokenizer {
    pub(crate) fn new() -> Self {
        // Accents are removed before stemming, so that a word typed without them has the same stem.
        let analyzer = TextAnalyzer::builder(SimpleTokenizer::default())
            .filter(RemoveLongFilter::limit(WORD_BYTES_MAX))
            .filter(LowerCaser)
            .filter(AsciiFoldingFilter)
            .build();
        Self(analyzer)
    }

    /// Returns the words of a text, in order.
    pub(crate) fn words(&mut self, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut stream = self.0.token_stream(text);
        while stream.advance() {
            words.push(stream.token().text.clone());
        }
        words
    }

    /// Returns the words of a text with one space between them, so that names compare regardless of case, accents
    /// and punctuation.
    pub(crate) fn normalized(&mut self, text: &str) -> String {
        self.words(text).join(" ")
    }
}

/// The stemmers of some languages.
pub(crate) struct Stemmers(Vec<Stemmer>);

impl Stemmers {
    pub(crate) fn new(languages: &[Language]) -> Self {
        Self(languages.iter().map(|language| language.stemmer()).collect())
    }

    /// Returns the distinct stems of a word.
    pub(crate) fn stems(&self, word: &str) -> Vec<String> {
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
