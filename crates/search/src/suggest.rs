//! Query suggestions.

use primitives::MerchantId;

use crate::collector::ExactMatches;
use crate::engine::Engine;
use crate::find::{Finder, resolve_stores};
use crate::language::Tokenizer;
use crate::query_builder::RequiredWords;
use crate::query_parser::{QueryParser, QueryWord};
use crate::snapshot::IndexSnapshot;
use crate::store_directory::StoreDirectory;
use crate::{Query, SearchError};

/// Completions checked per prefix.
const COMPLETIONS_MAX: usize = 24;
/// Documents visited to check whether a suggestion has results.
const BUDGET: u64 = 2_000;

/// Returns the queries with this prefix, the most frequent first. Each has visible results: words that only occur
/// in suspended stores are not suggested.
pub(crate) fn suggest(
    engine: &Engine,
    snapshot: &IndexSnapshot,
    directory: &StoreDirectory,
    query: &Query,
    prefix: &str,
    limit: usize,
) -> Result<Vec<String>, SearchError> {
    let stores = resolve_stores(directory, query)?;
    let merchants: Vec<MerchantId> = stores.iter().map(|store| store.merchant).collect();
    let shards = snapshot.shards_of(&merchants);
    let parser = QueryParser::new(engine.fields, &shards, engine.tuning.stems);
    let mut typed = Tokenizer::new().words(prefix);
    // After a space a new word begins, of which nothing is typed yet.
    let Some(last) = typed.pop().filter(|_| !prefix.ends_with(char::is_whitespace)) else {
        return Ok(Vec::new());
    };
    let before = typed.join(" ");
    let finder = Finder {
        engine,
        directory,
        shards: &shards,
        stores: &stores,
        query,
        after: None,
        limit: 0,
        is_diverse: false,
        now: 0,
    };
    let mut suggestions = Vec::new();
    for word in parser.completions(&last, COMPLETIONS_MAX)? {
        let text = if before.is_empty() { word } else { format!("{before} {word}") };
        let words: Vec<Vec<QueryWord>> =
            parser.parse(&text)?.into_iter().map(|word| vec![word]).collect();
        let mut collector = finder.collector();
        collector.budget = Some(BUDGET);
        let index_query = finder.query_builder().words_query(&words, RequiredWords::All);
        collector.collect(&shards, index_query.as_ref(), &ExactMatches::NONE, false)?;
        if collector.total > 0.0 {
            suggestions.push(text);
        }
        if suggestions.len() >= limit {
            break;
        }
    }
    Ok(suggestions)
}
