//! The cursor of a page: the position after which the next page starts.

use crate::diversity::FIRST;
use crate::rank::SortKey;
use crate::{Query, SearchError};

/// The position of the last result of a page, and the time all pages of the search are ranked at. Freshness is
/// part of the sort key, so with another time results could move across page boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SearchAfter {
    pub(crate) position: Position,
    /// In seconds since the Unix epoch.
    pub(crate) now: i64,
}

/// The position of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// Its sort key.
    Key(SortKey),
    /// Its number, from 1: among the first results of a search across stores, which are not in the order of sort keys.
    Number(usize),
}

/// Instead of the primary part of a sort key, before a number. Sort keys of searches across stores are less.
const NUMBER: u64 = u64::MAX;

/// Returns the cursor as opaque text.
pub(crate) fn encode(query: &Query, search_after: SearchAfter) -> String {
    let SearchAfter { position, now } = search_after;
    let sort_key = match position {
        Position::Key(sort_key) => sort_key,
        Position::Number(number) => {
            SortKey { primary: NUMBER, tie: u64::try_from(number).unwrap_or(u64::MAX) }
        }
    };
    format!("{:016x}{:016x}{:016x}{now:016x}", query.fingerprint(), sort_key.primary, sort_key.tie)
}

/// Returns the position in the query's cursor, or `InvalidCursor` if the cursor belongs to another search.
pub(crate) fn decode(query: &Query) -> Result<Option<SearchAfter>, SearchError> {
    let Some(text) = &query.cursor else { return Ok(None) };
    let part = |index: usize| {
        let digits = text.get(index * 16..(index + 1) * 16)?;
        u64::from_str_radix(digits, 16).ok()
    };
    let now = part(3).and_then(|now| i64::try_from(now).ok());
    let (Some(fingerprint), Some(primary), Some(tie), Some(now)) = (part(0), part(1), part(2), now)
    else {
        return Err(SearchError::InvalidCursor);
    };
    if text.len() != 64 || fingerprint != query.fingerprint() {
        return Err(SearchError::InvalidCursor);
    }
    let position = if query.is_diverse() && primary == NUMBER {
        let number = usize::try_from(tie).ok().filter(|number| *number <= FIRST);
        Position::Number(number.ok_or(SearchError::InvalidCursor)?)
    } else {
        Position::Key(SortKey { primary, tie })
    };
    Ok(Some(SearchAfter { position, now }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_belongs_to_its_search() {
        let mut query = Query::of_words("lamp");
        let key = SortKey { primary: u64::MAX - 1, tie: 7 };
        for position in [Position::Number(FIRST), Position::Key(key)] {
            let search_after = SearchAfter { position, now: 1_794_729_600 };
            query.cursor = Some(encode(&query, search_after));
            assert_eq!(decode(&query).unwrap(), Some(search_after));
        }
        let other = Query { cursor: query.cursor.clone(), ..Query::of_words("lamps") };
        assert!(decode(&other).is_err());
        let search_after = SearchAfter { position: Position::Number(FIRST + 1), now: 1 };
        let beyond = encode(&query, search_after);
        for wrong in [beyond.as_str(), "", "x", &"0".repeat(64), &"é".repeat(32), &"f".repeat(64)]
        {
            query.cursor = Some(wrong.to_owned());
            assert!(decode(&query).is_err(), "{wrong}");
        }
    }
}
