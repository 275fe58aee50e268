//! `get_merchant_profile`: trust score, identity verification, policies (spec §4.3).

use merchants::StoreRecord;
use primitives::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetMerchantProfile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

impl Tool for GetMerchantProfile {
    const NAME: &'static str = "get_merchant_profile";
    const TITLE: &'static str = "Merchant profile";
    const PURPOSE: &'static str = "Get this store's profile: company, contact, countries, currencies, identity verification, and a summary of trust and policies. For the figures behind the trust score, use get_trust_score; for policies in full, get_store_policies.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = StoreRecord;

    async fn call(call: &Call<'_>, Arguments {}: Arguments) -> Result<StoreRecord, Failure> {
        Ok(call.store.record(call.site_url))
    }
}
