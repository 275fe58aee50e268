//! The entrance: every operation, at the processor that the credentials belong to.

use std::time::Duration;

use http::HeaderMap;
use outbound::{Client, DestinationError};
use primitives::Timestamp;

use crate::credentials::Credentials;
use crate::error::{InvalidRequest, ProcessorError};
use crate::key::IdempotencyKey;
use crate::payment::{HostedPayment, HostedPaymentRequest, PaymentSnapshot};
use crate::paypal::{CertificateAuthorities, PayPal, PayPalEndpoint};
use crate::refund::{Refund, RefundRequest};
use crate::stripe::Stripe;
use crate::webhook::{WebhookError, WebhookHint};

/// Time for a request to a processor, for the settings of the client: captures take seconds, and giving up on one leaves its outcome
/// unknown.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of the longest response, for the settings of the client. A payment of Stripe with its charge has about 10,000.
pub const RESPONSE_MAX_BYTES: usize = 500_000;

primitives::text_enum! {
    /// A payment processor.
    #[strum(serialize_all = "snake_case")]
    pub enum Processor {
        Stripe,
        Paypal,
    }
}

impl Processor {
    /// For how long the processor recognizes a repeated call by its key. After that time a call whose outcome is unknown is not to be
    /// repeated.
    #[must_use]
    pub const fn key_lifetime(self) -> Duration {
        match self {
            Self::Stripe => Duration::from_hours(24),
            // Of orders. Refunds: 45 days.
            Self::Paypal => Duration::from_hours(6),
        }
    }
}

/// Where the processors are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    /// Base address of the API.
    pub stripe: String,
    pub paypal_live: String,
    pub paypal_sandbox: String,
    /// Base addresses from which certificates are fetched that sign webhooks of the live system.
    pub paypal_live_certificates: Vec<String>,
    pub paypal_sandbox_certificates: Vec<String>,
}

impl Default for Endpoints {
    /// Returns the addresses of the processors.
    fn default() -> Self {
        let addresses = |addresses: &[&str]| addresses.iter().map(|&it| it.to_owned()).collect();
        let live = ["https://api.paypal.com", "https://api-m.paypal.com"];
        let sandbox = ["https://api.sandbox.paypal.com", "https://api-m.sandbox.paypal.com"];
        Self {
            stripe: "https://api.stripe.com".to_owned(),
            paypal_live: "https://api-m.paypal.com".to_owned(),
            paypal_sandbox: "https://api-m.sandbox.paypal.com".to_owned(),
            paypal_live_certificates: addresses(&live),
            paypal_sandbox_certificates: addresses(&sandbox),
        }
    }
}

/// Why an address cannot be that of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEndpoint {
    #[error(transparent)]
    Destination(#[from] DestinationError),
    #[error("a base address has a scheme, a host, possibly a port, and nothing else")]
    NotABase,
}

/// The clients of all processors. Cloning is cheap; clones share connections, access tokens and certificates.
#[derive(Debug, Clone)]
pub struct Processors {
    stripe: Stripe,
    paypal: PayPal,
}

impl Processors {
    /// Creates the clients. The settings of `client` should contain [`REQUEST_TIMEOUT`] and [`RESPONSE_MAX_BYTES`].
    pub fn new(
        client: &Client,
        endpoints: &Endpoints,
        authorities: CertificateAuthorities,
    ) -> Result<Self, InvalidEndpoint> {
        let live = PayPalEndpoint {
            api: &endpoints.paypal_live,
            certificates: &endpoints.paypal_live_certificates,
        };
        let sandbox = PayPalEndpoint {
            api: &endpoints.paypal_sandbox,
            certificates: &endpoints.paypal_sandbox_certificates,
        };
        Ok(Self {
            stripe: Stripe::new(client.clone(), &endpoints.stripe)?,
            paypal: PayPal::new(client, &live, &sandbox, authorities)?,
        })
    }

    /// Creates a payment with a hosted page. Repeating it returns the same payment.
    ///
    /// After [`ProcessorError::Unknown`] the payment may exist, but nobody knows the address of its page, so that nobody can pay it.
    pub async fn create(
        &self,
        credentials: &Credentials,
        request: &HostedPaymentRequest,
    ) -> Result<HostedPayment, ProcessorError> {
        match credentials {
            Credentials::Stripe(credentials) => self.stripe.create(credentials, request).await,
            Credentials::PayPal(credentials) => self.paypal.create(credentials, request).await,
        }
    }

    /// Returns a payment as it is now.
    pub async fn fetch(
        &self,
        credentials: &Credentials,
        reference: &str,
    ) -> Result<PaymentSnapshot, ProcessorError> {
        match credentials {
            Credentials::Stripe(credentials) => self.stripe.fetch(credentials, reference).await,
            Credentials::PayPal(credentials) => self.paypal.fetch(credentials, reference).await,
        }
    }

    /// Takes the money of an approved payment. Repeating it takes it once, also with another key. Stripe takes the money by itself.
    pub async fn capture(
        &self,
        credentials: &Credentials,
        reference: &str,
        key: &IdempotencyKey,
    ) -> Result<PaymentSnapshot, ProcessorError> {
        match credentials {
            Credentials::Stripe(_) => Err(InvalidRequest::UnsupportedOperation.into()),
            Credentials::PayPal(credentials) => {
                self.paypal.capture(credentials, reference, key).await
            }
        }
    }

    /// Closes the page of a payment, and returns the payment as it is then. It may have been paid in the meantime.
    ///
    /// PayPal cannot close an order: the payment is returned as it is, `Open` or `Approved`. No money is taken without
    /// [`capture`](Self::capture), so that it is closed by not calling that any more.
    pub async fn expire(
        &self,
        credentials: &Credentials,
        reference: &str,
    ) -> Result<PaymentSnapshot, ProcessorError> {
        match credentials {
            Credentials::Stripe(credentials) => self.stripe.expire(credentials, reference).await,
            Credentials::PayPal(credentials) => self.paypal.fetch(credentials, reference).await,
        }
    }

    /// Refunds a payment or a part of it. Repeating it refunds once.
    pub async fn refund(
        &self,
        credentials: &Credentials,
        request: &RefundRequest,
    ) -> Result<Refund, ProcessorError> {
        match credentials {
            Credentials::Stripe(credentials) => self.stripe.refund(credentials, request).await,
            Credentials::PayPal(credentials) => self.paypal.refund(credentials, request).await,
        }
    }

    /// Returns a refund as it is now.
    pub async fn fetch_refund(
        &self,
        credentials: &Credentials,
        reference: &str,
    ) -> Result<Refund, ProcessorError> {
        match credentials {
            Credentials::Stripe(credentials) => {
                self.stripe.fetch_refund(credentials, reference).await
            }
            Credentials::PayPal(credentials) => {
                self.paypal.fetch_refund(credentials, reference).await
            }
        }
    }

    /// Verifies a webhook. `body` are the bytes as they were received.
    pub async fn parse_webhook(
        &self,
        credentials: &Credentials,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<WebhookHint, WebhookError> {
        match credentials {
            Credentials::Stripe(credentials) => {
                Stripe::parse_webhook(credentials, headers, body, now)
            }
            Credentials::PayPal(credentials) => {
                self.paypal.parse_webhook(credentials, headers, body, now).await
            }
        }
    }
}
