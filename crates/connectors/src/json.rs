//! Functions that the JSON formats share.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use catalog::FieldError;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::field_errors;
use crate::line::Line;
use crate::sink::Sink;
use crate::source::Source;

/// An object with unparsed values.
pub(crate) type Object = BTreeMap<String, Box<RawValue>>;

/// Passes every non-empty line of text to `each`. An incomplete last line is reported as truncation.
pub(crate) fn read_lines(
    source: &mut Source<'_>,
    sink: &mut Sink<'_>,
    mut each: impl FnMut(u64, &str, &mut Sink<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut line = Line::default();
    while line.read(source) {
        let text = std::str::from_utf8(&line.bytes);
        if !line.is_terminated && (line.is_too_long || is_truncated(text)) {
            return sink.truncated(line.number, source.truncation());
        }
        match text {
            _ if line.is_too_long => {
                sink.invalid_row(
                    line.number,
                    extract_id(&line.bytes),
                    field_errors::row_too_long(),
                )?;
            }
            Err(_) => sink.invalid_row(
                line.number,
                extract_id(&line.bytes),
                field_errors::row_not_utf8(),
            )?,
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => each(line.number, text, sink)?,
        }
    }
    if source.has_failed() {
        return sink.truncated(source.line(), source.truncation());
    }
    ControlFlow::Continue(())
}

/// Whether a last line without a line ending stops within its JSON.
fn is_truncated(text: Result<&str, std::str::Utf8Error>) -> bool {
    match text {
        Err(error) => error.error_len().is_none(),
        Ok(text) => {
            let parsed = serde_json::from_str::<serde::de::IgnoredAny>(text);
            !text.trim().is_empty()
                && parsed.is_err_and(|error| error.is_eof() || error.column() >= text.len())
        }
    }
}

pub(crate) fn not_json() -> FieldError {
    field_errors::unreadable_row("The row is not valid JSON.")
}

/// Parses an object. serde alone would also accept an array of the fields in order.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    if text.trim_start().starts_with('[') {
        return Err(serde::de::Error::custom("not an object"));
    }
    serde_json::from_str(text)
}

pub(crate) fn object(text: &str) -> Option<Object> {
    serde_json::from_str(text).ok()
}

/// Returns the first field that is invalid in a `T`. Each field is parsed alone, with the required fields
/// of a `T`, because the messages of serde repeat the input.
pub(crate) fn first_invalid_field<T: DeserializeOwned>(
    object: &Object,
    required: &str,
) -> Option<String> {
    let is_invalid = |name: &str, value: &RawValue| {
        let name = serde_json::Value::from(name);
        let required = if required.starts_with(&name.to_string()) { "" } else { required };
        serde_json::from_str::<T>(&format!("{{{required}{name}:{value}}}")).is_err()
    };
    object.iter().find(|(name, value)| is_invalid(name, value)).map(|(name, _)| name.clone())
}

/// Extracts the text of a field, even if the rest is invalid.
pub(crate) fn extract_field(text: &str, field: &str) -> Option<String> {
    if let Some(object) = object(text) {
        return serde_json::from_str(object.get(field)?.get()).ok();
    }
    let name = format!("\"{field}\"");
    let after = &text[text.find(&name)? + name.len()..];
    let value = after.trim_start().strip_prefix(':')?;
    serde_json::Deserializer::from_str(value).into_iter::<String>().next()?.ok()
}

/// Extracts the product identifier from bytes that are not all UTF-8, or incomplete.
fn extract_id(bytes: &[u8]) -> Option<String> {
    let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    extract_field(text, "external_id").or_else(|| extract_field(text, "id"))
}
