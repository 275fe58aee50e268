//! The cursor of a page: the position after which the next page starts.

use crate::rank::SortKey;
use crate::{Query, SearchError};

/// The sort key of the last result of a page, and the time all pages of the search are ranked at. Freshness is
/// part of the sort key, so with another time results could move across page boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SearchAfter {
    pub(crate) sort_key: SortKey,
    /// In seconds since the Unix epoch.
    pub(crate) now: i64,
}

/// Returns the cursor as opaque text.
pub(crate) fn encode(query: &Query, search_after: SearchAfter) -> String {
    let SearchAfter { sort_key, now } = search_after;
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
    Ok(Some(SearchAfter { sort_key: SortKey { primary, tie }, now }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_belongs_to_its_search() {
        let mut query = Query::of_words("lamp");
        let search_after =
            SearchAfter { sort_key: SortKey { primary: u64::MAX, tie: 7 }, now: 1_794_729_600 };
        query.cursor = Some(encode(&query, search_after));
        assert_eq!(decode(&query).unwrap(), Some(search_after));
        let other = Query { cursor: query.cursor.clone(), ..Query::of_words("lamps") };
        assert!(decode(&other).is_err());
        for wrong in ["", "x", &"0".repeat(64), &"é".repeat(32), &"f".repeat(64)] {
            query.cursor = Some(wrong.to_owned());
            assert!(decode(&query).is_err(), "{wrong}");
        }
    }
}
