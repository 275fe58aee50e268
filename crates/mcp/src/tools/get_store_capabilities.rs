//! `get_store_capabilities`: tools, limits and addresses of the endpoint.

use primitives::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};
use crate::tools;

pub(super) struct GetStoreCapabilities;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Store slug.
    merchant_slug: String,
    /// Whether the trust score and standing of the store allow agents to check out. `list_payment_methods` says whether a
    /// person can pay.
    agent_checkout: bool,
    /// True for the public demo store, where only sandbox keys may write.
    read_only: bool,
    /// MCP protocol versions of this endpoint.
    protocol_versions: Vec<&'static str>,
    /// Addresses of the store.
    endpoints: Endpoints,
    /// All tools. `?tools=` in the endpoint's address limits `tools/list` to sets.
    tools: Vec<Capability>,
}

/// Addresses of a store.
#[derive(Serialize, JsonSchema)]
pub(super) struct Endpoints {
    /// This MCP endpoint.
    mcp: String,
    /// Base address of the REST API.
    rest: String,
    /// `OpenAPI` description of the REST API.
    openapi: String,
}

/// A tool and its requirements.
#[derive(Serialize, JsonSchema)]
pub(super) struct Capability {
    /// Tool name.
    name: &'static str,
    /// Tool set.
    set: &'static str,
    /// Required scope; `none` for public tools.
    auth: &'static str,
    /// Whether a person must confirm: `never` or `required`.
    human_confirmation: &'static str,
    /// Calls per minute of one caller at one store.
    rate_limit_per_minute: i64,
}

impl Tool for GetStoreCapabilities {
    const NAME: &'static str = "get_store_capabilities";
    const TITLE: &'static str = "Store capabilities";
    const PURPOSE: &'static str = "Get technical facts about this store's endpoint: tools with required scopes and rate limits, protocol versions, REST address, and whether agents may check out.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, Arguments {}: Arguments) -> Result<Output, Failure> {
        let (site, slug) = (&context.app.site_url, &context.store.slug);
        let capability = |entry: &crate::tool::ToolEntry| Capability {
            name: entry.name,
            set: entry.set.as_str(),
            auth: entry.access.as_str(),
            human_confirmation: entry.confirmation.as_str(),
            rate_limit_per_minute: i64::from(entry.per_minute()),
        };
        Ok(Output {
            merchant_slug: slug.to_string(),
            agent_checkout: context.store.allows_agent_checkout(),
            read_only: context.store.is_read_only(),
            protocol_versions: crate::rmcp_adapter::VERSION_NAMES.to_vec(),
            endpoints: Endpoints {
                mcp: format!("{site}/{slug}/mcp"),
                rest: format!("{site}/api/v1"),
                openapi: format!("{site}/api/v1/openapi.json"),
            },
            tools: tools::entries().map(capability).collect(),
        })
    }
}
