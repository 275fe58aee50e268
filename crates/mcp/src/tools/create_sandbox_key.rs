//! `create_sandbox_key`: a test key for the demo store (docs/contract/authentication.md#sandbox-keys).

use identity::{IdentityError, SANDBOX_KEYS_MAX};
use primitives::{Failure, KeyId, Scope, Timestamp, const_text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CreateSandboxKey;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// The API key, returned only once. Send it in the header X-Agent-Api-Key.
    api_key: String,
    /// Key identifier.
    key_id: KeyId,
    /// First characters of the key, for display.
    prefix: String,
    /// Granted scopes.
    scopes: Vec<String>,
    /// Stores the key may call.
    stores: Vec<String>,
    /// Creation time.
    created_at: Timestamp,
    /// Expiry time.
    expires_at: Option<Timestamp>,
}

impl Tool for CreateSandboxKey {
    const NAME: &'static str = "create_sandbox_key";
    const TITLE: &'static str = "Create a sandbox key";
    const PURPOSE: &'static str = const_text!(
        "Create a test API key for carts and checkouts at demo-store. It works only there and for one day; nothing is sold. Of each IP address the newest ",
        SANDBOX_KEYS_MAX,
        " work. Ask the person first.",
    );
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Required;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, Arguments {}: Arguments) -> Result<Output, Failure> {
        let from = context.client_address.ok_or(IdentityError::UnknownClientAddress)?;
        let demo = context.app.stores.demo().await?;
        let (issued, key) = context.app.credentials.issue_sandbox_key(demo.merchant, from).await?;
        Ok(Output {
            api_key: issued.key,
            key_id: key.key_id,
            prefix: key.prefix,
            scopes: key.scopes.into_iter().map(|scope| Scope::as_str(scope).to_owned()).collect(),
            stores: vec![demo.slug.to_string()],
            created_at: key.created_at,
            expires_at: key.expires_at,
        })
    }
}
