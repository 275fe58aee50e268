//! Limits of texts and objects that others send, for `#[serde(deserialize_with)]`.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Entries of an object whose content is not interpreted here, and the length of their names.
const ENTRIES_MAX: usize = 32;
const NAME_MAX_BYTES: usize = 128;

/// Reads a text of at most `MAX` bytes.
pub(crate) fn text<'de, const MAX: usize, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.len() > MAX {
        return Err(D::Error::custom(format_args!("is longer than {MAX} bytes")));
    }
    Ok(text)
}

/// Reads an optional text of at most `MAX` bytes.
pub(crate) fn optional_text<'de, const MAX: usize, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    if text.as_ref().is_some_and(|text| text.len() > MAX) {
        return Err(D::Error::custom(format_args!("is longer than {MAX} bytes")));
    }
    Ok(text)
}

/// Reads a list of at most `MAX` elements.
pub(crate) fn list<'de, const MAX: usize, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let list = Vec::<T>::deserialize(deserializer)?;
    if list.len() > MAX {
        return Err(D::Error::custom(format_args!("has more than {MAX} elements")));
    }
    Ok(list)
}

/// Reads an object, or `null`, which is no entries.
pub(crate) fn object<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Map<String, Value>, D::Error> {
    let object = Option::<Map<String, Value>>::deserialize(deserializer)?.unwrap_or_default();
    if object.len() > ENTRIES_MAX {
        return Err(D::Error::custom(format_args!("has more than {ENTRIES_MAX} entries")));
    }
    if object.keys().any(|name| name.len() > NAME_MAX_BYTES) {
        let problem = format_args!("has an entry with a name of more than {NAME_MAX_BYTES} bytes");
        return Err(D::Error::custom(problem));
    }
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Bounded {
        #[serde(default, deserialize_with = "text::<4, _>")]
        text: String,
        #[serde(default, deserialize_with = "optional_text::<4, _>")]
        optional: Option<String>,
        #[serde(default, deserialize_with = "list::<2, _, _>")]
        list: Vec<u8>,
        #[serde(default, deserialize_with = "object")]
        object: Map<String, Value>,
    }

    fn read(json: &str) -> Option<Bounded> {
        serde_json::from_str(json).ok()
    }

    fn object_of(entries: usize, name_bytes: usize) -> String {
        let entry = |index| format!("\"{index:0name_bytes$}\":0");
        let entries: Vec<String> = (0..entries).map(entry).collect();
        format!("{{\"object\":{{{}}}}}", entries.join(","))
    }

    #[test]
    fn what_is_within_the_limits_is_read() {
        let read = read("{\"text\":\"abcd\",\"optional\":\"abcd\",\"list\":[1,2]}").unwrap();
        assert_eq!((read.text.as_str(), read.optional.as_deref()), ("abcd", Some("abcd")));
        assert_eq!(read.list, [1, 2]);
        assert!(self::read("{\"optional\":null,\"object\":null}").unwrap().object.is_empty());
        assert_eq!(self::read(&object_of(32, 128)).unwrap().object.len(), 32);
    }

    #[test]
    fn what_exceeds_a_limit_is_refused() {
        for json in ["{\"text\":\"abcde\"}", "{\"optional\":\"abcde\"}", "{\"list\":[1,2,3]}"] {
            assert!(read(json).is_none(), "{json}");
        }
        assert!(read(&object_of(33, 2)).is_none());
        assert!(read(&object_of(1, 129)).is_none());
    }
}
