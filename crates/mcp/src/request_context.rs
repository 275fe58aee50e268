//! The context of one MCP request, from its admission to its response.

use std::sync::Arc;

use carts::CartOwner;
use checkout::ElicitationResponse;
use database::{DatabaseError, Reading};
use identity::{Agent, IdentityError};
use jobs::IdempotencyKey;
use limits::QuotaDecision;
use merchants::Store;
use orders::Viewer;
use primitives::{ClientAddress, KeyId, RequestId, RequestRecord};
use search::CallerKind;

use crate::elicitation::ElicitationSupport;
use crate::endpoint::Mcp;
use crate::error_response::ErrorFormat;
use crate::listing::ListingOptions;
use crate::tools::RegisteredTool;

/// An admitted request. The gateway builds it once; tools, resources and renderers read it.
#[derive(Clone)]
pub(crate) struct RequestContext {
    /// The state shared by all requests.
    pub(crate) app: Arc<Mcp>,
    pub(crate) store: Arc<Store>,
    /// The authenticated agent; `None` for a request without a key.
    pub(crate) agent: Option<Arc<Agent>>,
    /// The tool to call; `None` for other methods and for an unknown tool.
    pub(crate) tool: Option<&'static RegisteredTool>,
    /// The state of the quotas; `None` if calls are unlimited or the request is not counted.
    pub(crate) quota: Option<QuotaDecision>,
    pub(crate) client_address: Option<ClientAddress>,
    /// Idempotency key from `_meta` or the header, not validated.
    pub(crate) raw_idempotency_key: Option<String>,
    /// Validated key of a writing call, from the arguments or else the raw key; set before the tool runs.
    pub(crate) idempotency_key: Option<IdempotencyKey>,
    pub(crate) request_id: RequestId,
    /// What the log line of the request says.
    pub(crate) record: RequestRecord,
    pub(crate) listing: ListingOptions,
    pub(crate) error_format: ErrorFormat,
    /// `None` if the client does not support elicitation.
    pub(crate) elicitation_support: Option<ElicitationSupport>,
    /// The client's response to an approval request, which only the newest protocol version has.
    pub(crate) elicitation_response: Option<ElicitationResponse>,
}

impl RequestContext {
    /// Returns read access to the store's rows.
    pub(crate) fn reading(&self) -> Result<Reading, DatabaseError> {
        Reading::for_store(&self.app.database, self.store.merchant)
    }

    /// Returns the kind of caller, for search analytics.
    pub(crate) fn caller_kind(&self) -> CallerKind {
        if self.agent.is_some() { CallerKind::Agent } else { CallerKind::Anonymous }
    }

    /// Returns the authenticated agent. Never fails in a tool that requires a scope: the gateway checks it.
    pub(crate) fn caller(&self) -> Result<&Agent, IdentityError> {
        self.agent.as_deref().ok_or(IdentityError::MissingCredential)
    }

    /// Returns the caller as the owner of its carts.
    pub(crate) fn owner(&self) -> Result<CartOwner, IdentityError> {
        let agent = self.caller()?;
        let (key, name, is_sandbox) = (agent.key, agent.name.clone(), agent.is_sandbox());
        Ok(CartOwner { key, name, is_sandbox })
    }

    /// Returns the keys whose orders the caller sees (docs/contract/orders.md#visibility).
    pub(crate) async fn keys_of_orders(&self) -> Result<Vec<KeyId>, IdentityError> {
        self.caller()?.keys_of_orders(&self.app.database).await
    }

    /// Returns whose orders the caller sees.
    pub(crate) async fn viewer(&self) -> Result<Viewer, IdentityError> {
        Ok(Viewer::Agent(self.keys_of_orders().await?))
    }

    /// Returns the idempotency key of a writing call, if the caller sent one.
    pub(crate) fn idempotency(&self) -> Option<&IdempotencyKey> {
        self.idempotency_key.as_ref()
    }
}
