//! Searches that begin as somebody began to type.

use primitives::MerchantId;

use crate::engine::Engine;
use crate::find::{Finder, named};
use crate::language::Words;
use crate::plan::Need;
use crate::roster::Roster;
use crate::view::View;
use crate::walk::Exact;
use crate::words::{Reader, Word};
use crate::{Query, SearchError};

/// Words tried for one start.
const TRIED_MAX: usize = 24;
/// Documents looked at to see whether a suggestion finds anything.
const LOOK: u64 = 2_000;

/// The searches that begin so, the most frequent first. Each of them finds something that may be seen:
/// words of suspended stores alone are not suggested.
pub(crate) fn suggest(
    engine: &Engine,
    view: &View,
    roster: &Roster,
    query: &Query,
    start: &str,
    most: usize,
) -> Result<Vec<String>, SearchError> {
    let stores = named(roster, query)?;
    let merchants: Vec<MerchantId> = stores.iter().map(|store| store.merchant).collect();
    let shards = view.of(&merchants);
    let reader = Reader::new(engine.fields, &shards, engine.tuning.stems);
    let mut typed = Words::new().of(start);
    // Behind a blank a new word begins, and nothing is known of it yet.
    let Some(last) = typed.pop().filter(|_| !start.ends_with(char::is_whitespace)) else {
        return Ok(Vec::new());
    };
    let before = typed.join(" ");
    let mut finder = Finder {
        engine,
        roster,
        shards: &shards,
        stores: &stores,
        query,
        after: None,
        keep: 0,
        now: 0,
    };
    finder.keep = 0;
    let mut suggestions = Vec::new();
    for word in reader.completions(&last, TRIED_MAX)? {
        let text = if before.is_empty() { word } else { format!("{before} {word}") };
        let words: Vec<Vec<Word>> =
            reader.read(&text)?.into_iter().map(|word| vec![word]).collect();
        let mut walk = finder.walk();
        walk.budget = Some(LOOK);
        let planned = finder.planner().with_words(&words, Need::All);
        walk.go(&shards, planned.as_ref(), &Exact::NONE, false)?;
        if walk.counted > 0.0 {
            suggestions.push(text);
        }
        if suggestions.len() >= most {
            break;
        }
    }
    Ok(suggestions)
}
