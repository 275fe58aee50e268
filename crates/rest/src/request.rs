//! What handlers take from a request. These wrap axum's extractors so that a request that cannot
//! be read is refused with the envelope, and says which field was wrong and what it may hold.

use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::rejection::{JsonRejection, RawPathParamsRejection};
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use primitives::{
    CartId, CheckoutId, Details, ErrorCode, JobId, KeyId, Problem, ProductId, StoreSlug,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::Refusal;
use crate::document::inlined_schema;

/// One variable part of an address.
pub trait PathPart: FromStr<Err: Problem> {
    /// Its name between braces in the address.
    const NAME: &'static str;
    /// What it is.
    const DESCRIPTION: &'static str;
    /// A value that works.
    const EXAMPLE: &'static str;
    /// The code of its parse error.
    const REFUSED_WITH: ErrorCode;
    /// What it may hold.
    fn schema() -> Value;
}

impl PathPart for StoreSlug {
    const NAME: &'static str = "slug";
    const DESCRIPTION: &'static str = "The store's name in addresses.";
    const EXAMPLE: &'static str = "demo-store";
    const REFUSED_WITH: ErrorCode = ErrorCode::InvalidSlug;
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[A-Za-z0-9-]+$", "maxLength": Self::LENGTH_MAX })
    }
}

/// A part of an address that is not what it should be.
#[derive(Debug, thiserror::Error)]
#[error("{field} in the address must be {allowed}")]
pub struct WrongPart {
    field: &'static str,
    allowed: &'static str,
    hint: &'static str,
}

impl Problem for WrongPart {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", self.field);
        details.insert("allowed", self.allowed);
        details.insert("hint", self.hint);
    }
}

/// A product, by the id agents know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProductPart(pub(crate) ProductId);

impl FromStr for ProductPart {
    type Err = WrongPart;
    fn from_str(text: &str) -> Result<Self, WrongPart> {
        let hint = "product ids come from this service's own answers";
        let allowed = "prod_ and 32 hexadecimal digits";
        text.parse().map(Self).map_err(|_| WrongPart { field: Self::NAME, allowed, hint })
    }
}

impl PathPart for ProductPart {
    const NAME: &'static str = "product_id";
    const DESCRIPTION: &'static str = "The product's id.";
    const EXAMPLE: &'static str = "prod_076c313f7c63513c9eb9f8f3fff08813";
    const REFUSED_WITH: ErrorCode = ErrorCode::InvalidRequest;
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^prod_[0-9a-f]{32}$" })
    }
}

/// A cart of an agent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CartPart(pub(crate) CartId);

impl FromStr for CartPart {
    type Err = WrongPart;
    fn from_str(text: &str) -> Result<Self, WrongPart> {
        let hint = "cart ids come from POST /agent/cart and the tool create_cart";
        let allowed = "cart_ and 32 hexadecimal digits";
        text.parse().map(Self).map_err(|_| WrongPart { field: Self::NAME, allowed, hint })
    }
}

impl PathPart for CartPart {
    const NAME: &'static str = "cart_id";
    const DESCRIPTION: &'static str = "The cart's id.";
    const EXAMPLE: &'static str = "cart_00000000000000000000000000000001";
    const REFUSED_WITH: ErrorCode = ErrorCode::InvalidRequest;
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^cart_[0-9a-f]{32}$" })
    }
}

/// A field of a body that was read, but holds what it may not hold.
#[derive(Debug, thiserror::Error)]
#[error("{field} is not as /api/docs describes it")]
pub(crate) struct Unfit {
    pub(crate) field: &'static str,
}

impl Problem for Unfit {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", self.field);
        details.insert("hint", "GET /api/docs says what it may hold");
    }
}

/// A checkout session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckoutPart(pub(crate) CheckoutId);

impl FromStr for CheckoutPart {
    type Err = WrongPart;
    fn from_str(text: &str) -> Result<Self, WrongPart> {
        let hint = "checkout ids come from POST /agent/checkout and the tool complete_checkout";
        let allowed = "chk_ and 32 hexadecimal digits";
        text.parse().map(Self).map_err(|_| WrongPart { field: Self::NAME, allowed, hint })
    }
}

impl PathPart for CheckoutPart {
    const NAME: &'static str = "checkout_id";
    const DESCRIPTION: &'static str = "The checkout's id.";
    const EXAMPLE: &'static str = "chk_00000000000000000000000000000001";
    const REFUSED_WITH: ErrorCode = ErrorCode::InvalidRequest;
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^chk_[0-9a-f]{32}$" })
    }
}

/// A job of a merchant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobPart(pub(crate) JobId);

impl FromStr for JobPart {
    type Err = WrongPart;
    fn from_str(text: &str) -> Result<Self, WrongPart> {
        let hint = "job ids come from PUT /merchant/products and POST /merchant/imports";
        let allowed = "job_ and 32 hexadecimal digits";
        text.parse().map(Self).map_err(|_| WrongPart { field: Self::NAME, allowed, hint })
    }
}

impl PathPart for JobPart {
    const NAME: &'static str = "job_id";
    const DESCRIPTION: &'static str = "The job's id.";
    const EXAMPLE: &'static str = "job_00000000000000000000000000000001";
    const REFUSED_WITH: ErrorCode = ErrorCode::InvalidRequest;
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^job_[0-9a-f]{32}$" })
    }
}

/// A key of an agent or a store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyPart(pub(crate) KeyId);

impl FromStr for KeyPart {
    type Err = WrongPart;
    fn from_str(text: &str) -> Result<Self, WrongPart> {
        let hint = "the lists of keys have their ids; a key itself never stands in an address";
        let allowed = "key_ and 32 hexadecimal digits";
        text.parse().map(Self).map_err(|_| WrongPart { field: Self::NAME, allowed, hint })
    }
}

impl PathPart for KeyPart {
    const NAME: &'static str = "key_id";
    const DESCRIPTION: &'static str = "The key's id.";
    const EXAMPLE: &'static str = "key_00000000000000000000000000000001";
    const REFUSED_WITH: ErrorCode = ErrorCode::InvalidRequest;
    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^key_[0-9a-f]{32}$" })
    }
}

/// A product, by the merchant's own identifier.
#[derive(Debug, Clone)]
pub(crate) struct ExternalId(pub(crate) String);

impl FromStr for ExternalId {
    type Err = WrongPart;
    fn from_str(text: &str) -> Result<Self, WrongPart> {
        let is_text =
            !text.contains([char::REPLACEMENT_CHARACTER]) && !text.contains(char::is_control);
        let fits = (1..=100).contains(&text.chars().count()) && is_text;
        let hint = "percent-encode the identifier; a slash in it is %2F";
        let allowed = "your own identifier of the product, 1 to 100 characters of plain text";
        let wrong = WrongPart { field: Self::NAME, allowed, hint };
        if fits { Ok(Self(text.to_owned())) } else { Err(wrong) }
    }
}

impl PathPart for ExternalId {
    const NAME: &'static str = "external_id";
    const DESCRIPTION: &'static str = "The merchant's own identifier of the product.";
    const EXAMPLE: &'static str = "POUR-101";
    const REFUSED_WITH: ErrorCode = ErrorCode::InvalidRequest;
    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1, "maxLength": 100 })
    }
}

/// A part of the address, parsed.
#[derive(Debug)]
pub struct Path<T>(pub T);

impl<T: PathPart, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let text = match RawPathParams::from_request_parts(parts, state).await {
            Ok(found) => {
                found.iter().find(|(name, _)| *name == T::NAME).map(|(_, text)| text.to_owned())
            }
            // Bytes that are no text become the character for that, which no parser takes.
            Err(RawPathParamsRejection::InvalidUtf8InPathParam(_)) => {
                Some(char::REPLACEMENT_CHARACTER.to_string())
            }
            Err(_) => None,
        };
        Ok(Self(text.ok_or(MissingPart(T::NAME))?.parse()?))
    }
}

/// A handler wants a part that its address does not have: a mistake of ours.
#[derive(Debug, thiserror::Error)]
#[error("the address has no part named {0}")]
struct MissingPart(&'static str);

impl Problem for MissingPart {
    fn code(&self) -> ErrorCode {
        ErrorCode::InternalError
    }
}

/// The query string, read.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned + JsonSchema, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        match axum::extract::Query::try_from_uri(&parts.uri) {
            Ok(axum::extract::Query(value)) => Ok(Self(value)),
            Err(rejection) => {
                Err(Malformed::read_from::<T>("query string", &rejection.body_text()).into())
            }
        }
    }
}

/// The body, read. It is taken for JSON whatever its Content-Type says: callers name themselves by a
/// header that no browser adds by itself, so there is nothing that asking for the type would protect.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned + JsonSchema, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Refusal;
    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        match Bytes::from_request(request, state).await {
            Ok(bytes) => Ok(Self(from_json(&bytes)?)),
            Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                Err(TooLarge.into())
            }
            Err(_) => Err(Malformed::whole("body").into()),
        }
    }
}

/// A larger body, read: for an endpoint that says it takes uploads, and many things at once.
#[derive(Debug)]
pub struct Large<T>(pub T);

impl<T> Large<T> {
    /// What it may hold: hundreds of products with long descriptions.
    const BYTES_MAX: usize = 16 * 1024 * 1024;
}

impl<T: DeserializeOwned + JsonSchema, S: Send + Sync> FromRequest<S> for Large<T> {
    type Rejection = Refusal;
    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal> {
        let body = axum::body::to_bytes(request.into_body(), Self::BYTES_MAX).await;
        Ok(Self(from_json(&body.map_err(|_| TooLarge)?)?))
    }
}

/// Reads JSON as `T`, or says which field of `T` stands in the way.
pub(crate) fn from_json<T: DeserializeOwned + JsonSchema>(bytes: &[u8]) -> Result<T, Malformed> {
    match axum::Json::from_bytes(bytes) {
        Ok(axum::Json(value)) => Ok(value),
        Err(JsonRejection::JsonDataError(rejection)) => {
            Err(Malformed::read_from::<T>("body", &rejection.body_text()))
        }
        Err(_) => Err(Malformed::whole("body")),
    }
}

/// The body is larger than the endpoint takes.
#[derive(Debug, thiserror::Error)]
#[error("the body is larger than this endpoint takes")]
struct TooLarge;

impl Problem for TooLarge {
    fn code(&self) -> ErrorCode {
        ErrorCode::PayloadTooLarge
    }

    fn details(&self, details: &mut Details) {
        details.insert("hint", "send less in one call, or several calls");
    }
}

/// The query string or the body is not as described. Nothing of what the caller sent is repeated:
/// the field's name and what it may hold come from our own description.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct Malformed {
    place: &'static str,
    /// The field and its schema.
    field: Option<(String, Value)>,
    /// It is not the field as a whole, but something in it.
    within: bool,
}

impl Malformed {
    /// A parameter of the query string that was read, but holds what it may not hold.
    #[must_use]
    pub fn parameter<T: JsonSchema>(name: &str) -> Self {
        let field = properties::<T>().remove_entry(name);
        Self { place: "query string", field, within: false }
    }

    fn whole(place: &'static str) -> Self {
        Self { place, field: None, within: false }
    }

    /// The field, in the words of a fault: its name, and what it may hold.
    pub(crate) fn field(&self) -> Option<(&str, String)> {
        let (name, schema) = self.field.as_ref()?;
        let reason = if self.within {
            String::from("holds something that is not as /api/docs describes it")
        } else {
            format!("must be {}", in_words(schema))
        };
        Some((name, reason))
    }

    /// Finds the field in an extractor's message, by the names of `T`'s own fields.
    fn read_from<T: JsonSchema>(place: &'static str, message: &str) -> Self {
        let mut properties = properties::<T>();
        let (name, within) = named_in(message).unwrap_or_default();
        Self { place, field: properties.remove_entry(name), within }
    }

    fn sentence(&self) -> String {
        match self.field() {
            Some((name, reason)) => format!("{name} {reason}"),
            None => format!("the {} cannot be read", self.place),
        }
    }
}

impl Problem for Malformed {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        if let Some((name, schema)) = &self.field {
            details.insert("field", name.as_str());
            details.insert("allowed", schema.clone());
        }
        let hint = match self.place {
            "body" => "send a JSON object with the fields /api/docs describes, and no others",
            _ => "GET /api/docs shows the parameters of every endpoint",
        };
        details.insert("hint", hint);
    }
}

/// The fields of `T`, and what each may hold.
fn properties<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = inlined_schema::<T>();
    let Some(Value::Object(mut properties)) = schema.remove("properties") else {
        return Map::new();
    };
    for property in properties.values_mut().filter_map(Value::as_object_mut) {
        property.retain(|key, _| LIMITS.contains(&key.as_str()));
    }
    properties
}

/// The words of a schema that say what a value may be.
const LIMITS: [&str; 7] =
    ["type", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern"];

/// What comes after the first colon is a path into the input, or says which field is missing: the
/// name of the field, and whether the path goes on into it.
fn named_in(message: &str) -> Option<(&str, bool)> {
    let (_, after) = message.split_once(": ")?;
    let name = after.strip_prefix("missing field `").unwrap_or(after);
    let end = name.find([':', '.', '[', '`']).unwrap_or(name.len());
    let (name, rest) = name.split_at(end);
    Some((name, rest.starts_with(['.', '['])))
}

/// A schema's limits as the end of a sentence.
fn in_words(schema: &Value) -> String {
    let limit = |name: &str| schema.get(name);
    let Some(kind) = limit("type").and_then(Value::as_str) else {
        return String::from("as /api/docs describes it");
    };
    let article = if kind.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
    match (limit("minimum"), limit("maximum"), limit("maxLength"), limit("enum")) {
        (Some(min), Some(max), ..) => format!("{article} {kind} from {min} to {max}"),
        (_, _, Some(length), _) => format!("plain text of at most {length} characters"),
        (.., Some(Value::Array(values))) => {
            let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            format!("one of {}", values.join(", "))
        }
        _ => format!("{article} {kind}"),
    }
}
