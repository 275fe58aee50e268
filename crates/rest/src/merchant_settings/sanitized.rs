//! Merchant text in a request body.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// A body whose text is sanitized while it is deserialized: no markup, no control characters, one line. No field can be
/// forgotten. Names of fields and numbers stay as they are.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Sanitized<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Sanitized<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(Sanitizing(deserializer)).map(Self)
    }
}

/// Returns a text on one line, without markup and invisible characters. A URL has none of them, and its `&` does not begin
/// an entity: `&region=` would become `®ion=`.
fn sanitized(text: &str) -> Cow<'_, str> {
    let url = text.trim();
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    let is_markup =
        |character: char| matches!(character, '<' | '>' | '"') || character.is_whitespace();
    if !is_web || url.contains(is_markup) {
        return catalog::one_line(text, usize::MAX);
    }
    if url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Cow::Borrowed(url);
    }
    match catalog::web_url(url) {
        Ok(normalized) => Cow::Owned(normalized),
        Err(_) => catalog::one_line(text, usize::MAX),
    }
}

/// A deserializer, or a part of one, that sanitizes the text it passes on.
struct Sanitizing<T>(T);

/// Methods that pass on everything but the visitor.
macro_rules! with_visitor {
    ($($method:ident($($name:ident: $type:ty),*))*) => {
        $(
            fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, D::Error> {
                self.0.$method($($name,)* Sanitizing(visitor))
            }
        )*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Sanitizing<D> {
    type Error = D::Error;

    with_visitor! {
        deserialize_any() deserialize_bool() deserialize_char()
        deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f32() deserialize_f64()
        deserialize_str() deserialize_string() deserialize_bytes() deserialize_byte_buf()
        deserialize_option() deserialize_unit() deserialize_seq() deserialize_map()
        deserialize_identifier() deserialize_ignored_any()
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple(length: usize)
        deserialize_tuple_struct(name: &'static str, length: usize)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

/// Methods that pass on a value that contains no text.
macro_rules! without_text {
    ($($method:ident($type:ty))*) => {
        $(
            fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
                self.0.$method(value)
            }
        )*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Sanitizing<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(formatter)
    }

    without_text! {
        visit_bool(bool) visit_char(char)
        visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64) visit_i128(i128)
        visit_u8(u8) visit_u16(u16) visit_u32(u32) visit_u64(u64) visit_u128(u128)
        visit_f32(f32) visit_f64(f64) visit_bytes(&[u8]) visit_byte_buf(Vec<u8>)
    }

    /// Also called for borrowed and owned strings.
    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        self.0.visit_str(&sanitized(text))
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Sanitizing(deserializer))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Sanitizing(deserializer))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Sanitizing(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Sanitizing(fields))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(variant)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Sanitizing<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Sanitizing(deserializer))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Sanitizing<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Sanitizing(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Sanitizing<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Sanitizing(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use primitives::Amount;
    use serde_json::json;

    use super::*;
    use crate::request::from_json;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Body {
        name: String,
        note: Option<String>,
        words: Vec<String>,
        by_name: BTreeMap<String, String>,
        price: Amount,
        kind: Kind,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        New,
    }

    fn body(name: &str) -> String {
        let body = json!({
            "name": name,
            "note": " a\u{0} <b>b</b>\n",
            "words": ["<i>c</i>", "  d  e "],
            "by_name": { " <b>key": " value" },
            "price": "4.90",
            "kind": "new",
        });
        body.to_string()
    }

    #[test]
    fn all_text_is_sanitized_and_nothing_else_changes() {
        let exact = body("x").replacen("\"4.90\"", "1.00000000000000000001", 1);
        let Sanitized(parsed) = from_json::<Sanitized<Body>>(exact.as_bytes()).unwrap();
        assert_eq!(
            parsed,
            Body {
                name: String::from("x"),
                note: Some(String::from("a b")),
                words: vec![String::from("c"), String::from("d e")],
                by_name: BTreeMap::from([(String::from(" <b>key"), String::from("value"))]),
                price: Amount::new("1.00000000000000000001"),
                kind: Kind::New,
            }
        );
        let Sanitized(parsed) = from_json::<Sanitized<Body>>(body("x").as_bytes()).unwrap();
        assert_eq!(parsed.price, Amount::new("4.90"));
    }

    #[test]
    fn urls_are_not_decoded() {
        for (sent, stored) in [
            (
                " https://a.example/?x=1&region=2&amp;copy=3 ",
                "https://a.example/?x=1&region=2&amp;copy=3",
            ),
            ("http://a.example/{items}?a&lt=1#&reg", "http://a.example/{items}?a&lt=1#&reg"),
            ("https://\u{fc}.example/?\u{e4}&region=2", "https://xn--tda.example/?%C3%A4&region=2"),
            // Not URLs.
            ("https://a.example/<b>x</b>&amp;", "https://a.example/x&"),
            ("https://a.example/ &amp; more", "https://a.example/ & more"),
            ("see https://a.example/?a&amp;b", "see https://a.example/?a&b"),
            ("https://a\u{202e}b.example/&amp;", "https://ab.example/&"),
        ] {
            assert_eq!(sanitized(sent), stored);
            assert_eq!(sanitized(stored), stored);
        }
    }

    #[test]
    fn an_error_names_the_field() {
        let body = body("x").replacen("\"<i>c</i>\"", "1", 1);
        let error = from_json::<Sanitized<Body>>(body.as_bytes()).unwrap_err();
        assert_eq!(error.field().unwrap().0, "words[0]");
    }
}
