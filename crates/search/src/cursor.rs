//! A mark behind a result, from which the next answer goes on.

use crate::rank::Place;
use crate::{Query, SearchError};

/// The mark as text: nothing in it means anything to a caller.
pub(crate) fn write(query: &Query, place: Place) -> String {
    format!("{:016x}{:016x}{:016x}", query.fingerprint(), place.major, place.tie)
}

/// The place behind which to go on; an error for the mark of another search.
pub(crate) fn read(query: &Query) -> Result<Option<Place>, SearchError> {
    let Some(text) = &query.cursor else { return Ok(None) };
    let part = |index: usize| {
        let digits = text.get(index * 16..(index + 1) * 16)?;
        u64::from_str_radix(digits, 16).ok()
    };
    let (Some(fingerprint), Some(major), Some(tie)) = (part(0), part(1), part(2)) else {
        return Err(SearchError::WrongCursor);
    };
    if text.len() != 48 || fingerprint != query.fingerprint() {
        return Err(SearchError::WrongCursor);
    }
    Ok(Some(Place { major, tie }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_belongs_to_its_search() {
        let mut query = Query::of_words("lamp");
        let place = Place { major: u64::MAX, tie: 7 };
        query.cursor = Some(write(&query, place));
        assert_eq!(read(&query).unwrap(), Some(place));
        let other = Query { cursor: query.cursor.clone(), ..Query::of_words("lamps") };
        assert!(read(&other).is_err());
        for wrong in ["", "x", &"0".repeat(48), &"é".repeat(24)] {
            query.cursor = Some(wrong.to_owned());
            assert!(read(&query).is_err(), "{wrong}");
        }
    }
}
