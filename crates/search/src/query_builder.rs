//! From words and filters to a query of the index.

use merchants::Store;
use tantivy::Term;
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, Occur, Query as IndexQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};

use crate::document::{gtin_name, number_name, title_name};
use crate::language::Words;
use crate::rank::Tuning;
use crate::schema::Fields;
use crate::words::Word;
use crate::{Filters, Query};

/// Longer texts name nothing exactly.
const NAME_BYTES_MAX: usize = 400;

type Clause = (Occur, Box<dyn IndexQuery>);

/// How many of the words a result must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// All of them.
    All,
    /// So many of them.
    AtLeast(usize),
}

/// Makes queries.
pub(crate) struct Planner<'query> {
    pub(crate) fields: Fields,
    pub(crate) tuning: &'query Tuning,
    pub(crate) filters: &'query Filters,
    pub(crate) stores: &'query [&'query Store],
    /// Whether the order asks how well words fit.
    pub(crate) scored: bool,
}

impl Planner<'_> {
    /// What has the words and passes the filters that the index can look up.
    pub(crate) fn with_words(&self, words: &[Vec<Word>], need: Need) -> Box<dyn IndexQuery> {
        let mut clauses = self.filter_clauses();
        let meant: Vec<&Vec<Word>> = words.iter().filter(|meant| !is_filler(meant)).collect();
        match need {
            _ if meant.is_empty() => {
                clauses.push((Occur::Must, Box::new(AllQuery)));
            }
            Need::All => {
                clauses.extend(
                    meant.iter().map(|meant| (Occur::Must, self.any(self.fields.text, meant))),
                );
            }
            Need::AtLeast(count) => {
                let each =
                    meant.iter().map(|meant| (Occur::Should, self.any(self.fields.text, meant)));
                let some = BooleanQuery::with_minimum_required_clauses(each.collect(), count);
                clauses.push((Occur::Must, Box::new(some)));
            }
        }
        if self.scored && self.tuning.title_boost > 0.0 {
            for meant in words.iter().filter(|meant| has_stems(meant)) {
                let title = self.any(self.fields.title, meant);
                let boosted = BoostQuery::new(title, self.tuning.title_boost);
                clauses.push((Occur::Should, Box::new(boosted)));
            }
        }
        joined(clauses)
    }

    /// What is named by the text as a whole: an article number, a SKU, a name.
    pub(crate) fn with_name(&self, text: &str) -> Option<Box<dyn IndexQuery>> {
        let text = text.trim();
        if text.is_empty() || text.len() > NAME_BYTES_MAX {
            return None;
        }
        let mut names = vec![title_name(&Words::new().folded(text)), number_name(text)];
        if let Ok(gtin) = text.parse::<catalog::Gtin>() {
            names.push(gtin_name(&gtin.to_14()));
        }
        let terms = names.iter().map(|name| Term::from_field_text(self.fields.exact, name));
        let each = terms.map(|term| (Occur::Should, filter(term)));
        let mut clauses = self.filter_clauses();
        clauses.push((Occur::Must, Box::new(BooleanQuery::new(each.collect()))));
        Some(joined(clauses))
    }

    /// What has some of these words or stands in the same place, to show beside a product.
    pub(crate) fn alike(&self, words: &[Word], category: &str) -> Box<dyn IndexQuery> {
        let mut clauses = self.filter_clauses();
        let each = words
            .iter()
            .map(|word| (Occur::Should, self.any(self.fields.title, std::slice::from_ref(word))));
        let count = words.len().div_ceil(3).max(1);
        let some = BooleanQuery::with_minimum_required_clauses(each.collect(), count);
        let place = Term::from_field_text(self.fields.category, category);
        let place = ConstScoreQuery::new(term_query(place), SAME_PLACE);
        // A name like no other still has neighbours on its shelf.
        let alike: Vec<Clause> =
            vec![(Occur::Should, Box::new(some)), (Occur::Should, Box::new(place))];
        clauses.push((Occur::Must, Box::new(BooleanQuery::new(alike))));
        joined(clauses)
    }

    /// One of the stems of one of the words.
    fn any(&self, field: Field, words: &[Word]) -> Box<dyn IndexQuery> {
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
            let place = category.trim().trim_matches('/').to_lowercase();
            let place = place.split_whitespace().collect::<Vec<_>>().join("-");
            let term = Term::from_field_text(self.fields.category, &place);
            clauses.push((Occur::Must, filter(term)));
        }
        if let Some(brand) = &self.filters.brand {
            let folded = Words::new().folded(brand);
            clauses.push((Occur::Must, filter(Term::from_field_text(self.fields.brand, &folded))));
        }
        clauses
    }
}

/// What the same place counts beside words, in the points of a rare word.
const SAME_PLACE: f32 = 4.0;

fn is_filler(meant: &[Word]) -> bool {
    meant.iter().all(|word| word.is_filler)
}

fn has_stems(meant: &[Word]) -> bool {
    meant.iter().any(|word| !word.stems.is_empty())
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

/// A condition that counts nothing.
fn filter(term: Term) -> Box<dyn IndexQuery> {
    filter_query(term_query(term))
}

fn filter_query(query: Box<dyn IndexQuery>) -> Box<dyn IndexQuery> {
    Box::new(ConstScoreQuery::new(query, 0.0))
}

impl Query {
    /// Whether the order asks how well words fit.
    pub(crate) fn is_scored(&self) -> bool {
        matches!(self.sort, crate::Sort::Relevance | crate::Sort::Trust)
    }
}
