//! The credentials of a merchant at a processor.

use std::fmt;

use crate::Processor;

/// Longest secret; PayPal's have 80 characters, those of Stripe about 110.
const SECRET_MAX_BYTES: usize = 512;

/// A secret. Its `Debug` form does not contain it, and it has no `Display` form.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Error returned when a text cannot be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a secret has 1 to {SECRET_MAX_BYTES} printable ASCII characters without spaces")]
pub struct InvalidSecret;

impl Secret {
    /// Creates a secret. White space is refused and not removed: a line break is most often a mistake of copying.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidSecret> {
        let text = text.into();
        let is_valid = (1..=SECRET_MAX_BYTES).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_valid { Ok(Self(text)) } else { Err(InvalidSecret) }
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}

/// Credentials of a Stripe account.
#[derive(Debug, Clone)]
pub struct StripeCredentials {
    /// A secret key (`sk_…`) or a restricted key (`rk_…`) that may write Checkout Sessions and refunds, and read payment intents,
    /// charges and balance transactions.
    pub api_key: Secret,
    /// The signing secrets of the webhook endpoint (`whsec_…`): two while one replaces the other.
    pub webhook_secrets: Vec<Secret>,
}

impl StripeCredentials {
    /// Returns whether the key moves real money.
    #[must_use]
    pub fn is_live(&self) -> bool {
        let key = self.api_key.expose();
        !(key.starts_with("sk_test_") || key.starts_with("rk_test_"))
    }
}

/// The two systems of PayPal, which have separate addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PayPalEnvironment {
    Live,
    Sandbox,
}

/// Credentials of a PayPal application.
#[derive(Debug, Clone)]
pub struct PayPalCredentials {
    pub environment: PayPalEnvironment,
    pub client_id: String,
    pub client_secret: Secret,
    /// The id of the webhook as PayPal shows it. It is part of what PayPal signs.
    pub webhook_id: String,
}

/// The credentials of a merchant; they determine the processor.
#[derive(Debug, Clone)]
pub enum Credentials {
    Stripe(StripeCredentials),
    PayPal(PayPalCredentials),
}

impl Credentials {
    /// Returns the processor that the credentials belong to.
    #[must_use]
    pub const fn processor(&self) -> Processor {
        match self {
            Self::Stripe(_) => Processor::Stripe,
            Self::PayPal(_) => Processor::Paypal,
        }
    }

    /// Returns whether payments with these credentials move real money.
    #[must_use]
    pub fn is_live(&self) -> bool {
        match self {
            Self::Stripe(credentials) => credentials.is_live(),
            Self::PayPal(credentials) => credentials.environment == PayPalEnvironment::Live,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text).unwrap()
    }

    #[test]
    fn the_debug_form_of_credentials_contains_no_secret() {
        let stripe = Credentials::Stripe(StripeCredentials {
            api_key: secret("sk_test_apikey"),
            webhook_secrets: vec![secret("whsec_signing")],
        });
        let paypal = Credentials::PayPal(PayPalCredentials {
            environment: PayPalEnvironment::Sandbox,
            client_id: "client".to_owned(),
            client_secret: secret("clientsecret"),
            webhook_id: "WH1".to_owned(),
        });
        for text in [format!("{stripe:?}"), format!("{paypal:#?}")] {
            assert!(text.contains("[redacted]"), "{text}");
            for part in ["apikey", "signing", "clientsecret"] {
                assert!(!text.contains(part), "{text}");
            }
        }
    }

    #[test]
    fn a_secret_is_printable_ascii_without_spaces() {
        for text in ["", " sk", "sk\n", "s k", "sk\u{e9}", &"a".repeat(513)] {
            assert_eq!(Secret::new(text), Err(InvalidSecret), "{text:?}");
        }
        assert_eq!(secret("sk_test_1").expose(), "sk_test_1");
    }

    #[test]
    fn only_test_keys_and_the_sandbox_are_not_live() {
        for (key, is_live) in [
            ("sk_test_1", false),
            ("rk_test_1", false),
            ("sk_live_1", true),
            ("rk_live_1", true),
            ("other", true),
        ] {
            let stripe = StripeCredentials { api_key: secret(key), webhook_secrets: Vec::new() };
            assert_eq!(stripe.is_live(), is_live, "{key}");
        }
    }
}
