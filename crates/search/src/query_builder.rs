//! Builds tantivy queries from words and filters.

use merchants::Store;
use tantivy::Term;
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, Occur, Query as IndexQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};

use crate::document::{gtin_term, identifier_term, title_term};
use crate::language::Tokenizer;
use crate::query_parser::QueryWord;
use crate::rank::Tuning;
use crate::schema::Fields;
use crate::{Filters, Query};

/// Longer texts are not looked up as names or identifiers.
const EXACT_BYTES_MAX: usize = 400;

type Clause = (Occur, Box<dyn IndexQuery>);

/// How many words of the query a result must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequiredWords {
    All,
    AtLeast(usize),
}

/// Builds the queries of one search.
pub(crate) struct QueryBuilder<'query> {
    pub(crate) fields: Fields,
    pub(crate) tuning: &'query Tuning,
    pub(crate) filters: &'query Filters,
    pub(crate) stores: &'query [&'query Store],
    /// Whether the order depends on BM25 scores.
    pub(crate) scored: bool,
}

impl QueryBuilder<'_> {
    /// Returns the query for products that contain the words and pass the term filters. Each word is a list of
    /// alternatives.
    pub(crate) fn words_query(
        &self,
        words: &[Vec<QueryWord>],
        required: RequiredWords,
    ) -> Box<dyn IndexQuery> {
        let mut clauses = self.filter_clauses();
        let content_words: Vec<&Vec<QueryWord>> =
            words.iter().filter(|word| !is_stop_word(word)).collect();
        match required {
            _ if content_words.is_empty() => {
                clauses.push((Occur::Must, Box::new(AllQuery)));
            }
            RequiredWords::All => {
                clauses.extend(
                    content_words
                        .iter()
                        .map(|word| (Occur::Must, self.any_stem(self.fields.text, word))),
                );
            }
            RequiredWords::AtLeast(count) => {
                let each = content_words
                    .iter()
                    .map(|word| (Occur::Should, self.any_stem(self.fields.text, word)));
                let some = BooleanQuery::with_minimum_required_clauses(each.collect(), count);
                clauses.push((Occur::Must, Box::new(some)));
            }
        }
        if self.scored && self.tuning.title_boost > 0.0 {
            for word in words.iter().filter(|word| has_stems(word)) {
                let title = self.any_stem(self.fields.title, word);
                let boosted = BoostQuery::new(title, self.tuning.title_boost);
                clauses.push((Occur::Should, Box::new(boosted)));
            }
        }
        joined(clauses)
    }

    /// Returns the query for products whose GTIN, SKU, MPN, external id or name is the whole text; `None` if the text
    /// is empty or too long.
    pub(crate) fn exact_query(&self, text: &str) -> Option<Box<dyn IndexQuery>> {
        let text = text.trim();
        if text.is_empty() || text.len() > EXACT_BYTES_MAX {
            return None;
        }
        let mut terms = vec![title_term(&Tokenizer::new().normalized(text)), identifier_term(text)];
        if let Ok(gtin) = text.parse::<catalog::Gtin>() {
            terms.push(gtin_term(&gtin.to_14()));
        }
        let terms = terms.iter().map(|term| Term::from_field_text(self.fields.exact, term));
        let each = terms.map(|term| (Occur::Should, filter(term)));
        let mut clauses = self.filter_clauses();
        clauses.push((Occur::Must, Box::new(BooleanQuery::new(each.collect()))));
        Some(joined(clauses))
    }

    /// Returns the query for products with some of these words in their title, or in the same category.
    pub(crate) fn similar_query(&self, words: &[QueryWord], category: &str) -> Box<dyn IndexQuery> {
        let mut clauses = self.filter_clauses();
        let each = words.iter().map(|word| {
            (Occur::Should, self.any_stem(self.fields.title, std::slice::from_ref(word)))
        });
        let count = words.len().div_ceil(3).max(1);
        let some = BooleanQuery::with_minimum_required_clauses(each.collect(), count);
        let same_category = Term::from_field_text(self.fields.category, category);
        let same_category = ConstScoreQuery::new(term_query(same_category), SAME_CATEGORY_SCORE);
        // A product whose name shares no word with others still has products of the same category.
        let similar: Vec<Clause> =
            vec![(Occur::Should, Box::new(some)), (Occur::Should, Box::new(same_category))];
        clauses.push((Occur::Must, Box::new(BooleanQuery::new(similar))));
        joined(clauses)
    }

    /// Returns the query for any stem of any of the words.
    fn any_stem(&self, field: Field, words: &[QueryWord]) -> Box<dyn IndexQuery> {
        let stems = words.iter().flat_map(|word| &word.stems);
        let mut terms: Vec<Term> = stems.map(|stem| Term::from_field_text(field, stem)).collect();
        terms.dedup();
        let frequencies =
            if self.scored { IndexRecordOption::WithFreqs } else { IndexRecordOption::Basic };
        let mut each: Vec<Box<dyn IndexQuery>> = Vec::with_capacity(terms.len());
        for term in terms {
            each.push(Box::new(TermQuery::new(term, frequencies)));
        }
        match each.pop() {
            Some(only) if each.is_empty() => only,
            Some(last) => {
                each.push(last);
                Box::new(BooleanQuery::union(each))
            }
            None => Box::new(tantivy::query::EmptyQuery),
        }
    }

    fn filter_clauses(&self) -> Vec<Clause> {
        let mut clauses = Vec::new();
        let stores = self
            .stores
            .iter()
            .map(|store| filter(Term::from_field_u64(self.fields.store, u64::from(store.number))));
        let mut stores: Vec<_> = stores.collect();
        if stores.len() > 1 {
            clauses.push((Occur::Must, filter_query(Box::new(BooleanQuery::union(stores)))));
        } else if let Some(store) = stores.pop() {
            clauses.push((Occur::Must, store));
        }
        if let Some(category) = &self.filters.category {
            let category = category.trim().trim_matches('/').to_lowercase();
            let category = category.split_whitespace().collect::<Vec<_>>().join("-");
            let term = Term::from_field_text(self.fields.category, &category);
            clauses.push((Occur::Must, filter(term)));
        }
        if let Some(brand) = &self.filters.brand {
            let brand = Tokenizer::new().normalized(brand);
            clauses.push((Occur::Must, filter(Term::from_field_text(self.fields.brand, &brand))));
        }
        clauses
    }
}

/// Score of the same category, comparable to the BM25 score of a rare word.
const SAME_CATEGORY_SCORE: f32 = 4.0;

fn is_stop_word(alternatives: &[QueryWord]) -> bool {
    alternatives.iter().all(|word| word.is_stop_word)
}

fn has_stems(alternatives: &[QueryWord]) -> bool {
    alternatives.iter().any(|word| !word.stems.is_empty())
}

fn joined(mut clauses: Vec<Clause>) -> Box<dyn IndexQuery> {
    match clauses.pop() {
        Some((Occur::Must, only)) if clauses.is_empty() => only,
        last => {
            clauses.extend(last);
            Box::new(BooleanQuery::new(clauses))
        }
    }
}

fn term_query(term: Term) -> Box<dyn IndexQuery> {
    Box::new(TermQuery::new(term, IndexRecordOption::Basic))
}

/// Returns a query that filters by a term and adds nothing to the score.
fn filter(term: Term) -> Box<dyn IndexQuery> {
    filter_query(term_query(term))
}

fn filter_query(query: Box<dyn IndexQuery>) -> Box<dyn IndexQuery> {
    Box::new(ConstScoreQuery::new(query, 0.0))
}

impl Query {
    /// Returns whether the order depends on BM25 scores.
    pub(crate) fn is_scored(&self) -> bool {
        matches!(self.sort, crate::Sort::Relevance | crate::Sort::Trust)
    }
}
