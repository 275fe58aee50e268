//! `get_merchant_profile`: trust score, identity verification, policies (docs/contract/stores.md#profile).

use merchants::StoreRecord;
use primitives::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetMerchantProfile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

impl Tool for GetMerchantProfile {
    const NAME: &'static str = "get_merchant_profile";
    const TITLE: &'static str = "Merchant profile";
    const PURPOSE: &'static str = "Get this store's profile: company, contact, countries, currencies, identity verification, and a summary of trust and policies. For trust figures, use get_trust_score; for policies in full, get_store_policies.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = StoreRecord;

    async fn call(
        context: &RequestContext,
        Arguments {}: Arguments,
    ) -> Result<StoreRecord, Failure> {
        Ok(context.store.record(&context.app.site_url))
    }
}
