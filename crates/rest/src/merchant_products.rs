//! A merchant's own catalog: whole products, pushed.

use std::collections::HashSet;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use catalog::{
    Done, Fault, FaultCode, FeedFormat, Incoming, NewRun, Origin, ProductDraft, RunMode,
};
use database::{Database, Work};
use primitives::{ErrorCode, MerchantId, ProductId};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::merchant_jobs::{Accepted, take_in};
use crate::request::{ExternalId, from_json};
use crate::{
    Access, Endpoint, Json, Large, One, Opened, Path, Query, Refusal, Rest, Routes, StoreCaller,
};

/// Items one call may carry (decisions §9).
pub(crate) const ITEMS_MAX: usize = 500;
/// Rows one work may write.
const ROWS_MAX: usize = 500;

pub(crate) fn endpoints() -> Routes<Opened> {
    Routes::new().with(push()).with(replace()).with(put_one()).with(delete_one())
}

fn push() -> Endpoint<Opened> {
    Endpoint::patch("/merchant/products", Access::Store, push_products)
        .name("pushProducts")
        .tag("merchant")
        .summary("Bring products in, or up to date")
        .explanation(
            "Up to 500 products, each sent as a whole. Each is taken or refused by itself; the answer says \
             which, in the order of the questions. Sending the same again changes nothing.",
        )
        .body::<PushRequest>()
        .upload()
        .answer::<One<PushAnswer>>(200)
}

fn replace() -> Endpoint<Opened> {
    Endpoint::put("/merchant/products", Access::Store, replace_products)
        .name("replaceProducts")
        .tag("merchant")
        .summary("Replace the whole catalog")
        .explanation(
            "One product a line. Products that are not named are retired, but only once the whole file was read \
             and applied; a file that names less than half of what is listed is refused unless `force` is set. \
             The work is done by a job: follow it at `/merchant/jobs/{job_id}`.",
        )
        .query::<ReplaceParameters>()
        .body_stream("application/x-ndjson", "One product a line, as in `PATCH /merchant/products`.")
        .upload()
        .answer::<One<Accepted>>(202)
}

fn put_one() -> Endpoint<Opened> {
    Endpoint::put("/merchant/products/{external_id}", Access::Store, put_product)
        .name("putProduct")
        .tag("merchant")
        .summary("Bring one product in, or up to date")
        .path::<ExternalId>()
        .body::<ProductDraft>()
        .answer::<One<ItemAnswer>>(200)
}

fn delete_one() -> Endpoint<Opened> {
    Endpoint::delete("/merchant/products/{external_id}", Access::Store, delete_product)
        .name("deleteProduct")
        .tag("merchant")
        .summary("Take a product off the shelf")
        .explanation("Agents no longer see it. Pushing it again brings it back under the same id.")
        .path::<ExternalId>()
        .answer::<One<ItemAnswer>>(200)
        .errors(&[ErrorCode::ProductNotFound])
}

/// Products, as they are pushed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "products": [ProductDraft::example()] })))]
struct PushRequest {
    /// Up to 500 products.
    #[schemars(with = "Vec<ProductDraft>", length(max = 500))]
    // Each is read by itself, so that one that cannot be read does not stop the others.
    products: Vec<Box<RawValue>>,
}

/// What became of each item, in the order of the questions.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PushAnswer {
    /// How many were new.
    created: usize,
    /// How many differed.
    updated: usize,
    /// How many were there in just this form.
    unchanged: usize,
    /// How many were not taken.
    failed: usize,
    /// Each of them, in the order they were sent.
    results: Vec<ItemAnswer>,
}

impl PushAnswer {
    pub(crate) fn of(results: Vec<ItemAnswer>) -> Self {
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

/// What became of one item.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ItemAnswer {
    /// The merchant's own identifier, where it could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) external_id: Option<String>,
    /// What was done.
    pub(crate) status: ItemStatus,
    /// The product's id, for agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) product_id: Option<ProductId>,
    /// What is wrong with it, field by field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) faults: Vec<Fault>,
}

/// What was done with an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ItemStatus {
    /// It was not there.
    Created,
    /// It differed.
    Updated,
    /// It was there in just this form.
    Unchanged,
    /// It was taken off the shelf.
    Retired,
    /// There is no such product or variant.
    NotFound,
    /// It was not taken; `faults` says why.
    Failed,
}

impl ItemAnswer {
    fn failed(external_id: Option<String>, faults: Vec<Fault>) -> Self {
        Self { external_id, status: ItemStatus::Failed, product_id: None, faults }
    }

    fn put(external_id: String, put: catalog::Put) -> Self {
        let status = match put.done {
            Done::Created => ItemStatus::Created,
            Done::Updated => ItemStatus::Updated,
            Done::Unchanged | Done::Outdated => ItemStatus::Unchanged,
        };
        let (external_id, product_id) = (Some(external_id), Some(put.id));
        Self { external_id, status, product_id, faults: Vec::new() }
    }
}

async fn push_products(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Large(request): Large<PushRequest>,
) -> Result<One<PushAnswer>, Refusal> {
    let count = request.products.len();
    if count > ITEMS_MAX {
        return Err(TooMany { field: "products" }.into());
    }
    let mut results = vec![None; count];
    let mut taken = HashSet::new();
    let mut good: Vec<(usize, Incoming)> = Vec::new();
    for (index, item) in request.products.iter().enumerate() {
        match read(item, &caller) {
            Ok(incoming) if taken.insert(incoming.facts.external_id.clone()) => {
                good.push((index, incoming));
            }
            Ok(incoming) => {
                let reason = "an earlier item has the same identifier; that one was taken";
                let fault = Fault::new("external_id", FaultCode::Duplicate, reason);
                let id = Some(incoming.facts.external_id);
                results[index] = Some(ItemAnswer::failed(id, vec![fault]));
            }
            Err(answer) => results[index] = Some(answer),
        }
    }
    for (index, answer) in put_all(&rest.database, caller.merchant, good).await? {
        results[index] = Some(answer);
    }
    Ok(One::new(PushAnswer::of(results.into_iter().flatten().collect())))
}

/// Reads and checks one item.
fn read(item: &RawValue, caller: &StoreCaller) -> Result<Incoming, ItemAnswer> {
    let draft: ProductDraft = read_item(item)?;
    catalog::check(&draft, caller.store.currency)
        .map_err(|faults| ItemAnswer::failed(Some(draft.external_id), faults))
}

/// Reads one item by itself, so that one that cannot be read does not stop the others. What is wrong
/// is told by the names of our own fields.
pub(crate) fn read_item<T: DeserializeOwned + JsonSchema>(
    item: &RawValue,
) -> Result<T, ItemAnswer> {
    /// The part that names an item which cannot be read as a whole.
    #[derive(Deserialize)]
    struct Name {
        external_id: Option<String>,
    }
    from_json(item.get().as_bytes()).map_err(|malformed| {
        let name = serde_json::from_str::<Name>(item.get()).ok();
        let fault = if let Some((field, reason)) = malformed.field() {
            Fault::new(field.to_owned(), FaultCode::InvalidValue, reason)
        } else {
            let reason = "is no JSON object, or has a field that /api/docs does not describe";
            Fault::new("item", FaultCode::Unreadable, reason)
        };
        ItemAnswer::failed(name.and_then(|name| name.external_id), vec![fault])
    })
}

/// Writes products in as few works as their rows allow.
async fn put_all(
    database: &Database,
    merchant: MerchantId,
    mut products: Vec<(usize, Incoming)>,
) -> Result<Vec<(usize, ItemAnswer)>, Refusal> {
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
        if put.iter().any(|put| put.done != Done::Unchanged) {
            catalog::take_stock_soon(&mut work, merchant).await?;
        }
        work.commit().await?;
        for ((index, incoming), put) in indexes.into_iter().zip(batch).zip(put) {
            answers.push((index, ItemAnswer::put(incoming.facts.external_id, put)));
        }
    }
    Ok(answers)
}

async fn put_product(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(ExternalId(external_id)): Path<ExternalId>,
    Json(draft): Json<ProductDraft>,
) -> Result<One<ItemAnswer>, Refusal> {
    if draft.external_id.trim() != external_id.trim() {
        let reason = "must be the identifier in the address";
        return Err(
            Refused(vec![Fault::new("external_id", FaultCode::InvalidValue, reason)]).into()
        );
    }
    let incoming = catalog::check(&draft, caller.store.currency).map_err(Refused)?;
    let mut put = put_all(&rest.database, caller.merchant, vec![(0, incoming)]).await?;
    let answer = put.pop().map(|(_, answer)| answer);
    answer.map(One::new).ok_or_else(|| NotListed.into())
}

async fn delete_product(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(ExternalId(external_id)): Path<ExternalId>,
) -> Result<One<ItemAnswer>, Refusal> {
    let mut work = Work::for_store(&rest.database, caller.merchant).await?;
    let ids = [external_id.clone()];
    let retired = catalog::retire(&mut work, caller.merchant, Origin::Push, &ids).await?;
    let id = retired.first().copied().ok_or(NotListed)?;
    catalog::take_stock_soon(&mut work, caller.merchant).await?;
    work.commit().await?;
    let (external_id, product_id) = (Some(external_id), Some(id));
    let status = ItemStatus::Retired;
    Ok(One::new(ItemAnswer { external_id, status, product_id, faults: Vec::new() }))
}

/// How the catalog is replaced.
#[derive(Debug, Deserialize, JsonSchema)]
struct ReplaceParameters {
    /// Go on even if more than half of the catalog would be retired.
    #[schemars(extend("default" = false))]
    force: Option<bool>,
    /// Only find out what would happen.
    #[schemars(extend("default" = false))]
    dry_run: Option<bool>,
}

async fn replace_products(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<ReplaceParameters>,
    body: Body,
) -> Result<(StatusCode, One<Accepted>), Refusal> {
    let asked = NewRun {
        format: FeedFormat::Ndjson,
        mode: RunMode::Replace,
        dry_run: parameters.dry_run.unwrap_or(false),
        force: parameters.force.unwrap_or(false),
        file_name: None,
    };
    take_in(&rest, caller.merchant, &asked, body).await
}

/// More items than one call may carry.
#[derive(Debug, thiserror::Error)]
#[error("a call may carry at most {ITEMS_MAX} items")]
pub(crate) struct TooMany {
    pub(crate) field: &'static str,
}

impl primitives::Problem for TooMany {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut primitives::Details) {
        details.insert("field", self.field);
        details
            .insert("hint", "send several calls, or PUT /merchant/products for the whole catalog");
    }
}

/// The store lists no such product.
#[derive(Debug, thiserror::Error)]
#[error("there is no such product in this store")]
struct NotListed;

impl primitives::Problem for NotListed {
    fn code(&self) -> ErrorCode {
        ErrorCode::ProductNotFound
    }

    fn details(&self, details: &mut primitives::Details) {
        details.insert("field", "external_id");
        details.insert(
            "hint",
            "the address ends with your own identifier, percent-encoded; it may be retired already",
        );
    }
}

/// One product that did not pass the check.
#[derive(Debug, thiserror::Error)]
#[error("the product was not taken; details.faults says why, field by field")]
struct Refused(Vec<Fault>);

impl primitives::Problem for Refused {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut primitives::Details) {
        if let Some(first) = self.0.first() {
            details.insert("field", first.field.as_ref());
        }
        details.insert("faults", serde_json::to_value(&self.0).unwrap_or_default());
        details.insert("hint", "correct the fields and send the product again");
    }
}
