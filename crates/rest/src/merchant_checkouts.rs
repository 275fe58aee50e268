//! A merchant reports that a checkout was paid on its own page.

use std::sync::Arc;

use axum::extract::State;
use checkout::{CheckoutContext, PaymentReport, SessionRecord};
use primitives::{CheckoutId, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::request::InvalidField;
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, Path, Rest, RestState, Routes, StoreCaller,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let report = Endpoint::post("/merchant/checkouts/{checkout_id}/complete", Access::Store, report)
        .operation_id("reportCheckoutPaid")
        .tag("merchant")
        .summary("Report a checkout as paid")
        .description("Creates the order and sends the webhook event `order.created`. Reporting the same payment again changes nothing; a different payment for the same checkout is rejected.")
        .path::<CheckoutId>()
        .body::<ReportPaidRequest>()
        .response::<Envelope<SessionRecord>>(200)
        .errors(checkout::REPORT_ERRORS);
    Routes::new().with(report)
}

/// A payment on the merchant's own page.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "reference": "SHOP-1001" })))]
struct ReportPaidRequest {
    /// Your own reference of the payment or the order.
    #[schemars(length(min = 1, max = 255))]
    reference: String,
    /// Amount paid. Optional; must equal the total of the checkout and requires `currency`.
    total_amount: Option<f64>,
    /// Currency of the amount.
    #[schemars(length(max = 4))]
    currency: Option<String>,
}

async fn report(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<CheckoutId>,
    Json(request): Json<ReportPaidRequest>,
) -> Result<Envelope<SessionRecord>, ErrorResponse> {
    let length = request.reference.chars().count();
    if !(1..=255).contains(&length) || request.reference.chars().any(char::is_control) {
        return Err(InvalidField { field: "reference" }.into());
    }
    let amount = match (request.total_amount, &request.currency) {
        (None, None) => None,
        (Some(amount), Some(code)) => {
            let currency = code.parse().map_err(|_| InvalidField { field: "currency" })?;
            let amount = Money::from_decimal(amount, currency);
            Some(amount.map_err(|_| InvalidField { field: "total_amount" })?)
        }
        (Some(_), None) => return Err(InvalidField { field: "currency" }.into()),
        (None, Some(_)) => return Err(InvalidField { field: "total_amount" }.into()),
    };
    let context = CheckoutContext {
        database: &rest.database,
        store: &caller.store,
        site_url: &rest.site_url,
    };
    let report = PaymentReport { reference: request.reference, amount };
    Ok(Envelope::new(checkout::report_paid(&context, id, &report).await?.record_for_merchant()))
}
