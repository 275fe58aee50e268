//! Path parameters.

use std::borrow::Cow;
use std::str::FromStr;

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use primitives::{
    CartId, CheckoutId, Details, DisputeId, EndpointId, ErrorCode, EventId, FeedRunId, Id,
    InvalidSlug, JobId, KeyId, OrderId, Problem, ProductId, ReturnId, StoreSlug,
};
use serde_json::{Value, json};

use crate::ErrorResponse;

/// A type that is parsed from one path parameter and describes it in the OpenAPI document.
pub trait PathParameter: Sized {
    /// The name between braces in the path.
    const NAME: &'static str;
    /// The description in the OpenAPI document.
    const DESCRIPTION: &'static str;
    /// A valid value.
    const EXAMPLE: &'static str;
    /// The code of `Error`.
    const ERROR_CODE: ErrorCode;
    /// The error of an invalid value.
    type Error: Problem;

    /// Parses the percent-decoded parameter.
    fn parse(text: &str) -> Result<Self, Self::Error>;

    /// Returns the schema of valid values.
    fn schema() -> Value;
}

/// Extracts the path parameter `T`.
#[derive(Debug)]
pub struct Path<T>(pub T);

impl<T: PathParameter, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ErrorResponse;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ErrorResponse> {
        let text = match RawPathParams::from_request_parts(parts, state).await {
            Ok(found) => {
                found.iter().find(|(name, _)| *name == T::NAME).map(|(_, text)| text.to_owned())
            }
            // Invalid UTF-8 becomes the replacement character, which no parser accepts.
            Err(RawPathParamsRejection::InvalidUtf8InPathParam(_)) => {
                Some(char::REPLACEMENT_CHARACTER.to_string())
            }
            Err(_) => None,
        };
        let text = text.ok_or(UndeclaredPathParameter(T::NAME))?;
        Ok(Self(T::parse(&text)?))
    }
}

impl PathParameter for StoreSlug {
    const NAME: &'static str = "slug";
    const DESCRIPTION: &'static str = "Slug of the store.";
    const EXAMPLE: &'static str = "demo-store";
    const ERROR_CODE: ErrorCode = ErrorCode::InvalidSlug;
    type Error = InvalidSlug;

    fn parse(text: &str) -> Result<Self, InvalidSlug> {
        text.parse()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^[A-Za-z0-9-]+$", "maxLength": Self::LENGTH_MAX })
    }
}

/// An id that may be a path parameter.
pub trait PathId: Id + FromStr {
    /// The name between braces in the path.
    const NAME: &'static str;
    /// The description in the OpenAPI document.
    const DESCRIPTION: &'static str;
    /// A valid value.
    const EXAMPLE: &'static str;
    /// Where valid ids come from.
    const HINT: &'static str;
}

impl<T: PathId> PathParameter for T {
    const NAME: &'static str = <T as PathId>::NAME;
    const DESCRIPTION: &'static str = <T as PathId>::DESCRIPTION;
    const EXAMPLE: &'static str = <T as PathId>::EXAMPLE;
    const ERROR_CODE: ErrorCode = ErrorCode::InvalidRequest;
    type Error = InvalidPathParameter;

    fn parse(text: &str) -> Result<Self, InvalidPathParameter> {
        text.parse().map_err(|_| InvalidPathParameter {
            field: <T as PathId>::NAME,
            allowed: format!("{}_ and 32 hexadecimal digits", T::PREFIX).into(),
            hint: T::HINT,
        })
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": format!("^{}_[0-9a-f]{{32}}$", T::PREFIX) })
    }
}

impl PathId for ProductId {
    const NAME: &'static str = "product_id";
    const DESCRIPTION: &'static str = "ID of the product.";
    const EXAMPLE: &'static str = "prod_076c313f7c63513c9eb9f8f3fff08813";
    const HINT: &'static str = "use the id of a product in a response of this service";
}

impl PathId for CartId {
    const NAME: &'static str = "cart_id";
    const DESCRIPTION: &'static str = "ID of the cart.";
    const EXAMPLE: &'static str = "cart_00000000000000000000000000000001";
    const HINT: &'static str =
        "use the cart_id that POST /agent/cart or the tool create_cart returned";
}

impl PathId for CheckoutId {
    const NAME: &'static str = "checkout_id";
    const DESCRIPTION: &'static str = "ID of the checkout session.";
    const EXAMPLE: &'static str = "chk_00000000000000000000000000000001";
    const HINT: &'static str =
        "use the checkout_id that POST /agent/checkout or the tool complete_checkout returned";
}

impl PathId for OrderId {
    const NAME: &'static str = "order_id";
    const DESCRIPTION: &'static str = "ID of the order.";
    const EXAMPLE: &'static str = "ord_00000000000000000000000000000001";
    const HINT: &'static str =
        "use the order_id of a checkout that is completed, or of a list of orders";
}

impl PathId for ReturnId {
    const NAME: &'static str = "return_id";
    const DESCRIPTION: &'static str = "ID of the return.";
    const EXAMPLE: &'static str = "ret_00000000000000000000000000000001";
    const HINT: &'static str = "use the return_id of a return of the order";
}

impl PathId for DisputeId {
    const NAME: &'static str = "dispute_id";
    const DESCRIPTION: &'static str = "ID of the dispute.";
    const EXAMPLE: &'static str = "dsp_00000000000000000000000000000001";
    const HINT: &'static str = "use the dispute_id of the response that opened the dispute, or the id of an adjustment of the order";
}

impl PathId for EndpointId {
    const NAME: &'static str = "endpoint_id";
    const DESCRIPTION: &'static str = "ID of the webhook endpoint.";
    const EXAMPLE: &'static str = "whk_00000000000000000000000000000001";
    const HINT: &'static str = "use an endpoint_id that GET /merchant/webhooks returned";
}

impl PathId for EventId {
    const NAME: &'static str = "event_id";
    const DESCRIPTION: &'static str = "ID of the webhook event.";
    const EXAMPLE: &'static str = "evt_00000000000000000000000000000001";
    const HINT: &'static str =
        "use the id of an event that you received, or an event_id of the list of deliveries";
}

impl PathId for FeedRunId {
    const NAME: &'static str = "job_id";
    const DESCRIPTION: &'static str = "ID of the import job.";
    const EXAMPLE: &'static str = "job_00000000000000000000000000000001";
    const HINT: &'static str =
        "use the job_id that PUT /merchant/products or POST /merchant/imports returned";
}

impl PathId for JobId {
    const NAME: &'static str = "job_id";
    const DESCRIPTION: &'static str = "ID of the job of the queue.";
    const EXAMPLE: &'static str = "job_00000000000000000000000000000001";
    const HINT: &'static str = "use a job_id that GET /admin/jobs returned";
}

impl PathId for KeyId {
    const NAME: &'static str = "key_id";
    const DESCRIPTION: &'static str = "ID of the key, not the key itself.";
    const EXAMPLE: &'static str = "key_00000000000000000000000000000001";
    const HINT: &'static str =
        "use the key_id that the list of keys shows; never send the key itself in a path";
}

/// A product, by the merchant's own identifier.
#[derive(Debug, Clone)]
pub(crate) struct ExternalId(pub(crate) String);

impl PathParameter for ExternalId {
    const NAME: &'static str = "external_id";
    const DESCRIPTION: &'static str = "The merchant's own identifier of the product.";
    const EXAMPLE: &'static str = "POUR-101";
    const ERROR_CODE: ErrorCode = ErrorCode::InvalidRequest;
    type Error = InvalidPathParameter;

    fn parse(text: &str) -> Result<Self, InvalidPathParameter> {
        let is_plain_text =
            !text.contains([char::REPLACEMENT_CHARACTER]) && !text.contains(char::is_control);
        if (1..=100).contains(&text.chars().count()) && is_plain_text {
            return Ok(Self(text.to_owned()));
        }
        Err(InvalidPathParameter {
            field: Self::NAME,
            allowed: "your own identifier of the product, 1 to 100 characters of plain text".into(),
            hint: "percent-encode the identifier; a slash in it is %2F",
        })
    }

    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1, "maxLength": 100 })
    }
}

/// A path parameter with an invalid value.
#[derive(Debug, thiserror::Error)]
#[error("path parameter {field} must be {allowed}")]
pub struct InvalidPathParameter {
    field: &'static str,
    allowed: Cow<'static, str>,
    hint: &'static str,
}

impl Problem for InvalidPathParameter {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", self.field);
        details.insert("allowed", self.allowed.as_ref());
        details.insert("hint", self.hint);
    }
}

/// A handler extracts a parameter that its path does not declare: a programming error.
#[derive(Debug, thiserror::Error)]
#[error("the path declares no parameter {0}")]
struct UndeclaredPathParameter(&'static str);

impl Problem for UndeclaredPathParameter {
    fn code(&self) -> ErrorCode {
        ErrorCode::InternalError
    }
}
