//! Events of Stripe.

use serde::Deserialize;

use crate::api;
use crate::webhook::{self, HintKind, HintReference, WebhookError, WebhookHint};

#[derive(Deserialize)]
struct Event {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    data: EventData,
}

#[derive(Deserialize)]
struct EventData {
    object: EventObject,
}

#[derive(Deserialize)]
struct EventObject {
    #[serde(default)]
    object: String,
    id: Option<String>,
    payment_intent: Option<PaymentIntent>,
}

/// The id of an intent, or the intent.
#[derive(Deserialize)]
#[serde(untagged)]
enum PaymentIntent {
    Id(String),
    Object { id: String },
}

/// Reads a verified body.
pub(super) fn parse(body: &[u8]) -> Result<WebhookHint, WebhookError> {
    let event: Event = serde_json::from_slice(body).map_err(|_| WebhookError::InvalidBody)?;
    let object = event.data.object;
    let id = object.id.filter(|id| api::reference(id).is_ok());
    let intent = object.payment_intent.map(|intent| match intent {
        PaymentIntent::Id(id) | PaymentIntent::Object { id } => id,
    });
    let intent = intent.filter(|intent| api::reference(intent).is_ok());
    let (kind, reference) = match object.object.as_str() {
        "checkout.session" => (HintKind::Payment, id.map(HintReference::HostedPayment)),
        "payment_intent" => (HintKind::Payment, id.map(HintReference::Payment)),
        "charge" if event.kind == "charge.refunded" => {
            (HintKind::Refund, intent.map(HintReference::Payment))
        }
        "charge" => (HintKind::Payment, intent.map(HintReference::Payment)),
        "refund" => {
            let refund = id.map(|refund| HintReference::Refund { refund, payment: intent });
            (HintKind::Refund, refund)
        }
        "dispute" => (HintKind::Dispute, intent.map(HintReference::Payment)),
        _ => (HintKind::Other, None),
    };
    let event_id = api::reference(&event.id).map_err(|_| WebhookError::InvalidBody)?.to_owned();
    Ok(WebhookHint { event_id, event_type: webhook::event_type(event.kind)?, kind, reference })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(kind: &str, object: &str) -> WebhookHint {
        let body = format!(r#"{{"id":"evt_1","type":"{kind}","data":{{"object":{object}}}}}"#);
        parse(body.as_bytes()).unwrap()
    }

    #[test]
    fn every_event_names_what_to_fetch() {
        let payment = || Some(HintReference::Payment("pi_1".to_owned()));
        let refund =
            HintReference::Refund { refund: "re_1".to_owned(), payment: Some("pi_1".to_owned()) };
        for (event, object, kind, reference) in [
            (
                "checkout.session.completed",
                r#"{"object":"checkout.session","id":"cs_1","payment_intent":"pi_1"}"#,
                HintKind::Payment,
                Some(HintReference::HostedPayment("cs_1".to_owned())),
            ),
            (
                "payment_intent.payment_failed",
                r#"{"object":"payment_intent","id":"pi_1"}"#,
                HintKind::Payment,
                payment(),
            ),
            (
                "charge.refunded",
                r#"{"object":"charge","id":"ch_1","payment_intent":"pi_1"}"#,
                HintKind::Refund,
                payment(),
            ),
            (
                "refund.updated",
                r#"{"object":"refund","id":"re_1","payment_intent":{"id":"pi_1"}}"#,
                HintKind::Refund,
                Some(refund),
            ),
            (
                "charge.dispute.created",
                r#"{"object":"dispute","id":"dp_1","payment_intent":"pi_1"}"#,
                HintKind::Dispute,
                payment(),
            ),
            ("balance.available", r#"{"object":"balance"}"#, HintKind::Other, None),
            (
                "checkout.session.completed",
                r#"{"object":"checkout.session","id":"../x"}"#,
                HintKind::Payment,
                None,
            ),
        ] {
            let hint = hint(event, object);
            assert_eq!((hint.kind, &hint.reference), (kind, &reference), "{event}");
            assert_eq!((hint.event_id.as_str(), hint.event_type.as_str()), ("evt_1", event));
        }
    }

    #[test]
    fn what_is_no_event_is_refused() {
        for body in [
            "",
            "[]",
            "{}",
            r#"{"id":"evt_1","type":"a","data":{}}"#,
            r#"{"id":"evt 1","type":"a","data":{"object":{}}}"#,
            r#"{"id":"evt_1","type":"<b>","data":{"object":{}}}"#,
        ] {
            assert_eq!(parse(body.as_bytes()), Err(WebhookError::InvalidBody), "{body}");
        }
    }
}
