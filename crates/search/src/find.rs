//! Answers a search.

use std::collections::BinaryHeap;
use std::time::Duration;

use merchants::Store;
use primitives::{MerchantId, PageMeta};
use tantivy::schema::Value;
use tantivy::{Searcher, TantivyDocument};

use crate::cursor::{self, Mark};
use crate::facets::{Count, whole};
use crate::plan::{Need, Planner};
use crate::rank::Place;
use crate::roster::Roster;
use crate::view::{ShardView, View};
use crate::walk::{Exact, Hit, Walk};
use crate::words::{Reader, Word};
use crate::{Facets, Query, SearchError, document};

/// What was found.
#[derive(Debug)]
pub struct Found {
    /// The product records in order, each as JSON.
    pub records: Vec<String>,
    /// The page, and how many results there are.
    pub page: PageMeta,
    /// Which words results have.
    pub matched: Matched,
    /// Words that were taken for others: as typed, and as understood.
    pub corrections: Vec<(String, String)>,
    /// What goes on behind the last result.
    pub next_cursor: Option<String>,
    /// How results spread, if that was asked.
    pub facets: Option<Facets>,
    /// Where the answer comes from.
    pub source: Source,
    /// How much older than the database it may be.
    pub age: Duration,
}

/// Which words results have.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Matched {
    /// All of them.
    AllWords,
    /// All of them, some read as others that were probably meant.
    Corrected,
    /// Some of them, because nothing has all.
    SomeWords,
}

/// Where an answer comes from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The search index.
    Index,
    /// The database, because the index is away: fewer comforts, the same products.
    Database,
}

/// One search at work.
pub(crate) struct Finder<'search> {
    pub(crate) engine: &'search crate::engine::Engine,
    pub(crate) roster: &'search Roster,
    pub(crate) shards: &'search [&'search ShardView],
    pub(crate) stores: &'search [&'search Store],
    pub(crate) query: &'search Query,
    pub(crate) after: Option<Place>,
    pub(crate) keep: usize,
    pub(crate) now: i64,
}

/// Words as typed, and as understood.
type Corrections = Vec<(String, String)>;

/// What a try found.
struct Tried<'search> {
    walk: Walk<'search>,
    matched: Matched,
    corrections: Corrections,
}

/// Answers a search from a view.
pub(crate) fn find(
    engine: &crate::engine::Engine,
    view: &View,
    roster: &Roster,
    query: &Query,
) -> Result<Found, SearchError> {
    let stores = named(roster, query)?;
    let merchants: Vec<MerchantId> = stores.iter().map(|store| store.merchant).collect();
    let shards = view.of(&merchants);
    let mark = cursor::read(query)?;
    let finder = Finder {
        engine,
        roster,
        shards: &shards,
        stores: &stores,
        query,
        after: mark.map(|mark| mark.place),
        keep: query.depth()?,
        // All pages of one reading are of one moment, or newness would move results across the mark.
        now: mark.map_or_else(|| engine.now_seconds(), |mark| mark.now),
    };
    let mut tried = finder.best_try()?;
    let hits = tried.walk.hits();
    let offset = if query.cursor.is_some() { 0 } else { finder.offset() };
    let shown = hits.get(offset..).unwrap_or(&[]);
    let total = whole(tried.walk.counted).max(i64::try_from(hits.len()).unwrap_or(0));
    let is_full =
        hits.len() == finder.keep && i64::try_from(hits.len()).is_ok_and(|seen| seen < total);
    let mark_behind = |hit: &Hit| cursor::write(query, Mark { place: hit.place, now: finder.now });
    Ok(Found {
        records: finder.records(shown)?,
        page: query.page.meta(total).estimated(tried.walk.is_estimate),
        matched: tried.matched,
        corrections: tried.corrections,
        next_cursor: shown.last().filter(|_| is_full).map(mark_behind),
        facets: tried.walk.count.take().map(|count| count.facets(roster)),
        source: Source::Index,
        age: view.age(),
    })
}

/// The stores a search names, if agents may call on them.
pub(crate) fn named<'roster>(
    roster: &'roster Roster,
    query: &Query,
) -> Result<Vec<&'roster Store>, SearchError> {
    let mut stores: Vec<&Store> = Vec::with_capacity(query.stores.len());
    for slug in &query.stores {
        let missing = || SearchError::StoreNotFound(slug.clone());
        let store = &*roster.by_slug(slug).ok_or_else(missing)?.store;
        if !store.active {
            return Err(missing());
        }
        if store.standing.is_suspended() {
            return Err(SearchError::StoreSuspended(slug.clone()));
        }
        if !stores.iter().any(|known| known.number == store.number) {
            stores.push(store);
        }
    }
    Ok(stores)
}

impl<'search> Finder<'search> {
    fn offset(&self) -> usize {
        usize::try_from(self.query.page.offset()).unwrap_or(usize::MAX)
    }

    /// All words; then what was probably meant; then some of the words.
    fn best_try(&self) -> Result<Tried<'search>, SearchError> {
        let reader = Reader::new(self.engine.fields, self.shards, self.engine.tuning.stems);
        let words: Vec<Vec<Word>> =
            reader.read(&self.query.words)?.into_iter().map(|word| vec![word]).collect();
        let first = self.try_words(&words, Need::All)?;
        if first.counted > 0.0 || words.is_empty() {
            return Ok(Tried { walk: first, matched: Matched::AllWords, corrections: Vec::new() });
        }
        let (meant, corrections) = self.corrected(&reader, &words)?;
        if !corrections.is_empty() {
            let walk = self.try_words(&meant, Need::All)?;
            if walk.counted > 0.0 {
                return Ok(Tried { walk, matched: Matched::Corrected, corrections });
            }
        }
        if self.engine.tuning.relax {
            let known: Vec<Vec<Word>> = meant
                .into_iter()
                .filter(|word| word.iter().any(|word| !word.stems.is_empty()))
                .collect();
            let count = known.iter().filter(|word| !word.iter().all(|word| word.is_filler)).count();
            for need in (1..=count).rev() {
                let walk = self.try_words(&known, Need::AtLeast(need))?;
                if walk.counted > 0.0 {
                    return Ok(Tried { walk, matched: Matched::SomeWords, corrections });
                }
            }
        }
        Ok(Tried { walk: first, matched: Matched::AllWords, corrections: Vec::new() })
    }

    /// The words with what was probably meant: instead of those that do not occur, or, if all of them
    /// do somewhere, beside each.
    fn corrected(
        &self,
        reader: &Reader<'_>,
        words: &[Vec<Word>],
    ) -> Result<(Vec<Vec<Word>>, Corrections), SearchError> {
        let unknown = |word: &[Word]| word.iter().all(|word| word.stems.is_empty());
        let any_unknown = words.iter().any(|word| unknown(word));
        let mut corrections = Vec::new();
        let mut meant = Vec::with_capacity(words.len());
        for word in words {
            let mut with = word.clone();
            if self.engine.tuning.typos && (unknown(word) || !any_unknown) {
                for typed in word.iter().filter(|word| !word.is_filler) {
                    let near = reader.meant(typed)?;
                    if let Some(first) = near.first() {
                        corrections.push((typed.text.clone(), first.text.clone()));
                    }
                    with.extend(near);
                }
            }
            meant.push(with);
        }
        Ok((meant, corrections))
    }

    fn try_words(&self, words: &[Vec<Word>], need: Need) -> Result<Walk<'search>, SearchError> {
        let planner = self.planner();
        let mut walk = self.walk();
        let named =
            if self.query.words.is_empty() { None } else { planner.with_name(&self.query.words) };
        let exact = match named {
            Some(named) => walk.go_exact(self.shards, named.as_ref())?,
            None => Exact::NONE,
        };
        let query = planner.with_words(words, need);
        walk.go(self.shards, query.as_ref(), &exact, self.query.is_scored())?;
        Ok(walk)
    }

    pub(crate) fn planner(&self) -> Planner<'search> {
        Planner {
            fields: self.engine.fields,
            tuning: &self.engine.tuning,
            filters: &self.query.filters,
            stores: self.stores,
            scored: self.query.is_scored(),
        }
    }

    pub(crate) fn walk(&self) -> Walk<'search> {
        Walk {
            roster: self.roster,
            tuning: &self.engine.tuning,
            filters: &self.query.filters,
            sort: self.query.sort,
            // An unscored store is in the directory only, and answers where it is named (decisions §4).
            group_max: if self.stores.is_empty() { 1 } else { 2 },
            after: self.after,
            keep: self.keep,
            budget: self.engine.budget,
            now: self.now,
            without: None,
            best: BinaryHeap::new(),
            counted: 0.0,
            is_estimate: false,
            count: self.query.facets.then(Count::default),
        }
    }

    /// The records of some results.
    pub(crate) fn records(&self, hits: &[Hit]) -> Result<Vec<String>, SearchError> {
        let mut records = Vec::with_capacity(hits.len());
        for hit in hits {
            let Some(shard) = self.shards.get(hit.shard) else { continue };
            let stored = stored(self.engine, &shard.index.searcher, hit)?;
            let member = self.roster.store(hit.store);
            let record = member
                .and_then(|member| document::record(&stored, &member.text, &self.engine.site_url));
            records.extend(record);
        }
        Ok(records)
    }
}

/// What is stored of a result.
pub(crate) fn stored(
    engine: &crate::engine::Engine,
    searcher: &Searcher,
    hit: &Hit,
) -> Result<Vec<u8>, SearchError> {
    let document: TantivyDocument = searcher.doc(hit.address())?;
    let bytes = document.get_first(engine.fields.record).and_then(|value| value.as_bytes());
    Ok(bytes.map(<[u8]>::to_vec).unwrap_or_default())
}
