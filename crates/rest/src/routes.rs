//! Endpoints: a handler, its access rule and its OpenAPI description in one value.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::middleware::from_fn;
use axum::routing::{MethodRouter, delete, get, patch, post, put};
use identity::StoreScope;
use jobs::IdempotencyKey;
use limits::QuotaClass;
use primitives::{ErrorCode, Scope};
use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::admission::{Policy, Quota, admit};
use crate::error_response::method_not_allowed;
use crate::openapi::{document, inlined_schema, query_parameters};
use crate::request::{BodySchema, PathParameter, QueryParameters};
use crate::uploads::BodyKind;

/// Who may call an endpoint. Every constructor of [`Endpoint`] requires it, so it cannot be forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Any caller, without a credential. An agent key that is sent must still be valid.
    Public,
    /// An agent whose key has this scope; the handler may extract an `AgentCaller`.
    Agent(Scope),
    /// A store key with this scope, or the token of a member of the store; the handler extracts a `StoreCaller`.
    Store(StoreScope),
    /// The token of an owner of the store; the handler extracts an `OwnerCaller`.
    Owner,
    /// The token of a person; the handler extracts a `PersonCaller`.
    Person,
    /// The token of a platform administrator; the handler extracts an `AdminCaller`.
    Admin,
}

impl Access {
    /// Returns the value of `x-souk-access` in the OpenAPI document.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Agent(scope) => scope.as_str(),
            Self::Store(StoreScope::Catalog) => "store:catalog",
            Self::Store(StoreScope::Orders) => "store:orders",
            Self::Store(StoreScope::Webhooks) => "store:webhooks",
            Self::Store(StoreScope::Settings) => "store:settings",
            Self::Owner => "owner",
            Self::Person => "person",
            Self::Admin => "admin",
        }
    }

    /// Returns which credential the endpoint needs, and how to send it.
    pub(crate) const fn needed(self) -> &'static str {
        match self {
            Self::Public | Self::Agent(_) => {
                "an agent key is needed: X-Agent-Api-Key: agnt_…, created with POST /api/v1/agent-keys, or with POST /api/v1/sandbox/key for the demo store"
            }
            Self::Store(_) => {
                "a store key is needed, Authorization: Bearer mrch_…, or the token of a member of the store from POST /api/v1/auth/login"
            }
            Self::Owner => {
                "the token of an owner of the store is needed: Authorization: Bearer with the token from POST /api/v1/auth/login"
            }
            Self::Person => {
                "the token of a person is needed: Authorization: Bearer with the token from POST /api/v1/auth/login"
            }
            Self::Admin => {
                "the token of a platform administrator is needed: Authorization: Bearer with the token from POST /api/v1/auth/login"
            }
        }
    }

    /// Returns the `security` of an OpenAPI operation; an empty list means that none is required.
    pub(crate) fn security(self) -> Value {
        match self {
            Self::Public => json!([]),
            Self::Agent(_) => json!([{ "agentKey": [] }]),
            Self::Store(_) => json!([{ "storeKey": [] }, { "token": [] }]),
            Self::Owner | Self::Person | Self::Admin => json!([{ "token": [] }]),
        }
    }

    /// Returns the errors of a missing, invalid or insufficient credential.
    const fn errors(self) -> &'static [ErrorCode] {
        match self {
            Self::Public => &[ErrorCode::Unauthorized],
            Self::Agent(_) => &[ErrorCode::Unauthorized, ErrorCode::Forbidden],
            Self::Store(_) | Self::Owner | Self::Person | Self::Admin => {
                &[ErrorCode::Unauthorized, ErrorCode::TokenExpired, ErrorCode::Forbidden]
            }
        }
    }
}

/// Adds the schema of a type, and of all types in it, to a collection.
pub(crate) type DescribeSchema = fn(&mut SchemaGenerator) -> Schema;

/// The description of an endpoint in the OpenAPI document.
#[expect(clippy::struct_field_names, reason = "the field is called operationId in OpenAPI")]
pub(crate) struct Operation {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) policy: Policy,
    pub(crate) operation_id: &'static str,
    pub(crate) tag: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) description: &'static str,
    pub(crate) parameters: Vec<Value>,
    pub(crate) body: Option<DescribeSchema>,
    /// What bodies are validated against.
    pub(crate) body_schema: Option<Arc<BodySchema>>,
    /// Bodies other than JSON: media type and description.
    pub(crate) streams: Vec<(&'static str, &'static str)>,
    pub(crate) body_kind: BodyKind,
    /// Successful responses that are not JSON: media type and description.
    pub(crate) stream_responses: Vec<(&'static str, &'static str)>,
    /// Successful responses by status.
    pub(crate) responses: Vec<(u16, DescribeSchema)>,
    /// Status, code and meaning, sorted so that the document is deterministic.
    pub(crate) errors: BTreeSet<(u16, &'static str, &'static str)>,
}

/// An endpoint: its handler and its OpenAPI description.
///
/// ```
/// # use rest::{Access, Endpoint};
/// let hello = Endpoint::<()>::get("/hello", Access::Public, async || "hello");
/// ```
///
/// The access rule is required:
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
    /// Creates a GET endpoint.
    pub fn get<H, T>(path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        Self::new("get", path, access, Some(get(handler)))
    }

    /// Creates a POST endpoint.
    pub fn post<H, T>(path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        Self::new("post", path, access, Some(post(handler)))
    }

    /// Creates a PATCH endpoint: fields that the body omits stay unchanged.
    pub fn patch<H, T>(path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        Self::new("patch", path, access, Some(patch(handler)))
    }

    /// Creates a PUT endpoint: the body replaces the resource.
    pub fn put<H, T>(path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        Self::new("put", path, access, Some(put(handler)))
    }

    /// Creates a DELETE endpoint.
    pub fn delete<H, T>(path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: 'static,
    {
        Self::new("delete", path, access, Some(delete(handler)))
    }

    /// Creates an endpoint without a handler, for the OpenAPI document only: another door serves it.
    #[must_use]
    pub fn documented_only(method: &'static str, path: &'static str, access: Access) -> Self {
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
            policy: Policy { access, quota: Quota::Caller, tool: None, writes: false },
            operation_id: "",
            tag: "",
            summary: "",
            description: "",
            parameters: Vec::new(),
            body: None,
            body_schema: None,
            streams: Vec::new(),
            body_kind: BodyKind::Buffered,
            stream_responses: Vec::new(),
            responses: Vec::new(),
            errors: BTreeSet::new(),
        };
        // Any call may have an unknown query parameter, be throttled, or fail because of a defect or an unavailable
        // dependency.
        let general = [
            ErrorCode::InvalidRequest,
            ErrorCode::RateLimitExceeded,
            ErrorCode::InternalError,
            ErrorCode::ServiceUnavailable,
        ];
        Self { handler, operation }.errors(&general).errors(access.errors())
    }

    /// Sets the operation id, which names the method in generated clients.
    #[must_use]
    pub fn operation_id(mut self, operation_id: &'static str) -> Self {
        self.operation.operation_id = operation_id;
        self
    }

    /// Sets the tag that groups it in the documentation.
    #[must_use]
    pub fn tag(mut self, tag: &'static str) -> Self {
        self.operation.tag = tag;
        self
    }

    /// Sets the summary: a short command, such as "Cancel a cart".
    #[must_use]
    pub fn summary(mut self, summary: &'static str) -> Self {
        self.operation.summary = summary;
        self
    }

    /// Sets the description, in full sentences.
    #[must_use]
    pub fn description(mut self, description: &'static str) -> Self {
        self.operation.description = description;
        self
    }

    /// Declares a path parameter, which the handler extracts with `Path<T>`.
    #[must_use]
    pub fn path<T: PathParameter>(mut self) -> Self {
        self.operation.parameters.push(json!({
            "name": T::NAME,
            "in": "path",
            "required": true,
            "description": T::DESCRIPTION,
            "schema": T::schema(),
            "example": T::EXAMPLE,
        }));
        self.errors(&[T::ERROR_CODE])
    }

    /// Declares the query parameters, which the handler extracts with `Query<T>`.
    #[must_use]
    pub fn query<T: JsonSchema>(mut self) -> Self {
        self.operation.parameters.extend(query_parameters::<T>());
        self.errors(&[ErrorCode::InvalidRequest])
    }

    /// Declares an optional request header, which the handler extracts.
    #[must_use]
    pub(crate) fn header(mut self, name: &'static str, description: &'static str) -> Self {
        self.operation.parameters.push(json!({
            "name": name,
            "in": "header",
            "required": false,
            "description": description,
            "schema": { "type": "string" },
        }));
        self
    }

    /// Declares the JSON body, which the handler extracts with `Json<T>`. A body that does not match the schema is
    /// rejected before the handler is called.
    #[must_use]
    pub fn body<T: JsonSchema>(mut self) -> Self {
        self.operation.body = Some(SchemaGenerator::subschema_for::<T>);
        let schema = BodySchema::new(inlined_schema::<T>).normalized(self.is_of_agents());
        self.operation.body_schema = Some(Arc::new(schema));
        self.errors(&[ErrorCode::InvalidRequest, ErrorCode::PayloadTooLarge])
    }

    /// Declares a JSON body without required fields, which the handler extracts with `Json<T>`. A request without a body is
    /// one without fields.
    #[must_use]
    pub fn optional_body<T: JsonSchema>(self) -> Self {
        let mut endpoint = self.body::<T>();
        let schema = BodySchema::optional(inlined_schema::<T>).normalized(endpoint.is_of_agents());
        endpoint.operation.body_schema = Some(Arc::new(schema));
        endpoint
    }

    /// Returns whether agents call it, whose blank values mean "absent".
    const fn is_of_agents(&self) -> bool {
        matches!(self.operation.policy.access, Access::Public | Access::Agent(_))
    }

    /// Declares a JSON body that the handler checks field by field to report all invalid fields at once. It is not
    /// validated before the handler is called.
    #[must_use]
    pub(crate) fn draft_body<T: JsonSchema>(self) -> Self {
        let mut endpoint = self.body::<T>();
        endpoint.operation.body_schema = None;
        endpoint
    }

    /// Declares a JSON body whose list `field` has items that succeed or fail on their own: only their number is validated
    /// before the handler is called, and the handler validates each.
    #[must_use]
    pub(crate) fn body_with_items<T: JsonSchema>(self, field: &'static str) -> Self {
        let mut endpoint = self.body::<T>();
        let schema = BodySchema::with_separate_items(inlined_schema::<T>, field);
        endpoint.operation.body_schema = Some(Arc::new(schema));
        endpoint
    }

    /// Declares a streamed body that is not JSON, which the handler extracts with axum's `Body`. Called once for each
    /// media type that the endpoint accepts.
    #[must_use]
    pub fn body_stream(mut self, media_type: &'static str, description: &'static str) -> Self {
        self.operation.streams.push((media_type, description));
        self.errors(&[ErrorCode::InvalidRequest, ErrorCode::PayloadTooLarge])
    }

    /// Marks an endpoint that processes its body while it arrives, and whose body may be far larger and slower than that
    /// of other requests. The server reads this with `body_kind` and applies the limits of uploads.
    #[must_use]
    pub fn upload(mut self) -> Self {
        self.operation.body_kind = BodyKind::Stream;
        self
    }

    /// Marks an endpoint whose handler extracts the body with `LargeJson`.
    #[must_use]
    pub(crate) fn large_json(mut self) -> Self {
        self.operation.body_kind = BodyKind::LARGE_JSON;
        self
    }

    /// Declares a successful response.
    #[must_use]
    pub fn response<T: JsonSchema>(mut self, status: u16) -> Self {
        self.operation.responses.push((status, SchemaGenerator::subschema_for::<T>));
        self
    }

    /// Declares a successful response that is not JSON. Called once for each media type that the endpoint returns.
    #[must_use]
    pub(crate) fn stream_response(
        mut self,
        media_type: &'static str,
        description: &'static str,
    ) -> Self {
        self.operation.stream_responses.push((media_type, description));
        self
    }

    /// Uses the small quota of logins and key management.
    #[must_use]
    pub(crate) fn credential_quota(mut self) -> Self {
        self.operation.policy.quota = Quota::Credential;
        self
    }

    /// Skips quotas and authentication: for health probes, and for what a client reads first.
    #[must_use]
    pub fn unmetered(mut self) -> Self {
        self.operation.policy.quota = Quota::Unmetered;
        self
    }

    /// Names the equivalent MCP tool and its class: calls of agents and without a key also use the tool's quota.
    #[must_use]
    pub(crate) fn tool(mut self, name: &'static str, class: QuotaClass) -> Self {
        self.operation.policy.tool = Some((name, limits::tool_quota(name, class)));
        self.errors(&[ErrorCode::ToolLimitExceeded])
    }

    /// Marks an endpoint that writes on behalf of an agent: a person must have agreed
    /// (docs/contract/confirmation.md#disclosure), and it accepts an idempotency key.
    #[must_use]
    pub(crate) fn writes(mut self) -> Self {
        self.operation.policy.writes = true;
        self.idempotency_key()
    }

    /// Declares the header `Idempotency-Key`, which the handler extracts with `IdempotencyKeyHeader`.
    #[must_use]
    pub(crate) fn idempotency_key(mut self) -> Self {
        self.operation.parameters.push(json!({
            "name": "Idempotency-Key",
            "in": "header",
            "required": false,
            "description": "A unique key for this write. Repeating the call with the same key and body returns the first result instead of writing twice.",
            "schema": { "type": "string", "minLength": 1, "maxLength": IdempotencyKey::LENGTH_MAX },
        }));
        self.errors(&[ErrorCode::InvalidRequest, ErrorCode::IdempotencyConflict])
    }

    /// Declares further errors, beyond those that follow from its access rule, parameters and body.
    #[must_use]
    pub fn errors(mut self, codes: &[ErrorCode]) -> Self {
        let lines = codes.iter().map(|code| (code.status(), code.code(), code.description()));
        self.operation.errors.extend(lines);
        self
    }
}

/// A collection of endpoints.
pub struct Routes<S> {
    router: Router<S>,
    operations: Vec<Operation>,
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    /// Creates an empty collection.
    #[must_use]
    pub fn new() -> Self {
        Self { router: Router::new(), operations: Vec::new() }
    }

    /// Adds an endpoint.
    #[must_use]
    pub fn with(mut self, endpoint: Endpoint<S>) -> Self {
        if let Some(handler) = endpoint.handler {
            let policy = endpoint.operation.policy;
            let body_schema = endpoint.operation.body_schema.clone();
            let admission = from_fn(move |mut request: Request, next| {
                if let Some(schema) = &body_schema {
                    request.extensions_mut().insert(Arc::clone(schema));
                }
                admit(policy, request, next)
            });
            // What takes no quota reads no parameters, and probes may add some.
            let handler = if policy.quota == Quota::Unmetered {
                handler
            } else {
                let parameters = Arc::new(QueryParameters::of(&endpoint.operation.parameters));
                let run = move |request: Request, next| Arc::clone(&parameters).run(request, next);
                handler.route_layer(from_fn(run))
            };
            self.router =
                self.router.route(endpoint.operation.path, handler.route_layer(admission));
        }
        self.operations.push(endpoint.operation);
        self
    }

    /// Adds the endpoints of another collection.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.operations.extend(other.operations);
        self
    }

    /// Returns the router. An unsupported method is answered with the error envelope.
    pub fn into_router(self) -> Router<S> {
        self.router.method_not_allowed_fallback(method_not_allowed)
    }

    /// Returns the OpenAPI document of these endpoints.
    #[must_use]
    pub fn openapi(&self, site_url: &str) -> Value {
        document(site_url, &self.operations)
    }

    /// Returns the descriptions of the endpoints.
    pub(crate) fn operations(&self) -> &[Operation] {
        &self.operations
    }
}

impl<S: Clone + Send + Sync + 'static> Default for Routes<S> {
    fn default() -> Self {
        Self::new()
    }
}
