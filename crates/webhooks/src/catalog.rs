//! The event catalog: each kind of events with when it is sent, an example and its fields. The documents are generated from it.

mod examples;
mod fields;
mod ordered_json;

use crate::EventKind;
use ordered_json::OrderedJson;

/// A kind of events, as the catalog describes it.
#[derive(Debug, Clone)]
pub struct CatalogEntry {
    pub kind: EventKind,
    /// When an event of this kind is sent: a clause that continues "sent".
    pub sent: &'static str,
    /// Whether an endpoint receives it only if it selects the kind.
    pub is_opt_in: bool,
    /// The body of an example, indented, with every field that the kind can have.
    pub example: String,
    /// In their order in the body.
    pub fields: Vec<CatalogField>,
}

/// A field of the body of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogField {
    /// Names separated by dots; `[]` follows the name of a list.
    pub path: String,
    /// The type in JSON.
    pub json_type: &'static str,
    pub meaning: &'static str,
}

/// Returns all kinds of events.
#[must_use]
pub fn catalog() -> Vec<CatalogEntry> {
    let entry = |kind: &EventKind| {
        let example = examples::example(*kind);
        let fields = paths(&example).into_iter().map(|(path, json_type)| {
            let meaning = fields::meaning(*kind, &path).unwrap_or_default();
            // Of an optional text without a value.
            let json_type = if json_type == "null" { "string" } else { json_type };
            CatalogField { path, json_type, meaning }
        });
        CatalogEntry {
            kind: *kind,
            sent: sent(*kind),
            is_opt_in: kind.is_selectable() && !EventKind::DEFAULT.contains(kind),
            fields: fields.collect(),
            example: serde_json::to_string_pretty(&example).unwrap_or_default(),
        }
    };
    EventKind::ALL.iter().map(entry).collect()
}

/// Returns when an event is sent.
const fn sent(kind: EventKind) -> &'static str {
    match kind {
        EventKind::OrderCreated => "when an order is placed: the buyer has paid",
        EventKind::OrderStatusChanged => {
            "at each change of the status of an order, whoever changes it: you, the buyer, an agent, or the passage of time"
        }
        EventKind::OrderUpdated => {
            "when the destination or the note of an order changes, when units are canceled, and when the status of the payment is set without a change of the status of the order. New texts are not part of the event: read the order"
        }
        EventKind::OrderRefunded => "when a refund of an order is recorded",
        EventKind::ReturnCreated => "when a buyer requests to return items of an order",
        EventKind::ReturnUpdated => "at each change of the status of a return",
        EventKind::DisputeOpened => {
            "when a dispute about an order is opened: answer it until `respondBy`"
        }
        EventKind::DisputeResolved => {
            "when a dispute ends: decided, settled by agreement, or withdrawn"
        }
        EventKind::CheckoutAbandoned => {
            "when a checkout ends without an order, because it expired or was canceled"
        }
        EventKind::TrustScoreChanged => {
            "when the trust band of the store changes, and when its trust score suspends the store or no longer does"
        }
        EventKind::WebhookTest => {
            "when you request it with `POST /merchant/webhooks/{endpoint_id}/test`, to this endpoint only, regardless of its event filter"
        }
    }
}

/// Returns the paths of all fields of a body with their types. Those of a list are those of its first item.
fn paths(body: &OrderedJson) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    add_paths("", body, &mut found);
    found
}

fn add_paths(prefix: &str, value: &OrderedJson, found: &mut Vec<(String, &'static str)>) {
    let OrderedJson::Object(fields) = value else { return };
    for (name, value) in fields {
        let path = format!("{prefix}{name}");
        found.push((path.clone(), value.type_name()));
        match value {
            OrderedJson::Array(items) => {
                if let Some(item) = items.first() {
                    add_paths(&format!("{path}[]."), item, found);
                }
            }
            value => add_paths(&format!("{path}."), value, found),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    #[test]
    fn every_kind_has_an_example_of_itself_with_an_id() {
        for entry in catalog() {
            let example: Value = serde_json::from_str(&entry.example).unwrap();
            assert_eq!(example["event"], entry.kind.as_str());
            assert!(example["id"].as_str().unwrap().starts_with("evt_"), "{}", entry.kind);
            assert_eq!(example["merchantSlug"], "kivikiri");
        }
    }

    #[test]
    fn every_field_of_every_kind_is_described() {
        for entry in catalog() {
            for field in &entry.fields {
                assert!(!field.meaning.is_empty(), "{}: {}", entry.kind, field.path);
            }
        }
    }

    #[test]
    fn only_a_reason_has_no_value_in_an_example() {
        for kind in EventKind::ALL {
            for (path, json_type) in paths(&examples::example(*kind)) {
                assert!(json_type != "null" || path == "reason", "{kind}: {path}");
            }
        }
    }

    #[test]
    fn every_description_is_of_a_field() {
        let catalog = catalog();
        let paths: BTreeSet<&str> = catalog
            .iter()
            .flat_map(|entry| entry.fields.iter().map(|field| field.path.as_str()))
            .collect();
        let unused: Vec<&str> = fields::described().filter(|path| !paths.contains(path)).collect();
        assert_eq!(unused, [""; 0]);
    }

    #[test]
    fn only_kinds_outside_of_the_default_are_opt_in() {
        let opt_in = catalog().iter().filter(|entry| entry.is_opt_in).count();
        assert_eq!(opt_in, EventKind::ALL.len() - EventKind::DEFAULT.len() - 1);
    }
}
