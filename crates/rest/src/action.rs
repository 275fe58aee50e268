//! The calls of this API and their fields, as hints name them.

use primitives::{Action, Argument, HintNames};

/// The names by which clients of this API know operations and arguments.
///
/// Arguments have the same names as those of the MCP tools.
pub(crate) const NAMES: HintNames = HintNames { action: call, argument: Argument::as_str };

/// Returns the call for an operation. An operation that only MCP offers is named by its tool.
fn call(action: Action) -> &'static str {
    match action {
        Action::SearchProducts => "POST /api/v1/agent/search",
        Action::FindOffersNetwork => "GET /api/v1/agent/products",
        Action::FindSimilarProducts => "GET /api/v1/agent/products/{product_id}/similar",
        Action::GetProductVariants => "GET /api/v1/agent/products/{product_id}",
        Action::GetCart | Action::PreviewCheckout => "GET /api/v1/agent/cart/{cart_id}",
        Action::SelectShippingOption | Action::SetCartDestination => {
            "PATCH /api/v1/agent/cart/{cart_id}"
        }
        Action::CompleteCheckout | Action::CreateCheckout => "POST /api/v1/agent/checkout",
        Action::GetCheckout => "GET /api/v1/agent/checkout/{checkout_id}",
        Action::UpdateCheckout => "PATCH /api/v1/agent/checkout/{checkout_id}",
        Action::BrowseCategories => "the MCP tool browse_categories",
        Action::GetConfirmationStatus => "the MCP tool get_confirmation_status",
        Action::RequestHumanConfirmation => "the MCP tool request_human_confirmation",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether the body of a call has a field.
    fn has_field(call: &str, field: &str) -> bool {
        let document = crate::openapi("http://souk.example");
        let (method, path) = call.split_once(" /api/v1").unwrap();
        let body = &document["paths"][path][method.to_lowercase()]["requestBody"];
        let resolve = |schema: &serde_json::Value| {
            let reference =
                ["/$ref", "/anyOf/0/$ref"].into_iter().find_map(|it| schema.pointer(it));
            let name = reference.and_then(|it| it.as_str()).map(|it| it.trim_start_matches('#'));
            name.map_or_else(|| schema.clone(), |it| document.pointer(it).unwrap().clone())
        };
        let mut schema = resolve(&body["content"]["application/json"]["schema"]);
        for name in field.split('.') {
            schema = resolve(&schema["properties"][name]);
        }
        !schema.is_null()
    }

    #[test]
    fn every_argument_is_a_field_of_a_body() {
        for argument in Argument::ALL {
            let action = match argument {
                Argument::Destination => Action::SetCartDestination,
                Argument::QuoteHash => Action::CompleteCheckout,
                Argument::ShippingOption => Action::SelectShippingOption,
            };
            let (call, field) = (call(action), argument.as_str());
            assert!(has_field(call, field), "{call}: {field}");
        }
        assert!(has_field(call(Action::CompleteCheckout), "confirmation.confirmation_id"));
        assert!(!has_field(call(Action::CompleteCheckout), "no_such_field"));
    }

    #[test]
    fn every_call_is_an_endpoint_or_an_mcp_tool() {
        let routes = crate::endpoints();
        for action in Action::ALL {
            let call = call(*action);
            let is_endpoint = routes.operations().iter().any(|operation| {
                let method = operation.method.to_uppercase();
                call == format!("{method} /api/v1{}", operation.path)
            });
            let is_tool = call == format!("the MCP tool {action}");
            assert!(is_endpoint || is_tool, "{action}: {call}");
        }
    }
}
