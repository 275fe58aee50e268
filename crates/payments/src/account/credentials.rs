//! The credentials of an account: as a merchant enters them, and as they are encrypted.

use std::fmt;

use processors::{Credentials, PayPalCredentials, PayPalEnvironment, Secret, StripeCredentials};
use serde::{Deserialize, Serialize};

use super::AccountError;
use crate::ProviderName;

/// Two signing secrets are valid while one replaces the other.
const WEBHOOK_SECRETS_MAX: usize = 2;
const ID_MAX_BYTES: usize = 128;
/// Characters of the end of a key that are shown.
const SHOWN_CHARACTERS: usize = 4;

/// The credentials of an account at a payment processor. The stored form is the JSON of this type, encrypted.
// Has no derived `Debug`, so that no secret can be logged.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "provider", rename_all = "snake_case")]
pub enum AccountCredentials {
    Stripe {
        /// A secret key (`sk_…`) or a restricted key (`rk_…`).
        api_key: String,
        /// Signing secrets of the webhook endpoint (`whsec_…`).
        webhook_secrets: Vec<String>,
    },
    Paypal {
        is_live: bool,
        client_id: String,
        client_secret: String,
        /// The id of the webhook as PayPal shows it.
        webhook_id: String,
    },
}

impl fmt::Debug for AccountCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "AccountCredentials({})", self.provider())
    }
}

impl AccountCredentials {
    /// Returns the provider that the credentials belong to.
    #[must_use]
    pub const fn provider(&self) -> ProviderName {
        match self {
            Self::Stripe { .. } => ProviderName::Stripe,
            Self::Paypal { .. } => ProviderName::Paypal,
        }
    }

    /// Returns what the merchant recognizes the account by: the kind and the end of a key, or the id of the application.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Stripe { api_key, .. } => {
                let kind = api_key.split_inclusive('_').take(2).collect::<String>();
                let end = api_key.len().saturating_sub(SHOWN_CHARACTERS).max(kind.len());
                format!("{kind}…{}", api_key.get(end..).unwrap_or_default())
            }
            Self::Paypal { client_id, .. } => client_id.clone(),
        }
    }

    pub(super) fn to_json(&self) -> Result<Vec<u8>, AccountError> {
        serde_json::to_vec(self).map_err(|_| AccountError::Unreadable)
    }

    pub(super) fn from_json(json: &[u8]) -> Result<Self, AccountError> {
        serde_json::from_slice(json).map_err(|_| AccountError::Unreadable)
    }

    /// Returns the credentials as the client of the processor takes them, or `InvalidField` if they cannot be those of an account.
    pub fn parse(&self) -> Result<Credentials, AccountError> {
        match self {
            Self::Stripe { api_key, webhook_secrets } => {
                let key_prefixes = ["sk_test_", "sk_live_", "rk_test_", "rk_live_"];
                let api_key = secret("api_key", api_key, &key_prefixes)?;
                let is_count_valid = (1..=WEBHOOK_SECRETS_MAX).contains(&webhook_secrets.len());
                if !is_count_valid {
                    return Err(AccountError::InvalidField { field: "webhook_secrets" });
                }
                let parse = |text: &String| secret("webhook_secrets", text, &["whsec_"]);
                let webhook_secrets =
                    webhook_secrets.iter().map(parse).collect::<Result<_, _>>()?;
                Ok(Credentials::Stripe(StripeCredentials { api_key, webhook_secrets }))
            }
            Self::Paypal { is_live, client_id, client_secret, webhook_id } => {
                let environment =
                    if *is_live { PayPalEnvironment::Live } else { PayPalEnvironment::Sandbox };
                Ok(Credentials::PayPal(PayPalCredentials {
                    environment,
                    client_id: id("client_id", client_id)?,
                    client_secret: secret("client_secret", client_secret, &[""])?,
                    webhook_id: id("webhook_id", webhook_id)?,
                }))
            }
        }
    }
}

/// Returns a secret with one of these prefixes and more.
fn secret(field: &'static str, text: &str, prefixes: &[&str]) -> Result<Secret, AccountError> {
    let has_prefix =
        prefixes.iter().any(|prefix| text.strip_prefix(prefix).is_some_and(|it| !it.is_empty()));
    let invalid = || AccountError::InvalidField { field };
    if has_prefix { Secret::new(text).map_err(|_| invalid()) } else { Err(invalid()) }
}

/// Returns an id of PayPal, which is part of headers and of signed texts.
fn id(field: &'static str, text: &str) -> Result<String, AccountError> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let is_valid = (1..=ID_MAX_BYTES).contains(&text.len()) && text.bytes().all(is_part);
    if is_valid { Ok(text.to_owned()) } else { Err(AccountError::InvalidField { field }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripe(api_key: &str, webhook_secrets: &[&str]) -> AccountCredentials {
        let webhook_secrets = webhook_secrets.iter().map(|it| (*it).to_owned()).collect();
        AccountCredentials::Stripe { api_key: api_key.to_owned(), webhook_secrets }
    }

    fn paypal(client_id: &str, webhook_id: &str) -> AccountCredentials {
        AccountCredentials::Paypal {
            is_live: true,
            client_id: client_id.to_owned(),
            client_secret: "hush".to_owned(),
            webhook_id: webhook_id.to_owned(),
        }
    }

    #[test]
    fn credentials_are_not_shown() {
        for credentials in [stripe("sk_live_hush", &["whsec_hush"]), paypal("client", "WH1")] {
            let shown = format!("{credentials:?} {:?}", credentials.parse().unwrap());
            assert!(!shown.contains("hush"), "{shown}");
        }
    }

    #[test]
    fn a_label_shows_the_kind_and_the_end_of_a_key() {
        assert_eq!(stripe("sk_live_51H0123456789abcd", &[]).label(), "sk_live_…abcd");
        assert_eq!(stripe("sk_test_ab", &[]).label(), "sk_test_…ab");
        assert_eq!(stripe("nonsense", &[]).label(), "nonsense…");
        assert_eq!(paypal("client", "WH1").label(), "client");
    }

    #[test]
    fn what_is_stored_is_read_again() {
        for credentials in [stripe("sk_live_1", &["whsec_1", "whsec_2"]), paypal("client", "WH1")] {
            let json = credentials.to_json().unwrap();
            assert_eq!(AccountCredentials::from_json(&json).unwrap(), credentials);
        }
    }

    #[test]
    fn credentials_of_another_form_are_refused() {
        let field = |credentials: &AccountCredentials| match credentials.parse() {
            Err(AccountError::InvalidField { field }) => field,
            other => panic!("{other:?}"),
        };
        assert!(stripe("rk_test_1", &["whsec_1"]).parse().is_ok_and(|it| !it.is_live()));
        for key in ["", "pk_live_1", "sk_live_", "sk_live_a b", "whsec_1"] {
            assert_eq!(field(&stripe(key, &["whsec_1"])), "api_key", "{key}");
        }
        for secrets in [&[][..], &["sk_live_1"], &["whsec_1", "whsec_2", "whsec_3"]] {
            assert_eq!(field(&stripe("sk_live_1", secrets)), "webhook_secrets");
        }
        assert_eq!(field(&paypal("a|b", "WH1")), "client_id");
        assert_eq!(field(&paypal("a", "WH 1")), "webhook_id");
    }
}
