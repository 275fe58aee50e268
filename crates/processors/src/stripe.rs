//! Stripe: Checkout Sessions and refunds.

mod refund;
mod refusal;
mod session;
mod signature;
mod unit;
mod webhook;

use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use outbound::{Client, Response};
use primitives::Timestamp;
use serde::de::DeserializeOwned;
use url::form_urlencoded;

use crate::api::{self, Api};
use crate::credentials::StripeCredentials;
use crate::error::{ProcessorError, RefusalReason};
use crate::payment::{HostedPayment, HostedPaymentRequest, PaymentSnapshot};
use crate::processors::InvalidEndpoint;
use crate::refund::{Refund, RefundRequest};
use crate::webhook::{self as hints, WebhookError, WebhookHint};

/// The version of the API whose fields are read here. Without it, that of the account would apply.
const API_VERSION: &str = "2026-10-28.endive";

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const STRIPE_VERSION: HeaderName = HeaderName::from_static("stripe-version");
const SIGNATURE: &str = "stripe-signature";
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

/// The client of Stripe.
#[derive(Debug, Clone)]
pub(crate) struct Stripe {
    api: Api,
}

impl Stripe {
    pub(crate) fn new(client: Client, base: &str) -> Result<Self, InvalidEndpoint> {
        Ok(Self { api: Api::new(client, base)? })
    }

    pub(crate) async fn create(
        &self,
        credentials: &StripeCredentials,
        request: &HostedPaymentRequest,
    ) -> Result<HostedPayment, ProcessorError> {
        let allows_http = self.api.allows_http();
        let form = session::form(request, allows_http)?;
        let key = request.key.as_str();
        let session: session::Session =
            self.post(credentials, "/v1/checkout/sessions", &form, Some(key)).await?;
        session.hosted(allows_http)
    }

    pub(crate) async fn fetch(
        &self,
        credentials: &StripeCredentials,
        reference: &str,
    ) -> Result<PaymentSnapshot, ProcessorError> {
        let reference = api::reference(reference)?;
        let path = format!("/v1/checkout/sessions/{reference}?{}", session::EXPANDED);
        let session: session::Session = self.get(credentials, &path).await?;
        session.snapshot(reference)
    }

    /// Stripe refuses to expire a session that is not open: what it has become is fetched.
    pub(crate) async fn expire(
        &self,
        credentials: &StripeCredentials,
        reference: &str,
    ) -> Result<PaymentSnapshot, ProcessorError> {
        let path = format!("/v1/checkout/sessions/{}/expire", api::reference(reference)?);
        match self.post::<session::Session>(credentials, &path, &[], None).await {
            Ok(_) => self.fetch(credentials, reference).await,
            Err(ProcessorError::Refused(refusal)) if refusal.reason != RefusalReason::NotFound => {
                self.fetch(credentials, reference).await
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn refund(
        &self,
        credentials: &StripeCredentials,
        request: &RefundRequest,
    ) -> Result<Refund, ProcessorError> {
        let form = refund::form(request)?;
        let key = request.key.as_str();
        let refund: refund::RefundObject =
            self.post(credentials, "/v1/refunds", &form, Some(key)).await?;
        refund.refund()
    }

    pub(crate) async fn fetch_refund(
        &self,
        credentials: &StripeCredentials,
        reference: &str,
    ) -> Result<Refund, ProcessorError> {
        let path = format!("/v1/refunds/{}", api::reference(reference)?);
        let refund: refund::RefundObject = self.get(credentials, &path).await?;
        refund.refund()?.with_reference(reference)
    }

    pub(crate) fn parse_webhook(
        credentials: &StripeCredentials,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<WebhookHint, WebhookError> {
        let header = hints::single(headers, SIGNATURE)?;
        signature::verify(header, body, &credentials.webhook_secrets, now)?;
        webhook::parse(body)
    }

    async fn get<T: DeserializeOwned>(
        &self,
        credentials: &StripeCredentials,
        path: &str,
    ) -> Result<T, ProcessorError> {
        let response = self.api.get(path, headers(credentials)?).await;
        read(&response.map_err(ProcessorError::of_request)?)
    }

    async fn post<T: DeserializeOwned>(
        &self,
        credentials: &StripeCredentials,
        path: &str,
        form: &[(&str, String)],
        key: Option<&str>,
    ) -> Result<T, ProcessorError> {
        let mut headers = headers(credentials)?;
        headers.insert(CONTENT_TYPE, FORM);
        if let Some(key) = key {
            headers.insert(IDEMPOTENCY_KEY, api::header_value(key)?);
        }
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let response = self.api.post(path, headers, body).await;
        read(&response.map_err(ProcessorError::of_request)?)
    }
}

fn headers(credentials: &StripeCredentials) -> Result<HeaderMap, ProcessorError> {
    let mut headers = api::authorized(&format!("Bearer {}", credentials.api_key.expose()))?;
    headers.insert(STRIPE_VERSION, HeaderValue::from_static(API_VERSION));
    Ok(headers)
}

fn read<T: DeserializeOwned>(response: &Response) -> Result<T, ProcessorError> {
    api::parse(api::body(response, refusal::meaning)?)
}
