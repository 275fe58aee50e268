//! The known name, or the accepted value, that is nearest to an unknown one.

use serde_json::Value;

use crate::former_names::present_name;
use crate::normalize::properties;
use crate::often_meant::often_meant;

/// The least similarity of two names, from 0 to 1, of which one may be meant by the other.
const SIMILARITY_MIN: f64 = 0.6;
/// The longest unknown name that is compared.
const LENGTH_MAX: usize = 60;

/// Returns the field of an object whose name is most similar to an unknown one, if it is similar enough. Case, `_` and `-` do
/// not count.
pub(crate) fn nearest(unknown: &str, schema: &Value) -> Option<String> {
    if unknown.len() > LENGTH_MAX {
        return None;
    }
    if let Some(present) = present_name(schema, unknown) {
        return Some(present.to_owned());
    }
    let known: Vec<&str> = properties(schema)?.keys().map(String::as_str).collect();
    let sent = letters(unknown);
    if let Some(meant) = often_meant(&sent) {
        return meant.iter().find(|name| known.contains(name)).map(|name| (*name).to_owned());
    }
    most_similar(&sent, &known)
}

/// Returns the value of an `enum` that is most similar to an unknown one, if it is similar enough.
pub(crate) fn nearest_value(unknown: &str, schema: &Value) -> Option<String> {
    if unknown.len() > LENGTH_MAX {
        return None;
    }
    let known: Vec<&str> = schema["enum"].as_array()?.iter().filter_map(Value::as_str).collect();
    most_similar(&letters(unknown), &known)
}

/// Returns the name that is most similar to a text in small letters.
fn most_similar(sent: &str, known: &[&str]) -> Option<String> {
    let scored = known.iter().map(|name| (similarity(sent, &letters(name)), *name));
    let best = scored.max_by(|one, other| one.0.total_cmp(&other.0));
    best.filter(|(score, _)| *score >= SIMILARITY_MIN).map(|(_, name)| name.to_owned())
}

fn letters(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

fn similarity(sent: &str, known: &str) -> f64 {
    let similarity = strsim::normalized_damerau_levenshtein(sent, known);
    let is_part = sent.len() >= 3 && (known.contains(sent) || sent.contains(known));
    if is_part { similarity.max(SIMILARITY_MIN) } else { similarity }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    fn nearest(unknown: &str, known: &[&str]) -> Option<String> {
        let field = |name: &&str| match *name {
            "destination" => json!({ "x-former-names": ["ship_to"] }),
            "product_ids" => json!({ "x-former-names": ["ids"] }),
            _ => json!({}),
        };
        let fields = known.iter().map(|name| ((*name).to_owned(), field(name)));
        super::nearest(unknown, &json!({ "properties": fields.collect::<Map<_, _>>() }))
    }

    #[test]
    fn similar_names_are_found_and_others_are_not() {
        let known = ["destination", "items", "max_price", "product_ids", "quantity"];
        for (unknown, expected) in [
            ("maxPrice", Some("max_price")),
            ("max-price", Some("max_price")),
            ("price", Some("max_price")),
            ("quantitt", Some("quantity")),
            ("item", Some("items")),
            ("ship_to", Some("destination")),
            ("ids", Some("product_ids")),
            ("colour", None),
            ("do as I say", None),
            ("", None),
        ] {
            assert_eq!(nearest(unknown, &known).as_deref(), expected, "{unknown}");
        }
        assert_eq!(nearest("a", &[]), None);
    }

    #[test]
    fn the_nearest_of_the_accepted_values_is_found() {
        let schema = json!({ "type": "string", "enum": ["order.created", "order.refunded", null] });
        for (unknown, expected) in [
            ("order.create", Some("order.created")),
            ("order_refunded", Some("order.refunded")),
            ("ORDER.CREATED", Some("order.created")),
            ("payment.captured", None),
            ("", None),
        ] {
            assert_eq!(super::nearest_value(unknown, &schema).as_deref(), expected, "{unknown}");
        }
        assert_eq!(super::nearest_value("a", &json!({ "type": "string" })), None);
    }

    #[test]
    fn another_word_for_a_field_is_preferred_to_a_similar_name() {
        let search = ["limit", "merchants", "query", "sort"];
        assert_eq!(nearest("store", &search).as_deref(), Some("merchants"));
        assert_eq!(nearest("store", &["items", "merchant_slug"]).as_deref(), Some("merchant_slug"));
        assert_eq!(nearest("merchant", &["merchant_slug"]).as_deref(), Some("merchant_slug"));
        assert_eq!(nearest("store", &["limit", "sort"]), None);
        assert_eq!(nearest("qty", &["product_id", "quantity"]).as_deref(), Some("quantity"));
        assert_eq!(nearest("Q", &search).as_deref(), Some("query"));
    }
}
