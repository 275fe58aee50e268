//! Other words for fields. They are not accepted, only suggested.

/// Other words, in small letters without `_`, each with the names that the field may have.
const OFTEN_MEANT: &[(&str, &[&str])] = &[
    ("store", &["merchants", "merchant_slug", "merchant", "store_slug", "slug"]),
    ("storeslug", &["merchants", "merchant_slug", "merchant", "slug"]),
    ("stores", &["merchants", "stores", "merchant"]),
    ("shop", &["merchants", "merchant_slug", "merchant", "slug"]),
    ("merchant", &["merchant_slug", "merchants", "merchant"]),
    ("merchantslug", &["merchant_slug", "merchants", "merchant"]),
    ("qty", &["quantity"]),
    ("count", &["quantity", "limit"]),
    ("amount", &["quantity"]),
    ("perpage", &["limit"]),
    ("pagesize", &["limit"]),
    ("q", &["query", "q"]),
    ("query", &["query", "q"]),
    ("state", &["status", "state"]),
    ("type", &["kind", "type", "format"]),
];

/// Returns the names that a field may have which is sent by another word, in small letters without `_`.
pub(crate) fn often_meant(letters: &str) -> Option<&'static [&'static str]> {
    OFTEN_MEANT.iter().find(|(word, _)| *word == letters).map(|(_, names)| *names)
}
