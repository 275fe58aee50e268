//! What the formats made of JSON share.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use catalog::Fault;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::fault;
use crate::line::Line;
use crate::out::Out;
use crate::source::Source;

/// An object whose values are not looked into.
pub(crate) type Object = BTreeMap<String, Box<RawValue>>;

/// Hands over every line that is text and not empty. A last line that ends too early is a cut.
pub(crate) fn read_lines(
    source: &mut Source<'_>,
    out: &mut Out<'_>,
    mut each: impl FnMut(u64, &str, &mut Out<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut line = Line::default();
    while line.read(source) {
        let text = std::str::from_utf8(&line.bytes);
        if !line.is_ended && (line.is_too_long || is_cut(text)) {
            return out.cut(line.number, fault::truncated());
        }
        match text {
            _ if line.is_too_long => {
                out.broken(line.number, dig_bytes(&line.bytes), fault::too_long())?;
            }
            Err(_) => out.broken(line.number, dig_bytes(&line.bytes), fault::not_utf8())?,
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => each(line.number, text, out)?,
        }
    }
    if source.has_failed() {
        return out.cut(source.line(), fault::truncated());
    }
    ControlFlow::Continue(())
}

/// Whether a last line without an end stops before its JSON does: what is wrong with it is then that
/// nothing follows.
fn is_cut(text: Result<&str, std::str::Utf8Error>) -> bool {
    match text {
        Err(error) => error.error_len().is_none(),
        Ok(text) => {
            let parsed = serde_json::from_str::<serde::de::IgnoredAny>(text);
            !text.trim().is_empty()
                && parsed.is_err_and(|error| error.is_eof() || error.column() >= text.len())
        }
    }
}

pub(crate) fn not_json() -> Fault {
    fault::unreadable("The row is not valid JSON.")
}

/// Reads an object. serde would also take an array for one, with the fields in their order.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    if text.trim_start().starts_with('[') {
        return Err(serde::de::Error::custom("not an object"));
    }
    serde_json::from_str(text)
}

pub(crate) fn object(text: &str) -> Option<Object> {
    serde_json::from_str(text).ok()
}

/// The first field that keeps an object from being a `T`. Each is tried alone, beside the text of
/// what a `T` always needs, because serde's own words repeat what was sent.
pub(crate) fn wrong_field<T: DeserializeOwned>(object: &Object, needed: &str) -> Option<String> {
    let is_wrong = |name: &str, value: &RawValue| {
        let name = serde_json::Value::from(name);
        let needed = if needed.starts_with(&name.to_string()) { "" } else { needed };
        serde_json::from_str::<T>(&format!("{{{needed}{name}:{value}}}")).is_err()
    };
    object.iter().find(|(name, value)| is_wrong(name, value)).map(|(name, _)| name.clone())
}

/// The text of a field, even where the rest cannot be read.
pub(crate) fn dig(text: &str, field: &str) -> Option<String> {
    if let Some(object) = object(text) {
        return serde_json::from_str(object.get(field)?.get()).ok();
    }
    let name = format!("\"{field}\"");
    let behind = &text[text.find(&name)? + name.len()..];
    let value = behind.trim_start().strip_prefix(':')?;
    serde_json::Deserializer::from_str(value).into_iter::<String>().next()?.ok()
}

/// The same for bytes that are not all text, or not all there.
fn dig_bytes(bytes: &[u8]) -> Option<String> {
    let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    dig(text, "external_id").or_else(|| dig(text, "id"))
}
