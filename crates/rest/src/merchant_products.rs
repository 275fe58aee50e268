//! A merchant's own catalog: creation, update and removal of whole products.

use std::collections::HashSet;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use catalog::{
    FeedFormat, FeedRunMode, FieldError, FieldErrorCode, Incoming, NewFeedRun, Origin,
    ProductDraft, PutOutcome,
};
use database::{Database, Work};
use identity::StoreScope;
use primitives::{ErrorCode, MerchantId, ProductId};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::idempotency::IdempotencyKeyHeader;
use crate::merchant_jobs::{JobAccepted, receive_feed};
use crate::request::{ExternalId, from_json};
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, LargeJson, Path, Query, Rest, RestState,
    Routes, StoreCaller,
};

/// Items per call (docs/contract/merchant-api.md#batch-limit).
pub(crate) const ITEMS_MAX: usize = 500;
/// Rows per transaction.
const ROWS_MAX: usize = 500;

pub(crate) fn endpoints() -> Routes<RestState> {
    Routes::new().with(push()).with(replace()).with(put_one()).with(delete_one())
}

fn push() -> Endpoint<RestState> {
    Endpoint::patch("/merchant/products", Access::Store(StoreScope::Catalog), push_products)
        .operation_id("upsertProducts")
        .tag("merchant")
        .summary("Create or update products")
        .description(
            "Up to 500 complete products. Each succeeds or fails on its own; `results` has one entry per product, in \
             the order of the request. Sending the same products again changes nothing.",
        )
        .body_with_items::<PushRequest>("products")
        .large_json()
        .response::<Envelope<PushResult>>(200)
}

fn replace() -> Endpoint<RestState> {
    Endpoint::put("/merchant/products", Access::Store(StoreScope::Catalog), replace_products)
        .operation_id("replaceProducts")
        .tag("merchant")
        .summary("Replace the whole catalog")
        .description(
            "The body has one product per line. Products that it does not contain are retired after the whole file is \
             applied. A file with less than half of the listed products is rejected unless `force` is set. A job \
             applies the file: poll `/merchant/jobs/{job_id}`.",
        )
        .query::<ReplaceParameters>()
        .body_stream("application/x-ndjson", "One product per line, as in `PATCH /merchant/products`.")
        .upload()
        .idempotency_key()
        .response::<Envelope<JobAccepted>>(202)
}

fn put_one() -> Endpoint<RestState> {
    Endpoint::put(
        "/merchant/products/{external_id}",
        Access::Store(StoreScope::Catalog),
        put_product,
    )
    .operation_id("upsertProduct")
    .tag("merchant")
    .summary("Create or update a product")
    .path::<ExternalId>()
    .draft_body::<ProductDraft>()
    .response::<Envelope<ItemResult>>(200)
}

fn delete_one() -> Endpoint<RestState> {
    Endpoint::delete(
        "/merchant/products/{external_id}",
        Access::Store(StoreScope::Catalog),
        delete_product,
    )
    .operation_id("deleteProduct")
    .tag("merchant")
    .summary("Retire a product")
    .description(
        "Agents no longer see the product. Creating it again restores it under the same id.",
    )
    .path::<ExternalId>()
    .response::<Envelope<ItemResult>>(200)
    .errors(&[ErrorCode::ProductNotFound])
}

/// Products to create or update.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "products": [ProductDraft::example()] })))]
struct PushRequest {
    /// Up to 500 products.
    #[schemars(with = "Vec<ProductDraft>", length(max = ITEMS_MAX))]
    // Each is parsed separately, so that an invalid one does not reject the others.
    products: Vec<Box<RawValue>>,
}

/// The result of each item, in the order of the request.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PushResult {
    /// Number of items created.
    created: usize,
    /// Number of items updated.
    updated: usize,
    /// Number of items that already had the same data.
    unchanged: usize,
    /// Number of items that failed.
    failed: usize,
    /// One result per item, in the order of the request.
    results: Vec<ItemResult>,
}

impl PushResult {
    pub(crate) fn of(results: Vec<ItemResult>) -> Self {
        let count = |status| results.iter().filter(|result| result.status == status).count();
        Self {
            created: count(ItemStatus::Created),
            updated: count(ItemStatus::Updated),
            unchanged: count(ItemStatus::Unchanged),
            failed: count(ItemStatus::Failed) + count(ItemStatus::NotFound),
            results,
        }
    }
}

/// The result of one item.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ItemResult {
    /// The merchant's own identifier; omitted if it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) external_id: Option<String>,
    /// Outcome of the item.
    pub(crate) status: ItemStatus,
    /// ID of the product, as agents use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) product_id: Option<ProductId>,
    /// Errors, one per invalid field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) faults: Vec<FieldError>,
    /// What was left out of an accepted product, or is probably a mistake.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<FieldError>,
}

/// Outcome of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ItemStatus {
    /// Did not exist and was created.
    Created,
    /// Existed and was changed.
    Updated,
    /// Already had the same data.
    Unchanged,
    /// Removed from the catalog.
    Retired,
    /// No such product or variant exists.
    NotFound,
    /// Rejected; see `faults`.
    Failed,
}

impl ItemResult {
    pub(crate) fn failed(external_id: Option<String>, faults: Vec<FieldError>) -> Self {
        Self {
            external_id,
            status: ItemStatus::Failed,
            product_id: None,
            faults,
            warnings: Vec::new(),
        }
    }

    fn put(external_id: String, put: catalog::PutResult) -> Self {
        let status = match put.outcome {
            PutOutcome::Created => ItemStatus::Created,
            PutOutcome::Updated => ItemStatus::Updated,
            PutOutcome::Unchanged | PutOutcome::Outdated => ItemStatus::Unchanged,
            PutOutcome::OverQuota(quota) => {
                return Self::failed(Some(external_id), vec![quota.field_error()]);
            }
        };
        let (external_id, product_id) = (Some(external_id), Some(put.id));
        Self { external_id, status, product_id, faults: Vec::new(), warnings: Vec::new() }
    }
}

async fn push_products(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    LargeJson(request): LargeJson<PushRequest>,
) -> Result<Envelope<PushResult>, ErrorResponse> {
    let lengths = request.products.iter().map(|item| item.get().len());
    count_items(&rest.database, caller.merchant, lengths).await?;
    let mut results = vec![None; request.products.len()];
    let mut seen = HashSet::new();
    let mut valid: Vec<(usize, Incoming)> = Vec::new();
    for (index, item) in request.products.iter().enumerate() {
        match parse(item, &caller) {
            Ok(incoming) if seen.insert(incoming.facts.external_id.clone()) => {
                valid.push((index, incoming));
            }
            Ok(incoming) => {
                let reason =
                    "duplicates an earlier item of the request; only the first was processed";
                let error = FieldError::new("external_id", FieldErrorCode::Duplicate, reason);
                let id = Some(incoming.facts.external_id);
                results[index] = Some(ItemResult::failed(id, vec![error]));
            }
            Err(answer) => results[index] = Some(answer),
        }
    }
    for (index, answer) in put_all(&rest.database, caller.merchant, valid).await? {
        results[index] = Some(answer);
    }
    Ok(Envelope::new(PushResult::of(results.into_iter().flatten().collect())))
}

/// Counts the items of a call against what the store may send per day. An item counts at least 1 KiB
/// (docs/contract/merchant-api.md#quotas).
pub(crate) async fn count_items(
    database: &Database,
    merchant: MerchantId,
    lengths: impl Iterator<Item = usize>,
) -> Result<(), ErrorResponse> {
    let bytes: usize = lengths.map(|length| length.max(1024)).sum();
    let mut work = Work::for_store(database, merchant).await?;
    catalog::count_upload(&mut work, merchant, bytes).await?;
    work.commit().await?;
    Ok(())
}

/// Parses and checks one item.
fn parse(item: &RawValue, caller: &StoreCaller) -> Result<Incoming, ItemResult> {
    let draft: ProductDraft = parse_item(item)?;
    catalog::check(&draft, caller.store.currency)
        .map_err(|errors| ItemResult::failed(Some(draft.external_id), errors))
}

/// Parses one item separately, so that an invalid one does not reject the others. Errors name only fields of our own
/// schema.
pub(crate) fn parse_item<T: DeserializeOwned + JsonSchema>(
    item: &RawValue,
) -> Result<T, ItemResult> {
    /// The identifier of an item that is invalid as a whole.
    #[derive(Deserialize)]
    struct Identifier {
        external_id: Option<String>,
    }
    from_json(item.get().as_bytes()).map_err(|invalid| {
        let identifier = serde_json::from_str::<Identifier>(item.get()).ok();
        let error = if let Some((field, reason)) = invalid.field() {
            FieldError::new(field, FieldErrorCode::InvalidValue, reason)
        } else {
            let reason = "is not a JSON object, or has a field that /api/docs does not describe";
            FieldError::new("item", FieldErrorCode::Unreadable, reason)
        };
        ItemResult::failed(identifier.and_then(|it| it.external_id), vec![error])
    })
}

/// Writes products in as few transactions as `ROWS_MAX` allows.
async fn put_all(
    database: &Database,
    merchant: MerchantId,
    mut products: Vec<(usize, Incoming)>,
) -> Result<Vec<(usize, ItemResult)>, ErrorResponse> {
    let mut answers = Vec::with_capacity(products.len());
    while !products.is_empty() {
        let mut rows = 0;
        let fits = products.iter().take_while(|(_, incoming)| {
            rows += incoming.rows();
            rows <= ROWS_MAX
        });
        let count = fits.count().max(1);
        let (indexes, batch): (Vec<usize>, Vec<Incoming>) = products.drain(..count).unzip();
        let mut work = Work::for_store(database, merchant).await?;
        let put = catalog::put_products(&mut work, merchant, Origin::Push, &batch).await?;
        if put.iter().any(|put| put.outcome != PutOutcome::Unchanged) {
            catalog::schedule_catalog_stats(&mut work, merchant).await?;
        } else if put.iter().any(|put| put.is_confirmed) {
            catalog::schedule_freshness(&mut work, merchant).await?;
        }
        work.commit().await?;
        for ((index, incoming), put) in indexes.into_iter().zip(batch).zip(put) {
            let mut answer = ItemResult::put(incoming.facts.external_id, put);
            if answer.faults.is_empty() {
                answer.warnings = incoming.warnings;
            }
            answers.push((index, answer));
        }
    }
    Ok(answers)
}

async fn put_product(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(ExternalId(external_id)): Path<ExternalId>,
    Json(draft): Json<ProductDraft>,
) -> Result<Envelope<ItemResult>, ErrorResponse> {
    if draft.external_id.trim() != external_id.trim() {
        let reason = "must equal the identifier in the path";
        return Err(InvalidProduct(vec![FieldError::new(
            "external_id",
            FieldErrorCode::InvalidValue,
            reason,
        )])
        .into());
    }
    let incoming = catalog::check(&draft, caller.store.currency).map_err(InvalidProduct)?;
    count_items(&rest.database, caller.merchant, std::iter::once(draft.bytes())).await?;
    let mut put = put_all(&rest.database, caller.merchant, vec![(0, incoming)]).await?;
    let answer = put.pop().map(|(_, answer)| answer);
    answer.map(Envelope::new).ok_or_else(|| ProductNotListed.into())
}

async fn delete_product(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(ExternalId(external_id)): Path<ExternalId>,
) -> Result<Envelope<ItemResult>, ErrorResponse> {
    let mut work = Work::for_store(&rest.database, caller.merchant).await?;
    let ids = [external_id.clone()];
    let retired = catalog::retire(&mut work, caller.merchant, Origin::Push, &ids).await?;
    let id = retired.first().copied().ok_or(ProductNotListed)?;
    catalog::schedule_catalog_stats(&mut work, caller.merchant).await?;
    work.commit().await?;
    let (external_id, product_id) = (Some(external_id), Some(id));
    let status = ItemStatus::Retired;
    Ok(Envelope::new(ItemResult {
        external_id,
        status,
        product_id,
        faults: Vec::new(),
        warnings: Vec::new(),
    }))
}

/// Options of a replacement.
#[derive(Debug, Deserialize, JsonSchema)]
struct ReplaceParameters {
    /// Continue even if more than half of the catalog would be retired.
    #[schemars(extend("default" = false))]
    force: Option<bool>,
    /// Report what would change, without changing anything.
    #[schemars(extend("default" = false))]
    dry_run: Option<bool>,
}

async fn replace_products(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<ReplaceParameters>,
    idempotency_key: IdempotencyKeyHeader,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Envelope<JobAccepted>), ErrorResponse> {
    let new_run = NewFeedRun {
        format: FeedFormat::Ndjson,
        mode: FeedRunMode::Replace,
        dry_run: parameters.dry_run.unwrap_or(false),
        force: parameters.force.unwrap_or(false),
        file_name: None,
        columns: None,
    };
    receive_feed(&rest, &caller, &new_run, &idempotency_key, &headers, body).await
}

/// The store has no listed product with the identifier.
#[derive(Debug, thiserror::Error)]
#[error("product not found in this store")]
pub(crate) struct ProductNotListed;

impl primitives::Problem for ProductNotListed {
    fn code(&self) -> ErrorCode {
        ErrorCode::ProductNotFound
    }

    fn details(&self, details: &mut primitives::Details) {
        details.insert("field", "external_id");
        details.insert(
            "hint",
            "end the path with your own identifier, percent-encoded; the product may already be retired",
        );
    }
}

/// A product with invalid fields.
#[derive(Debug, thiserror::Error)]
#[error("the product is invalid: details.faults lists the invalid fields")]
struct InvalidProduct(Vec<FieldError>);

impl primitives::Problem for InvalidProduct {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut primitives::Details) {
        if let Some(first) = self.0.first() {
            details.insert("field", first.field.as_ref());
        }
        details.insert("faults", serde_json::to_value(&self.0).unwrap_or_default());
        details.insert("hint", "correct the fields in details.faults and send the product again");
    }
}
