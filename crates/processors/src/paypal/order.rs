//! Orders: the body of a new one, and what an order says about its payment.

use primitives::Money;
use serde::Deserialize;
use serde_json::{Value, json};

use super::refund::RefundObject;
use super::unit::Amount;
use crate::api;
use crate::error::{InvalidRequest, ProcessorError};
use crate::page::is_page_url;
use crate::payment::{
    HostedPayment, HostedPaymentRequest, PaidPayment, PaymentSnapshot, PaymentState,
};

const REFERENCE_MAX_BYTES: usize = 127;
const DESCRIPTION_MAX_BYTES: usize = 127;

/// Returns the body of a new order. It follows from the request alone, so that a repeated call has an equal one.
pub(super) fn body(
    request: &HostedPaymentRequest,
    allows_http: bool,
) -> Result<Value, InvalidRequest> {
    let amount = Amount::to_wire(request.amount)?;
    for url in [&request.success_url, &request.cancel_url] {
        if !is_page_url(url, allows_http) {
            return Err(InvalidRequest::ReturnUrl);
        }
    }
    let reference = &request.checkout_reference;
    if api::reference(reference).is_err() || reference.len() > REFERENCE_MAX_BYTES {
        return Err(InvalidRequest::Reference);
    }
    let description = api::line(&request.description, DESCRIPTION_MAX_BYTES);
    let mut unit = json!({
        "custom_id": reference,
        // PayPal captures one order for each invoice, as a second barrier against paying twice.
        "invoice_id": request.key.as_str(),
        "amount": amount,
    });
    if !description.is_empty() {
        unit["description"] = description.into();
    }
    let methods =
        if request.allows_delayed_methods { "UNRESTRICTED" } else { "IMMEDIATE_PAYMENT_REQUIRED" };
    let mut paypal = json!({
        "experience_context": {
            "return_url": request.success_url,
            "cancel_url": request.cancel_url,
            "user_action": "PAY_NOW",
            // The address is part of the terms that were confirmed.
            "shipping_preference": "NO_SHIPPING",
            "payment_method_preference": methods,
        },
    });
    if let Some(email) = api::email(request.buyer_email.as_deref()) {
        paypal["email_address"] = email.into();
    }
    Ok(json!({
        "intent": "CAPTURE",
        "purchase_units": [unit],
        "payment_source": { "paypal": paypal },
    }))
}

#[derive(Deserialize)]
pub(super) struct Order {
    id: String,
    status: String,
    #[serde(default)]
    purchase_units: Vec<PurchaseUnit>,
    #[serde(default)]
    links: Vec<Link>,
}

#[derive(Deserialize)]
struct PurchaseUnit {
    amount: Amount,
    custom_id: Option<String>,
    invoice_id: Option<String>,
    #[serde(default)]
    payments: Payments,
}

#[derive(Default, Deserialize)]
struct Payments {
    #[serde(default)]
    captures: Vec<Capture>,
    #[serde(default)]
    refunds: Vec<RefundObject>,
}

#[derive(Deserialize)]
struct Capture {
    id: String,
    status: String,
    amount: Amount,
    seller_receivable_breakdown: Option<Breakdown>,
}

#[derive(Deserialize)]
struct Breakdown {
    paypal_fee: Option<Amount>,
}

#[derive(Deserialize)]
struct Link {
    href: String,
    rel: String,
}

impl Order {
    /// Returns the page of a new order.
    pub(super) fn hosted(self, allows_http: bool) -> Result<HostedPayment, ProcessorError> {
        let is_approval = |link: &Link| matches!(link.rel.as_str(), "payer-action" | "approve");
        let url = self.links.into_iter().find(is_approval).map(|link| link.href);
        let url = url.filter(|url| is_page_url(url, allows_http));
        let is_reference = api::reference(&self.id).is_ok();
        match url {
            Some(url) if is_reference => {
                Ok(HostedPayment { reference: self.id, url, expires_at: None })
            }
            _ => Err(ProcessorError::malformed()),
        }
    }

    /// Returns what the order says about its payment.
    pub(super) fn snapshot(self, reference: &str) -> Result<PaymentSnapshot, ProcessorError> {
        // Ours have one purchase unit.
        let [unit] = self.purchase_units.as_slice() else {
            return Err(ProcessorError::malformed());
        };
        if self.id != reference {
            return Err(ProcessorError::malformed());
        }
        Ok(PaymentSnapshot {
            key: unit.invoice_id.clone(),
            checkout_reference: unit.custom_id.clone(),
            amount: money(&unit.amount)?,
            state: state(&self.status, &unit.payments)?,
            reference: self.id,
        })
    }
}

fn state(status: &str, payments: &Payments) -> Result<PaymentState, ProcessorError> {
    let has = |statuses: &[&str]| {
        payments.captures.iter().any(|capture| statuses.contains(&capture.status.as_str()))
    };
    let is_settled = |capture: &&Capture| {
        matches!(capture.status.as_str(), "COMPLETED" | "PARTIALLY_REFUNDED" | "REFUNDED")
    };
    let mut settled = payments.captures.iter().filter(is_settled);
    match (settled.next(), settled.next()) {
        (Some(capture), None) => return paid(capture, &payments.refunds),
        // An order with the intent of capturing is captured once.
        (Some(_), Some(_)) => return Err(ProcessorError::malformed()),
        (None, _) => {}
    }
    if has(&["PENDING"]) {
        return Ok(PaymentState::Processing);
    }
    match status {
        "CREATED" | "SAVED" | "PAYER_ACTION_REQUIRED" => Ok(PaymentState::Open),
        "APPROVED" => Ok(PaymentState::Approved),
        "VOIDED" => Ok(PaymentState::Canceled),
        "COMPLETED" if has(&["DECLINED", "FAILED"]) => Ok(PaymentState::Failed),
        _ => Err(ProcessorError::malformed()),
    }
}

fn paid(capture: &Capture, refunds: &[RefundObject]) -> Result<PaymentState, ProcessorError> {
    let reference = api::reference(&capture.id).map_err(|_| ProcessorError::malformed())?;
    let amount = money(&capture.amount)?;
    let fee = capture.seller_receivable_breakdown.as_ref();
    let fee = fee.and_then(|breakdown| breakdown.paypal_fee.as_ref()).and_then(Amount::money);
    let payment = PaidPayment { reference: reference.to_owned(), amount, fee };
    match capture.status.as_str() {
        "COMPLETED" => Ok(PaymentState::Paid(payment)),
        "REFUNDED" => Ok(PaymentState::Refunded { payment, refunded: amount }),
        _ => {
            let mut refunded = Money::new(0, amount.currency());
            for refund in refunds.iter().filter(|refund| refund.status == "COMPLETED") {
                let sum = refunded.plus(money(&refund.amount)?);
                refunded = sum.map_err(|_| ProcessorError::malformed())?;
            }
            Ok(PaymentState::PartlyRefunded { payment, refunded })
        }
    }
}

fn money(amount: &Amount) -> Result<Money, ProcessorError> {
    amount.money().ok_or_else(ProcessorError::malformed)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use primitives::{Currency, Id, PaymentId, Timestamp};

    use super::*;
    use crate::key::IdempotencyKey;

    const EUR: Currency = Currency::EUR;

    fn request() -> HostedPaymentRequest {
        let created_at: Timestamp = "2026-11-19T10:00:00Z".parse().unwrap();
        HostedPaymentRequest {
            key: IdempotencyKey::of_payment(PaymentId::from_random(1)),
            checkout_reference: "chk_1".to_owned(),
            amount: Money::new(12_50, EUR),
            description: "ä".repeat(100),
            success_url: "https://souk.example/paid".to_owned(),
            cancel_url: "https://souk.example/cancel".to_owned(),
            created_at,
            expires_at: created_at.plus(Duration::from_mins(30)),
            allows_delayed_methods: false,
            buyer_email: Some("ada@example.com".to_owned()),
        }
    }

    #[test]
    fn an_order_has_the_exact_amount_and_our_ids() {
        let sent = body(&request(), false).unwrap();
        assert_eq!(sent, body(&request(), false).unwrap());
        let unit = &sent["purchase_units"][0];
        assert_eq!(unit["amount"], json!({ "currency_code": "EUR", "value": "12.50" }));
        assert_eq!(unit["custom_id"], "chk_1");
        assert_eq!(unit["invoice_id"], "pay_00000000000000000000000000000001");
        assert_eq!(unit["description"].as_str().unwrap().len(), 126);
        let paypal = &sent["payment_source"]["paypal"];
        assert_eq!(paypal["email_address"], "ada@example.com");
        let context = &paypal["experience_context"];
        assert_eq!(context["payment_method_preference"], "IMMEDIATE_PAYMENT_REQUIRED");
        assert_eq!(context["return_url"], "https://souk.example/paid");
    }

    #[test]
    fn what_cannot_be_sent_is_refused_before() {
        for (request, error) in [
            (
                HostedPaymentRequest { amount: Money::new(1, Currency::Usdc), ..request() },
                InvalidRequest::UnsupportedCurrency,
            ),
            (
                HostedPaymentRequest { success_url: "/paid".to_owned(), ..request() },
                InvalidRequest::ReturnUrl,
            ),
            (
                HostedPaymentRequest { checkout_reference: "a".repeat(128), ..request() },
                InvalidRequest::Reference,
            ),
        ] {
            assert_eq!(body(&request, false), Err(error));
        }
    }

    fn capture(id: &str, status: &str) -> Value {
        json!({
            "id": id, "status": status, "amount": { "currency_code": "EUR", "value": "12.50" },
            "seller_receivable_breakdown": {
                "gross_amount": { "currency_code": "EUR", "value": "12.50" },
                "paypal_fee": { "currency_code": "EUR", "value": "0.66" },
            },
        })
    }

    fn order(status: &str, captures: &[Value]) -> Result<PaymentSnapshot, ProcessorError> {
        let refund = |id: &str, status: &str| {
            let amount = json!({ "currency_code": "EUR", "value": "1.25" });
            json!({ "id": id, "status": status, "amount": amount })
        };
        let body = json!({
            "id": "O1", "status": status,
            "purchase_units": [{
                "amount": { "currency_code": "EUR", "value": "12.50" },
                "custom_id": "chk_1", "invoice_id": "pay_1",
                "payments": {
                    "captures": captures,
                    "refunds": [
                        refund("R1", "COMPLETED"), refund("R2", "FAILED"), refund("R3", "COMPLETED"),
                    ],
                },
            }],
        });
        serde_json::from_value::<Order>(body).unwrap().snapshot("O1")
    }

    #[test]
    fn the_state_follows_from_order_and_captures() {
        let amount = Money::new(12_50, EUR);
        let fee = Some(Money::new(66, EUR));
        let payment = PaidPayment { reference: "C1".to_owned(), amount, fee };
        for (status, captures, expected) in [
            ("CREATED", vec![], PaymentState::Open),
            ("PAYER_ACTION_REQUIRED", vec![], PaymentState::Open),
            ("APPROVED", vec![], PaymentState::Approved),
            ("APPROVED", vec!["DECLINED"], PaymentState::Approved),
            ("APPROVED", vec!["PENDING"], PaymentState::Processing),
            ("VOIDED", vec![], PaymentState::Canceled),
            ("COMPLETED", vec!["PENDING"], PaymentState::Processing),
            ("COMPLETED", vec!["DECLINED"], PaymentState::Failed),
            ("COMPLETED", vec!["FAILED"], PaymentState::Failed),
            ("COMPLETED", vec!["COMPLETED"], PaymentState::Paid(payment.clone())),
            (
                "COMPLETED",
                vec!["PARTIALLY_REFUNDED"],
                PaymentState::PartlyRefunded {
                    payment: payment.clone(),
                    refunded: Money::new(2_50, EUR),
                },
            ),
            ("COMPLETED", vec!["REFUNDED"], PaymentState::Refunded { payment, refunded: amount }),
        ] {
            let captures: Vec<Value> = captures.iter().map(|it| capture("C1", it)).collect();
            let found = order(status, &captures).unwrap();
            assert_eq!(found.state, expected, "{status} {captures:?}");
            assert_eq!((found.key.as_deref(), found.amount), (Some("pay_1"), amount));
            assert_eq!(found.checkout_reference.as_deref(), Some("chk_1"));
        }
        let found = order("COMPLETED", &[capture("C0", "DECLINED"), capture("C1", "COMPLETED")]);
        assert_eq!(found.unwrap().state.paid().unwrap().reference, "C1");
    }

    #[test]
    fn an_order_that_contradicts_itself_has_no_state() {
        let twice = [capture("C1", "COMPLETED"), capture("C2", "COMPLETED")];
        for (status, captures) in [
            ("COMPLETED", &twice[..]),
            ("COMPLETED", &[]),
            ("NEW", &[]),
            ("COMPLETED", &[capture("C/1", "COMPLETED")]),
        ] {
            assert_eq!(order(status, captures), Err(ProcessorError::malformed()), "{status}");
        }
        let parse = |body: Value| serde_json::from_value::<Order>(body).unwrap().snapshot("O1");
        for body in [
            json!({ "id": "O1", "status": "CREATED" }),
            json!({ "id": "O2", "status": "CREATED", "purchase_units": [
                { "amount": { "currency_code": "EUR", "value": "12.50" } },
            ] }),
        ] {
            assert_eq!(parse(body), Err(ProcessorError::malformed()));
        }
    }

    #[test]
    fn the_page_is_the_link_for_the_buyer() {
        let hosted = |rel: &str, href: &str| {
            let links = json!([{ "rel": "self", "href": "https://x.example/" }, { "rel": rel, "href": href }]);
            let body = json!({ "id": "O1", "status": "CREATED", "links": links });
            serde_json::from_value::<Order>(body).unwrap().hosted(false)
        };
        let page = "https://www.paypal.com/checkoutnow?token=O1";
        for rel in ["payer-action", "approve"] {
            assert_eq!(hosted(rel, page).unwrap().url, page);
        }
        assert_eq!(hosted("capture", page), Err(ProcessorError::malformed()));
        let script = hosted("approve", "javascript:alert(1)");
        assert_eq!(script, Err(ProcessorError::malformed()));
    }
}
