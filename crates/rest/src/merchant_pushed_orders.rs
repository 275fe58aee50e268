//! Orders that a merchant pushes from other channels (docs/contract/merchant-api.md#push-orders).

use std::sync::Arc;

use axum::extract::State;
use identity::StoreScope;
use orders::{
    OrderError, OrderStatus, PUSHED_ID_LENGTH_MAX, PUSHED_LINES_MAX, PUSHED_NAME_LENGTH_MAX,
    PUSHED_ORDERS_MAX, PushOutcome, PushResult, PushedLine, PushedOrder,
};
use primitives::{Amount, Currency, Details, ErrorCode, Money, OrderId, Problem, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::action::NAMES;
use crate::merchant_products::count_items;
use crate::request::from_json;
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, LargeJson, Rest, RestState, Routes, StoreCaller,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let push = Endpoint::post("/merchant/orders", Access::Store(StoreScope::Orders), push)
        .operation_id("pushOrders")
        .tag("merchant")
        .summary("Push orders of other channels")
        .description("Creates or updates up to 500 orders by your own `external_id`. Each is taken or refused on its own; `results` has one entry per order, in the order of the request. Sending the same orders again changes nothing. Agents do not see pushed orders, and they do not count for verified components of the trust score.")
        .body_with_items::<PushOrdersRequest>("orders")
        .large_json()
        .response::<Envelope<PushOrdersResult>>(200);
    Routes::new().with(push)
}

/// Orders to create or update.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "orders": [{
    "external_id": "WEB-1001", "status": "shipped", "currency": "EUR", "total_amount": "24.90",
    "items": [{ "sku": "MUG-1", "name": "Mug", "quantity": 2, "unit_price": "12.45" }],
    "placed_at": "2026-01-31T12:00:00Z",
}] })))]
struct PushOrdersRequest {
    /// Up to 500 orders.
    #[schemars(with = "Vec<PushedOrderRequest>", length(max = PUSHED_ORDERS_MAX))]
    // Each is parsed separately, so that an invalid one does not reject the others.
    orders: Vec<Box<RawValue>>,
}

/// An order of another channel.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PushedOrderRequest {
    /// Your own identifier of the order.
    #[schemars(length(min = 1, max = PUSHED_ID_LENGTH_MAX))]
    external_id: String,
    /// Status of the order.
    status: OrderStatus,
    /// Currency of all amounts.
    #[schemars(length(max = 4))]
    currency: String,
    /// Total.
    total_amount: Amount,
    /// Lines of the order. Their SKUs and names have at most 16,384 bytes together.
    #[schemars(length(max = PUSHED_LINES_MAX))]
    items: Option<Vec<PushedItemRequest>>,
    /// When the order was placed, RFC 3339.
    placed_at: Timestamp,
}

/// A line of an order of another channel.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PushedItemRequest {
    /// Your SKU.
    #[schemars(length(min = 1, max = PUSHED_ID_LENGTH_MAX))]
    sku: String,
    /// Name of the product.
    #[schemars(length(min = 1, max = PUSHED_NAME_LENGTH_MAX))]
    name: String,
    /// Units.
    #[schemars(range(min = 1))]
    quantity: u32,
    /// Unit price.
    unit_price: Amount,
}

/// The result of each order, in the order of the request.
#[derive(Debug, Serialize, JsonSchema)]
struct PushOrdersResult {
    /// Number of orders created.
    created: usize,
    /// Number of orders updated.
    updated: usize,
    /// Number of orders that were stored like this already.
    unchanged: usize,
    /// Number of orders that were refused.
    failed: usize,
    /// One result per order, in the order of the request.
    results: Vec<PushedOrderResult>,
}

primitives::text_enum! {
    /// What became of a pushed order.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    enum PushStatus {
        Created,
        Updated,
        /// The order was stored like this already.
        Unchanged,
        /// The order was refused; `error` says why.
        Failed,
    }
}

/// The result of a pushed order.
#[derive(Debug, Serialize, JsonSchema)]
struct PushedOrderResult {
    /// Your own identifier of the order; empty if the order has none.
    external_id: String,
    /// What became of the order.
    status: PushStatus,
    /// ID of the order; absent if it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    order_id: Option<OrderId>,
    /// Why it was refused; absent if it was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<PushError>,
}

/// Why an order was refused.
#[derive(Debug, Serialize, JsonSchema)]
struct PushError {
    /// Stable error code.
    code: &'static str,
    /// Field of the order that is invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// The same in a sentence.
    message: String,
}

impl PushError {
    fn of(error: &OrderError) -> Self {
        let mut details = Details::default();
        error.details(&mut details);
        let field = details.into_json(NAMES).remove("field");
        Self {
            code: error.code().code(),
            field: field.and_then(|field| field.as_str().map(str::to_owned)),
            message: error.to_string(),
        }
    }
}

impl PushedOrderResult {
    fn refused(external_id: String, error: PushError) -> Self {
        Self { external_id, status: PushStatus::Failed, order_id: None, error: Some(error) }
    }

    fn of(pushed: PushResult) -> Self {
        match pushed.result {
            Ok(taken) => Self {
                external_id: pushed.external_id,
                status: match taken.outcome {
                    PushOutcome::Created => PushStatus::Created,
                    PushOutcome::Updated => PushStatus::Updated,
                    PushOutcome::Unchanged => PushStatus::Unchanged,
                },
                order_id: Some(taken.order),
                error: None,
            },
            Err(error) => Self::refused(pushed.external_id, PushError::of(&error)),
        }
    }
}

impl PushedOrderRequest {
    fn parse(self) -> Result<PushedOrder, OrderError> {
        let invalid = |field: String, allowed| OrderError::InvalidField { field, allowed };
        let currency: Currency = self
            .currency
            .parse()
            .map_err(|_| invalid(String::from("currency"), "an ISO 4217 code, or USDC"))?;
        let minor = |field: String, amount: &Amount| {
            let money = Money::from_decimal_text(amount.as_str(), currency);
            money.map(Money::minor).map_err(|_| invalid(field, "an amount in the currency"))
        };
        let total_minor = minor(String::from("total_amount"), &self.total_amount)?;
        let mut lines = Vec::new();
        for (index, item) in self.items.unwrap_or_default().into_iter().enumerate() {
            let unit_minor = minor(format!("items[{index}].unit_price"), &item.unit_price)?;
            let PushedItemRequest { sku, name, quantity, .. } = item;
            lines.push(PushedLine { sku, name, quantity, unit_minor });
        }
        Ok(PushedOrder {
            external_id: self.external_id,
            status: self.status,
            currency,
            total_minor,
            lines,
            placed_at: self.placed_at,
        })
    }
}

/// An order as the domain takes it: parsed, or its external id and its error.
type Parsed = Result<PushedOrder, (String, OrderError)>;

/// Parses an order separately, so that an invalid one does not reject the others. Errors name only fields of our own schema. One
/// that is not of the schema also has the error that its result shows.
fn parse(item: &RawValue) -> (Parsed, Option<PushError>) {
    /// The identifier of an order that is invalid as a whole.
    #[derive(Deserialize)]
    struct Identifier {
        external_id: String,
    }
    let invalid = match from_json::<PushedOrderRequest>(item.get().as_bytes()) {
        Ok(request) => {
            let external_id = request.external_id.clone();
            return (request.parse().map_err(|error| (external_id, error)), None);
        }
        Err(invalid) => invalid,
    };
    let identifier = serde_json::from_str::<Identifier>(item.get()).ok();
    let external_id = identifier.map(|it| it.external_id).unwrap_or_default();
    let (field, reason) = invalid.field().unzip();
    let message = reason.zip(field.as_ref()).map_or_else(
        || {
            String::from(
                "the order is not a JSON object, or has a field that /api/docs does not describe",
            )
        },
        |(reason, field)| format!("{field} {reason}"),
    );
    let allowed = "an order as /api/docs describes it";
    let refused = OrderError::InvalidField { field: field.clone().unwrap_or_default(), allowed };
    let error = PushError { code: ErrorCode::InvalidRequest.code(), field, message };
    (Err((external_id, refused)), Some(error))
}

async fn push(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    LargeJson(request): LargeJson<PushOrdersRequest>,
) -> Result<Envelope<PushOrdersResult>, ErrorResponse> {
    let lengths = request.orders.iter().map(|item| item.get().len());
    count_items(&rest.database, caller.merchant, lengths).await?;
    let (parsed, errors): (Vec<Parsed>, Vec<Option<PushError>>) =
        request.orders.iter().map(|item| parse(item)).unzip();
    let pushed = orders::push(&rest.database, caller.merchant, parsed).await?;
    let result = |(it, error): (PushResult, Option<PushError>)| match error {
        Some(error) => PushedOrderResult::refused(it.external_id, error),
        None => PushedOrderResult::of(it),
    };
    let results: Vec<PushedOrderResult> = pushed.into_iter().zip(errors).map(result).collect();
    let count = |status| results.iter().filter(|result| result.status == status).count();
    Ok(Envelope::new(PushOrdersResult {
        created: count(PushStatus::Created),
        updated: count(PushStatus::Updated),
        unchanged: count(PushStatus::Unchanged),
        failed: count(PushStatus::Failed),
        results,
    }))
}
