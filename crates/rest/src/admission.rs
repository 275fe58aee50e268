//! The way in to an endpoint, read from its declaration: who calls, and whether there is a share left.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use identity::{Agent, Credential, IdentityError};
use limits::{Caller, Charge, Class, Places, tier_limit};
use primitives::{ClientAddress, ErrorCode, Plan, Problem};

use crate::caller::{AgentCaller, OwnerCaller, PersonCaller, StoreCaller};
use crate::{Access, Refusal, Rest};

/// Calls a minute of one address on what is open to everybody (spec §8).
const PUBLIC: u32 = 30;
/// Calls a minute of the programs and members of one store: each may carry hundreds of products.
const STORE: u32 = 600;
/// Calls a minute of one person.
const PERSON: u32 = 120;
/// Logins of one address, and acts of one person on keys, in a minute.
const CREDENTIAL: u32 = 20;

/// Bytes that are read of a body nobody wants.
const LEFT_MAX: usize = 16 * 1024;

/// What an endpoint declares of its way in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policy {
    pub(crate) access: Access,
    pub(crate) share: Share,
    /// The tool it is the same as, and that one's calls a minute.
    pub(crate) tool: Option<(&'static str, u32)>,
}

/// Which share its calls come out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    /// That of its kind of caller.
    Caller,
    /// The small one of logins and keys.
    Credential,
    /// None: for probes, and for what a client has to read first.
    Uncounted,
}

/// Whoever calls, and what it counts as.
struct Counted {
    caller: Caller,
    places: usize,
    charge: Charge,
}

/// Lets a request in: its credential is looked at before anything else of it, so that a stranger learns nothing
/// from how the rest is judged.
pub(crate) async fn admit(policy: Policy, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let is_agent = matches!(policy.access, Access::Agent(_));
    let entered = match enter(policy, &mut parts).await {
        Ok(entered) => entered,
        Err(refusal) => {
            // A connection whose body was left lying cannot be used again. A long one is not worth it.
            let _ = axum::body::to_bytes(body, LEFT_MAX).await;
            return marked(refusal.into_response(), is_agent);
        }
    };
    let mut response = next.run(Request::from_parts(parts, body)).await;
    if let Some(verdict) = entered.and_then(|entered| entered.verdict) {
        verdict.write(response.headers_mut());
    }
    marked(response, is_agent)
}

/// Whoever calls an endpoint for agents is one (spec §5.6).
fn marked(mut response: Response, is_agent: bool) -> Response {
    if is_agent {
        response.headers_mut().insert("x-ai-agent-initiated", HeaderValue::from_static("true"));
    }
    response
}

async fn enter(policy: Policy, parts: &mut Parts) -> Result<Option<limits::Entered>, Refusal> {
    if policy.share == Share::Uncounted {
        return Ok(None);
    }
    let missing = || Refusal::from(Unguarded);
    let rest = parts.extensions.get::<Arc<Rest>>().cloned().ok_or_else(missing)?;
    let from = parts.extensions.get::<ClientAddress>().copied().ok_or_else(missing)?;
    let counted = identify(policy, &rest, parts, from).await?;
    let Counted { caller, places, charge } = counted;
    let charge = match policy.tool {
        Some((tool, limit)) => charge.and_tool(None, tool, limit),
        None => charge,
    };
    Ok(Some(rest.gate.enter(&caller, places, &charge).await?))
}

/// Finds out who calls, and leaves it among the extensions for the handler.
async fn identify(
    policy: Policy,
    rest: &Rest,
    parts: &mut Parts,
    from: ClientAddress,
) -> Result<Counted, Refusal> {
    let counted = match policy.access {
        Access::Public => {
            if let Credential::AgentKey(key) = Credential::of(&parts.headers) {
                let agent = rest.callers.agent_keys.agent_of(key, from).await?;
                let counted = of_agent(&agent);
                parts.extensions.insert(AgentCaller(agent));
                counted
            } else {
                let (caller, places) = (Caller::address(from), Places::of_plan(Plan::Free));
                Counted { caller, places, charge: Charge::tier(Class::Read, "public", PUBLIC) }
            }
        }
        Access::Agent(scope) => {
            let Credential::AgentKey(key) = Credential::of(&parts.headers) else {
                return Err(IdentityError::of_stranger(&parts.headers).into());
            };
            let agent = rest.callers.agent_keys.agent_of(key, from).await?;
            agent.require(scope)?;
            let counted = of_agent(&agent);
            parts.extensions.insert(AgentCaller(agent));
            counted
        }
        Access::Store => {
            let caller = StoreCaller::identify(rest, parts, from).await?;
            let (store, places) = (caller.merchant, Places::of_plan(Plan::Enterprise));
            parts.extensions.insert(caller);
            let charge = Charge::tier(Class::Read, "store", STORE);
            Counted { caller: Caller::store(store), places, charge }
        }
        Access::Owner => {
            let caller = OwnerCaller::identify(rest, parts).await?;
            parts.extensions.insert(caller);
            of_person(caller.user)
        }
        Access::Person => {
            let caller = PersonCaller::identify(rest, parts).await?;
            let user = caller.0.user;
            parts.extensions.insert(caller);
            of_person(user)
        }
    };
    if policy.share == Share::Credential {
        let charge = Charge::tier(Class::Credential, "credential", CREDENTIAL);
        return Ok(Counted { charge, ..counted });
    }
    Ok(counted)
}

fn of_agent(agent: &Agent) -> Counted {
    let charge = Charge::tier(Class::Read, "mcp", tier_limit(agent.plan));
    Counted { caller: Caller::agent(agent.key), places: Places::of_plan(agent.plan), charge }
}

fn of_person(user: primitives::UserId) -> Counted {
    let charge = Charge::tier(Class::Read, "person", PERSON);
    Counted { caller: Caller::person(user), places: Places::of_plan(Plan::Free), charge }
}

/// The router was built without what admits requests: a mistake of ours, and nobody comes in.
#[derive(Debug, thiserror::Error)]
#[error("the endpoint has nobody at its door")]
struct Unguarded;

impl Problem for Unguarded {
    fn code(&self) -> ErrorCode {
        ErrorCode::InternalError
    }
}
