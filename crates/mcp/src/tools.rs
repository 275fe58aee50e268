//! The registry of tools. A new tool is one file and one line here.

mod add_cart_items;
mod apply_discount_code;
mod browse_categories;
mod cancel_cart;
mod cancel_checkout;
mod cart;
mod check_availability;
mod check_return_eligibility;
mod checkout;
mod compare_products;
mod complete_checkout;
mod create_cart;
mod create_checkout;
mod create_permalink;
mod create_sandbox_key;
mod estimate_delivery;
mod find_offers_network;
mod find_similar_products;
mod get_cart;
mod get_checkout;
mod get_confirmation_status;
mod get_dispute;
mod get_merchant_profile;
mod get_order_status;
mod get_price_history;
mod get_product_details;
mod get_product_reviews;
mod get_product_variants;
mod get_search_facets;
mod get_shipping_rates;
mod get_store_capabilities;
mod get_store_policies;
mod get_trust_history;
mod get_trust_methodology;
mod get_trust_score;
mod item;
mod list_new_arrivals;
mod list_payment_methods;
mod list_promotions;
mod lookup_products;
mod nlweb_ask;
mod nlweb_who;
mod onx_cancel_order;
mod onx_create_return;
mod onx_get_fulfillments;
mod onx_get_orders;
mod onx_get_returns;
mod onx_update_order;
mod open_dispute;
mod order;
mod preview_checkout;
mod product_page;
mod remove_cart_items;
mod remove_discount_code;
mod request_human_confirmation;
mod search_products;
mod search_products_enriched;
mod select_shipping_option;
mod set_cart_destination;
mod submit_agent_feedback;
mod suggest_queries;
mod update_cart;
mod update_checkout;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, MetaObject, ToolAnnotations};
use schema::Validator;
use serde_json::{Value, json};

use crate::tool::ToolEntry;
use crate::tool_schema;

const ENTRIES: &[ToolEntry] = &[
    ToolEntry::of::<add_cart_items::AddCartItems>(),
    ToolEntry::of::<apply_discount_code::ApplyDiscountCode>(),
    ToolEntry::of::<browse_categories::BrowseCategories>(),
    ToolEntry::of::<cancel_cart::CancelCart>(),
    ToolEntry::of::<cancel_checkout::CancelCheckout>(),
    ToolEntry::of::<check_availability::CheckAvailability>(),
    ToolEntry::of::<check_return_eligibility::CheckReturnEligibility>(),
    ToolEntry::of::<compare_products::CompareProducts>(),
    ToolEntry::of::<complete_checkout::CompleteCheckout>(),
    ToolEntry::of::<create_cart::CreateCart>(),
    ToolEntry::of::<create_checkout::CreateCheckout>(),
    ToolEntry::of::<create_permalink::CreatePermalink>(),
    ToolEntry::of::<create_sandbox_key::CreateSandboxKey>(),
    ToolEntry::of::<estimate_delivery::EstimateDelivery>(),
    ToolEntry::of::<find_offers_network::FindOffersNetwork>(),
    ToolEntry::of::<find_similar_products::FindSimilarProducts>(),
    ToolEntry::of::<get_cart::GetCart>(),
    ToolEntry::of::<get_checkout::GetCheckout>(),
    ToolEntry::of::<get_confirmation_status::GetConfirmationStatus>(),
    ToolEntry::of::<get_dispute::GetDispute>(),
    ToolEntry::of::<get_merchant_profile::GetMerchantProfile>(),
    ToolEntry::of::<get_order_status::GetOrderStatus>(),
    ToolEntry::of::<get_price_history::GetPriceHistory>(),
    ToolEntry::of::<get_product_details::GetProductDetails>(),
    ToolEntry::of::<get_product_reviews::GetProductReviews>(),
    ToolEntry::of::<get_product_variants::GetProductVariants>(),
    ToolEntry::of::<get_search_facets::GetSearchFacets>(),
    ToolEntry::of::<get_shipping_rates::GetShippingRates>(),
    ToolEntry::of::<get_store_capabilities::GetStoreCapabilities>(),
    ToolEntry::of::<get_store_policies::GetStorePolicies>(),
    ToolEntry::of::<get_trust_history::GetTrustHistory>(),
    ToolEntry::of::<get_trust_methodology::GetTrustMethodology>(),
    ToolEntry::of::<get_trust_score::GetTrustScore>(),
    ToolEntry::of::<list_new_arrivals::ListNewArrivals>(),
    ToolEntry::of::<list_payment_methods::ListPaymentMethods>(),
    ToolEntry::of::<list_promotions::ListPromotions>(),
    ToolEntry::of::<lookup_products::LookupProducts>(),
    ToolEntry::of::<nlweb_ask::NlwebAsk>(),
    ToolEntry::of::<nlweb_who::NlwebWho>(),
    ToolEntry::of::<onx_cancel_order::OnxCancelOrder>(),
    ToolEntry::of::<onx_create_return::OnxCreateReturn>(),
    ToolEntry::of::<onx_get_fulfillments::OnxGetFulfillments>(),
    ToolEntry::of::<onx_get_orders::OnxGetOrders>(),
    ToolEntry::of::<onx_get_returns::OnxGetReturns>(),
    ToolEntry::of::<onx_update_order::OnxUpdateOrder>(),
    ToolEntry::of::<open_dispute::OpenDispute>(),
    ToolEntry::of::<preview_checkout::PreviewCheckout>(),
    ToolEntry::of::<remove_cart_items::RemoveCartItems>(),
    ToolEntry::of::<remove_discount_code::RemoveDiscountCode>(),
    ToolEntry::of::<request_human_confirmation::RequestHumanConfirmation>(),
    ToolEntry::of::<search_products::SearchProducts>(),
    ToolEntry::of::<search_products_enriched::SearchProductsEnriched>(),
    ToolEntry::of::<select_shipping_option::SelectShippingOption>(),
    ToolEntry::of::<set_cart_destination::SetCartDestination>(),
    ToolEntry::of::<submit_agent_feedback::SubmitAgentFeedback>(),
    ToolEntry::of::<suggest_queries::SuggestQueries>(),
    ToolEntry::of::<update_cart::UpdateCart>(),
    ToolEntry::of::<update_checkout::UpdateCheckout>(),
];

/// A tool with its listing and compiled argument schema.
pub(crate) struct RegisteredTool {
    pub(crate) entry: &'static ToolEntry,
    pub(crate) listing: rmcp::model::Tool,
    pub(crate) arguments: Validator,
    /// Calls per minute of one caller at one store.
    pub(crate) per_minute: u32,
}

static REGISTRY: LazyLock<HashMap<&'static str, RegisteredTool>> = LazyLock::new(|| {
    ENTRIES.iter().filter_map(|entry| Some((entry.name, RegisteredTool::new(entry)?))).collect()
});

static LISTING: LazyLock<Vec<rmcp::model::Tool>> = LazyLock::new(|| {
    let mut tools: Vec<_> = REGISTRY.values().map(|tool| tool.listing.clone()).collect();
    tools.sort_by(|left, right| left.name.cmp(&right.name));
    tools
});

/// Returns the tool with this name.
pub(crate) fn find(name: &str) -> Option<&'static RegisteredTool> {
    REGISTRY.get(name)
}

/// Returns the listing of all tools, ordered by name, without output schemas.
pub(crate) fn listing() -> Vec<rmcp::model::Tool> {
    LISTING.clone()
}

/// Returns the declarations of all tools, ordered by name.
pub(crate) fn entries() -> impl Iterator<Item = &'static ToolEntry> {
    ENTRIES.iter()
}

impl RegisteredTool {
    /// Returns `None` if the schema does not compile, which a test excludes.
    fn new(entry: &'static ToolEntry) -> Option<Self> {
        let arguments = Validator::new(entry.input_schema()).ok()?;
        let per_minute = entry.per_minute();
        let meta = json!({
            "auth": entry.access.as_str(),
            "human_confirmation": entry.confirmation.as_str(),
            "rate_limit_per_minute": per_minute,
            "set": entry.set.as_str(),
        });
        let input_schema = object(tool_schema::advertised(arguments.schema().clone()));
        let mut listing = rmcp::model::Tool::new(entry.name, entry.description(), input_schema);
        listing.title = Some(entry.title.to_owned());
        listing.annotations = Some(
            ToolAnnotations::new()
                .read_only(entry.read_only)
                .destructive(entry.destructive)
                .idempotent(entry.idempotent)
                .open_world(false),
        );
        listing.meta = Some(MetaObject((*object(meta)).clone()));
        Some(Self { entry, listing, arguments, per_minute })
    }

    /// Returns the complete schema of the output.
    pub(crate) fn full_output_schema(&self) -> Arc<JsonObject> {
        object((self.entry.output)())
    }
}

fn object(value: Value) -> Arc<JsonObject> {
    Arc::new(match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_registered_and_listed() {
        assert_eq!(
            REGISTRY.len(),
            ENTRIES.len(),
            "duplicate tool name, or a schema that does not compile"
        );
        assert!(listing().is_sorted_by_key(|tool| tool.name.clone()));
        assert!(ENTRIES.is_sorted_by_key(|entry| entry.name));
    }

    #[test]
    fn every_operation_that_a_hint_names_is_a_tool() {
        for action in primitives::Action::ALL {
            assert!(ENTRIES.iter().any(|entry| entry.name == action.as_str()), "{action}");
        }
    }

    #[test]
    fn every_tool_is_fully_described() {
        for tool in listing() {
            let text = serde_json::to_value(&tool).unwrap();
            assert_eq!(text["inputSchema"]["type"], "object", "{}", tool.name);
            assert_eq!(
                (find(&tool.name).unwrap().entry.output)()["type"],
                "object",
                "{}",
                tool.name
            );
            assert!(text["description"].as_str().unwrap().len() > 40, "{}", tool.name);
            assert!(text["_meta"]["rate_limit_per_minute"].is_number(), "{}", tool.name);
            let properties = text["inputSchema"]["properties"].as_object().unwrap();
            for (name, property) in properties {
                assert!(
                    property["description"].is_string(),
                    "{}.{name} has no description",
                    tool.name
                );
            }
            let writes = text["_meta"]["human_confirmation"] == "required";
            let says_ask = tool.description.as_ref().unwrap().contains("Ask the person first.");
            assert_eq!(writes, says_ask, "{}", tool.name);
            // Stock clients warn about every number format they do not know.
            let whole = text.to_string();
            assert!(!whole.contains("\"uint"), "{} has an unsigned format", tool.name);
        }
    }

    #[test]
    fn annotations_agree_with_the_descriptions() {
        let marked = |is_marked: fn(&ToolEntry) -> bool| -> Vec<&str> {
            let writes = entries().filter(|entry| !entry.read_only);
            writes.filter(|entry| is_marked(entry)).map(|entry| entry.name).collect()
        };
        let idempotent = [
            "apply_discount_code",
            "cancel_cart",
            "cancel_checkout",
            "complete_checkout",
            "create_checkout",
            "onx_update_order",
            "remove_discount_code",
            "select_shipping_option",
            "set_cart_destination",
            "submit_agent_feedback",
        ];
        let destructive = [
            "cancel_cart",
            "cancel_checkout",
            "onx_cancel_order",
            "remove_cart_items",
            "update_cart",
        ];
        assert_eq!(marked(|entry| entry.idempotent), idempotent);
        assert_eq!(marked(|entry| entry.destructive), destructive);
        for entry in entries() {
            assert!(!entry.read_only || (entry.idempotent && !entry.destructive), "{}", entry.name);
            let says_repeatable = entry.description().contains("Repeating the call has no effect");
            assert!(!says_repeatable || entry.idempotent, "{}", entry.name);
        }
    }

    #[test]
    fn published_quotas_do_not_change() {
        let with_quota = |per_minute: u32| -> Vec<&str> {
            let tools = entries().filter(|entry| entry.per_minute() == per_minute);
            tools.map(|entry| entry.name).collect()
        };
        let checkout_and_order_writes = [
            "cancel_checkout",
            "complete_checkout",
            "create_checkout",
            "create_sandbox_key",
            "onx_cancel_order",
            "onx_create_return",
            "onx_update_order",
            "open_dispute",
            "request_human_confirmation",
            "submit_agent_feedback",
            "update_checkout",
        ];
        let order_reads = [
            "check_return_eligibility",
            "get_dispute",
            "get_order_status",
            "onx_get_fulfillments",
            "onx_get_orders",
            "onx_get_returns",
        ];
        let cart_writes_and_search = [
            "add_cart_items",
            "apply_discount_code",
            "cancel_cart",
            "create_cart",
            "remove_cart_items",
            "remove_discount_code",
            "search_products",
            "select_shipping_option",
            "set_cart_destination",
            "update_cart",
        ];
        assert_eq!(with_quota(10), checkout_and_order_writes);
        assert_eq!(with_quota(15), ["search_products_enriched"]);
        assert_eq!(with_quota(20), cart_writes_and_search);
        assert_eq!(with_quota(30), order_reads);
        assert_eq!(with_quota(60).len(), ENTRIES.len() - 11 - 1 - 10 - 6);
        let listed = listing().into_iter().map(|tool| tool.meta.unwrap().0);
        let listed = listed.map(|meta| meta["rate_limit_per_minute"].as_u64().unwrap());
        assert!(listed.eq(entries().map(|entry| u64::from(entry.per_minute()))));
    }
}
