//! Products similar to a given one.

use primitives::{MerchantId, ProductId};
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{IndexRecordOption, Value};
use tantivy::{DocAddress, DocSet, TERMINATED, TantivyDocument, Term};

use crate::collector::ExactMatches;
use crate::document::id_term;
use crate::engine::Engine;
use crate::facets::round_count;
use crate::find::{Finder, Matched, SearchResults, Source, resolve_stores};
use crate::query_parser::{QueryParser, QueryWord};
use crate::snapshot::{Frequencies, IndexSnapshot, ShardSnapshot};
use crate::store_directory::StoreDirectory;
use crate::{Query, SearchError};

/// Words of the name that are compared: the rarest ones.
const WORDS_MAX: usize = 8;

/// The fields of a record that products are compared by.
#[derive(serde::Deserialize)]
struct ComparedRecord {
    name: String,
    category: RecordCategory,
}

#[derive(serde::Deserialize)]
struct RecordCategory {
    path: String,
}

/// Returns products that share words of the name or the category with a product.
pub(crate) fn similar(
    engine: &Engine,
    snapshot: &IndexSnapshot,
    directory: &StoreDirectory,
    query: &Query,
    product: ProductId,
) -> Result<SearchResults, SearchError> {
    let stores = resolve_stores(directory, query)?;
    let merchants: Vec<MerchantId> = stores.iter().map(|store| store.merchant).collect();
    let all_shards = snapshot.shards_of(&[]);
    let shards = snapshot.shards_of(&merchants);
    let (shard, address) =
        locate(engine, &all_shards, product)?.ok_or(SearchError::ProductNotFound)?;
    let record =
        compared_record(engine, all_shards[shard], address)?.ok_or(SearchError::ProductNotFound)?;
    let parser = QueryParser::new(engine.fields, &shards, engine.tuning.stems);
    let words = rarest_words(engine, &shards, parser.parse(&record.name)?)?;
    let finder = Finder {
        engine,
        directory,
        shards: &shards,
        stores: &stores,
        query,
        after: None,
        limit: query.depth()?,
        is_diverse: false,
        now: engine.now_seconds(),
    };
    let mut collector = finder.collector();
    let own_shard = all_shards[shard].virtual_from;
    let number = shards.iter().position(|shard| shard.virtual_from == own_shard);
    collector.excluded = number.map(|number| (number, address));
    let index_query = finder.query_builder().similar_query(&words, &record.category.path);
    collector.collect(&shards, index_query.as_ref(), &ExactMatches::NONE, true)?;
    let hits = collector.hits();
    let offset = usize::try_from(query.page.offset()).unwrap_or(usize::MAX);
    Ok(SearchResults {
        records: finder.records(hits.get(offset..).unwrap_or(&[]))?,
        page: query.page.meta(round_count(collector.total)).estimated(collector.is_estimate),
        matched: Matched::SomeWords,
        corrections: Vec::new(),
        next_cursor: None,
        facets: None,
        source: Source::Index,
        age: snapshot.age_of(&merchants),
    })
}

/// Returns the shard and address of a product's document.
fn locate(
    engine: &Engine,
    shards: &[&ShardSnapshot],
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

fn compared_record(
    engine: &Engine,
    shard: &ShardSnapshot,
    address: DocAddress,
) -> Result<Option<ComparedRecord>, SearchError> {
    let document: TantivyDocument = shard.index.searcher.doc(address)?;
    let stored = document.get_first(engine.fields.record).and_then(|value| value.as_bytes());
    let text = stored.and_then(crate::document::record_without_store);
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Returns the rarest words that occur in more than one title.
fn rarest_words(
    engine: &Engine,
    shards: &[&ShardSnapshot],
    words: Vec<QueryWord>,
) -> tantivy::Result<Vec<QueryWord>> {
    let mut frequencies = Vec::with_capacity(words.len());
    for word in words.into_iter().filter(|word| !word.is_stop_word && !word.stems.is_empty()) {
        let mut count = 0;
        for stem in &word.stems {
            let term = Term::from_field_text(engine.fields.title, stem);
            count += Frequencies(shards).doc_freq(&term)?;
        }
        if count > 1 {
            frequencies.push((count, word));
        }
    }
    frequencies.sort_by_key(|(count, _)| *count);
    Ok(frequencies.into_iter().take(WORDS_MAX).map(|(_, word)| word).collect())
}
