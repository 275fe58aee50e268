//! Checkouts of a store, for its merchant: listing them, releasing the units that one holds, and reporting a payment on the
//! merchant's own page.

use std::sync::Arc;

use axum::extract::State;
use checkout::{
    CheckoutCaller, CheckoutContext, PaymentReport, ReportedAmounts, SessionRecord, SessionsFilter,
    Status,
};
use database::Reading;
use identity::StoreScope;
use primitives::{CheckoutId, Currency, Money, PageRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::envelope::CursorEnvelope;
use crate::request::InvalidField;
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, Path, Query, Rest, RestState, Routes,
    StoreCaller,
};

const ACCESS: Access = Access::Store(StoreScope::Orders);
/// Longest reference of a payment.
const REFERENCE_CHARACTERS_MAX: usize = 255;

pub(crate) fn endpoints() -> Routes<RestState> {
    let list = Endpoint::get("/merchant/checkouts", ACCESS, list)
        .operation_id("listCheckouts")
        .tag("merchant")
        .summary("List checkouts")
        .description("Returns the checkouts of the store, the newest first; with `status`, those in that status now; with `holding=true`, those that hold units of your stock. Send `meta.next_cursor` as `cursor` for the next page.")
        .query::<ListParameters>()
        .response::<CursorEnvelope<SessionRecord>>(200);
    let release = Endpoint::post("/merchant/checkouts/{checkout_id}/release", ACCESS, release)
        .operation_id("releaseCheckout")
        .tag("merchant")
        .summary("Release a checkout")
        .description("Cancels an unpaid checkout and returns its units to your stock. A checkout that is being paid, or was paid, cannot be released. Releasing it again changes nothing.")
        .path::<CheckoutId>()
        .response::<Envelope<SessionRecord>>(200)
        .errors(checkout::RELEASE_ERRORS);
    let report = Endpoint::post("/merchant/checkouts/{checkout_id}/complete", ACCESS, report)
        .operation_id("reportCheckoutPaid")
        .tag("merchant")
        .summary("Report a checkout as paid")
        .description("Creates the order and sends the webhook event `order.created`. Reporting the same payment again changes nothing; a different payment for the same checkout is rejected. Amounts that the quote fixed must equal it; shipping and tax that it left open are recorded. A payment reported after the checkout ended creates an order with the status `manual_review`, or, if the items are no longer available, is recorded as a refund to make.")
        .path::<CheckoutId>()
        .body::<ReportPaidRequest>()
        .response::<Envelope<SessionRecord>>(200)
        .errors(checkout::REPORT_ERRORS);
    Routes::new().with(list).with(release).with(report)
}

/// Which checkouts are listed.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListParameters {
    /// Only checkouts that hold units.
    #[schemars(extend("default" = false))]
    holding: Option<bool>,
    /// Only checkouts with this status.
    status: Option<Status>,
    /// `meta.next_cursor` of the previous page, in place of `page`.
    #[schemars(length(max = 40))]
    cursor: Option<String>,
    /// Page number, from 1.
    #[schemars(extend("default" = 1))]
    page: Option<i64>,
    /// Checkouts per page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

/// A payment on the merchant's own page.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "reference": "SHOP-1001" })))]
struct ReportPaidRequest {
    /// Your own reference of the payment or the order.
    #[schemars(length(min = 1, max = REFERENCE_CHARACTERS_MAX))]
    reference: String,
    /// All items, before discounts. Must equal the quote.
    subtotal: Option<f64>,
    /// Sum of all discounts. Must equal the quote.
    discount: Option<f64>,
    /// Price of shipping. Must equal the quote unless it left shipping open.
    shipping: Option<f64>,
    /// Taxes added to the prices. Must equal the quote unless it left taxes open.
    tax: Option<f64>,
    /// Amount paid. Must equal the total of the checkout, plus what the quote left open.
    total: Option<f64>,
    /// Another name of `total`.
    total_amount: Option<f64>,
    /// Currency of the amounts; required with any of them.
    #[schemars(length(max = 4))]
    currency: Option<String>,
}

impl ReportPaidRequest {
    fn parse(self) -> Result<PaymentReport, InvalidField> {
        let length = self.reference.chars().count();
        if !(1..=REFERENCE_CHARACTERS_MAX).contains(&length)
            || self.reference.chars().any(char::is_control)
        {
            return Err(InvalidField { field: "reference" });
        }
        let currency = self.currency.as_deref().map(str::parse::<Currency>).transpose();
        let currency = currency.map_err(|_| InvalidField { field: "currency" })?;
        let money = |field: &'static str, amount: Option<f64>| {
            let Some(amount) = amount else { return Ok(None) };
            let currency = currency.ok_or(InvalidField { field: "currency" })?;
            Money::from_decimal(amount, currency).map(Some).map_err(|_| InvalidField { field })
        };
        let total = money("total", self.total)?;
        let other = money("total_amount", self.total_amount)?;
        if total.zip(other).is_some_and(|(total, other)| total != other) {
            return Err(InvalidField { field: "total_amount" });
        }
        let amounts = ReportedAmounts {
            subtotal: money("subtotal", self.subtotal)?,
            discount: money("discount", self.discount)?,
            shipping: money("shipping", self.shipping)?,
            tax: money("tax", self.tax)?,
            total: total.or(other),
        };
        if currency.is_some() && amounts == ReportedAmounts::default() {
            return Err(InvalidField { field: "total_amount" });
        }
        Ok(PaymentReport { reference: self.reference, amounts })
    }
}

fn context<'rest>(rest: &'rest Rest, caller: &'rest StoreCaller) -> CheckoutContext<'rest> {
    CheckoutContext {
        database: &rest.database,
        store: &caller.store,
        site_url: &rest.site_url,
        gateway: &rest.payment_gateway,
        caller: CheckoutCaller::default(),
    }
}

async fn list(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<ListParameters>,
) -> Result<CursorEnvelope<SessionRecord>, ErrorResponse> {
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let after = parameters.cursor.map(|cursor| cursor.parse::<CheckoutId>()).transpose();
    let filter = SessionsFilter {
        holding_only: parameters.holding.unwrap_or(false),
        status: parameters.status,
        after: after.map_err(|_| InvalidField { field: "cursor" })?,
    };
    let page = PageRequest::new(parameters.page, parameters.limit);
    let (found, meta) = checkout::sessions(&reading, caller.merchant, &filter, page).await?;
    let is_full = u32::try_from(found.len()).is_ok_and(|count| count >= page.limit());
    let next = found.last().filter(|_| is_full).map(|at| at.session.id);
    let records = found.iter().map(checkout::SessionSnapshot::record_for_merchant).collect();
    Ok(CursorEnvelope::new(records, meta, next))
}

async fn release(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<CheckoutId>,
) -> Result<Envelope<SessionRecord>, ErrorResponse> {
    let released = checkout::release(&context(&rest, &caller), id).await?;
    Ok(Envelope::new(released.record_for_merchant()))
}

async fn report(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<CheckoutId>,
    Json(request): Json<ReportPaidRequest>,
) -> Result<Envelope<SessionRecord>, ErrorResponse> {
    let report = request.parse()?;
    let reported = checkout::report_paid(&context(&rest, &caller), id, &report).await?;
    Ok(Envelope::new(reported.record_for_merchant()))
}
