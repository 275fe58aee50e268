//! Checkout Sessions: the parameters of a new one, and what a session says about its payment.

use std::time::Duration;

use primitives::{Money, Timestamp};
use serde::Deserialize;

use super::unit;
use crate::api;
use crate::error::{InvalidRequest, ProcessorError};
use crate::page::is_page_url;
use crate::payment::{
    HostedPayment, HostedPaymentRequest, PaidPayment, PaymentSnapshot, PaymentState,
};

/// What a session is fetched with: the intent, its charge with the amount refunded, and the fee.
pub(super) const EXPANDED: &str = "expand%5B%5D=payment_intent.latest_charge.balance_transaction";

/// Stripe accepts 30 minutes to 24 hours from when it receives the request, which may be repeated later with equal parameters.
const LIFETIME_MIN: Duration = Duration::from_hours(1);
const LIFETIME_MAX: Duration = Duration::from_mins(23 * 60 + 30);

const REFERENCE_MAX_BYTES: usize = 200;
const NAME_MAX_BYTES: usize = 250;

/// Returns the parameters of a session. They follow from the request alone, so that a repeated call has equal ones.
pub(super) fn form(
    request: &HostedPaymentRequest,
    allows_http: bool,
) -> Result<Vec<(&'static str, String)>, InvalidRequest> {
    let (amount, currency) = unit::to_wire(request.amount)?;
    for url in [&request.success_url, &request.cancel_url] {
        if !is_page_url(url, allows_http) {
            return Err(InvalidRequest::ReturnUrl);
        }
    }
    let reference = &request.checkout_reference;
    if api::reference(reference).is_err() || reference.len() > REFERENCE_MAX_BYTES {
        return Err(InvalidRequest::Reference);
    }
    let name = api::line(&request.description, NAME_MAX_BYTES);
    let name = if name.is_empty() { reference.clone() } else { name };
    let key = request.key.to_string();
    let mut form = vec![
        ("mode", "payment".to_owned()),
        ("client_reference_id", reference.clone()),
        ("success_url", request.success_url.clone()),
        ("cancel_url", request.cancel_url.clone()),
        ("expires_at", expires_at(request).unix_seconds().to_string()),
        // The buyer pays exactly this amount, in this currency.
        ("adaptive_pricing[enabled]", "false".to_owned()),
        ("line_items[0][quantity]", "1".to_owned()),
        ("line_items[0][price_data][currency]", currency),
        ("line_items[0][price_data][unit_amount]", amount.to_string()),
        ("line_items[0][price_data][product_data][name]", name),
        ("metadata[key]", key.clone()),
        // In the account of the merchant, the payment is found by our ids as well.
        ("payment_intent_data[metadata][key]", key),
        ("payment_intent_data[metadata][checkout]", reference.clone()),
    ];
    if !request.allows_delayed_methods {
        form.push(("payment_method_types[0]", "card".to_owned()));
    }
    if let Some(email) = api::email(request.buyer_email.as_deref()) {
        form.push(("customer_email", email.to_owned()));
    }
    Ok(form)
}

fn expires_at(request: &HostedPaymentRequest) -> Timestamp {
    let earliest = request.created_at.plus(LIFETIME_MIN);
    let latest = request.created_at.plus(LIFETIME_MAX);
    request.expires_at.clamp(earliest, latest)
}

#[derive(Deserialize)]
pub(super) struct Session {
    id: String,
    url: Option<String>,
    expires_at: i64,
    status: Option<String>,
    payment_status: String,
    amount_total: Option<i64>,
    currency: Option<String>,
    client_reference_id: Option<String>,
    #[serde(default)]
    metadata: Option<Metadata>,
    payment_intent: Option<Expandable<Intent>>,
}

#[derive(Deserialize)]
struct Metadata {
    key: Option<String>,
}

/// An object, or its id if it was not expanded.
#[derive(Deserialize)]
#[serde(untagged)]
enum Expandable<T> {
    Id(#[expect(dead_code, reason = "it is only told from an object")] String),
    Object(Box<T>),
}

impl<T> Expandable<T> {
    fn object(&self) -> Option<&T> {
        match self {
            Self::Id(_) => None,
            Self::Object(object) => Some(object),
        }
    }
}

#[derive(Deserialize)]
struct Intent {
    id: String,
    status: String,
    amount_received: i64,
    currency: String,
    latest_charge: Option<Expandable<Charge>>,
}

#[derive(Deserialize)]
struct Charge {
    amount_refunded: i64,
    currency: String,
    balance_transaction: Option<Expandable<BalanceTransaction>>,
}

#[derive(Deserialize)]
struct BalanceTransaction {
    fee: i64,
    currency: String,
}

impl Session {
    /// Returns the page of a new session.
    pub(super) fn hosted(self, allows_http: bool) -> Result<HostedPayment, ProcessorError> {
        let url = self.url.filter(|url| is_page_url(url, allows_http));
        let is_reference = api::reference(&self.id).is_ok();
        match url {
            Some(url) if is_reference => Ok(HostedPayment {
                reference: self.id,
                url,
                expires_at: Some(timestamp(self.expires_at)),
            }),
            _ => Err(ProcessorError::malformed()),
        }
    }

    /// Returns what the session says about its payment.
    pub(super) fn snapshot(self, reference: &str) -> Result<PaymentSnapshot, ProcessorError> {
        if self.id != reference {
            return Err(ProcessorError::malformed());
        }
        let amount = match (self.amount_total, self.currency.as_deref()) {
            (Some(amount), Some(currency)) => unit::from_wire(amount, currency),
            _ => None,
        };
        Ok(PaymentSnapshot {
            amount: amount.ok_or_else(ProcessorError::malformed)?,
            state: self.state()?,
            key: self.metadata.and_then(|metadata| metadata.key),
            checkout_reference: self.client_reference_id,
            reference: self.id,
        })
    }

    fn state(&self) -> Result<PaymentState, ProcessorError> {
        let intent = self.payment_intent.as_ref().and_then(Expandable::object);
        match (self.status.as_deref(), self.payment_status.as_str()) {
            (Some("open"), _) => Ok(PaymentState::Open),
            (Some("expired"), _) => Ok(PaymentState::Expired),
            (Some("complete"), "paid") => intent.ok_or_else(ProcessorError::malformed)?.paid(),
            (Some("complete"), "unpaid") => {
                match intent.ok_or_else(ProcessorError::malformed)?.status.as_str() {
                    "requires_payment_method" => Ok(PaymentState::Failed),
                    "canceled" => Ok(PaymentState::Canceled),
                    // `succeeded`: the session follows.
                    "processing" | "requires_action" | "requires_confirmation" | "succeeded" => {
                        Ok(PaymentState::Processing)
                    }
                    _ => Err(ProcessorError::malformed()),
                }
            }
            _ => Err(ProcessorError::malformed()),
        }
    }
}

impl Intent {
    fn paid(&self) -> Result<PaymentState, ProcessorError> {
        let reference = api::reference(&self.id).map_err(|_| ProcessorError::malformed())?;
        let amount = amount(self.amount_received, &self.currency)?;
        // The session says that it is paid: an intent without money contradicts it.
        if amount.minor() == 0 {
            return Err(ProcessorError::malformed());
        }
        let charge = self.latest_charge.as_ref().and_then(Expandable::object);
        let charge = charge.ok_or_else(ProcessorError::malformed)?;
        let transaction = charge.balance_transaction.as_ref().and_then(Expandable::object);
        let fee = transaction.and_then(|it| unit::from_wire(it.fee, &it.currency));
        let payment = PaidPayment { reference: reference.to_owned(), amount, fee };
        let refunded = self::amount(charge.amount_refunded, &charge.currency)?;
        Ok(if refunded.minor() == 0 {
            PaymentState::Paid(payment)
        } else if refunded.minor() < amount.minor() {
            PaymentState::PartlyRefunded { payment, refunded }
        } else {
            PaymentState::Refunded { payment, refunded }
        })
    }
}

fn amount(minor: i64, currency: &str) -> Result<Money, ProcessorError> {
    unit::from_wire(minor, currency).ok_or_else(ProcessorError::malformed)
}

fn timestamp(seconds: i64) -> Timestamp {
    Timestamp::from_unix_micros(seconds.saturating_mul(1_000_000))
}

#[cfg(test)]
mod tests {
    use primitives::{Currency, Id, PaymentId};
    use serde_json::{Value, json};

    use super::*;
    use crate::key::IdempotencyKey;

    const EUR: Currency = Currency::EUR;

    fn request() -> HostedPaymentRequest {
        let created_at: Timestamp = "2026-11-19T10:00:00Z".parse().unwrap();
        HostedPaymentRequest {
            key: IdempotencyKey::of_payment(PaymentId::from_random(1)),
            checkout_reference: "chk_1".to_owned(),
            amount: Money::new(12_50, EUR),
            description: "Two pairs of socks".to_owned(),
            success_url: "https://souk.example/paid".to_owned(),
            cancel_url: "https://souk.example/cancel".to_owned(),
            created_at,
            expires_at: created_at.plus(Duration::from_mins(30)),
            allows_delayed_methods: false,
            buyer_email: Some("ada@example.com".to_owned()),
        }
    }

    fn field<'a>(form: &'a [(&'static str, String)], name: &str) -> Option<&'a str> {
        form.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn a_request_has_equal_parameters_each_time() {
        let sent = form(&request(), false).unwrap();
        assert_eq!(sent, form(&request(), false).unwrap());
        for (name, value) in [
            ("line_items[0][price_data][unit_amount]", Some("1250")),
            ("line_items[0][price_data][currency]", Some("eur")),
            ("client_reference_id", Some("chk_1")),
            ("metadata[key]", Some("pay_00000000000000000000000000000001")),
            ("payment_method_types[0]", Some("card")),
            ("customer_email", Some("ada@example.com")),
            ("adaptive_pricing[enabled]", Some("false")),
        ] {
            assert_eq!(field(&sent, name), value, "{name}");
        }
        let other = HostedPaymentRequest {
            allows_delayed_methods: true,
            buyer_email: Some("nobody".to_owned()),
            description: " \n".to_owned(),
            ..request()
        };
        let sent = form(&other, false).unwrap();
        assert_eq!(field(&sent, "payment_method_types[0]"), None);
        assert_eq!(field(&sent, "customer_email"), None);
        let name = "line_items[0][price_data][product_data][name]";
        assert_eq!(field(&sent, name), Some("chk_1"));
    }

    #[test]
    fn a_session_is_open_for_as_long_as_stripe_accepts() {
        let after = |span: Duration| {
            let base = request();
            let expires_at = base.created_at.plus(span);
            let sent = form(&HostedPaymentRequest { expires_at, ..base.clone() }, false).unwrap();
            let seconds: i64 = field(&sent, "expires_at").unwrap().parse().unwrap();
            timestamp(seconds).since(base.created_at)
        };
        assert_eq!(after(Duration::from_mins(30)), LIFETIME_MIN);
        assert_eq!(after(Duration::from_hours(2)), Duration::from_hours(2));
        assert_eq!(after(Duration::from_hours(48)), LIFETIME_MAX);
    }

    #[test]
    fn what_cannot_be_sent_is_refused_before() {
        for (request, error) in [
            (
                HostedPaymentRequest { amount: Money::new(1, Currency::Usdc), ..request() },
                InvalidRequest::UnsupportedCurrency,
            ),
            (
                HostedPaymentRequest { cancel_url: "http://souk.example/".to_owned(), ..request() },
                InvalidRequest::ReturnUrl,
            ),
            (
                HostedPaymentRequest { checkout_reference: "a b".to_owned(), ..request() },
                InvalidRequest::Reference,
            ),
        ] {
            assert_eq!(form(&request, false), Err(error));
        }
    }

    fn session(status: &str, payment_status: &str, intent: &Value) -> Session {
        let body = json!({
            "id": "cs_1", "url": null, "expires_at": 1_795_000_000, "status": status,
            "payment_status": payment_status, "amount_total": 1_250, "currency": "eur",
            "client_reference_id": "chk_1", "metadata": { "key": "pay_1" }, "payment_intent": intent,
        });
        serde_json::from_value(body).unwrap()
    }

    fn intent(status: &str, refunded: i64) -> Value {
        json!({
            "id": "pi_1", "status": status, "amount_received": 1_250, "currency": "eur",
            "latest_charge": {
                "amount_refunded": refunded, "currency": "eur",
                "balance_transaction": { "fee": 61, "currency": "usd" },
            },
        })
    }

    #[test]
    fn the_state_follows_from_session_and_intent() {
        let payment = PaidPayment {
            reference: "pi_1".to_owned(),
            amount: Money::new(12_50, EUR),
            fee: Some(Money::new(61, Currency::USD)),
        };
        let null = Value::Null;
        for (status, payment_status, intent, expected) in [
            ("open", "unpaid", null.clone(), PaymentState::Open),
            ("expired", "unpaid", null, PaymentState::Expired),
            ("complete", "unpaid", intent("processing", 0), PaymentState::Processing),
            ("complete", "unpaid", intent("requires_action", 0), PaymentState::Processing),
            ("complete", "unpaid", intent("succeeded", 0), PaymentState::Processing),
            ("complete", "unpaid", intent("requires_payment_method", 0), PaymentState::Failed),
            ("complete", "unpaid", intent("canceled", 0), PaymentState::Canceled),
            ("complete", "paid", intent("succeeded", 0), PaymentState::Paid(payment.clone())),
            (
                "complete",
                "paid",
                intent("succeeded", 250),
                PaymentState::PartlyRefunded {
                    payment: payment.clone(),
                    refunded: Money::new(2_50, EUR),
                },
            ),
            (
                "complete",
                "paid",
                intent("succeeded", 1_250),
                PaymentState::Refunded { payment, refunded: Money::new(12_50, EUR) },
            ),
        ] {
            let found = session(status, payment_status, &intent).snapshot("cs_1").unwrap();
            assert_eq!(found.state, expected, "{status} {payment_status}");
            assert_eq!(found.amount, Money::new(12_50, EUR));
            assert_eq!(found.checkout_reference.as_deref(), Some("chk_1"));
            assert_eq!(found.key.as_deref(), Some("pay_1"));
        }
    }

    #[test]
    fn a_session_that_contradicts_itself_has_no_state() {
        let without_money = json!({
            "id": "pi_1", "status": "succeeded", "amount_received": 0, "currency": "eur",
            "latest_charge": { "amount_refunded": 0, "currency": "eur", "balance_transaction": null },
        });
        for (status, payment_status, intent) in [
            ("complete", "paid", Value::Null),
            ("complete", "paid", json!("pi_1")),
            ("complete", "paid", without_money),
            ("complete", "no_payment_required", Value::Null),
            ("complete", "unpaid", Value::Null),
            ("complete", "unpaid", intent("new", 0)),
            ("new", "paid", intent("succeeded", 0)),
        ] {
            let found = session(status, payment_status, &intent).snapshot("cs_1");
            assert_eq!(found, Err(ProcessorError::malformed()), "{status} {payment_status}");
        }
        let other = session("open", "unpaid", &Value::Null).snapshot("cs_2");
        assert_eq!(other, Err(ProcessorError::malformed()), "it is another session");
    }

    #[test]
    fn a_page_that_is_no_page_is_refused() {
        let hosted = |url: &str| {
            let mut session = session("open", "unpaid", &Value::Null);
            session.url = Some(url.to_owned());
            session.hosted(false)
        };
        assert!(hosted("https://checkout.stripe.com/c/pay/cs_1#fid").is_ok());
        for url in ["", "javascript:alert(1)", "http://checkout.stripe.com/"] {
            assert_eq!(hosted(url), Err(ProcessorError::malformed()), "{url}");
        }
    }
}
