//! The forms of the page. Each is executed once: the version that the page showed is part of its idempotency key.

use database::Database;
use jobs::{IdempotencyError, IdempotencyKey};
use merchants::Store;
use orders::{
    Actor, CancelReason, Cancellation, DisputeReason, NewDispute, OrderContext, OrderError,
    OrderStatus, RequestedItem, ReturnOutcome, ReturnReason, ReturnRequest, Viewer,
};
use primitives::{DisputeId, LineId, OrderId};
use serde::{Deserialize, Serialize};

primitives::text_enum! {
    /// What a form does. The name is the last part of its path.
    #[strum(serialize_all = "snake_case")]
    pub(crate) enum Action {
        Cancel,
        Return,
        Dispute,
        Withdraw,
        Accept,
    }
}

/// Prefix of the field with the quantity of a line; its id follows.
pub(crate) const QUANTITY: &str = "quantity-";

/// The submitted fields.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Fields(Vec<(String, String)>);

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
}

fn invalid(field: &str, allowed: &'static str) -> OrderError {
    OrderError::InvalidField { field: field.to_owned(), allowed }
}

/// Returns whether the buyer may cancel an order of this status.
pub(crate) const fn can_cancel(status: OrderStatus) -> bool {
    matches!(status, OrderStatus::Pending | OrderStatus::Confirmed | OrderStatus::ManualReview)
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
            Action::Return => orders::request_return(&context, id, self.return_request()?).await?,
            Action::Dispute => orders::open_dispute(&context, id, self.new_dispute()?).await?,
            Action::Withdraw => orders::withdraw_dispute(&context, id, fields.dispute()?).await?,
            // A proposal is never lowered, so that whoever accepts it gets at least what the page showed.
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
        _ => return None,
    };
    match (action, field) {
        (_, "reason") => Some("Select a reason from the list."),
        (Action::Return, "order_id") => Some("No further return can be requested on this page."),
        (Action::Return, _) if matches!(error, OrderError::NotEligible { .. }) => {
            Some("These items, or this many of them, cannot be returned now.")
        }
        (Action::Return, _) => Some("Enter how many items you want to return."),
        (Action::Dispute, "order_id") => {
            Some("A dispute about this order can no longer be opened.")
        }
        (Action::Dispute, _) => Some("Describe the problem in up to 4,000 characters."),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use primitives::Id;

    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        let pairs = pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Fields(pairs.collect())
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
}
