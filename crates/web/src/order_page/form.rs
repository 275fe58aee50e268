//! The forms of the page. Each is executed once: the version that the page showed is part of its idempotency key.

use std::fmt;

use carts::Destination;
use database::{Database, Reading};
use jobs::{IdempotencyError, IdempotencyKey};
use merchants::Store;
use orders::{
    Actor, CancelReason, Cancellation, DisputeReason, NewDispute, NewStatement, OrderContext,
    OrderError, OrderUpdate, RequestedItem, ReturnAction, ReturnOutcome, ReturnReason,
    ReturnRequest, Viewer,
};
use primitives::{DisputeId, LineId, OrderId, ReturnId};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

primitives::text_enum! {
    /// What a form does. The name is the last part of its path.
    #[strum(serialize_all = "snake_case")]
    pub(crate) enum Action {
        Cancel,
        Address,
        Return,
        CancelReturn,
        Dispute,
        Statement,
        Withdraw,
        Accept,
    }
}

/// Prefix of the field with the quantity of a line; its id follows.
pub(crate) const QUANTITY: &str = "quantity-";

/// Most fields of a form: a quantity for each of 50 lines, and some others.
const FIELDS_MAX: usize = 100;

/// The submitted fields.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Fields(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Fields {
    /// A form with too many fields is rejected before the further ones are read.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = Fields;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "at most {FIELDS_MAX} fields")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Fields, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = sequence.next_element::<(String, String)>()? {
                    if pairs.len() == FIELDS_MAX {
                        return Err(A::Error::invalid_length(FIELDS_MAX + 1, &self));
                    }
                    pairs.push(pair);
                }
                Ok(Fields(pairs))
            }
        }

        deserializer.deserialize_seq(Pairs)
    }
}

impl Fields {
    /// Returns the text of a field; an absent field is empty.
    pub(crate) fn text(&self, name: &str) -> &str {
        let field = self.0.iter().find(|(field, _)| field == name);
        field.map_or("", |(_, text)| text.as_str())
    }

    /// Returns the items to return: the lines with a quantity above 0.
    fn items(&self, reason: ReturnReason) -> Result<Vec<RequestedItem>, OrderError> {
        let mut items = Vec::new();
        for (name, text) in &self.0 {
            let Some(line) = name.strip_prefix(QUANTITY) else { continue };
            let line: LineId = line
                .parse()
                .map_err(|_| OrderError::UnknownLine { field: String::from("items") })?;
            let quantity = match text.trim() {
                "" => 0,
                text => text.parse().map_err(|_| invalid("items", "whole numbers"))?,
            };
            if quantity > 0 {
                items.push(RequestedItem { line, quantity, reason });
            }
        }
        Ok(items)
    }

    fn dispute(&self) -> Result<DisputeId, OrderError> {
        self.text("dispute_id").parse().map_err(|_| OrderError::DisputeNotFound)
    }

    fn order_return(&self) -> Result<ReturnId, OrderError> {
        self.text("return_id").parse().map_err(|_| OrderError::ReturnNotFound)
    }

    /// Returns the address in the country and region of the order, whose whole address it replaces.
    fn destination(&self, of_order: &Value) -> Result<Value, OrderError> {
        let set = |name: &str| Some(self.text(name).to_owned()).filter(|it| !it.trim().is_empty());
        let (name, street, city) = (set("name"), set("street"), set("city"));
        let postal_code = set("postal_code");
        let is_complete = name.is_some() && street.is_some() && city.is_some();
        if !is_complete || (postal_code.is_none() && of_order["postal_code"].is_string()) {
            return Err(invalid("missing", "name, street, postal code and city"));
        }
        let text = |name: &str| of_order[name].as_str().map(str::to_owned);
        let country = text("country").unwrap_or_default();
        let destination =
            Destination { country, region: text("region"), postal_code, city, street, name };
        let destination =
            destination.validated().map_err(|_| invalid("address", "an address of short lines"))?;
        serde_json::to_value(destination).map_err(|_| OrderError::Unreadable)
    }
}

fn invalid(field: &str, allowed: &'static str) -> OrderError {
    OrderError::InvalidField { field: field.to_owned(), allowed }
}

/// A submitted form of an order's page, whose token was verified.
pub(crate) struct Submission<'form> {
    pub(crate) database: &'form Database,
    pub(crate) store: &'form Store,
    pub(crate) order: OrderId,
    pub(crate) fields: &'form Fields,
}

impl Submission<'_> {
    /// Executes the form as the buyer. The same form, submitted again, has no further effect.
    pub(crate) async fn execute(&self, action: Action) -> Result<(), OrderError> {
        let key = self.idempotency_key(action)?;
        let context = OrderContext {
            database: self.database,
            merchant: self.store.merchant,
            slug: self.store.slug.as_str(),
            actor: Actor::BUYER,
            viewer: Viewer::All,
            idempotency_key: Some(&key),
        };
        let (id, fields) = (self.order, self.fields);
        match action {
            Action::Cancel => {
                let reason = CancelReason::BuyerRequest;
                let all = Cancellation { items: Vec::new(), reason, note: None };
                orders::cancel(&context, id, None, all).await?
            }
            Action::Address => {
                let update =
                    OrderUpdate { destination: Some(self.destination().await?), note: None };
                orders::update(&context, id, None, update).await?
            }
            Action::Return => orders::request_return(&context, id, self.return_request()?).await?,
            Action::CancelReturn => {
                let (it, cancel) = (fields.order_return()?, ReturnAction::Cancel);
                orders::change_return(&context, id, it, None, cancel).await?
            }
            Action::Dispute => orders::open_dispute(&context, id, self.new_dispute()?).await?,
            Action::Statement => {
                let text = fields.text("statement").to_owned();
                let statement = NewStatement { text, evidence: Vec::new(), proposed_refund: None };
                orders::answer_dispute(&context, id, fields.dispute()?, statement).await?
            }
            Action::Withdraw => orders::withdraw_dispute(&context, id, fields.dispute()?).await?,
            // A proposal is lowered only to all that other refunds left, so that whoever accepts it gets at least what the page
            // showed, or everything.
            Action::Accept => orders::accept_proposal(&context, id, fields.dispute()?).await?,
        };
        Ok(())
    }

    fn idempotency_key(&self, action: Action) -> Result<IdempotencyKey, IdempotencyError> {
        let version: i32 =
            self.fields.text("version").parse().map_err(|_| IdempotencyError::InvalidKey)?;
        let key = format!("{action}-{version}");
        let request = (action.as_str(), self.fields);
        IdempotencyKey::new(self.store.merchant, &self.order, &key, request)
    }

    /// Returns the submitted address. An order without an address has no such form.
    async fn destination(&self) -> Result<Value, OrderError> {
        let reading = Reading::for_store(self.database, self.store.merchant)?;
        let merchant = self.store.merchant;
        let order = orders::order(&reading, merchant, self.order, &Viewer::All).await?;
        self.fields.destination(order.destination().ok_or(OrderError::NotFound)?)
    }

    fn return_request(&self) -> Result<ReturnRequest, OrderError> {
        let reason = ReturnReason::parse(self.fields.text("reason"));
        let reason = reason.ok_or_else(|| invalid("reason", "a reason of the list"))?;
        let items = self.fields.items(reason)?;
        if items.is_empty() {
            return Err(invalid("items", "at least one item"));
        }
        Ok(ReturnRequest { items, outcome: ReturnOutcome::Refund, note: None })
    }

    fn new_dispute(&self) -> Result<NewDispute, OrderError> {
        let reason = DisputeReason::parse(self.fields.text("reason"));
        let reason = reason.ok_or_else(|| invalid("reason", "a reason of the list"))?;
        let statement = self.fields.text("statement").to_owned();
        Ok(NewDispute { reason, statement, evidence: Vec::new() })
    }
}

/// Returns why a form was rejected, if the person can correct it or has to know.
pub(crate) fn problem(action: Action, error: &OrderError) -> Option<&'static str> {
    let field = match error {
        OrderError::NotEligible { .. } => "items",
        OrderError::InvalidField { field, .. } => field.as_str(),
        OrderError::RefundExceeded { field, .. } => field,
        _ => return None,
    };
    match (action, field) {
        (_, "reason") => Some("Select a reason from the list."),
        (Action::Address, "missing") => {
            Some("Enter the whole address: name, street and number, postal code and city.")
        }
        (Action::Address, "order_id") => {
            Some("The address cannot be changed on this page any more.")
        }
        (Action::Address, _) => {
            Some("A part of the address is too long or contains invalid characters.")
        }
        (Action::Return, "order_id") => Some("No further return can be requested on this page."),
        (Action::Return, _) if matches!(error, OrderError::NotEligible { .. }) => {
            Some("These items, or this many of them, cannot be returned now.")
        }
        (Action::Return, _) => Some("Enter how many items you want to return."),
        (Action::Dispute, "order_id") => {
            Some("A dispute about this order can no longer be opened.")
        }
        (Action::Accept, "proposed_refund") => {
            Some("The proposal cannot be accepted now: less than it is left of your payment.")
        }
        (Action::Dispute, _) => Some("Describe the problem in up to 4,000 characters."),
        (Action::Statement, _) => Some("Write your statement in up to 4,000 characters."),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use primitives::Id;
    use serde_json::json;

    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        let pairs = pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Fields(pairs.collect())
    }

    #[test]
    fn a_form_with_more_than_100_fields_is_rejected() {
        let read = |count: usize| {
            let body = vec![json!(["name", "text"]); count];
            serde_json::from_value::<Fields>(Value::Array(body))
        };
        assert_eq!(read(100).unwrap().0.len(), 100);
        let refused = read(101).unwrap_err().to_string();
        assert!(refused.contains("at most 100 fields"), "{refused}");
    }

    #[test]
    fn only_lines_with_a_quantity_are_returned() {
        let (one, two) = (LineId::from_random(1), LineId::from_random(2));
        let names = [one, two].map(|line| format!("{QUANTITY}{line}"));
        let [first, second] = [names[0].as_str(), names[1].as_str()];
        let items = |pairs: &[(&str, &str)]| fields(pairs).items(ReturnReason::Other);
        let found = items(&[(first, "2"), (second, "0"), ("token", "x")]).unwrap();
        assert_eq!(
            found.iter().map(|item| (item.line, item.quantity)).collect::<Vec<_>>(),
            [(one, 2)]
        );
        assert!(items(&[(first, ""), (second, " ")]).unwrap().is_empty());
        for wrong in ["-1", "1.5", "two", "4294967296"] {
            assert!(
                matches!(items(&[(first, wrong)]), Err(OrderError::InvalidField { .. })),
                "{wrong}"
            );
        }
        assert!(matches!(items(&[("quantity-x", "1")]), Err(OrderError::UnknownLine { .. })));
    }

    #[test]
    fn an_address_keeps_country_and_region_and_replaces_the_rest() {
        let approved = json!({ "country": "US", "region": "NY", "postal_code": "10001",
                               "street": "Old 1", "name": "Eve", "city": "New York" });
        let whole =
            [("name", "Ada"), ("street", "New 2"), ("city", "Albany"), ("postal_code", "12207")];
        let moved = fields(&[&whole[..], &[("country", "CA"), ("region", "ON")]].concat());
        assert_eq!(
            moved.destination(&approved).unwrap(),
            json!({ "country": "US", "region": "NY", "postal_code": "12207", "street": "New 2",
                    "name": "Ada", "city": "Albany" })
        );
        for missing in 0..whole.len() {
            let mut rest = whole;
            rest[missing].1 = " ";
            let refused = fields(&rest).destination(&approved);
            let field = matches!(&refused, Err(OrderError::InvalidField { field, .. }) if field == "missing");
            assert!(field, "{refused:?}");
        }
        let none = json!({ "country": "IE" });
        assert_eq!(fields(&whole[..3]).destination(&none).unwrap()["country"], "IE");
    }
}
