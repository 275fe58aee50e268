//! All quotas, in calls per minute (docs/contract/limits.md#two-buckets). No other file declares one.

use primitives::Plan;

/// Calls from one address without a key to the demo store's MCP endpoint (docs/contract/limits.md#demo-store-limit).
pub const DEMO_STORE_PER_MINUTE: u32 = 20;
/// Calls from one address to public endpoints (docs/contract/limits.md#public-limit).
pub const PUBLIC_PER_MINUTE: u32 = 30;
/// Calls of one store, by key or by its members: each may carry hundreds of products
/// (docs/contract/limits.md#account-limits).
pub const STORE_PER_MINUTE: u32 = 600;
/// Calls of one person (docs/contract/limits.md#account-limits).
pub const PERSON_PER_MINUTE: u32 = 120;
/// Logins from one address, and changes of keys by one person (docs/contract/limits.md#account-limits).
pub const CREDENTIAL_PER_MINUTE: u32 = 20;
/// Shares of one IPv6 network (/64) that all networks of its site (/48) have together
/// (docs/contract/limits.md#address-limits).
pub(crate) const IPV6_SITE_SHARE: u16 = 16;
/// Requests from one address to purchase pages.
pub const PURCHASE_PAGE_PER_MINUTE: u32 = 60;
/// Requests from one address to the pages of stores and products.
pub const PUBLIC_PAGE_PER_MINUTE: u32 = 60;

/// Tools with a quota of their own (docs/contract/limits.md#tool-limits).
const TOOLS: [(&str, u32); 6] = [
    ("search_products", 20),
    ("search_products_enriched", 15),
    ("create_cart", 20),
    ("complete_checkout", 10),
    // Needs no confirmation, but writes like a checkout.
    ("request_human_confirmation", 10),
    // Belongs to the cart tools, but creates a credential.
    ("create_sandbox_key", 10),
];

/// The class of a tool, which determines its quota unless it has one of its own (docs/contract/limits.md#unlisted-tools).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaClass {
    /// Reads of products, stores, carts and checkouts.
    Discovery,
    CartWrite,
    CheckoutWrite,
    /// Reads of orders.
    Orders,
    Returns,
}

impl QuotaClass {
    const fn per_minute(self) -> u32 {
        match self {
            Self::Discovery => 60,
            Self::Orders => 30,
            Self::CartWrite => 20,
            Self::CheckoutWrite | Self::Returns => 10,
        }
    }
}

/// Returns the calls per minute of one caller to a tool.
#[must_use]
pub fn tool_quota(tool: &str, class: QuotaClass) -> u32 {
    let own = TOOLS.iter().find(|(name, _)| *name == tool);
    own.map_or(class.per_minute(), |(_, per_minute)| *per_minute)
}

/// Returns the calls per minute of a plan (docs/contract/limits.md#plan-limits).
#[must_use]
pub const fn tier_limit(plan: Plan) -> u32 {
    match plan {
        Plan::Free | Plan::Starter => 30,
        Plan::Growth => 200,
        Plan::Pro => 1_000,
        Plan::Enterprise => 5_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_has_its_own_quota_or_that_of_its_class() {
        assert_eq!(tool_quota("search_products", QuotaClass::Discovery), 20);
        assert_eq!(tool_quota("search_products_enriched", QuotaClass::Discovery), 15);
        assert_eq!(tool_quota("get_product_details", QuotaClass::Discovery), 60);
        assert_eq!(tool_quota("create_cart", QuotaClass::CartWrite), 20);
        assert_eq!(tool_quota("update_cart", QuotaClass::CartWrite), 20);
        assert_eq!(tool_quota("complete_checkout", QuotaClass::CheckoutWrite), 10);
        assert_eq!(tool_quota("cancel_checkout", QuotaClass::CheckoutWrite), 10);
        assert_eq!(tool_quota("get_order", QuotaClass::Orders), 30);
        assert_eq!(tool_quota("create_return", QuotaClass::Returns), 10);
    }
}
