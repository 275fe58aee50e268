//! The calls of this API, as hints name them.

use primitives::Action;

/// Returns the call for an operation. An operation that only MCP offers is named by its tool.
pub(crate) fn call(action: Action) -> &'static str {
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
