//! `get_store_capabilities`: what can be done here, and how.

use primitives::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};
use crate::tools;

pub(super) struct GetStoreCapabilities;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// The store.
    merchant_slug: String,
    /// Whether agents may check out here.
    agent_checkout: bool,
    /// True for the public demo store, where only sandbox keys may write.
    read_only: bool,
    /// Protocol versions of this endpoint.
    protocol_versions: Vec<&'static str>,
    /// Where else the store is served.
    endpoints: Endpoints,
    /// The tools, by set; `?tools=` in the endpoint's address narrows the listing to sets.
    tools: Vec<Capability>,
}

/// Where a store is served.
#[derive(Serialize, JsonSchema)]
pub(super) struct Endpoints {
    /// This endpoint.
    mcp: String,
    /// The REST API.
    rest: String,
    /// Its description.
    openapi: String,
}

/// A tool, and what it asks for.
#[derive(Serialize, JsonSchema)]
pub(super) struct Capability {
    /// Its name.
    name: &'static str,
    /// The set it belongs to.
    set: &'static str,
    /// The scope a key needs; `none` for public tools.
    auth: &'static str,
    /// Whether a person has to confirm: `never` or `required`.
    human_confirmation: &'static str,
    /// Calls a minute for one caller at one store.
    rate_limit_per_minute: i64,
}

impl Tool for GetStoreCapabilities {
    const NAME: &'static str = "get_store_capabilities";
    const TITLE: &'static str = "Store capabilities";
    const PURPOSE: &'static str = "Get what this store's endpoint offers: tools with their limits, protocol versions and other addresses.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, Arguments {}: Arguments) -> Result<Output, Failure> {
        let (site, slug) = (call.site_url, &call.store.slug);
        let capability = |entry: &crate::tool::ToolEntry| Capability {
            name: entry.name,
            set: entry.set.name(),
            auth: entry.access.name(),
            human_confirmation: entry.confirmation.name(),
            rate_limit_per_minute: i64::from(entry.per_minute),
        };
        Ok(Output {
            merchant_slug: slug.to_string(),
            agent_checkout: call.store.standing.takes_checkout(),
            read_only: call.store.is_read_only(),
            protocol_versions: crate::wire::VERSION_NAMES.to_vec(),
            endpoints: Endpoints {
                mcp: format!("{site}/{slug}/mcp"),
                rest: format!("{site}/api/v1"),
                openapi: format!("{site}/api/v1/openapi.json"),
            },
            tools: tools::entries().map(capability).collect(),
        })
    }
}
