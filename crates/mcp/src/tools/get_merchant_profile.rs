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
    const PURPOSE: &'static str = "Get this store's profile: who the merchant is, its trust score and \
        label, whether its identity was verified, and what it promises about returns and shipping.";
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
