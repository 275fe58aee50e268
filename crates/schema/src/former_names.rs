//! Former names of the fields of agents' requests. Doors accept them and advertise only the present ones
//! (docs/contract/ids-and-values.md#former-names).

/// Former names, each with the paths it may stand for: the first that a schema knows and whose type fits.
pub(crate) const FORMER_NAMES: &[(&str, &[&str])] = &[
    ("ship_to", &["destination", "destination.country"]),
    ("shipping_address", &["destination"]),
    ("option_id", &["shipping_option_id"]),
    ("selected_shipping_option_id", &["shipping_option_id"]),
    ("ids", &["product_ids"]),
    ("confirmation_id", &["confirmation.confirmation_id"]),
    ("confirmation.quote_hash", &["quote_hash"]),
];

/// Fields of a destination that were sent without it.
pub(crate) const ADDRESS_FIELDS: [&str; 6] =
    ["country", "region", "postal_code", "city", "street", "name"];

/// Returns the present name of a field that is known by a former one.
pub(crate) fn present_name(former: &str) -> Option<&'static str> {
    let found = FORMER_NAMES.iter().find(|(name, _)| *name == former);
    found
        .and_then(|(_, present)| present.first())
        .map(|path| path.split('.').next().unwrap_or(path))
}
