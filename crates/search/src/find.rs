//! Runs a query against the index.

use std::collections::BinaryHeap;
use std::time::Duration;

use merchants::Store;
use primitives::{MerchantId, PageMeta};
use tantivy::schema::Value;
use tantivy::{Searcher, TantivyDocument};

use crate::collector::{Collector, ExactMatches, Hit};
use crate::cursor::{self, Position, SearchAfter};
use crate::diversity::{self, Candidates, FIRST};
use crate::facets::{FacetCounts, round_count};
use crate::query_builder::{QueryBuilder, RequiredWords};
use crate::query_parser::{QueryParser, QueryWord};
use crate::rank::SortKey;
use crate::snapshot::{IndexSnapshot, ShardSnapshot};
use crate::store_directory::{RankingInputs, StoreDirectory};
use crate::{Facets, Query, SearchError, document};

/// Results of a search.
#[derive(Debug)]
pub struct SearchResults {
    /// Product records in order, each as JSON.
    pub records: Vec<String>,
    pub page: PageMeta,
    pub matched: Matched,
    /// Corrected words of the query: as typed, and as searched.
    pub corrections: Vec<(String, String)>,
    /// Cursor of the next page; `None` on the last page.
    pub next_cursor: Option<String>,
    /// `None` unless requested.
    pub facets: Option<Facets>,
    pub source: Source,
    /// Lag of the index behind the database, for the stores that were searched.
    pub age: Duration,
}

primitives::text_enum! {
    /// Which words of the query the results contain.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum Matched {
        /// All words.
        AllWords,
        /// All words, some of them after spelling correction.
        Corrected,
        /// Some of the words, because no product contains all of them.
        SomeWords,
    }
}

primitives::text_enum! {
    /// Where results come from.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum Source {
        /// The search index.
        Index,
        /// The database, while the index is unavailable: without stemming, corrections and facets.
        Database,
    }
}

/// A query in execution.
pub(crate) struct Finder<'search> {
    pub(crate) engine: &'search crate::engine::Engine,
    pub(crate) directory: &'search StoreDirectory,
    pub(crate) shards: &'search [&'search ShardSnapshot],
    pub(crate) stores: &'search [&'search Store],
    pub(crate) query: &'search Query,
    pub(crate) after: Option<SortKey>,
    /// Results to collect.
    pub(crate) limit: usize,
    /// Whether the results of one store are limited.
    pub(crate) is_diverse: bool,
    /// In seconds since the Unix epoch.
    pub(crate) now: i64,
}

/// Corrected words: as typed, and as searched.
type Corrections = Vec<(String, String)>;

/// The outcome of one attempt.
struct Attempt<'search> {
    collector: Collector<'search>,
    matched: Matched,
    corrections: Corrections,
}

/// Runs a query against a snapshot of the index.
pub(crate) fn find(
    engine: &crate::engine::Engine,
    snapshot: &IndexSnapshot,
    directory: &StoreDirectory,
    query: &Query,
) -> Result<SearchResults, SearchError> {
    let stores = resolve_stores(directory, query)?;
    let merchants: Vec<MerchantId> = stores.iter().map(|store| store.merchant).collect();
    let shards = snapshot.shards_of(&merchants);
    let search_after = cursor::decode(query)?;
    let (after, offset, depth) = page_bounds(query, search_after)?;
    let is_diverse = engine.tuning.diversity && query.is_diverse();
    let finder = Finder {
        engine,
        directory,
        shards: &shards,
        stores: &stores,
        query,
        after,
        // After the first results those among them are left out.
        limit: if is_diverse && after.is_some() { depth + FIRST } else { depth },
        is_diverse,
        // All pages are ranked at one time, or freshness would move results across page boundaries.
        now: search_after.map_or_else(|| engine.now_seconds(), |search_after| search_after.now),
    };
    let mut attempt = finder.run()?;
    let hits = finder.ordered(&mut attempt.collector, depth);
    let shown = hits.get(offset..).unwrap_or(&[]);
    let total = round_count(attempt.collector.total).max(i64::try_from(hits.len()).unwrap_or(0));
    let is_full = hits.len() == depth && i64::try_from(hits.len()).is_ok_and(|count| count < total);
    let cursor_after = |hit: &Hit| {
        let is_first = is_diverse && after.is_none() && hits.len() <= FIRST;
        let position =
            if is_first { Position::Number(hits.len()) } else { Position::Key(hit.sort_key) };
        cursor::encode(query, SearchAfter { position, now: finder.now })
    };
    Ok(SearchResults {
        records: finder.records(shown)?,
        page: query.page.meta(total).estimated(attempt.collector.is_estimate),
        matched: attempt.matched,
        corrections: attempt.corrections,
        next_cursor: shown.last().filter(|_| is_full).map(cursor_after),
        facets: attempt.collector.facets.take().map(|counts| counts.facets(directory)),
        source: Source::Index,
        age: snapshot.age_of(&merchants),
    })
}

/// Returns after which result the page starts, how many results are left out before it, and how many are needed.
fn page_bounds(
    query: &Query,
    search_after: Option<SearchAfter>,
) -> Result<(Option<SortKey>, usize, usize), SearchError> {
    let limit = usize::try_from(query.page.limit()).unwrap_or(usize::MAX);
    let (after, offset) = match search_after.map(|search_after| search_after.position) {
        None => (None, query.depth()?.saturating_sub(limit)),
        Some(Position::Number(number)) => (None, number),
        Some(Position::Key(sort_key)) => (Some(sort_key), 0),
    };
    Ok((after, offset, offset + limit))
}

/// Returns the stores that the query names. Fails if one is unknown, inactive or suspended.
pub(crate) fn resolve_stores<'directory>(
    directory: &'directory StoreDirectory,
    query: &Query,
) -> Result<Vec<&'directory Store>, SearchError> {
    let mut stores: Vec<&Store> = Vec::with_capacity(query.stores.len());
    for slug in &query.stores {
        let missing = || SearchError::StoreNotFound(slug.clone());
        let store = &*directory.by_slug(slug).ok_or_else(missing)?.store;
        if !store.active {
            return Err(missing());
        }
        if !store.is_listed() {
            return Err(SearchError::StoreSuspended(slug.clone()));
        }
        if !stores.iter().any(|known| known.number == store.number) {
            stores.push(store);
        }
    }
    Ok(stores)
}

impl<'search> Finder<'search> {
    /// Returns the results in their final order.
    fn ordered(&self, collector: &mut Collector<'_>, depth: usize) -> Vec<Hit> {
        let mut hits = collector.hits();
        let Some(candidates) = collector.candidates.take() else { return hits };
        let first = candidates.arrange();
        hits = if self.after.is_none() {
            diversity::after_first(first, hits)
        } else {
            diversity::others(&first, hits)
        };
        hits.truncate(depth);
        hits
    }

    /// Requires all words; without results, corrects the spelling; then requires fewer words.
    fn run(&self) -> Result<Attempt<'search>, SearchError> {
        let parser = QueryParser::new(self.engine.fields, self.shards, self.engine.tuning.stems);
        let words: Vec<Vec<QueryWord>> =
            parser.parse(&self.query.words)?.into_iter().map(|word| vec![word]).collect();
        let first = self.attempt(&words, RequiredWords::All)?;
        if first.total > 0.0 || words.is_empty() {
            return Ok(Attempt {
                collector: first,
                matched: Matched::AllWords,
                corrections: Vec::new(),
            });
        }
        let (corrected, mut corrections) = self.corrected(&parser, &words)?;
        let is_corrected = !corrections.is_empty();
        // The most frequent of the similar words can be the one that was typed.
        corrections.retain(|(typed, meant)| typed != meant);
        if is_corrected {
            let collector = self.attempt(&corrected, RequiredWords::All)?;
            if collector.total > 0.0 {
                return Ok(Attempt { collector, matched: Matched::Corrected, corrections });
            }
        }
        if self.engine.tuning.relax {
            let known: Vec<Vec<QueryWord>> = corrected
                .into_iter()
                .filter(|word| word.iter().any(|word| !word.stems.is_empty()))
                .collect();
            let count =
                known.iter().filter(|word| !word.iter().all(|word| word.is_stop_word)).count();
            for required in (1..=count).rev() {
                let collector = self.attempt(&known, RequiredWords::AtLeast(required))?;
                if collector.total > 0.0 {
                    return Ok(Attempt { collector, matched: Matched::SomeWords, corrections });
                }
            }
        }
        Ok(Attempt { collector: first, matched: Matched::AllWords, corrections: Vec::new() })
    }

    /// Returns the words with their spelling corrections: for words that do not occur in the index, or, if all of
    /// them occur, for every word.
    fn corrected(
        &self,
        parser: &QueryParser<'_>,
        words: &[Vec<QueryWord>],
    ) -> Result<(Vec<Vec<QueryWord>>, Corrections), SearchError> {
        let unknown = |word: &[QueryWord]| word.iter().all(|word| word.stems.is_empty());
        let any_unknown = words.iter().any(|word| unknown(word));
        let mut corrections = Vec::new();
        let mut corrected = Vec::with_capacity(words.len());
        for word in words {
            let mut alternatives = word.clone();
            if self.engine.tuning.typos && (unknown(word) || !any_unknown) {
                for typed in word.iter().filter(|word| !word.is_stop_word) {
                    let similar = parser.corrections(typed)?;
                    if let Some(first) = similar.first() {
                        corrections.push((typed.text.clone(), first.text.clone()));
                    }
                    alternatives.extend(similar);
                }
            }
            corrected.push(alternatives);
        }
        Ok((corrected, corrections))
    }

    fn attempt(
        &self,
        words: &[Vec<QueryWord>],
        required: RequiredWords,
    ) -> Result<Collector<'search>, SearchError> {
        let builder = self.query_builder();
        let mut collector = self.collector();
        let exact_query =
            if self.query.words.is_empty() { None } else { builder.exact_query(&self.query.words) };
        let exact = match exact_query {
            Some(exact_query) => collector.collect_exact(self.shards, exact_query.as_ref())?,
            None => ExactMatches::NONE,
        };
        let query = builder.words_query(words, required);
        collector.collect(self.shards, query.as_ref(), &exact, self.query.is_scored())?;
        Ok(collector)
    }

    pub(crate) fn query_builder(&self) -> QueryBuilder<'search> {
        QueryBuilder {
            fields: self.engine.fields,
            tuning: &self.engine.tuning,
            filters: &self.query.filters,
            stores: self.stores,
            scored: self.query.is_scored(),
        }
    }

    pub(crate) fn collector(&self) -> Collector<'search> {
        Collector {
            directory: self.directory,
            tuning: &self.engine.tuning,
            filters: &self.query.filters,
            sort: self.query.sort,
            // Products of unscored stores appear only if the query names the store
            // (docs/contract/search.md#unscored-excluded).
            group_max: if self.stores.is_empty() {
                RankingInputs::DEPRIORITIZED
            } else {
                RankingInputs::UNSCORED
            },
            after: self.after,
            limit: self.limit,
            budget: self.engine.budget,
            now: self.now,
            excluded: None,
            best: BinaryHeap::new(),
            candidates: self.is_diverse.then(Candidates::default),
            total: 0.0,
            is_estimate: false,
            facets: self.query.facets.then(FacetCounts::default),
        }
    }

    /// Returns the records of these hits.
    pub(crate) fn records(&self, hits: &[Hit]) -> Result<Vec<String>, SearchError> {
        let mut records = Vec::with_capacity(hits.len());
        for hit in hits {
            let Some(shard) = self.shards.get(hit.shard) else { continue };
            let stored = stored_record(self.engine, &shard.index.searcher, hit)?;
            let entry = self.directory.store(hit.store);
            let record = entry.and_then(|entry| {
                document::record(&stored, &entry.fragment, &self.engine.site_url)
            });
            records.extend(record);
        }
        Ok(records)
    }
}

/// Returns the stored record of a hit.
fn stored_record(
    engine: &crate::engine::Engine,
    searcher: &Searcher,
    hit: &Hit,
) -> Result<Vec<u8>, SearchError> {
    let document: TantivyDocument = searcher.doc(hit.address())?;
    let bytes = document.get_first(engine.fields.record).and_then(|value| value.as_bytes());
    Ok(bytes.map(<[u8]>::to_vec).unwrap_or_default())
}
