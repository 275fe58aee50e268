//! The client of a facilitator, which submits transfers to the chain and pays their gas.

mod reply;

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use outbound::{Client, Destination, DestinationError, RequestError};
use serde::Serialize;

pub use self::reply::{
    FacilitatorError, SettleOutcome, Supported, SupportedKind, UnknownReason, VerifyOutcome,
};
use crate::payload::PaymentPayload;
use crate::requirements::PaymentRequirements;
use crate::version::ProtocolVersion;

/// The total timeout that the client of a facilitator should have: it responds after the transaction is in a block.
pub const FACILITATOR_TIMEOUT: Duration = Duration::from_secs(30);

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Sends payments to a facilitator. What it responds is not trusted: whether tokens moved is read from the chain.
#[derive(Debug, Clone)]
pub struct Facilitator {
    client: Client,
    headers: HeaderMap,
    verify: Destination,
    settle: Destination,
    supported: Destination,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(rename = "x402Version")]
    version: ProtocolVersion,
    payment_payload: &'a PaymentPayload,
    payment_requirements: &'a PaymentRequirements,
}

impl Facilitator {
    /// Creates the client of the facilitator at a URL, below which are `/verify`, `/settle` and `/supported`. `authorization`
    /// is the value of the header `Authorization`. The timeouts are those of the client: [`FACILITATOR_TIMEOUT`].
    pub fn new(
        client: Client,
        url: &str,
        authorization: Option<HeaderValue>,
    ) -> Result<Self, DestinationError> {
        if url.contains('?') {
            return Err(DestinationError::Invalid);
        }
        let base = url.strip_suffix('/').unwrap_or(url);
        let below = |path: &str| Destination::parse(&format!("{base}/{path}"), client.policy());
        let (verify, settle, supported) = (below("verify")?, below("settle")?, below("supported")?);
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, JSON);
        if let Some(mut value) = authorization {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(Self { client, headers, verify, settle, supported })
    }

    /// Asks whether the facilitator would settle the payment. It checks balance and nonce on the chain, which
    /// [`verify`](crate::verify) cannot.
    pub async fn verify(
        &self,
        quoted: &PaymentRequirements,
        payload: &PaymentPayload,
    ) -> Result<VerifyOutcome, FacilitatorError> {
        let response = self.post(&self.verify, quoted, payload).await;
        reply::verified(&response.map_err(FacilitatorError::Request)?)
    }

    /// Asks the facilitator to settle the payment. The attempt has to be stored and committed before: once the request may have
    /// been sent, only the chain tells whether the payer has paid.
    pub async fn settle(
        &self,
        quoted: &PaymentRequirements,
        payload: &PaymentPayload,
    ) -> SettleOutcome {
        // A refused address is certain only here: during the request it may also be that of a connection that was used.
        if let Err(error) = self.client.check(&self.settle).await {
            return SettleOutcome::NotSent { error };
        }
        reply::settled(self.post(&self.settle, quoted, payload).await)
    }

    /// Asks for the schemes and networks of the facilitator.
    pub async fn supported(&self) -> Result<Supported, FacilitatorError> {
        let response = self.client.get(&self.supported, self.headers.clone()).await;
        reply::supported(&response.map_err(FacilitatorError::Request)?)
    }

    /// The bytes are the same for the same payment, so that a facilitator recognizes a repeated request.
    async fn post(
        &self,
        destination: &Destination,
        quoted: &PaymentRequirements,
        payload: &PaymentPayload,
    ) -> Result<outbound::Response, RequestError> {
        let request = Request {
            version: ProtocolVersion,
            payment_payload: payload,
            payment_requirements: quoted,
        };
        #[expect(clippy::expect_used, reason = "maps with text keys always serialize")]
        let body = serde_json::to_vec(&request).expect("serializable");
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_TYPE, JSON);
        self.client.post(destination, headers, Bytes::from(body)).await
    }
}
