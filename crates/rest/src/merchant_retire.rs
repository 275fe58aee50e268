//! Retiring many products of a merchant at once.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::State;
use catalog::{FieldError, FieldErrorCode, RetireOutcome};
use database::Work;
use identity::StoreScope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::merchant_products::{ItemResult, ItemStatus, count_items};
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, Rest, RestState, Routes, StoreCaller,
};

// docs/contract/merchant-api.md#retire
/// Products per call.
const IDS_MAX: usize = 1_000;
/// Products per transaction.
const PER_WORK: usize = 500;

pub(crate) fn endpoints() -> Routes<RestState> {
    let retire =
        Endpoint::post("/merchant/retire", Access::Store(StoreScope::Catalog), retire_products)
            .operation_id("retireProducts")
            .tag("merchant")
            .summary("Retire products")
            .description(
                "Agents no longer see the products. Each succeeds or fails on its own; `results` has one entry per \
             identifier, in the order of the request. A product that is retired already is `unchanged`. Creating a \
             product again restores it under the same id.",
            )
            .body::<RetireRequest>()
            .response::<Envelope<RetireResult>>(200);
    Routes::new().with(retire)
}

/// Products to retire.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "external_ids": ["POUR-101", "MUG-1"] })))]
struct RetireRequest {
    /// Up to 1,000 of the merchant's own identifiers.
    #[schemars(length(min = 1, max = IDS_MAX))]
    external_ids: Vec<String>,
}

/// The result of each identifier, in the order of the request.
#[derive(Debug, Serialize, JsonSchema)]
struct RetireResult {
    /// Number of products retired now.
    retired: usize,
    /// Number of products that were retired before.
    unchanged: usize,
    /// Number of identifiers without a product, or repeated.
    failed: usize,
    /// One result per identifier, in the order of the request.
    results: Vec<ItemResult>,
}

async fn retire_products(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Json(request): Json<RetireRequest>,
) -> Result<Envelope<RetireResult>, ErrorResponse> {
    let ids = request.external_ids;
    count_items(&rest.database, caller.merchant, ids.iter().map(String::len)).await?;
    let mut seen = HashSet::new();
    let unique: Vec<String> = ids.iter().filter(|id| seen.insert(id.as_str())).cloned().collect();
    let mut outcomes = Vec::with_capacity(unique.len());
    for part in unique.chunks(PER_WORK) {
        let mut work = Work::for_store(&rest.database, caller.merchant).await?;
        let part = catalog::retire_each(&mut work, caller.merchant, part).await?;
        if part.iter().any(|outcome| matches!(outcome, RetireOutcome::Retired(_))) {
            catalog::schedule_catalog_stats(&mut work, caller.merchant).await?;
        }
        work.commit().await?;
        outcomes.extend(part);
    }
    let mut outcomes = unique.iter().zip(outcomes).peekable();
    let results: Vec<ItemResult> = ids
        .iter()
        .map(|id| match outcomes.next_if(|(next, _)| *next == id) {
            Some((_, outcome)) => result(id, outcome),
            // The first of them is the next of the unique ones, so that this one is a repetition.
            None => repeated(id),
        })
        .collect();
    let count = |status| results.iter().filter(|result| result.status == status).count();
    let (retired, unchanged) = (count(ItemStatus::Retired), count(ItemStatus::Unchanged));
    let failed = results.len() - retired - unchanged;
    Ok(Envelope::new(RetireResult { retired, unchanged, failed, results }))
}

fn result(id: &str, outcome: RetireOutcome) -> ItemResult {
    let (status, product_id) = match outcome {
        RetireOutcome::Retired(product) => (ItemStatus::Retired, Some(product)),
        RetireOutcome::Unchanged(product) => (ItemStatus::Unchanged, Some(product)),
        RetireOutcome::NotFound => (ItemStatus::NotFound, None),
    };
    ItemResult { status, product_id, ..ItemResult::failed(Some(id.to_owned()), Vec::new()) }
}

fn repeated(id: &str) -> ItemResult {
    let reason = "duplicates an earlier item of the request; only the first was processed";
    let error = FieldError::new("external_ids", FieldErrorCode::Duplicate, reason);
    ItemResult::failed(Some(id.to_owned()), vec![error])
}
