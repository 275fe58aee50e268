//! A double, the clients, and the credentials that the double accepts.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use outbound::{Client, Destination, Policy, Settings};
use primitives::{Currency, Id, Money, PaymentId, RefundId, Timestamp};
use processors::{
    CertificateAuthorities, Credentials, Endpoints, HostedPayment, HostedPaymentRequest,
    IdempotencyKey, PaidPayment, PayPalCredentials, PayPalEnvironment, PaymentSnapshot, Processor,
    ProcessorError, Processors, REQUEST_TIMEOUT, RESPONSE_MAX_BYTES, RefundRequest, Secret,
    StripeCredentials, WebhookError, WebhookHint,
};
use serde_json::{Value, json};

use crate::double::Double;
use crate::receiver::{Received, Receiver};
use crate::{PATIENCE, is_skipped};

pub(crate) const AMOUNT: Money = Money::new(12_50, Currency::EUR);

/// A processor, as far as a test needs it.
#[derive(Debug)]
pub(crate) struct World {
    double: Double,
    client: Client,
    pub(crate) processors: Processors,
    pub(crate) credentials: Credentials,
}

/// The time of the machine, which the doubles use.
#[expect(clippy::disallowed_methods, reason = "the doubles are other processes with the real time")]
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_unix_micros(i64::try_from(since.as_micros()).unwrap())
}

pub(crate) fn client(total_timeout: Duration) -> Client {
    let allowed_networks = vec!["127.0.0.0/8".parse().unwrap()];
    let policy = Policy { allow_http: true, allowed_networks };
    let settings = Settings {
        policy,
        total_timeout,
        connect_timeout: total_timeout.min(PATIENCE),
        response_max_bytes: RESPONSE_MAX_BYTES,
        ..Settings::default()
    };
    Client::new(settings).unwrap()
}

pub(crate) fn secret(text: &str) -> Secret {
    Secret::new(text).unwrap()
}

/// Starts a double of each processor; none if the tests are skipped.
pub(crate) async fn worlds() -> Vec<World> {
    let mut worlds = Vec::new();
    worlds.extend(World::stripe().await);
    worlds.extend(World::paypal().await);
    worlds
}

impl World {
    pub(crate) async fn stripe() -> Option<Self> {
        let credentials = Credentials::Stripe(StripeCredentials {
            api_key: secret("sk_test_double"),
            webhook_secrets: vec![secret("whsec_double")],
        });
        Self::start("stripe-double.mjs", credentials).await
    }

    pub(crate) async fn paypal() -> Option<Self> {
        let credentials = Credentials::PayPal(PayPalCredentials {
            environment: PayPalEnvironment::Sandbox,
            client_id: "client-double".to_owned(),
            client_secret: secret("secret-double"),
            webhook_id: "9XL90610J3647323C".to_owned(),
        });
        Self::start("paypal-double.mjs", credentials).await
    }

    async fn start(script: &str, credentials: Credentials) -> Option<Self> {
        if is_skipped() {
            return None;
        }
        let double = Double::start(script);
        let client = client(PATIENCE);
        let mut authorities = CertificateAuthorities::from_pem(b"");
        if credentials.processor() == Processor::Paypal {
            let pem = get(&client, &format!("{}/control/authority", double.address)).await;
            authorities = CertificateAuthorities::from_pem(&pem);
            assert_eq!(authorities.count(), 1);
        }
        let endpoints = endpoints(&double.address);
        let processors = Processors::new(&client, &endpoints, authorities).unwrap();
        Some(Self { double, client, processors, credentials })
    }

    pub(crate) fn is_paypal(&self) -> bool {
        self.credentials.processor() == Processor::Paypal
    }

    pub(crate) fn address(&self) -> &str {
        &self.double.address
    }

    /// The same double, with clients that wait for that long only.
    pub(crate) fn impatient(&self, total_timeout: Duration) -> Processors {
        let endpoints = endpoints(self.address());
        let authorities = CertificateAuthorities::from_pem(b"");
        Processors::new(&client(total_timeout), &endpoints, authorities).unwrap()
    }

    pub(crate) async fn control(&self, path: &str, body: Value) {
        let url = format!("{}/control/{path}", self.address());
        let destination = Destination::parse(&url, self.client.policy()).unwrap();
        let response =
            self.client.post(&destination, HeaderMap::new(), body.to_string().into()).await;
        assert!(response.unwrap().status.is_success(), "{path} {body}");
    }

    pub(crate) async fn fault(&self, operation: &str, fault: &str) {
        self.control("faults", json!({ "operation": operation, "fault": fault })).await;
    }

    pub(crate) async fn state(&self) -> Value {
        let body = get(&self.client, &format!("{}/control/state", self.address())).await;
        serde_json::from_slice(&body).unwrap()
    }

    /// Returns how many requests the double received for an operation.
    pub(crate) async fn requests(&self, operation: &str) -> usize {
        let state = self.state().await;
        let requests = state["requests"].as_array().unwrap();
        requests.iter().filter(|request| request["operation"] == operation).count()
    }

    /// Returns how many objects of a kind the double has.
    pub(crate) async fn count(&self, kind: &str) -> usize {
        self.state().await[kind].as_array().unwrap().len()
    }

    /// Returns how many payments the double has created.
    pub(crate) async fn payments(&self) -> usize {
        self.count(if self.is_paypal() { "orders" } else { "sessions" }).await
    }

    pub(crate) async fn create(
        &self,
        request: &HostedPaymentRequest,
    ) -> Result<HostedPayment, ProcessorError> {
        self.processors.create(&self.credentials, request).await
    }

    pub(crate) async fn fetch(&self, reference: &str) -> PaymentSnapshot {
        self.processors.fetch(&self.credentials, reference).await.unwrap()
    }

    pub(crate) async fn capture(
        &self,
        reference: &str,
        key: &IdempotencyKey,
    ) -> Result<PaymentSnapshot, ProcessorError> {
        self.processors.capture(&self.credentials, reference, key).await
    }

    /// Presses a button of the page, and returns the status of the response.
    pub(crate) async fn press(&self, payment: &HostedPayment, action: &str) -> u16 {
        let (url, _) = payment.url.split_once('#').unwrap_or((&payment.url, ""));
        let destination = Destination::parse(url, self.client.policy()).unwrap();
        let body = format!("action={action}");
        let response = self.client.post(&destination, HeaderMap::new(), body.into()).await;
        response.unwrap().status.as_u16()
    }

    pub(crate) async fn page(&self, payment: &HostedPayment) -> String {
        let (url, _) = payment.url.split_once('#').unwrap_or((&payment.url, ""));
        String::from_utf8(get(&self.client, url).await).unwrap()
    }

    /// A payment that a buyer has paid, and that is captured.
    pub(crate) async fn paid(&self, request: &HostedPaymentRequest) -> PaidPayment {
        let payment = self.create(request).await.unwrap();
        assert_eq!(self.press(&payment, "pay").await, 303);
        if self.is_paypal() {
            self.capture(&payment.reference, &request.key).await.unwrap();
        }
        self.fetch(&payment.reference).await.state.paid().unwrap().clone()
    }

    /// Starts a receiver, to which the double sends its webhooks.
    pub(crate) async fn receiver(&self) -> Receiver {
        let receiver = Receiver::start().await;
        self.control("webhooks", json!({ "url": receiver.url })).await;
        receiver
    }

    pub(crate) async fn parse(&self, webhook: &Received) -> Result<WebhookHint, WebhookError> {
        let Received { headers, body } = webhook;
        self.processors.parse_webhook(&self.credentials, headers, body, now()).await
    }
}

pub(crate) async fn get(client: &Client, url: &str) -> Vec<u8> {
    let destination = Destination::parse(url, client.policy()).unwrap();
    let response = client.get(&destination, HeaderMap::new()).await.unwrap();
    assert!(response.status.is_success(), "{url}: {}", response.status);
    response.body
}

pub(crate) fn endpoints(address: &str) -> Endpoints {
    Endpoints {
        stripe: address.to_owned(),
        paypal_sandbox: address.to_owned(),
        paypal_sandbox_certificates: vec![address.to_owned()],
        ..Endpoints::default()
    }
}

pub(crate) fn request(number: u128) -> HostedPaymentRequest {
    let created_at = now();
    HostedPaymentRequest {
        key: IdempotencyKey::of_payment(PaymentId::from_random(number)),
        checkout_reference: format!("chk_{number}"),
        amount: AMOUNT,
        description: "Two pairs of socks".to_owned(),
        success_url: "https://souk.example/paid".to_owned(),
        cancel_url: "https://souk.example/canceled".to_owned(),
        created_at,
        expires_at: created_at.plus(Duration::from_mins(30)),
        allows_delayed_methods: false,
        buyer_email: Some("ada@example.com".to_owned()),
    }
}

pub(crate) fn refund(number: u128, payment: &PaidPayment, minor: i64) -> RefundRequest {
    RefundRequest {
        key: IdempotencyKey::of_refund(RefundId::from_random(number)),
        payment_reference: payment.reference.clone(),
        amount: Money::new(minor, Currency::EUR),
    }
}

#[test]
fn the_timeout_of_a_request_leaves_time_for_a_capture() {
    assert!(REQUEST_TIMEOUT > outbound::TOTAL_TIMEOUT);
}
