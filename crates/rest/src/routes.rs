//! Endpoints that cannot exist without their description: one value holds both.

use std::collections::BTreeSet;

use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn;
use axum::routing::{MethodRouter, delete, get, patch, post, put};
use primitives::{ErrorCode, Scope};
use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::admission::{Policy, Share, admit};
use crate::document::{document, query_parameters};
use crate::refusal::method_not_allowed;
use crate::request::PathPart;

/// Who may call an endpoint. Naming it is part of making one, so nobody can forget it. A kind of
/// caller is added here together with what checks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody, without a credential. An agent's key that is sent all the same has to be right.
    Public,
    /// An agent, with a key that has this scope; the handler may take an `AgentCaller`.
    Agent(Scope),
    /// Whoever acts for a store: its programs with a key, or its members with a token; the handler takes a
    /// `StoreCaller`.
    Store,
    /// An owner of a store, with a token; the handler takes an `OwnerCaller`.
    Owner,
    /// A person, with a token; the handler takes a `PersonCaller`.
    Person,
}

impl Access {
    /// The name in the description.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Agent(scope) => scope.name(),
            Self::Store => "store",
            Self::Owner => "owner",
            Self::Person => "person",
        }
    }

    /// OpenAPI's `security` of an operation; an empty list overrides whatever is general.
    pub(crate) fn security(self) -> Value {
        match self {
            Self::Public => json!([]),
            Self::Agent(_) => json!([{ "agentKey": [] }]),
            Self::Store => json!([{ "storeKey": [] }, { "token": [] }]),
            Self::Owner | Self::Person => json!([{ "token": [] }]),
        }
    }

    /// What is refused with when the credential is missing or wrong.
    const fn refusals(self) -> &'static [ErrorCode] {
        match self {
            Self::Public => &[ErrorCode::Unauthorized],
            Self::Agent(_) => &[ErrorCode::Unauthorized, ErrorCode::Forbidden],
            Self::Store | Self::Owner => {
                &[ErrorCode::Unauthorized, ErrorCode::TokenExpired, ErrorCode::Forbidden]
            }
            Self::Person => &[ErrorCode::Unauthorized, ErrorCode::TokenExpired],
        }
    }
}

/// Writes the schema of one type, and of all it holds, into a collection.
pub(crate) type DescribeSchema = fn(&mut SchemaGenerator) -> Schema;

/// What the OpenAPI document says of one endpoint.
pub(crate) struct Operation {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) policy: Policy,
    pub(crate) name: &'static str,
    pub(crate) tag: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) explanation: &'static str,
    pub(crate) parameters: Vec<Value>,
    pub(crate) body: Option<DescribeSchema>,
    /// Bodies that are no JSON: media type and description.
    pub(crate) streams: Vec<(&'static str, &'static str)>,
    pub(crate) upload: bool,
    pub(crate) answers: Vec<(u16, DescribeSchema)>,
    /// By status, then by code, so that the document comes out the same each time.
    pub(crate) errors: BTreeSet<(u16, &'static str, &'static str)>,
}

/// An endpoint: its handler and its description.
///
/// ```
/// # use rest::{Access, Endpoint};
/// let hello = Endpoint::<()>::get("/hello", Access::Public, async || "hello");
/// ```
///
/// Without saying who may call it, there is none:
///
/// ```compile_fail
/// # use rest::{Access, Endpoint};
/// let hello = Endpoint::<()>::get("/hello", async || "hello");
/// ```
pub struct Endpoint<S> {
    handler: Option<MethodRouter<S>>,
    operation: Operation,
}

impl<S: Clone + Send + Sync + 'static> Endpoint<S> {
    /// An endpoint that reads.
    pub fn get<H, T>(path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        Self::new("get", path, access, Some(get(handler)))
    }

    /// An endpoint that takes a body.
    pub fn post<H, T>(path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        Self::new("post", path, access, Some(post(handler)))
    }

    /// An endpoint that changes what its body names and leaves the rest.
    pub fn patch<H, T>(path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        Self::new("patch", path, access, Some(patch(handler)))
    }

    /// An endpoint that replaces the whole.
    pub fn put<H, T>(path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        Self::new("put", path, access, Some(put(handler)))
    }

    /// An endpoint that takes something away.
    pub fn delete<H, T>(path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        Self::new("delete", path, access, Some(delete(handler)))
    }

    /// An endpoint of another door, described here because there is one description of the API.
    #[must_use]
    pub fn served_elsewhere(method: &'static str, path: &'static str, access: Access) -> Self {
        Self::new(method, path, access, None)
    }

    fn new(
        method: &'static str,
        path: &'static str,
        access: Access,
        handler: Option<MethodRouter<S>>,
    ) -> Self {
        let operation = Operation {
            method,
            path,
            policy: Policy { access, share: Share::Caller, tool: None, writes: false },
            name: "",
            tag: "",
            summary: "",
            explanation: "",
            parameters: Vec::new(),
            body: None,
            streams: Vec::new(),
            upload: false,
            answers: Vec::new(),
            errors: BTreeSet::new(),
        };
        // Any call may meet a limit, a mistake of ours or an engine that is away.
        let general =
            [ErrorCode::RateLimitExceeded, ErrorCode::InternalError, ErrorCode::ServiceUnavailable];
        Self { handler, operation }.errors(&general).errors(access.refusals())
    }

    /// Its name in generated clients.
    #[must_use]
    pub fn name(mut self, name: &'static str) -> Self {
        self.operation.name = name;
        self
    }

    /// The group it is shown in.
    #[must_use]
    pub fn tag(mut self, tag: &'static str) -> Self {
        self.operation.tag = tag;
        self
    }

    /// What it does, in a few words.
    #[must_use]
    pub fn summary(mut self, summary: &'static str) -> Self {
        self.operation.summary = summary;
        self
    }

    /// What it does, in sentences.
    #[must_use]
    pub fn explanation(mut self, explanation: &'static str) -> Self {
        self.operation.explanation = explanation;
        self
    }

    /// A part of its address, as a handler takes it with `Path<T>`.
    #[must_use]
    pub fn path<T: PathPart>(mut self) -> Self {
        self.operation.parameters.push(json!({
            "name": T::NAME,
            "in": "path",
            "required": true,
            "description": T::DESCRIPTION,
            "schema": T::schema(),
            "example": T::EXAMPLE,
        }));
        self.errors(&[T::REFUSED_WITH])
    }

    /// What may stand in its query string, as a handler takes it with `Query<T>`.
    #[must_use]
    pub fn query<T: JsonSchema>(mut self) -> Self {
        self.operation.parameters.extend(query_parameters::<T>());
        self.errors(&[ErrorCode::InvalidRequest])
    }

    /// Its body, as a handler takes it with `Json<T>`.
    #[must_use]
    pub fn body<T: JsonSchema>(mut self) -> Self {
        self.operation.body = Some(SchemaGenerator::subschema_for::<T>);
        self.errors(&[ErrorCode::InvalidRequest, ErrorCode::PayloadTooLarge])
    }

    /// A body that is no JSON, as a handler takes it with axum's `Body` and reads it piece by piece.
    /// An endpoint that takes several media types says this several times.
    #[must_use]
    pub fn body_stream(mut self, media_type: &'static str, description: &'static str) -> Self {
        self.operation.streams.push((media_type, description));
        self.errors(&[ErrorCode::InvalidRequest, ErrorCode::PayloadTooLarge])
    }

    /// Its body may be far larger, and take far longer, than that of other requests. The server
    /// asks `is_upload` and sets the limits of uploads around it.
    #[must_use]
    pub fn upload(mut self) -> Self {
        self.operation.upload = true;
        self
    }

    /// What it answers with when all is well.
    #[must_use]
    pub fn answer<T: JsonSchema>(mut self, status: u16) -> Self {
        self.operation.answers.push((status, SchemaGenerator::subschema_for::<T>));
        self
    }

    /// Its calls come out of the small share of logins and keys.
    #[must_use]
    pub(crate) fn of_credentials(mut self) -> Self {
        self.operation.policy.share = Share::Credential;
        self
    }

    /// Its calls are not counted, and no credential is looked at: for probes, and for what a client reads first.
    #[must_use]
    pub fn uncounted(mut self) -> Self {
        self.operation.policy.share = Share::Uncounted;
        self
    }

    /// It is the same as a tool: the calls of agents come out of that one's share too.
    #[must_use]
    pub(crate) fn tool(mut self, name: &'static str, per_minute: u32) -> Self {
        self.operation.policy.tool = Some((name, per_minute));
        self.errors(&[ErrorCode::ToolLimitExceeded])
    }

    /// It writes for an agent: a person has to have agreed (spec §5.6), and with a key of the caller's it is done once.
    #[must_use]
    pub(crate) fn writes(mut self) -> Self {
        self.operation.policy.writes = true;
        self.operation.parameters.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "required": false,
            "description": "A text of your own for this one write: sent again with the same body, nothing is done twice.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255 },
        }));
        self.errors(&[ErrorCode::InvalidRequest, ErrorCode::IdempotencyConflict])
    }

    /// What it may refuse with, besides what follows from its parameters and body.
    #[must_use]
    pub fn errors(mut self, codes: &[ErrorCode]) -> Self {
        let lines = codes.iter().map(|code| (code.status(), code.code(), code.meaning()));
        self.operation.errors.extend(lines);
        self
    }
}

/// Endpoints, together.
pub struct Routes<S> {
    router: Router<S>,
    operations: Vec<Operation>,
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self { router: Router::new(), operations: Vec::new() }
    }

    /// One more.
    #[must_use]
    pub fn with(mut self, endpoint: Endpoint<S>) -> Self {
        if let Some(handler) = endpoint.handler {
            let policy = endpoint.operation.policy;
            let way_in = from_fn(move |request, next| admit(policy, request, next));
            self.router = self.router.route(endpoint.operation.path, handler.route_layer(way_in));
        }
        self.operations.push(endpoint.operation);
        self
    }

    /// Those of another resource as well.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.operations.extend(other.operations);
        self
    }

    /// The handlers. A method that an address does not take is refused as everything else is.
    pub fn into_router(self) -> Router<S> {
        self.router.method_not_allowed_fallback(method_not_allowed)
    }

    /// The OpenAPI document of these alone.
    #[must_use]
    pub fn describe(&self, site_url: &str) -> Value {
        document(site_url, &self.operations)
    }

    /// The descriptions.
    pub(crate) fn operations(&self) -> &[Operation] {
        &self.operations
    }
}

impl<S: Clone + Send + Sync + 'static> Default for Routes<S> {
    fn default() -> Self {
        Self::new()
    }
}
