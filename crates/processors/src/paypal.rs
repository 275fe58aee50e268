//! PayPal: orders that are captured, and refunds.

mod certificate;
mod order;
mod refund;
mod refusal;
mod token;
mod unit;
mod webhook;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::HeaderMap;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use outbound::{Client, Response};
use primitives::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api::{self, Api};
use crate::credentials::{PayPalCredentials, PayPalEnvironment};
use crate::error::{ProcessorCode, ProcessorError};
use crate::key::IdempotencyKey;
use crate::payment::{HostedPayment, HostedPaymentRequest, PaymentSnapshot};
use crate::processors::InvalidEndpoint;
use crate::refund::{Refund, RefundRequest};
use crate::webhook::{WebhookError, WebhookHint};

use certificate::Certificates;
use order::Order;
use refund::RefundObject;
use token::{AccessToken, Tokens};
use webhook::Transmission;

pub use certificate::CertificateAuthorities;

const REQUEST_ID: HeaderName = HeaderName::from_static("paypal-request-id");
const PREFER: HeaderName = HeaderName::from_static("prefer");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

const LIVE_NAMES: &[&str] = &["messageverificationcerts.paypal.com"];
/// The simulator, which belongs to the sandbox, signs with the certificate of the live system.
const SANDBOX_NAMES: &[&str] =
    &["messageverificationcerts.sandbox.paypal.com", "messageverificationcerts.paypal.com"];

/// Where one of the systems of PayPal is.
pub(crate) struct PayPalEndpoint<'endpoints> {
    pub(crate) api: &'endpoints str,
    pub(crate) certificates: &'endpoints [String],
}

/// The client of PayPal.
#[derive(Debug, Clone)]
pub(crate) struct PayPal {
    live: System,
    sandbox: System,
    tokens: Tokens,
}

/// One of the systems.
#[derive(Debug, Clone)]
struct System {
    api: Api,
    certificates: Certificates,
}

impl PayPal {
    pub(crate) fn new(
        client: &Client,
        live: &PayPalEndpoint<'_>,
        sandbox: &PayPalEndpoint<'_>,
        authorities: CertificateAuthorities,
    ) -> Result<Self, InvalidEndpoint> {
        let system = |endpoint: &PayPalEndpoint<'_>, names, authorities| {
            let (client, origins) = (client.clone(), endpoint.certificates);
            Ok::<_, InvalidEndpoint>(System {
                api: Api::new(client.clone(), endpoint.api)?,
                certificates: Certificates::new(client, origins, names, authorities)?,
            })
        };
        Ok(Self {
            live: system(live, LIVE_NAMES, authorities.clone())?,
            sandbox: system(sandbox, SANDBOX_NAMES, authorities)?,
            tokens: Tokens::default(),
        })
    }

    pub(crate) async fn create(
        &self,
        credentials: &PayPalCredentials,
        request: &HostedPaymentRequest,
    ) -> Result<HostedPayment, ProcessorError> {
        let allows_http = self.system(credentials).api.allows_http();
        let body = order::body(request, allows_http)?;
        let key = request.key.as_str();
        let order: Order = self.post(credentials, "/v2/checkout/orders", &body, key).await?;
        order.hosted(allows_http)
    }

    pub(crate) async fn fetch(
        &self,
        credentials: &PayPalCredentials,
        reference: &str,
    ) -> Result<PaymentSnapshot, ProcessorError> {
        let reference = api::reference(reference)?;
        let path = format!("/v2/checkout/orders/{reference}");
        let order: Order = self.get(credentials, &path).await?;
        order.snapshot(reference)
    }

    /// An order that is captured already is fetched: it was captured by an earlier call whose key PayPal no longer knows, or by
    /// another process.
    pub(crate) async fn capture(
        &self,
        credentials: &PayPalCredentials,
        reference: &str,
        key: &IdempotencyKey,
    ) -> Result<PaymentSnapshot, ProcessorError> {
        let reference = api::reference(reference)?;
        let path = format!("/v2/checkout/orders/{reference}/capture");
        let key = key.operation("capture");
        match self.post::<Order>(credentials, &path, &json!({}), &key).await {
            Ok(order) => order.snapshot(reference),
            Err(ProcessorError::Refused(refusal))
                if refusal.code.as_ref().map(ProcessorCode::as_str)
                    == Some(refusal::ALREADY_CAPTURED) =>
            {
                self.fetch(credentials, reference).await
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn refund(
        &self,
        credentials: &PayPalCredentials,
        request: &RefundRequest,
    ) -> Result<Refund, ProcessorError> {
        let payment = api::reference(&request.payment_reference)?;
        let path = format!("/v2/payments/captures/{payment}/refund");
        let body = refund::body(request)?;
        let refund: RefundObject =
            self.post(credentials, &path, &body, request.key.as_str()).await?;
        refund.refund()
    }

    pub(crate) async fn fetch_refund(
        &self,
        credentials: &PayPalCredentials,
        reference: &str,
    ) -> Result<Refund, ProcessorError> {
        let path = format!("/v2/payments/refunds/{}", api::reference(reference)?);
        let refund: RefundObject = self.get(credentials, &path).await?;
        refund.refund()?.with_reference(reference)
    }

    pub(crate) async fn parse_webhook(
        &self,
        credentials: &PayPalCredentials,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<WebhookHint, WebhookError> {
        let transmission = Transmission::parse(headers, now)?;
        let signature = BASE64_STANDARD.decode(transmission.signature);
        let signature = signature.map_err(|_| WebhookError::InvalidHeader(webhook::SIGNATURE))?;
        let message = transmission.message(&credentials.webhook_id, body);
        let certificates = &self.system(credentials).certificates;
        let url = transmission.certificate_url;
        certificates.verify(url, message.as_bytes(), &signature, now).await?;
        webhook::parse(body)
    }

    const fn system(&self, credentials: &PayPalCredentials) -> &System {
        match credentials.environment {
            PayPalEnvironment::Live => &self.live,
            PayPalEnvironment::Sandbox => &self.sandbox,
        }
    }

    async fn get<T: DeserializeOwned>(
        &self,
        credentials: &PayPalCredentials,
        path: &str,
    ) -> Result<T, ProcessorError> {
        self.call(credentials, path, Call::Get).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        credentials: &PayPalCredentials,
        path: &str,
        body: &Value,
        key: &str,
    ) -> Result<T, ProcessorError> {
        self.call(credentials, path, Call::Post { body, key }).await
    }

    /// Sends a request, and once more if PayPal refuses a token that was kept: it revokes tokens before they expire.
    async fn call<T: DeserializeOwned>(
        &self,
        credentials: &PayPalCredentials,
        path: &str,
        call: Call<'_>,
    ) -> Result<T, ProcessorError> {
        let api = &self.system(credentials).api;
        let token = self.tokens.token(api, credentials).await?;
        let mut outcome = read(&call.send(api, path, &token).await?);
        if matches!(outcome, Err(ProcessorError::CredentialsRefused)) {
            self.tokens.forget(credentials, &token).await;
            if token.is_cached {
                let token = self.tokens.token(api, credentials).await?;
                outcome = read(&call.send(api, path, &token).await?);
            }
        }
        outcome
    }
}

/// A request that needs a token.
#[derive(Clone, Copy)]
enum Call<'call> {
    Get,
    Post { body: &'call Value, key: &'call str },
}

impl Call<'_> {
    async fn send(
        self,
        api: &Api,
        path: &str,
        token: &AccessToken,
    ) -> Result<Response, ProcessorError> {
        let mut headers = api::authorized(&token.authorization())?;
        let response = match self {
            Self::Get => api.get(path, headers).await,
            Self::Post { body, key } => {
                headers.insert(CONTENT_TYPE, JSON);
                headers.insert(REQUEST_ID, api::header_value(key)?);
                // By default a response contains little more than the id.
                headers.insert(PREFER, HeaderValue::from_static("return=representation"));
                api.post(path, headers, body.to_string()).await
            }
        };
        response.map_err(ProcessorError::of_request)
    }
}

fn read<T: DeserializeOwned>(response: &Response) -> Result<T, ProcessorError> {
    api::parse(api::body(response, refusal::meaning)?)
}
