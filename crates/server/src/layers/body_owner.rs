//! Who sends a body: the caller that the memory of the body counts for.

use std::fmt;
use std::sync::Arc;

use axum::extract::Request;
use futures::FutureExt;
use futures::future::BoxFuture;
use identity::{Credential, CredentialStore};
use limits::Caller;
use primitives::ClientAddress;

/// The sender of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BodyOwner {
    /// `None` only if not even its address is known.
    pub(super) caller: Option<Caller>,
    pub(super) kind: OwnerKind,
}

impl BodyOwner {
    /// Returns the network of a request as a sender, whoever it is.
    pub(super) fn network(request: &Request) -> Self {
        let address = request.extensions().get::<ClientAddress>().copied();
        Self { caller: address.map(Caller::address), kind: OwnerKind::Account }
    }
}

/// How well a sender is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OwnerKind {
    /// A store, or a person with an account.
    Account,
    /// An agent. Its keys are easy to get, so that the network it sends from counts as well.
    Agent { network: Option<Caller> },
    /// Without a valid credential.
    Anonymous,
}

/// Authenticates the senders of bodies.
#[derive(Clone, Default)]
pub(crate) struct BodyOwners {
    /// `None`: everyone is anonymous.
    credentials: Option<Arc<CredentialStore>>,
}

impl fmt::Debug for BodyOwners {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BodyOwners").finish_non_exhaustive()
    }
}

impl BodyOwners {
    pub(crate) fn new(credentials: CredentialStore) -> Self {
        Self { credentials: Some(Arc::new(credentials)) }
    }

    /// Returns the sender of a request, once it is asked for: few bodies are so large that it matters. Who cannot be
    /// authenticated is anonymous here; the door says why.
    pub(super) fn of(&self, request: &Request) -> BoxFuture<'static, BodyOwner> {
        let credentials = self.credentials.clone();
        let headers = request.headers().clone();
        let address = request.extensions().get::<ClientAddress>().copied();
        async move {
            let network = address.map(Caller::address);
            let anonymous = BodyOwner { caller: network.clone(), kind: OwnerKind::Anonymous };
            let Some((credentials, address)) = credentials.zip(address) else { return anonymous };
            let found = match Credential::from_headers(&headers) {
                Credential::AgentKey(key) => {
                    let agent = credentials.agent_keys.agent_of(key, address).await;
                    agent.map(|it| (Caller::agent(it.key), OwnerKind::Agent { network }))
                }
                Credential::StoreKey(key) => {
                    let program = credentials.store_keys.program_of(key, address).await;
                    program.map(|it| (Caller::store(it.merchant), OwnerKind::Account))
                }
                Credential::Token(token) => {
                    let person = credentials.people.person_of(token).await;
                    person.map(|it| (Caller::person(it.user), OwnerKind::Account))
                }
                Credential::Missing | Credential::Malformed => return anonymous,
            };
            found.map_or(anonymous, |(caller, kind)| BodyOwner { caller: Some(caller), kind })
        }
        .boxed()
    }
}
