//! Events of PayPal, and the message that is signed.

use std::time::Duration;

use http::HeaderMap;
use primitives::Timestamp;
use serde::Deserialize;

use crate::api;
use crate::webhook::{self, HintKind, HintReference, WebhookError, WebhookHint, single};

pub(super) const ALGORITHM: &str = "paypal-auth-algo";
pub(super) const CERTIFICATE_URL: &str = "paypal-cert-url";
pub(super) const ID: &str = "paypal-transmission-id";
pub(super) const SIGNATURE: &str = "paypal-transmission-sig";
pub(super) const TIME: &str = "paypal-transmission-time";

/// The only algorithm that PayPal names: RSASSA-PKCS1-v1_5 with SHA-256.
const SHA256_WITH_RSA: &str = "SHA256withRSA";

/// How old a transmission may be. PayPal repeats a delivery for three days and does not say that it signs each one anew.
const AGE_MAX: Duration = Duration::from_hours(4 * 24);
/// How far the clock of PayPal may be ahead.
const AHEAD_MAX: Duration = Duration::from_mins(5);

const ID_MAX_BYTES: usize = 64;

/// The headers of a webhook.
#[derive(Debug)]
pub(super) struct Transmission<'headers> {
    id: &'headers str,
    time: &'headers str,
    pub(super) signature: &'headers str,
    pub(super) certificate_url: &'headers str,
}

impl<'headers> Transmission<'headers> {
    /// Reads the headers, and checks everything that needs no certificate.
    pub(super) fn parse(
        headers: &'headers HeaderMap,
        now: Timestamp,
    ) -> Result<Self, WebhookError> {
        let (id, time) = (single(headers, ID)?, single(headers, TIME)?);
        let (signature, certificate_url) =
            (single(headers, SIGNATURE)?, single(headers, CERTIFICATE_URL)?);
        if !single(headers, ALGORITHM)?.eq_ignore_ascii_case(SHA256_WITH_RSA) {
            return Err(WebhookError::InvalidHeader(ALGORITHM));
        }
        // A bar in it would move the borders of the parts that are signed.
        let is_part = |byte: u8| byte.is_ascii_graphic() && byte != b'|';
        if id.is_empty() || id.len() > ID_MAX_BYTES || !id.bytes().all(is_part) {
            return Err(WebhookError::InvalidHeader(ID));
        }
        let sent_at: Timestamp = time.parse().map_err(|_| WebhookError::InvalidHeader(TIME))?;
        if now.since(sent_at) > AGE_MAX || sent_at.since(now) > AHEAD_MAX {
            return Err(WebhookError::OutsideTolerance);
        }
        Ok(Self { id, time, signature, certificate_url })
    }

    /// Returns what is signed.
    pub(super) fn message(&self, webhook_id: &str, body: &[u8]) -> String {
        let checksum = crc32fast::hash(body);
        format!("{}|{}|{webhook_id}|{checksum}", self.id, self.time)
    }
}

#[derive(Deserialize)]
struct Event {
    id: String,
    #[serde(rename = "event_type")]
    kind: String,
    #[serde(default)]
    resource_type: String,
    #[serde(default)]
    resource: Resource,
}

#[derive(Default, Deserialize)]
struct Resource {
    id: Option<String>,
    order_id: Option<String>,
    supplementary_data: Option<SupplementaryData>,
    #[serde(default)]
    links: Vec<Link>,
    #[serde(default)]
    disputed_transactions: Vec<DisputedTransaction>,
}

#[derive(Deserialize)]
struct SupplementaryData {
    related_ids: Option<RelatedIds>,
}

#[derive(Deserialize)]
struct RelatedIds {
    order_id: Option<String>,
}

#[derive(Deserialize)]
struct Link {
    href: String,
    rel: String,
}

#[derive(Deserialize)]
struct DisputedTransaction {
    seller_transaction_id: Option<String>,
}

/// Reads a verified body.
pub(super) fn parse(body: &[u8]) -> Result<WebhookHint, WebhookError> {
    let event: Event = serde_json::from_slice(body).map_err(|_| WebhookError::InvalidBody)?;
    let (kind, reference) = reference(&event.kind, &event.resource_type, event.resource);
    let event_id = api::reference(&event.id).map_err(|_| WebhookError::InvalidBody)?.to_owned();
    let event_type = webhook::event_type(event.kind)?;
    Ok(WebhookHint { event_id, event_type, kind, reference })
}

fn reference(
    event: &str,
    resource_type: &str,
    resource: Resource,
) -> (HintKind, Option<HintReference>) {
    let valid = |id: Option<String>| id.filter(|id| api::reference(id).is_ok());
    let payment = captured(&resource.links);
    let related = resource.supplementary_data.and_then(|data| data.related_ids);
    let order = related.and_then(|ids| ids.order_id).or(resource.order_id);
    let (order, id) = (valid(order), valid(resource.id));
    if event.starts_with("CHECKOUT.ORDER.") {
        return (HintKind::Payment, id.map(HintReference::HostedPayment));
    }
    if event.starts_with("CHECKOUT.") {
        return (HintKind::Payment, order.map(HintReference::HostedPayment));
    }
    if event.starts_with("CUSTOMER.DISPUTE.") {
        let disputed = resource.disputed_transactions;
        let payment = disputed.into_iter().find_map(|it| valid(it.seller_transaction_id));
        return (HintKind::Dispute, payment.map(HintReference::Payment));
    }
    let is_refund = event.starts_with("PAYMENT.REFUND.")
        || matches!(event, "PAYMENT.CAPTURE.REFUNDED" | "PAYMENT.CAPTURE.REVERSED");
    if is_refund && resource_type == "refund" {
        let refund = id.map(|refund| HintReference::Refund { refund, payment });
        return (HintKind::Refund, refund);
    }
    if event.starts_with("PAYMENT.CAPTURE.") {
        let kind = if is_refund { HintKind::Refund } else { HintKind::Payment };
        let order = order.map(HintReference::HostedPayment);
        return (kind, order.or(id.map(HintReference::Payment)));
    }
    (HintKind::Other, None)
}

/// Returns the capture to which a refund links.
fn captured(links: &[Link]) -> Option<String> {
    let up = links.iter().find(|link| link.rel == "up")?;
    let (_, id) = up.href.split_once("/v2/payments/captures/")?;
    api::reference(id).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    const NOW: &str = "2026-11-19T10:00:00Z";

    fn headers(changes: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let defaults = [
            (ID, "b1e7f2c0-aa11"),
            (TIME, NOW),
            (SIGNATURE, "c2ln"),
            (CERTIFICATE_URL, "https://api.paypal.com/v1/notifications/certs/CERT-1"),
            (ALGORITHM, "SHA256withRSA"),
        ];
        for (name, value) in defaults.iter().chain(changes) {
            let value = HeaderValue::from_str(value).unwrap();
            headers.insert(HeaderName::from_static(name), value);
        }
        headers
    }

    fn error(changes: &[(&'static str, &str)]) -> Option<WebhookError> {
        Transmission::parse(&headers(changes), NOW.parse().unwrap()).err()
    }

    #[test]
    fn the_message_consists_of_headers_webhook_and_checksum() {
        let headers = headers(&[]);
        let transmission = Transmission::parse(&headers, NOW.parse().unwrap()).unwrap();
        // The check value of CRC-32.
        let message = transmission.message("WH1", b"123456789");
        assert_eq!(message, format!("b1e7f2c0-aa11|{NOW}|WH1|3421780262"));
    }

    #[test]
    fn a_transmission_is_at_most_four_days_old() {
        for (time, expected) in [
            ("2026-11-15T10:00:00Z", None),
            ("2026-11-15T09:59:59Z", Some(WebhookError::OutsideTolerance)),
            ("2026-11-19T10:05:00Z", None),
            ("2026-11-19T10:05:01Z", Some(WebhookError::OutsideTolerance)),
            ("yesterday", Some(WebhookError::InvalidHeader(TIME))),
        ] {
            assert_eq!(error(&[(TIME, time)]), expected, "{time}");
        }
    }

    #[test]
    fn headers_of_another_form_are_refused() {
        for (name, value) in
            [(ALGORITHM, "SHA1withRSA"), (ALGORITHM, ""), (ID, "a|b"), (ID, ""), (ID, "a b")]
        {
            assert_eq!(error(&[(name, value)]), Some(WebhookError::InvalidHeader(name)), "{value}");
        }
        for name in [ALGORITHM, CERTIFICATE_URL, ID, SIGNATURE, TIME] {
            let mut headers = headers(&[]);
            headers.remove(name);
            let missing = Transmission::parse(&headers, NOW.parse().unwrap());
            assert_eq!(missing.err(), Some(WebhookError::MissingHeader(name)));
        }
    }

    fn hint(event: &str, resource_type: &str, resource: &str) -> (HintKind, Option<HintReference>) {
        let body = format!(
            r#"{{"id":"WH-1-A","event_type":"{event}","resource_type":"{resource_type}","resource":{resource}}}"#
        );
        let hint = parse(body.as_bytes()).unwrap();
        assert_eq!((hint.event_id.as_str(), hint.event_type.as_str()), ("WH-1-A", event));
        (hint.kind, hint.reference)
    }

    #[test]
    fn every_event_names_what_to_fetch() {
        let order = || Some(HintReference::HostedPayment("O1".to_owned()));
        let capture = r#"{"id":"C1","supplementary_data":{"related_ids":{"order_id":"O1"}}}"#;
        let refund = r#"{"id":"R1","links":[{"rel":"up","href":"https://api.paypal.com/v2/payments/captures/C1"}]}"#;
        let refunded = || {
            Some(HintReference::Refund { refund: "R1".to_owned(), payment: Some("C1".to_owned()) })
        };
        let dispute =
            r#"{"dispute_id":"PP-1","disputed_transactions":[{"seller_transaction_id":"C1"}]}"#;
        let payment = || Some(HintReference::Payment("C1".to_owned()));
        for (event, resource_type, resource, expected) in [
            (
                "CHECKOUT.ORDER.APPROVED",
                "checkout-order",
                r#"{"id":"O1"}"#,
                (HintKind::Payment, order()),
            ),
            (
                "CHECKOUT.PAYMENT-APPROVAL.REVERSED",
                "payment",
                r#"{"order_id":"O1"}"#,
                (HintKind::Payment, order()),
            ),
            ("PAYMENT.CAPTURE.COMPLETED", "capture", capture, (HintKind::Payment, order())),
            ("PAYMENT.CAPTURE.DENIED", "capture", r#"{"id":"C1"}"#, (HintKind::Payment, payment())),
            ("PAYMENT.CAPTURE.REFUNDED", "refund", refund, (HintKind::Refund, refunded())),
            ("PAYMENT.REFUND.FAILED", "refund", refund, (HintKind::Refund, refunded())),
            ("PAYMENT.CAPTURE.REVERSED", "capture", capture, (HintKind::Refund, order())),
            ("CUSTOMER.DISPUTE.CREATED", "dispute", dispute, (HintKind::Dispute, payment())),
            ("BILLING.PLAN.CREATED", "plan", r#"{"id":"P1"}"#, (HintKind::Other, None)),
            (
                "CHECKOUT.ORDER.APPROVED",
                "checkout-order",
                r#"{"id":"../O1"}"#,
                (HintKind::Payment, None),
            ),
        ] {
            assert_eq!(hint(event, resource_type, resource), expected, "{event}");
        }
    }

    #[test]
    fn what_is_no_event_is_refused() {
        for body in ["", "{}", r#"{"id":"a b","event_type":"A"}"#, r#"{"id":"a","event_type":""}"#]
        {
            assert_eq!(parse(body.as_bytes()), Err(WebhookError::InvalidBody), "{body}");
        }
    }
}
