//! `create_sandbox_key`: a key to play with at the demo store (decisions §5).

use identity::IdentityError;
use primitives::{Failure, KeyId, Scope, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CreateSandboxKey;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// The key itself, shown now and never again: send it as X-Agent-Api-Key.
    api_key: String,
    /// Its id.
    key_id: KeyId,
    /// The first characters of its text.
    prefix: String,
    /// What it may do.
    scopes: Vec<String>,
    /// The only store it may call.
    stores: Vec<String>,
    /// When it was made.
    created_at: Timestamp,
    /// When it ends.
    expires_at: Option<Timestamp>,
}

impl Tool for CreateSandboxKey {
    const NAME: &'static str = "create_sandbox_key";
    const TITLE: &'static str = "Make a sandbox key";
    const PURPOSE: &'static str = "Make a key to try carts at demo-store with: it works there alone, for a day, and nothing is sold. Three a day for each address. Ask the person first.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const PER_MINUTE: u32 = 10; // decisions §5 allows three a day
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, Arguments {}: Arguments) -> Result<Output, Failure> {
        let from = call.from.ok_or(IdentityError::NoAddress)?;
        let demo = call.stores.demo().await?;
        let (issued, key) = call.callers.issue_sandbox_key(demo.merchant, from).await?;
        Ok(Output {
            api_key: issued.key,
            key_id: key.key_id,
            prefix: key.prefix,
            scopes: key.scopes.into_iter().map(|scope| Scope::name(scope).to_owned()).collect(),
            stores: vec![demo.slug.to_string()],
            created_at: key.created_at,
            expires_at: key.expires_at,
        })
    }
}
