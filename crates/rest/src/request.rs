//! Extractors for path parameters, query strings and JSON bodies.
//!
//! They wrap axum's extractors so that invalid input is answered with the error envelope, which names the field
//! (`details.field`) and what it accepts (`details.allowed`).

mod body_schema;
mod invalid_input;
mod path;
mod query_parameters;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use primitives::{Details, ErrorCode, Problem};
use schema::ParsedSize;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::ErrorResponse;

pub(crate) use body_schema::BodySchema;
pub use invalid_input::InvalidInput;
use invalid_input::Part;
pub(crate) use path::ExternalId;
pub use path::{InvalidPathParameter, Path, PathId, PathParameter};
pub(crate) use query_parameters::QueryParameters;

/// Extracts the query string as `T`.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned + JsonSchema, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ErrorResponse;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        Ok(Self(from_query(parts.uri.query().unwrap_or_default())?))
    }
}

/// Extracts the body as JSON, whatever its `Content-Type`. Callers authenticate with a header that no browser adds
/// by itself, so requiring the content type would protect nothing.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned + JsonSchema, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = ErrorResponse;
    async fn from_request(request: Request, state: &S) -> Result<Self, ErrorResponse> {
        let schema = body_schema(&request);
        match Bytes::from_request(request, state).await {
            Ok(bytes) => Ok(Self(validated(schema.as_deref(), &bytes)?)),
            Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                Err(PayloadTooLarge.into())
            }
            Err(_) => Err(InvalidInput::not_json(None).into()),
        }
    }
}

/// Maximum size of a body that `LargeJson` extracts (docs/contract/limits.md#body-limits): enough for hundreds of products
/// with long descriptions.
pub const LARGE_JSON_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Extracts a JSON body of up to 16 MiB, for an endpoint that declares `.large_json()`.
#[derive(Debug)]
pub struct LargeJson<T>(pub T);

impl<T: DeserializeOwned + JsonSchema, S: Send + Sync> FromRequest<S> for LargeJson<T> {
    type Rejection = ErrorResponse;
    async fn from_request(request: Request, _: &S) -> Result<Self, ErrorResponse> {
        let schema = body_schema(&request);
        let body = axum::body::to_bytes(request.into_body(), LARGE_JSON_BYTES_MAX).await;
        Ok(Self(validated(schema.as_deref(), &body.map_err(|_| PayloadTooLarge)?)?))
    }
}

/// Returns the schema of the endpoint's body.
fn body_schema(request: &Request) -> Option<Arc<BodySchema>> {
    request.extensions().get::<Arc<BodySchema>>().cloned()
}

/// Validates a body against its schema and parses it as `T`.
pub(crate) fn validated<T: DeserializeOwned + JsonSchema>(
    schema: Option<&BodySchema>,
    bytes: &[u8],
) -> Result<T, ErrorResponse> {
    let is_omitted = bytes.is_empty() && schema.is_some_and(BodySchema::is_optional);
    let bytes = if is_omitted { b"{}" } else { bytes };
    let normalized = match schema {
        Some(schema) => schema.validate(bytes)?,
        None => None,
    };
    Ok(match normalized {
        Some(sent) => from_value(&sent)?,
        None => from_json(bytes)?,
    })
}

/// Parses a body that was normalized.
fn from_value<T: DeserializeOwned + JsonSchema>(sent: &Value) -> Result<T, InvalidInput> {
    serde_path_to_error::deserialize(sent)
        .map_err(|error| InvalidInput::at::<T>(Part::Body, error.path(), sent))
}

/// Most memory that is spent to name the invalid field of a body or item.
const DIAGNOSIS_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Parses JSON as `T`, or returns which field of `T` is invalid.
pub(crate) fn from_json<T: DeserializeOwned + JsonSchema>(bytes: &[u8]) -> Result<T, InvalidInput> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        if ParsedSize::of(bytes).estimate() > DIAGNOSIS_BYTES_MAX {
            return InvalidInput::not_json(Some(error.inner()));
        }
        match serde_json::from_slice::<Value>(bytes) {
            Ok(sent) => InvalidInput::at::<T>(Part::Body, error.path(), &sent),
            Err(error) => InvalidInput::not_json(Some(&error)),
        }
    })?;
    deserializer.end().map_err(|error| InvalidInput::not_json(Some(&error)))?;
    Ok(value)
}

/// Parses a query string as `T`, or returns which parameter is invalid.
fn from_query<T: DeserializeOwned + JsonSchema>(query: &str) -> Result<T, InvalidInput> {
    let pairs = || form_urlencoded::parse(query.as_bytes());
    // PostgreSQL cannot store or compare it.
    if let Some((name, _)) =
        pairs().find(|(name, value)| name.contains('\0') || value.contains('\0'))
    {
        return Err(InvalidInput::parameter::<T>(&name));
    }
    let deserializer = serde_urlencoded::Deserializer::new(pairs());
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let sent: Map<String, Value> =
            pairs().map(|(name, value)| (name.into_owned(), value.into())).collect();
        InvalidInput::at::<T>(Part::QueryString, error.path(), &Value::Object(sent))
    })
}

/// The body is larger than the endpoint accepts.
#[derive(Debug, thiserror::Error)]
#[error("the body is larger than this endpoint accepts")]
struct PayloadTooLarge;

impl Problem for PayloadTooLarge {
    fn code(&self) -> ErrorCode {
        ErrorCode::PayloadTooLarge
    }

    fn details(&self, details: &mut Details) {
        details.insert("hint", "send fewer items per call");
    }
}

/// A field of the body that has the right type, but an invalid value.
#[derive(Debug, thiserror::Error)]
#[error("{field} is invalid: GET /api/docs describes what it accepts")]
pub(crate) struct InvalidField {
    pub(crate) field: &'static str,
}

impl Problem for InvalidField {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", self.field);
        details.insert("hint", "correct the field as GET /api/docs describes it");
    }
}
