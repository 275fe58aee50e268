//! The way in: who calls, and whether there is a share of the minute left. Both are looked at before rmcp sees the
//! request, because their refusals have an HTTP status.

use std::sync::Arc;

use axum::http::request::Parts;
use identity::{Agent, Callers, Credential, IdentityError};
use limits::{Bucket, Caller, Charge, Class, Entered, Gate, Limited, Places, Verdict, tier_limit};
use primitives::{ClientAddress, Plan, StoreSlug};

use crate::tool::Confirmation;
use crate::tools::Known;

/// Requests a minute of one address at the demo store (spec §8).
const DEMO: u32 = 20;

/// What lets callers in.
pub(crate) struct Admission {
    pub(crate) callers: Callers,
    pub(crate) gate: Gate,
}

/// A request that is in, as long as it is answered.
pub(crate) struct Admitted {
    /// A refusal that is the tool's own to tell, because its share alone is used up.
    pub(crate) limited: Option<Limited>,
    pub(crate) verdict: Option<Verdict>,
    _entered: Option<Entered>,
}

impl Admission {
    /// Who calls. A credential that is sent has to be right, also where none is needed.
    pub(crate) async fn agent(&self, parts: &Parts) -> Result<Option<Arc<Agent>>, IdentityError> {
        match Credential::of(&parts.headers) {
            Credential::Missing => Ok(None),
            Credential::AgentKey(key) => {
                let agent = self.callers.agent_keys.agent_of(key, address(parts)?).await?;
                Ok(Some(agent))
            }
            Credential::StoreKey(_) | Credential::Token(_) | Credential::Unreadable => {
                Err(IdentityError::NoAgentKey)
            }
        }
    }

    /// Takes a request's share: of all calls, and of its tool at this store. Whether there is such a store is not asked
    /// before: asking counts.
    pub(crate) async fn enter(
        &self,
        agent: Option<&Agent>,
        parts: &Parts,
        slug: Option<&StoreSlug>,
        tool: Option<&Known>,
    ) -> Result<Admitted, AdmissionError> {
        let plan = agent.map_or(Plan::Free, |agent| agent.plan);
        let (caller, share, limit) = match agent {
            Some(agent) => (Caller::agent(agent.key), "mcp", tier_limit(plan)),
            None if slug.is_some_and(|slug| slug.as_str() == StoreSlug::DEMO) => {
                (Caller::address(address(parts)?), "demo", DEMO)
            }
            None => (Caller::address(address(parts)?), "mcp", tier_limit(plan)),
        };
        let class = match tool.map(|tool| tool.entry.confirmation) {
            Some(Confirmation::Required) => Class::Write,
            Some(Confirmation::Never) | None => Class::Read,
        };
        let mut charge = Charge::tier(class, share, limit);
        if let Some(tool) = tool {
            charge = charge.and_tool(slug, tool.entry.name, tool.entry.per_minute);
        }
        match self.gate.enter(&caller, Places::of_plan(plan), &charge).await {
            Ok(entered) => {
                Ok(Admitted { limited: None, verdict: entered.verdict, _entered: Some(entered) })
            }
            Err(limited @ Limited::Rate(verdict)) if verdict.refused_by == Some(Bucket::Tool) => {
                Ok(Admitted { limited: Some(limited), verdict: Some(verdict), _entered: None })
            }
            Err(limited) => Err(limited.into()),
        }
    }
}

impl Admission {
    /// Takes the share of what is open to everybody (spec §8).
    pub(crate) async fn enter_public(&self, from: ClientAddress) -> Result<Entered, Limited> {
        let charge = Charge::tier(Class::Read, "public", tier_limit(Plan::Free));
        self.gate.enter(&Caller::address(from), Places::of_plan(Plan::Free), &charge).await
    }
}

/// Why a request did not come in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AdmissionError {
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Limited(#[from] Limited),
}

impl From<AdmissionError> for primitives::Failure {
    fn from(error: AdmissionError) -> Self {
        match error {
            AdmissionError::Identity(error) => error.into(),
            AdmissionError::Limited(limited) => limited.into(),
        }
    }
}

/// The server puts it there; without it nobody can be counted, and nobody comes in.
fn address(parts: &Parts) -> Result<ClientAddress, IdentityError> {
    parts.extensions.get::<ClientAddress>().copied().ok_or(IdentityError::NoAddress)
}
