//! What a merchant reports of a checkout: that it was paid on the merchant's own page.

use std::sync::Arc;

use axum::extract::State;
use checkout::{Counter, Reported, SessionRecord};
use primitives::{ErrorCode, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::request::{CheckoutPart, Unfit};
use crate::{Access, Endpoint, Json, One, Opened, Path, Refusal, Rest, Routes, StoreCaller};

pub(crate) fn endpoints() -> Routes<Opened> {
    let complete = Endpoint::post("/merchant/checkouts/{checkout_id}/complete", Access::Store, complete)
        .name("completeCheckout")
        .tag("merchant")
        .summary("Report that a checkout was paid")
        .explanation("The order exists from here on, and `order.created` is sent. Reporting the same payment again changes nothing; another one for the same checkout is refused.")
        .path::<CheckoutPart>()
        .body::<PaidRequest>()
        .answer::<One<SessionRecord>>(200)
        .errors(&[
            ErrorCode::NotFound,
            ErrorCode::InvalidStatusTransition,
            ErrorCode::PaymentAlreadyProcessed,
        ]);
    Routes::new().with(complete)
}

/// A payment on the merchant's own page.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "reference": "SHOP-1001" })))]
struct PaidRequest {
    /// What you call the payment, or your own order.
    #[schemars(length(min = 1, max = 255))]
    reference: String,
    /// What was paid. If it is named, it has to be what the checkout costs.
    total_amount: Option<f64>,
    /// The currency of the amount.
    #[schemars(length(max = 4))]
    currency: Option<String>,
}

async fn complete(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(CheckoutPart(id)): Path<CheckoutPart>,
    Json(request): Json<PaidRequest>,
) -> Result<One<SessionRecord>, Refusal> {
    let length = request.reference.chars().count();
    if !(1..=255).contains(&length) || request.reference.chars().any(char::is_control) {
        return Err(Unfit { field: "reference" }.into());
    }
    let amount = match (request.total_amount, &request.currency) {
        (None, None) => None,
        (Some(amount), Some(code)) => {
            let currency = code.parse().map_err(|_| Unfit { field: "currency" })?;
            let amount = Money::from_decimal(amount, currency);
            Some(amount.map_err(|_| Unfit { field: "total_amount" })?)
        }
        (Some(_), None) => return Err(Unfit { field: "currency" }.into()),
        (None, Some(_)) => return Err(Unfit { field: "total_amount" }.into()),
    };
    let counter =
        Counter { database: &rest.database, store: &caller.store, site_url: &rest.site_url };
    let reported = Reported { reference: request.reference, amount };
    Ok(One::new(checkout::report_paid(&counter, id, &reported).await?.record_for_merchant()))
}
