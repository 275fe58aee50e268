//! Documents that travel as JSON and as headers: base64 of JSON, in the standard alphabet with padding.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Maximum length of a document, as JSON.
pub const DOCUMENT_MAX_BYTES: usize = 12 * 1_024;

/// Maximum length of a document in a header.
pub const HEADER_MAX_BYTES: usize = DOCUMENT_MAX_BYTES.div_ceil(3) * 4;

/// Maximum length of what an error says about a field: the texts of serde repeat what was sent.
const PROBLEM_MAX_BYTES: usize = 200;

/// What is wrong with a document, for whoever sent it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {problem}")]
pub struct FieldError {
    /// The path of the field, such as `payload.authorization.value`; the name of the document if it is wrong as a whole.
    pub field: String,
    pub problem: String,
}

impl FieldError {
    pub(crate) fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }
}

/// A document of the protocol that has a header of its own.
pub trait Document: Serialize + DeserializeOwned {
    /// The name of the header in lower case, as HTTP/2 requires and HTTP/1.1 permits.
    const HEADER: &'static str;

    /// Reads the document from the value of its header.
    fn from_header(value: &[u8]) -> Result<Self, FieldError> {
        if value.len() > HEADER_MAX_BYTES {
            let problem = format!("is longer than {HEADER_MAX_BYTES} bytes");
            return Err(FieldError::new(Self::HEADER, problem));
        }
        let json = STANDARD.decode(value);
        let json =
            json.map_err(|_| FieldError::new(Self::HEADER, "must be base64 with padding"))?;
        Self::from_json(&json)
    }

    /// Reads the document from JSON.
    fn from_json(json: &[u8]) -> Result<Self, FieldError> {
        if json.len() > DOCUMENT_MAX_BYTES {
            return Err(too_long(Self::HEADER));
        }
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let document = serde_path_to_error::deserialize(&mut deserializer);
        let document = document.map_err(|error| describe(Self::HEADER, &error))?;
        let end = deserializer.end();
        end.map_err(|_| FieldError::new(Self::HEADER, "must be one JSON object"))?;
        Ok(document)
    }

    /// Reads the document from a JSON value, such as one in `_meta` of an MCP request.
    fn from_value(value: &Value) -> Result<Self, FieldError> {
        Self::from_json(&serde_json::to_vec(value).map_err(|_| too_long(Self::HEADER))?)
    }

    /// Returns the value of the header, or an error if the document is too long for one.
    fn to_header(&self) -> Result<HeaderValue, FieldError> {
        let json = serde_json::to_vec(self).map_err(|_| too_long(Self::HEADER))?;
        if json.len() > DOCUMENT_MAX_BYTES {
            return Err(too_long(Self::HEADER));
        }
        // Base64 is visible ASCII.
        HeaderValue::try_from(STANDARD.encode(json)).map_err(|_| too_long(Self::HEADER))
    }
}

fn too_long(document: &str) -> FieldError {
    FieldError::new(document, format!("is longer than {DOCUMENT_MAX_BYTES} bytes of JSON"))
}

fn describe(document: &str, error: &serde_path_to_error::Error<serde_json::Error>) -> FieldError {
    let path = error.path().to_string();
    let field = if path == "." { document.to_owned() } else { path };
    let problem = error.inner().to_string();
    // The position in the decoded JSON helps nobody who sent base64.
    let problem = problem.split(" at line ").next().unwrap_or_default();
    FieldError::new(truncated(&field), truncated(problem))
}

fn truncated(text: &str) -> &str {
    let end = text.char_indices().map(|(index, _)| index).take_while(|at| *at <= PROBLEM_MAX_BYTES);
    if text.len() <= PROBLEM_MAX_BYTES { text } else { &text[..end.last().unwrap_or(0)] }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Note {
        text: String,
    }

    impl Document for Note {
        const HEADER: &'static str = "note";
    }

    fn note(text: &str) -> Note {
        Note { text: text.to_owned() }
    }

    #[test]
    fn a_document_is_base64_of_json() {
        let header = note("Grüße ÿ?>").to_header().unwrap();
        assert_eq!(Note::from_header(header.as_bytes()), Ok(note("Grüße ÿ?>")));
        assert_eq!(note("a").to_header().unwrap(), "eyJ0ZXh0IjoiYSJ9");
    }

    #[test]
    fn an_error_names_the_document_or_the_field() {
        let field = |header: &[u8]| Note::from_header(header).unwrap_err().field;
        for header in ["", "e", "eyJ0ZXh0IjoiYSJ", "{\"text\":\"a\"}", "eyJ0ZXh0IjoiYSJ9 ", "4pyT"]
        {
            assert_eq!(field(header.as_bytes()), "note", "{header}");
        }
        assert_eq!(field(STANDARD.encode("{}").as_bytes()), "note");
        assert_eq!(field(STANDARD.encode("{\"text\":\"a\"} {}").as_bytes()), "note");
        assert_eq!(field(STANDARD.encode("{\"text\":7}").as_bytes()), "text");
    }

    #[test]
    fn the_length_is_limited_in_both_directions() {
        let longest = note(&"a".repeat(DOCUMENT_MAX_BYTES - "{\"text\":\"\"}".len()));
        let header = longest.to_header().unwrap();
        assert_eq!(header.len(), HEADER_MAX_BYTES);
        assert_eq!(Note::from_header(header.as_bytes()), Ok(longest));
        let longer = note(&"a".repeat(DOCUMENT_MAX_BYTES - "{\"text\":\"\"}".len() + 1));
        assert_eq!(longer.to_header(), Err(too_long("note")));
        let json = serde_json::to_vec(&longer).unwrap();
        assert_eq!(Note::from_json(&json), Err(too_long("note")));
        let header = STANDARD.encode(&json);
        assert!(Note::from_header(header.as_bytes()).is_err());
        // A longer header is not decoded.
        let error = Note::from_header(&vec![b'!'; HEADER_MAX_BYTES + 1]).unwrap_err();
        assert_eq!(error.problem, format!("is longer than {HEADER_MAX_BYTES} bytes"));
        assert!(Note::from_value(&serde_json::to_value(&longer).unwrap()).is_err());
    }

    #[test]
    fn an_error_repeats_little_of_what_was_sent() {
        let json = format!("{{\"text\":{{\"{}\":1}}}}", "ü".repeat(1_000));
        let error = Note::from_json(json.as_bytes()).unwrap_err();
        assert!(error.problem.len() <= PROBLEM_MAX_BYTES, "{error}");
        assert_eq!(truncated(&"ü".repeat(1_000)).len(), PROBLEM_MAX_BYTES);
    }
}
