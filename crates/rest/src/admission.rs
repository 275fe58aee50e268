//! Admission of a request to an endpoint, as the endpoint declares it: authentication, quota, authorization.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_LENGTH;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use identity::{Agent, Credential, CredentialStore, IdentityError, Person, StoreProgram};
use limits::{
    AdmissionPermit, CREDENTIAL_PER_MINUTE, Caller, Class, ConcurrencyLimit, PERSON_PER_MINUTE,
    PUBLIC_PER_MINUTE, QuotaRequest, STORE_PER_MINUTE, tier_limit,
};
use primitives::{ClientAddress, ErrorCode, Plan, Problem, RequestRecord, StoreSlug};

use crate::caller::{AdminCaller, AgentCaller, OwnerCaller, PersonCaller, StoreCaller};
use crate::{Access, ErrorResponse, Rest};

/// The longest body that is read and discarded after a request is rejected.
const DRAIN_BYTES_MAX: usize = 16 * 1024;
/// The time that reading it may take.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// How an endpoint admits requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policy {
    pub(crate) access: Access,
    pub(crate) quota: Quota,
    /// The equivalent MCP tool and its calls per minute.
    pub(crate) tool: Option<(&'static str, u32)>,
    /// Whether it writes on behalf of an agent.
    pub(crate) writes: bool,
}

/// The quota that calls of an endpoint use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quota {
    /// The quota of the caller's kind.
    Caller,
    /// The small quota of logins and key management.
    Credential,
    /// None: for health probes, and for what a client reads first.
    Unmetered,
}

/// The caller that a credential authenticates.
enum Identity {
    Anonymous,
    Agent(Arc<Agent>),
    StoreKey(Arc<StoreProgram>),
    Person(Arc<Person>),
}

/// Admits a request, or rejects it: authentication first, so that the response to an unauthenticated request reveals
/// nothing else; then the quota; then authorization.
pub(crate) async fn admit(policy: Policy, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let (outcome, permit) = check(policy, &mut parts).await;
    let mut response = match outcome {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(error) => {
            drain(&parts, body).await;
            error.into_response()
        }
    };
    if let Some(decision) = permit.and_then(|permit| permit.decision) {
        decision.write_headers(response.headers_mut());
    }
    disclosure_headers(policy, response.headers_mut());
    response
}

/// Adds the headers that disclose an agent's calls and writes
/// (docs/contract/authentication.md#transparency-headers).
fn disclosure_headers(policy: Policy, headers: &mut HeaderMap) {
    const TRUE: HeaderValue = HeaderValue::from_static("true");
    if matches!(policy.access, Access::Agent(_)) {
        headers.insert("x-ai-agent-initiated", TRUE);
    }
    if policy.writes {
        headers.insert("x-human-confirmation-required", TRUE);
    }
}

/// Reads and discards a short body, because a connection with an unread body cannot be reused. Long and slow bodies
/// are left unread.
async fn drain(parts: &Parts, body: Body) {
    let length = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let is_short = length
        .and_then(|length| length.parse().ok())
        .is_some_and(|it| (1..=DRAIN_BYTES_MAX).contains(&it));
    if is_short {
        let _ =
            tokio::time::timeout(DRAIN_TIMEOUT, axum::body::to_bytes(body, DRAIN_BYTES_MAX)).await;
    }
}

async fn check(
    policy: Policy,
    parts: &mut Parts,
) -> (Result<(), ErrorResponse>, Option<AdmissionPermit>) {
    if policy.quota == Quota::Unmetered {
        return (Ok(()), None);
    }
    let rest = parts.extensions.get::<Arc<Rest>>().cloned();
    let from = parts.extensions.get::<ClientAddress>().copied();
    let Some((rest, from)) = rest.zip(from) else {
        return (Err(AuthenticationNotConfigured.into()), None);
    };
    let (identity, refusal) = match authenticate(policy.access, &rest, parts, from).await {
        Ok(identity) => (identity, None),
        // Looking up a valid credential costs as much as the call would: it counts to the address.
        Err(error @ IdentityError::WrongKind { .. }) => (Identity::Anonymous, Some(error)),
        Err(error) => return (Err(error.into()), None),
    };
    record(policy, &identity, parts);
    let (caller, concurrency, quota) = quota_of(policy, &identity, from);
    let permit = match rest.admission.admit(&caller, concurrency, &quota).await {
        Ok(permit) => permit,
        Err(limited) => return (Err(limited.into()), None),
    };
    let outcome = match refusal {
        None => authorize(policy.access, &rest, parts, identity).await,
        Some(error) => Err(error.into()),
    };
    (outcome, Some(permit))
}

/// Adds tool and key to the log line of the request.
fn record(policy: Policy, identity: &Identity, parts: &Parts) {
    let Some(record) = parts.extensions.get::<RequestRecord>() else { return };
    if let Some((tool, _)) = policy.tool {
        record.set_tool(tool);
    }
    match identity {
        Identity::Agent(agent) => record.set_key(agent.key),
        Identity::StoreKey(program) => record.set_key(program.key),
        Identity::Anonymous | Identity::Person(_) => {}
    }
}

/// Adds the store of a merchant's request to its log line.
fn record_store(parts: &Parts, store: &StoreSlug) {
    if let Some(record) = parts.extensions.get::<RequestRecord>() {
        record.set_store(store);
    }
}

/// Authenticates the caller by a credential of the kind that the endpoint accepts.
async fn authenticate(
    access: Access,
    rest: &Rest,
    parts: &Parts,
    from: ClientAddress,
) -> Result<Identity, IdentityError> {
    let credentials = &rest.credentials;
    match (access, Credential::from_headers(&parts.headers)) {
        (Access::Public | Access::Agent(_), Credential::AgentKey(key)) => {
            Ok(Identity::Agent(credentials.agent_keys.agent_of(key, from).await?))
        }
        // Tokens and store keys have no effect on a public endpoint.
        (Access::Public, _) => Ok(Identity::Anonymous),
        (Access::Store(_), Credential::StoreKey(key)) => {
            Ok(Identity::StoreKey(credentials.store_keys.program_of(key, from).await?))
        }
        (
            Access::Store(_) | Access::Owner | Access::Person | Access::Admin,
            Credential::Token(token),
        ) => Ok(Identity::Person(credentials.people.person_of(token).await?)),
        (_, sent) => Err(wrong_kind(access, credentials, sent, from).await),
    }
}

/// Returns the error for a credential of a kind that the endpoint does not accept. Only the owner of a valid credential
/// learns that it is valid; attempts to guess one are throttled here as everywhere.
async fn wrong_kind(
    access: Access,
    credentials: &CredentialStore,
    sent: Credential<'_>,
    from: ClientAddress,
) -> IdentityError {
    let found = match sent {
        Credential::Missing => return IdentityError::MissingCredential,
        Credential::Malformed => return IdentityError::InvalidCredential,
        Credential::AgentKey(key) => credentials.agent_keys.agent_of(key, from).await.map(drop),
        Credential::StoreKey(key) => credentials.store_keys.program_of(key, from).await.map(drop),
        Credential::Token(token) => credentials.people.person_of(token).await.map(drop),
    };
    match found {
        Ok(()) => IdentityError::WrongKind { needed: access.needed() },
        // No token helps here, not even one that has not expired.
        Err(IdentityError::TokenExpired) => IdentityError::InvalidCredential,
        Err(error) => error,
    }
}

/// Returns the caller to count, its concurrency limit, and the quota that the call uses.
fn quota_of(
    policy: Policy,
    identity: &Identity,
    from: ClientAddress,
) -> (Caller, usize, QuotaRequest) {
    let free = ConcurrencyLimit::for_plan(Plan::Free);
    let credential = || QuotaRequest::tier(Class::Credential, "credential", CREDENTIAL_PER_MINUTE);
    match identity {
        // A key does not raise the quota of logins.
        Identity::Anonymous | Identity::Agent(_) if policy.quota == Quota::Credential => {
            (Caller::address(from), free, credential())
        }
        // With or without a key, so that a key never gives less than none.
        Identity::Anonymous => {
            let quota = QuotaRequest::tier(Class::Read, "public", PUBLIC_PER_MINUTE);
            (Caller::address(from), free, with_tool(quota, policy))
        }
        // Anybody can have many sandbox keys: they share the quotas of the address, and those of public endpoints with
        // calls without a key.
        Identity::Agent(agent) if agent.is_sandbox() => {
            let quota = if matches!(policy.access, Access::Public) {
                QuotaRequest::tier(Class::Read, "public", PUBLIC_PER_MINUTE)
            } else {
                let class = if policy.writes { Class::Write } else { Class::Read };
                QuotaRequest::tier(class, "mcp", tier_limit(agent.plan))
            };
            (Caller::address(from), free, with_tool(quota, policy))
        }
        Identity::Agent(agent) => {
            let class = if policy.writes { Class::Write } else { Class::Read };
            let quota = QuotaRequest::tier(class, "mcp", tier_limit(agent.plan));
            let concurrency = ConcurrencyLimit::for_plan(agent.plan);
            (Caller::agent(agent.key), concurrency, with_tool(quota, policy))
        }
        Identity::StoreKey(program) => {
            let concurrency = ConcurrencyLimit::for_plan(Plan::Enterprise);
            (
                Caller::store(program.merchant),
                concurrency,
                QuotaRequest::tier(Class::Read, "store", STORE_PER_MINUTE),
            )
        }
        Identity::Person(person) => {
            let quota = match policy.quota {
                Quota::Credential => credential(),
                _ => QuotaRequest::tier(Class::Read, "person", PERSON_PER_MINUTE),
            };
            (Caller::person(person.user), free, quota)
        }
    }
}

/// Adds the quota of the equivalent tool.
fn with_tool(quota: QuotaRequest, policy: Policy) -> QuotaRequest {
    match policy.tool {
        Some((tool, limit)) => quota.and_tool(None, tool, limit),
        None => quota,
    }
}

/// Checks whether the caller may call the endpoint, and adds it to the request's extensions for the handler.
async fn authorize(
    access: Access,
    rest: &Rest,
    parts: &mut Parts,
    identity: Identity,
) -> Result<(), ErrorResponse> {
    match (access, identity) {
        (Access::Agent(scope), Identity::Agent(agent)) => {
            agent.require(scope)?;
            let record = parts.extensions.get::<RequestRecord>().cloned().unwrap_or_default();
            parts.extensions.insert(AgentCaller { agent, record });
        }
        (Access::Public, Identity::Agent(agent)) => {
            let record = parts.extensions.get::<RequestRecord>().cloned().unwrap_or_default();
            parts.extensions.insert(AgentCaller { agent, record });
        }
        (Access::Store(scope), Identity::StoreKey(program)) => {
            program.require(scope)?;
            let caller = StoreCaller::of_program(rest, program).await?;
            record_store(parts, &caller.store.slug);
            parts.extensions.insert(caller);
        }
        // A member may do what any store key may.
        (Access::Store(_), Identity::Person(person)) => {
            let caller = StoreCaller::of_member(rest, &person, &parts.headers).await?;
            record_store(parts, &caller.store.slug);
            parts.extensions.insert(caller);
        }
        (Access::Admin, Identity::Person(person)) => {
            person.require_admin()?;
            parts.extensions.insert(AdminCaller { user: person.user });
        }
        (Access::Owner, Identity::Person(person)) => {
            let caller = OwnerCaller::of(rest, &person, &parts.headers).await?;
            record_store(parts, &rest.stores.find_merchant(caller.merchant).await?.slug);
            parts.extensions.insert(caller);
        }
        (Access::Person, Identity::Person(person)) => {
            parts.extensions.insert(PersonCaller(person));
        }
        (Access::Public, Identity::Anonymous) => {}
        _ => return Err(AuthenticationNotConfigured.into()),
    }
    Ok(())
}

/// The router lacks what admission needs: a programming error. The request is rejected.
#[derive(Debug, thiserror::Error)]
#[error("no authentication layer is configured")]
struct AuthenticationNotConfigured;

impl Problem for AuthenticationNotConfigured {
    fn code(&self) -> ErrorCode {
        ErrorCode::InternalError
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use primitives::{Id, KeyId, Scope, UserId};

    use super::*;

    #[test]
    fn sandbox_keys_of_an_address_share_its_quotas() {
        let from = ClientAddress("192.0.2.1".parse().unwrap());
        let agent = |number, owner| {
            Identity::Agent(Arc::new(Agent {
                key: KeyId::from_random(number),
                name: String::from("test"),
                owner,
                plan: Plan::Free,
                scopes: Scope::ALL.iter().copied().collect(),
                stores: None,
            }))
        };
        for access in [Access::Public, Access::Agent(Scope::ALL[0])] {
            let policy = Policy { access, quota: Quota::Caller, tool: None, writes: false };
            let one = quota_of(policy, &agent(1, None), from);
            assert_eq!(one, quota_of(policy, &agent(2, None), from));
            assert_eq!(one.0, Caller::address(from));
            let owner = Some(UserId::from_random(9));
            assert_ne!(one.0, quota_of(policy, &agent(3, owner), from).0);
        }
        let policy =
            Policy { access: Access::Public, quota: Quota::Caller, tool: None, writes: false };
        let without_key = quota_of(policy, &Identity::Anonymous, from);
        assert_eq!(quota_of(policy, &agent(1, None), from), without_key);
    }

    #[test]
    fn published_quotas_do_not_change() {
        let endpoints = crate::endpoints();
        let tools = endpoints.operations().iter().filter_map(|operation| operation.policy.tool);
        let quotas: BTreeSet<(u32, &str)> = tools.map(|(tool, limit)| (limit, tool)).collect();
        let others = quotas.iter().filter(|(limit, _)| *limit != 60).copied();
        let expected = [
            (10, "cancel_checkout"),
            (10, "complete_checkout"),
            (10, "onx_cancel_order"),
            (10, "onx_create_return"),
            (10, "onx_update_order"),
            (10, "open_dispute"),
            (10, "process_agent_payment"),
            (10, "submit_agent_feedback"),
            (10, "update_checkout"),
            (20, "cancel_cart"),
            (20, "create_cart"),
            (20, "search_products"),
            (20, "update_cart"),
            (30, "check_return_eligibility"),
            (30, "get_dispute"),
            (30, "get_order_status"),
            (30, "onx_get_orders"),
        ];
        assert_eq!(others.collect::<Vec<_>>(), expected);
        assert_eq!(quotas.len(), expected.len() + 15);
    }
}
