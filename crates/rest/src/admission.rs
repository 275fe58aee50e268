//! The way in to an endpoint, read from its declaration: who calls, and whether there is a share left.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_LENGTH;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use identity::{Agent, Credential, IdentityError, Person};
use limits::{Caller, Charge, Class, Entered, Places, tier_limit};
use primitives::{ClientAddress, ErrorCode, MerchantId, Plan, Problem};

use crate::caller::{AgentCaller, OwnerCaller, PersonCaller, StoreCaller, membership};
use crate::{Access, Refusal, Rest};

/// Calls a minute of one address on what is open to everybody (spec §8).
const PUBLIC: u32 = 30;
/// Calls a minute of the programs and members of one store: each may carry hundreds of products.
const STORE: u32 = 600;
/// Calls a minute of one person.
const PERSON: u32 = 120;
/// Logins of one address, and acts of one person on keys, in a minute.
const CREDENTIAL: u32 = 20;

/// Bytes that are read of a body nobody wants, and for how long.
const LEFT_MAX: usize = 16 * 1024;
const LEFT_WAIT: Duration = Duration::from_secs(1);

/// What an endpoint declares of its way in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policy {
    pub(crate) access: Access,
    pub(crate) share: Share,
    /// The tool it is the same as, and that one's calls a minute.
    pub(crate) tool: Option<(&'static str, u32)>,
    /// Whether it writes for an agent.
    pub(crate) writes: bool,
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

/// Whoever calls, as far as its credential says.
enum Known {
    /// Nobody, from somewhere.
    Nobody,
    Agent(Arc<Agent>),
    /// A program of a merchant.
    Program(MerchantId),
    Person(Arc<Person>),
}

/// Lets a request in: its credential is looked at before anything else of it, so that a stranger learns nothing
/// from how the rest is judged; then its share is taken; then it is judged.
pub(crate) async fn admit(policy: Policy, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let is_agent = matches!(policy.access, Access::Agent(_));
    let (outcome, entered) = enter(policy, &mut parts).await;
    let mut response = match outcome {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refusal) => {
            drain(&parts, body).await;
            refusal.into_response()
        }
    };
    if let Some(verdict) = entered.and_then(|entered| entered.verdict) {
        verdict.write(response.headers_mut());
    }
    if is_agent {
        // Whoever calls an endpoint for agents is one (spec §5.6).
        response.headers_mut().insert("x-ai-agent-initiated", HeaderValue::from_static("true"));
    }
    if policy.writes {
        let yes = HeaderValue::from_static("true");
        response.headers_mut().insert("x-human-confirmation-required", yes);
    }
    response
}

/// A connection whose body was left lying cannot be used again. A long or slow one is not worth it.
async fn drain(parts: &Parts, body: Body) {
    let length = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let is_short = length
        .and_then(|length| length.parse().ok())
        .is_some_and(|it| (1..=LEFT_MAX).contains(&it));
    if is_short {
        let _ = tokio::time::timeout(LEFT_WAIT, axum::body::to_bytes(body, LEFT_MAX)).await;
    }
}

async fn enter(policy: Policy, parts: &mut Parts) -> (Result<(), Refusal>, Option<Entered>) {
    if policy.share == Share::Uncounted {
        return (Ok(()), None);
    }
    let rest = parts.extensions.get::<Arc<Rest>>().cloned();
    let from = parts.extensions.get::<ClientAddress>().copied();
    let Some((rest, from)) = rest.zip(from) else {
        return (Err(Unguarded.into()), None);
    };
    let known = match identify(policy.access, &rest, parts, from).await {
        Ok(known) => known,
        Err(error) => return (Err(error.into()), None),
    };
    let (caller, places, charge) = counted(policy, &known, from);
    let entered = match rest.gate.enter(&caller, places, &charge).await {
        Ok(entered) => entered,
        Err(limited) => return (Err(limited.into()), None),
    };
    (judge(policy.access, &rest, parts, known).await, Some(entered))
}

/// Who calls, by a credential of the kind that is wanted.
async fn identify(
    access: Access,
    rest: &Rest,
    parts: &Parts,
    from: ClientAddress,
) -> Result<Known, IdentityError> {
    let callers = &rest.callers;
    match (access, Credential::of(&parts.headers)) {
        (Access::Public | Access::Agent(_), Credential::AgentKey(key)) => {
            Ok(Known::Agent(callers.agent_keys.agent_of(key, from).await?))
        }
        // What people and programs of stores send gives nothing here, and takes nothing.
        (Access::Public, _) => Ok(Known::Nobody),
        (Access::Store, Credential::StoreKey(key)) => {
            Ok(Known::Program(callers.store_keys.merchant_of(key, from).await?))
        }
        (Access::Store | Access::Owner | Access::Person, Credential::Token(token)) => {
            Ok(Known::Person(callers.people.person_of(token).await?))
        }
        _ => Err(IdentityError::of_stranger(&parts.headers)),
    }
}

/// Out of which share the call comes.
fn counted(policy: Policy, known: &Known, from: ClientAddress) -> (Caller, usize, Charge) {
    let free = Places::of_plan(Plan::Free);
    let credential = || Charge::tier(Class::Credential, "credential", CREDENTIAL);
    match known {
        // A key gives nobody more logins.
        Known::Nobody | Known::Agent(_) if policy.share == Share::Credential => {
            (Caller::address(from), free, credential())
        }
        Known::Nobody => (Caller::address(from), free, Charge::tier(Class::Read, "public", PUBLIC)),
        Known::Agent(agent) => {
            let class = if policy.writes { Class::Write } else { Class::Read };
            let charge = Charge::tier(class, "mcp", tier_limit(agent.plan));
            let charge = match policy.tool {
                Some((tool, limit)) => charge.and_tool(None, tool, limit),
                None => charge,
            };
            (Caller::agent(agent.key), Places::of_plan(agent.plan), charge)
        }
        Known::Program(merchant) => {
            let places = Places::of_plan(Plan::Enterprise);
            (Caller::store(*merchant), places, Charge::tier(Class::Read, "store", STORE))
        }
        Known::Person(person) => {
            let charge = match policy.share {
                Share::Credential => credential(),
                _ => Charge::tier(Class::Read, "person", PERSON),
            };
            (Caller::person(person.user), free, charge)
        }
    }
}

/// Whether the caller may do this; it is left among the extensions for the handler.
async fn judge(
    access: Access,
    rest: &Rest,
    parts: &mut Parts,
    known: Known,
) -> Result<(), Refusal> {
    match (access, known) {
        (Access::Agent(scope), Known::Agent(agent)) => {
            agent.require(scope)?;
            parts.extensions.insert(AgentCaller(agent));
        }
        (Access::Public, Known::Agent(agent)) => {
            parts.extensions.insert(AgentCaller(agent));
        }
        (Access::Store, Known::Program(merchant)) => {
            let caller = StoreCaller::of(rest, merchant).await?;
            parts.extensions.insert(caller);
        }
        (Access::Store, Known::Person(person)) => {
            let (merchant, _) = membership(rest, &person, &parts.headers).await?;
            let caller = StoreCaller::of(rest, merchant).await?;
            parts.extensions.insert(caller);
        }
        (Access::Owner, Known::Person(person)) => {
            let caller = OwnerCaller::of(rest, &person, &parts.headers).await?;
            parts.extensions.insert(caller);
        }
        (Access::Person, Known::Person(person)) => {
            parts.extensions.insert(PersonCaller(person));
        }
        (Access::Public, Known::Nobody) => {}
        _ => return Err(Unguarded.into()),
    }
    Ok(())
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
