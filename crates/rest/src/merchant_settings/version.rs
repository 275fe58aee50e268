//! The version that a request changes: of settings, orders and webhook endpoints.

use axum::extract::FromRequestParts;
use axum::http::header::IF_MATCH;
use axum::http::request::Parts;
use primitives::{Details, ErrorCode, Problem};

use crate::ErrorResponse;
use crate::request::InvalidField;

/// Which version a request changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precondition {
    /// The request does not say.
    Unnamed,
    /// Any version: `If-Match: *`.
    Any,
    Version(i64),
}

impl Precondition {
    /// Returns the version that must be the current one; `None` for any.
    pub(crate) const fn version(self) -> Option<i64> {
        match self {
            Self::Version(version) => Some(version),
            Self::Any | Self::Unnamed => None,
        }
    }
}

/// Extracts the header `If-Match`.
#[derive(Debug)]
pub(crate) struct IfMatch(Option<String>);

impl IfMatch {
    pub(crate) const NAME: &'static str = "If-Match";
    pub(super) const DESCRIPTION: &'static str = "The version that is changed, as the `ETag` of `GET /merchant/settings`, in place of `version` in the body. `*` is any version.";

    /// Returns what the header names, or else the body. They must not differ.
    pub(crate) fn or(self, body: Option<i64>) -> Result<Precondition, InvalidField> {
        let Some(header) = self.0 else {
            return Ok(body.map_or(Precondition::Unnamed, Precondition::Version));
        };
        let tag = header.trim();
        if tag == "*" {
            return Ok(body.map_or(Precondition::Any, Precondition::Version));
        }
        let version = tag.trim_matches('"').parse::<i64>().ok();
        match version {
            Some(version) if body.is_none_or(|body| body == version) => {
                Ok(Precondition::Version(version))
            }
            Some(_) => Err(InvalidField { field: "version" }),
            None => Err(InvalidField { field: "If-Match" }),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = ErrorResponse;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        let header = parts.headers.get(IF_MATCH);
        // A value that is not text is no version.
        Ok(Self(header.map(|value| value.to_str().unwrap_or_default().to_owned())))
    }
}

/// Returns the version of an order or a webhook endpoint that the header or the body names; `None` for any.
pub(crate) fn version(
    if_match: IfMatch,
    version: Option<i32>,
) -> Result<Option<i32>, InvalidField> {
    let version = if_match.or(version.map(i64::from))?.version();
    // Nothing has a version that does not fit.
    Ok(version.map(|version| i32::try_from(version).unwrap_or(-1)))
}

/// A replacement that names no version.
#[derive(Debug, thiserror::Error)]
#[error("a replacement of all settings must name the version that it replaces")]
pub(super) struct VersionRequired {
    pub(super) current_version: i64,
}

impl Problem for VersionRequired {
    fn code(&self) -> ErrorCode {
        ErrorCode::PreconditionRequired
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", "version");
        details.insert("current_version", self.current_version);
        let hint = "to change single fields, send them with PATCH; to replace everything, read the settings, edit them and send them with their version";
        details.insert("hint", hint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_or_the_body_names_the_version() {
        let or = |header: Option<&str>, body| IfMatch(header.map(str::to_owned)).or(body).ok();
        assert_eq!(or(None, None), Some(Precondition::Unnamed));
        assert_eq!(or(None, Some(3)), Some(Precondition::Version(3)));
        assert_eq!(or(Some("\"3\""), None), Some(Precondition::Version(3)));
        assert_eq!(or(Some("3"), Some(3)), Some(Precondition::Version(3)));
        assert_eq!(or(Some("*"), None), Some(Precondition::Any));
        assert_eq!(or(Some("\"3\""), Some(4)), None);
        assert_eq!(or(Some("W/\"3\""), None), None);
        assert_eq!(or(Some(""), None), None);
    }

    #[test]
    fn a_version_that_is_too_large_is_that_of_nothing() {
        let named = |header: &str| version(IfMatch(Some(header.to_owned())), None).ok();
        assert_eq!(named("\"3\""), Some(Some(3)));
        assert_eq!(named("*"), Some(None));
        assert_eq!(named("\"2147483648\""), Some(Some(-1)));
        assert_eq!(named("x"), None);
    }
}
