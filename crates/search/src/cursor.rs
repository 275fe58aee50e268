//! A mark behind a result, from which the next answer goes on.

use crate::rank::Place;
use crate::{Query, SearchError};

/// A place in the order, and the moment at which everything had it: newness counts, so that what was
/// shown at one moment would lie behind the mark at the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) place: Place,
    /// In seconds.
    pub(crate) now: i64,
}

/// The mark as text: nothing in it means anything to a caller.
pub(crate) fn write(query: &Query, mark: Mark) -> String {
    let Mark { place, now } = mark;
    format!("{:016x}{:016x}{:016x}{now:016x}", query.fingerprint(), place.major, place.tie)
}

/// The mark behind which to go on; an error for the mark of another search.
pub(crate) fn read(query: &Query) -> Result<Option<Mark>, SearchError> {
    let Some(text) = &query.cursor else { return Ok(None) };
    let part = |index: usize| {
        let digits = text.get(index * 16..(index + 1) * 16)?;
        u64::from_str_radix(digits, 16).ok()
    };
    let moment = part(3).and_then(|moment| i64::try_from(moment).ok());
    let (Some(fingerprint), Some(major), Some(tie), Some(now)) =
        (part(0), part(1), part(2), moment)
    else {
        return Err(SearchError::WrongCursor);
    };
    if text.len() != 64 || fingerprint != query.fingerprint() {
        return Err(SearchError::WrongCursor);
    }
    Ok(Some(Mark { place: Place { major, tie }, now }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_belongs_to_its_search() {
        let mut query = Query::of_words("lamp");
        let mark = Mark { place: Place { major: u64::MAX, tie: 7 }, now: 1_794_729_600 };
        query.cursor = Some(write(&query, mark));
        assert_eq!(read(&query).unwrap(), Some(mark));
        let other = Query { cursor: query.cursor.clone(), ..Query::of_words("lamps") };
        assert!(read(&other).is_err());
        for wrong in ["", "x", &"0".repeat(64), &"é".repeat(32), &"f".repeat(64)] {
            query.cursor = Some(wrong.to_owned());
            assert!(read(&query).is_err(), "{wrong}");
        }
    }
}
