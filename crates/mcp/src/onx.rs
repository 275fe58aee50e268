//! Orders, fulfillments and returns in the form of onX (docs/contract/mcp.md#onx): the arguments and answers of the tools whose
//! names begin with `onx_`. Texts of merchants and buyers are data fields.

mod address;
mod fulfillment;
mod line_item;
mod order;
mod order_return;

use orders::{OrderError, OrdersFilter};
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use address::{Address, ShippingAddress};
pub(crate) use fulfillment::Fulfillment;
pub(crate) use line_item::{LineItem, line_of};
pub(crate) use order::Order;
pub(crate) use order_return::Return;

/// Entries of a page unless the caller says otherwise.
const PAGE_SIZE_DEFAULT: u32 = 10;
/// Most entries of a page.
pub(crate) const PAGE_SIZE_MAX: u32 = 100;
/// Most entries that can be left out.
pub(crate) const SKIP_MAX: u32 = OrdersFilter::SKIP_MAX;
/// Most ids, names or values of a filter.
pub(crate) const VALUES_MAX: usize = 100;
/// The pattern of a time: RFC 3339.
pub(crate) const TIME_PATTERN: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$";

/// Returns how many entries are left out and how many are returned.
pub(crate) fn page(page_size: Option<i64>, skip: Option<i64>) -> (u32, u32) {
    let number = |value: i64| u32::try_from(value).ok();
    let limit = page_size.and_then(number).unwrap_or(PAGE_SIZE_DEFAULT);
    (skip.and_then(number).unwrap_or(0).min(SKIP_MAX), limit.clamp(1, PAGE_SIZE_MAX))
}

/// A name and a value for what onX has no field for.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CustomField {
    /// Name of the field.
    name: &'static str,
    /// Value of the field.
    value: String,
}

impl CustomField {
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers pass values they have no further use for"
    )]
    fn new(name: &'static str, value: impl ToString) -> Self {
        Self { name, value: value.to_string() }
    }
}

/// Replaces the names that a verb has for fields by those of the arguments, in the given order.
pub(crate) fn with_names(error: OrderError, names: &[(&str, &str)]) -> OrderError {
    let renamed = |field: String| {
        names.iter().fold(field, |field, (verb, argument)| field.replace(verb, argument))
    };
    match error {
        OrderError::UnknownLine { field } => OrderError::UnknownLine { field: renamed(field) },
        OrderError::QuantityExceeded { field, requested, available } => {
            OrderError::QuantityExceeded { field: renamed(field), requested, available }
        }
        OrderError::InvalidField { field, allowed } => {
            OrderError::InvalidField { field: renamed(field), allowed }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_default_size_and_limits() {
        assert_eq!(page(None, None), (0, 10));
        assert_eq!(page(Some(100), Some(10_000)), (10_000, 100));
        assert_eq!(page(Some(i64::MAX), Some(-1)), (0, 10));
        assert_eq!(page(Some(0), Some(i64::MAX)), (0, 1));
    }

    #[test]
    fn errors_name_fields_as_the_arguments_do() {
        let names = [("items", "lineItems"), (".line_id", ".id")];
        let unknown = OrderError::UnknownLine { field: String::from("items[1].line_id") };
        let text = with_names(unknown, &names).to_string();
        assert_eq!(text, "lineItems[1].id is not a line of the order");
        assert!(matches!(with_names(OrderError::NotFound, &names), OrderError::NotFound));
    }
}
