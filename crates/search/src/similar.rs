//! Products like another one.

use primitives::{MerchantId, ProductId};
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{IndexRecordOption, Value};
use tantivy::{DocAddress, DocSet, TERMINATED, TantivyDocument, Term};

use crate::document::id_term;
use crate::engine::Engine;
use crate::facets::whole;
use crate::find::{Finder, Found, Matched, Source, named};
use crate::roster::Roster;
use crate::view::{Frequencies, ShardView, View};
use crate::walk::Exact;
use crate::words::{Reader, Word};
use crate::{Query, SearchError};

/// Words of a product that it is compared by: the rarest of its name.
const WORDS_MAX: usize = 8;

/// What a product is compared by.
#[derive(serde::Deserialize)]
struct Described {
    name: String,
    category: Place,
}

#[derive(serde::Deserialize)]
struct Place {
    path: String,
}

pub(crate) fn similar(
    engine: &Engine,
    view: &View,
    roster: &Roster,
    query: &Query,
    product: ProductId,
) -> Result<Found, SearchError> {
    let stores = named(roster, query)?;
    let merchants: Vec<MerchantId> = stores.iter().map(|store| store.merchant).collect();
    let everywhere = view.of(&[]);
    let shards = view.of(&merchants);
    let (shard, address) =
        place(engine, &everywhere, product)?.ok_or(SearchError::ProductNotFound)?;
    let described =
        described(engine, everywhere[shard], address)?.ok_or(SearchError::ProductNotFound)?;
    let reader = Reader::new(engine.fields, &shards, engine.tuning.stems);
    let words = telling(engine, &shards, reader.read(&described.name)?)?;
    let finder = Finder {
        engine,
        roster,
        shards: &shards,
        stores: &stores,
        query,
        after: None,
        keep: query.depth()?,
        now: engine.now_seconds(),
    };
    let mut walk = finder.walk();
    let itself = everywhere[shard].virtual_from;
    let number = shards.iter().position(|shard| shard.virtual_from == itself);
    walk.without = number.map(|number| (number, address));
    let planned = finder.planner().alike(&words, &described.category.path);
    walk.go(&shards, planned.as_ref(), &Exact::NONE, true)?;
    let hits = walk.hits();
    let offset = usize::try_from(query.page.offset()).unwrap_or(usize::MAX);
    Ok(Found {
        records: finder.records(hits.get(offset..).unwrap_or(&[]))?,
        page: query.page.meta(whole(walk.counted)).estimated(walk.is_estimate),
        matched: Matched::SomeWords,
        corrections: Vec::new(),
        next_cursor: None,
        facets: None,
        source: Source::Index,
        age: view.age(),
    })
}

/// Where a product's document is.
fn place(
    engine: &Engine,
    shards: &[&ShardView],
    product: ProductId,
) -> tantivy::Result<Option<(usize, DocAddress)>> {
    let term = id_term(&engine.fields, product);
    for (number, shard) in shards.iter().enumerate() {
        for (ordinal, segment) in (0..).zip(shard.index.searcher.segment_readers()) {
            let index = segment.inverted_index(engine.fields.id)?;
            let Some(mut docs) = index.read_postings(&term, IndexRecordOption::Basic)? else {
                continue;
            };
            while docs.doc() != TERMINATED {
                if segment.alive_bitset().is_none_or(|alive| alive.is_alive(docs.doc())) {
                    return Ok(Some((number, DocAddress::new(ordinal, docs.doc()))));
                }
                docs.advance();
            }
        }
    }
    Ok(None)
}

fn described(
    engine: &Engine,
    shard: &ShardView,
    address: DocAddress,
) -> Result<Option<Described>, SearchError> {
    let document: TantivyDocument = shard.index.searcher.doc(address)?;
    let stored = document.get_first(engine.fields.record).and_then(|value| value.as_bytes());
    let text = stored.and_then(crate::document::bare_record);
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// The words that tell most of what it is.
fn telling(engine: &Engine, shards: &[&ShardView], words: Vec<Word>) -> tantivy::Result<Vec<Word>> {
    let mut counted = Vec::with_capacity(words.len());
    for word in words.into_iter().filter(|word| !word.is_filler && !word.stems.is_empty()) {
        let mut count = 0;
        for stem in &word.stems {
            let term = Term::from_field_text(engine.fields.title, stem);
            count += Frequencies(shards).doc_freq(&term)?;
        }
        if count > 1 {
            counted.push((count, word));
        }
    }
    counted.sort_by_key(|(count, _)| *count);
    Ok(counted.into_iter().take(WORDS_MAX).map(|(_, word)| word).collect())
}
