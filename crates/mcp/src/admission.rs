//! Authentication and quota of a request. Both are checked before the request reaches rmcp, because their errors have an
//! HTTP status.

use std::sync::Arc;

use axum::http::request::Parts;
use identity::{Agent, Credential, CredentialStore, IdentityError};
use limits::{
    AdmissionControl, AdmissionPermit, Bucket, Caller, Class, ConcurrencyLimit, LimitExceeded,
    QuotaDecision, QuotaRequest, tier_limit,
};
use primitives::{ClientAddress, Plan, StoreSlug};

use crate::tool::Confirmation;
use crate::tools::RegisteredTool;

/// Requests per minute of one address without a key at the demo store (spec §8).
const DEMO_PER_MINUTE: u32 = 20;

/// Authenticates requests and applies quotas.
pub(crate) struct Admission {
    pub(crate) credentials: CredentialStore,
    pub(crate) control: AdmissionControl,
}

/// An admitted request. Holds its concurrency permit until dropped.
pub(crate) struct Admitted {
    /// Set if only the rate limit of the tool is exceeded, which is reported as a tool error.
    pub(crate) limit_exceeded: Option<LimitExceeded>,
    pub(crate) decision: Option<QuotaDecision>,
    _permit: Option<AdmissionPermit>,
}

impl Admission {
    /// Returns the authenticated agent, or `None` without a credential. A credential must be valid even where none is required.
    pub(crate) async fn agent(&self, parts: &Parts) -> Result<Option<Arc<Agent>>, IdentityError> {
        match Credential::from_headers(&parts.headers) {
            Credential::Missing => Ok(None),
            Credential::AgentKey(key) => {
                let agent =
                    self.credentials.agent_keys.agent_of(key, client_address(parts)?).await?;
                Ok(Some(agent))
            }
            Credential::StoreKey(_) | Credential::Token(_) | Credential::Malformed => {
                Err(IdentityError::AgentKeyRequired)
            }
        }
    }

    /// Takes quota for a request, of all calls of the caller and of the tool at this store. The store is resolved only
    /// afterwards: requests for unknown stores use quota too.
    pub(crate) async fn admit(
        &self,
        agent: Option<&Agent>,
        parts: &Parts,
        slug: Option<&StoreSlug>,
        tool: Option<&RegisteredTool>,
    ) -> Result<Admitted, AdmissionError> {
        let plan = agent.map_or(Plan::Free, |agent| agent.plan);
        let (caller, bucket, limit) = match agent {
            Some(agent) => (Caller::agent(agent.key), "mcp", tier_limit(plan)),
            None if slug.is_some_and(|slug| slug.as_str() == StoreSlug::DEMO) => {
                (Caller::address(client_address(parts)?), "demo", DEMO_PER_MINUTE)
            }
            None => (Caller::address(client_address(parts)?), "mcp", tier_limit(plan)),
        };
        let class = match tool.map(|tool| tool.entry.confirmation) {
            Some(Confirmation::Required) => Class::Write,
            Some(Confirmation::Never) | None => Class::Read,
        };
        let mut quota = QuotaRequest::tier(class, bucket, limit);
        if let Some(tool) = tool {
            quota = quota.and_tool(slug, tool.entry.name, tool.entry.per_minute);
        }
        match self.control.admit(&caller, ConcurrencyLimit::for_plan(plan), &quota).await {
            Ok(permit) => {
                let decision = permit.decision;
                Ok(Admitted { limit_exceeded: None, decision, _permit: Some(permit) })
            }
            Err(error @ LimitExceeded::Rate(decision))
                if decision.exceeded == Some(Bucket::Tool) =>
            {
                Ok(Admitted {
                    limit_exceeded: Some(error),
                    decision: Some(decision),
                    _permit: None,
                })
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Admission {
    /// Takes quota for a public page (spec §8).
    pub(crate) async fn admit_public(
        &self,
        address: ClientAddress,
    ) -> Result<AdmissionPermit, LimitExceeded> {
        let quota = QuotaRequest::tier(Class::Read, "public", tier_limit(Plan::Free));
        self.control
            .admit(&Caller::address(address), ConcurrencyLimit::for_plan(Plan::Free), &quota)
            .await
    }
}

/// Why a request was not admitted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AdmissionError {
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    LimitExceeded(#[from] LimitExceeded),
}

impl From<AdmissionError> for primitives::Failure {
    fn from(error: AdmissionError) -> Self {
        match error {
            AdmissionError::Identity(error) => error.into(),
            AdmissionError::LimitExceeded(error) => error.into(),
        }
    }
}

/// Returns the client address, which the server adds to each request. Quotas cannot be applied without it.
fn client_address(parts: &Parts) -> Result<ClientAddress, IdentityError> {
    parts.extensions.get::<ClientAddress>().copied().ok_or(IdentityError::UnknownClientAddress)
}
