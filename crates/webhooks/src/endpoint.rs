//! A webhook endpoint: where a store receives events, and which.

use std::collections::BTreeSet;
use std::fmt;

use outbound::Destination;
use primitives::{EndpointId, Timestamp};

use crate::{EndpointError, EventKind};

primitives::text_enum! {
    /// Whether events are sent to an endpoint.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum EndpointStatus {
        /// Events are sent.
        Enabled,
        /// Nothing is sent. Events of this time are not queued; what was pending when a merchant disabled the endpoint waits.
        Disabled,
    }
}

primitives::text_enum! {
    /// Why an endpoint is disabled.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum DisabledReason {
        /// The merchant disabled it.
        Merchant,
        /// It responded with 410.
        Gone,
        /// It has failed for five days.
        Failing,
    }
}

/// A webhook endpoint of a store, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub id: EndpointId,
    pub url: String,
    /// Text of the merchant; may be empty.
    pub description: String,
    /// At least one.
    pub kinds: BTreeSet<EventKind>,
    pub status: EndpointStatus,
    /// `None` while it is enabled.
    pub disabled_reason: Option<DisabledReason>,
    /// `None` while it is enabled.
    pub disabled_at: Option<Timestamp>,
    /// Whether it is that of `webhook_url` in the settings.
    pub from_settings: bool,
    /// Until when requests are signed with the secret before the last rotation too. May have passed.
    pub former_secret_until: Option<Timestamp>,
    pub version: i32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Endpoint {
    /// The most endpoints of a store.
    pub const COUNT_MAX: u32 = 20;
    /// The most characters of a description.
    pub const DESCRIPTION_CHARACTERS_MAX: usize = 500;
    /// The most bytes of a URL.
    pub const URL_BYTES_MAX: usize = outbound::URL_MAX_BYTES;

    /// Returns whether events are sent to it.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.status == EndpointStatus::Enabled
    }
}

/// An endpoint to create.
#[derive(Debug, Clone)]
pub struct NewEndpoint {
    pub url: String,
    pub description: String,
    /// `None`: those of [`EventKind::DEFAULT`].
    pub kinds: Option<BTreeSet<EventKind>>,
}

impl NewEndpoint {
    /// Creates the properties of an endpoint without a description that receives the default kinds of events.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), description: String::new(), kinds: None }
    }
}

/// A change of an endpoint: what is `None` stays as it is.
#[derive(Debug, Clone, Default)]
pub struct EndpointPatch {
    pub url: Option<String>,
    pub description: Option<String>,
    pub kinds: Option<BTreeSet<EventKind>>,
    /// Enabling an endpoint forgets its failures.
    pub status: Option<EndpointStatus>,
}

/// The URL of an endpoint, in its canonical form, whose addresses are vetted. `Webhooks::check_url` is the only constructor.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct EndpointUrl(String);

impl EndpointUrl {
    /// Called once the addresses of the host are vetted.
    pub(crate) fn of(destination: &Destination) -> Self {
        Self(destination.as_str().to_owned())
    }

    /// Returns the URL as text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host and the port, for logs: the path may contain a credential.
    pub(crate) fn authority(&self) -> &str {
        authority(&self.0)
    }
}

impl fmt::Debug for EndpointUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "EndpointUrl({})", self.authority())
    }
}

/// Returns the host and the port of a URL in canonical form.
pub(crate) fn authority(url: &str) -> &str {
    url.split('/').nth(2).unwrap_or_default()
}

/// Returns the description without surrounding white space, or an error if it is too long or has control characters.
pub(crate) fn checked_description(text: &str) -> Result<String, EndpointError> {
    let text = text.trim();
    let is_short = text.chars().count() <= Endpoint::DESCRIPTION_CHARACTERS_MAX;
    if is_short && !text.contains(char::is_control) {
        Ok(text.to_owned())
    } else {
        Err(EndpointError::InvalidDescription)
    }
}

/// Returns the kinds, or an error unless there is one and each can be asked for.
pub(crate) fn checked_kinds(
    kinds: BTreeSet<EventKind>,
) -> Result<BTreeSet<EventKind>, EndpointError> {
    if kinds.is_empty() || !kinds.iter().all(|kind| kind.is_selectable()) {
        return Err(EndpointError::InvalidKinds);
    }
    Ok(kinds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_short_plain_text() {
        assert_eq!(checked_description(" shop 🫖 ").unwrap(), "shop 🫖");
        assert_eq!(checked_description("").unwrap(), "");
        assert!(checked_description(&"ü".repeat(500)).is_ok());
        for wrong in ["a\nb", "a\0b", &"x".repeat(501)] {
            assert!(matches!(checked_description(wrong), Err(EndpointError::InvalidDescription)));
        }
    }

    #[test]
    fn an_endpoint_receives_at_least_one_kind_and_no_tests() {
        let kinds = |kinds: &[EventKind]| checked_kinds(kinds.iter().copied().collect());
        assert_eq!(kinds(EventKind::DEFAULT).unwrap().len(), 3);
        for wrong in [&[][..], &[EventKind::OrderCreated, EventKind::WebhookTest]] {
            assert!(matches!(kinds(wrong), Err(EndpointError::InvalidKinds)), "{wrong:?}");
        }
    }

    #[test]
    fn a_url_in_a_log_is_only_its_host() {
        let url = EndpointUrl(String::from("https://hooks.example.com:8443/token?secret"));
        assert_eq!(format!("{url:?}"), "EndpointUrl(hooks.example.com:8443)");
    }
}
