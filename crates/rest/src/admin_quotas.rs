//! Quotas of the catalog of a store, for platform administrators (docs/contract/admin-api.md#stores).

use std::sync::Arc;

use axum::extract::State;
use catalog::{Quota, QuotaRecord};
use database::{Reading, Work};
use identity::{Actor, Reason};
use merchants::Administration;
use primitives::{ErrorCode, MerchantId, StoreSlug};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Access, AdminCaller, Endpoint, Envelope, ErrorResponse, Json, Path, Rest, RestState, Routes,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let show = Endpoint::get("/admin/stores/{slug}/quota", Access::Admin, show)
        .operation_id("adminGetQuotas")
        .tag("admin")
        .summary("Get the quotas of a store")
        .path::<StoreSlug>()
        .response::<Envelope<QuotaList>>(200)
        .errors(&[ErrorCode::StoreNotFound]);
    let set = Endpoint::put("/admin/stores/{slug}/quota", Access::Admin, set)
        .operation_id("adminSetQuota")
        .tag("admin")
        .summary("Set a quota of a store")
        .description("Recorded in the audit log with the administrator and the reason, and posted to the merchant as a notice. A quota below what the store has deletes nothing. Setting the same quota again changes nothing.")
        .path::<StoreSlug>()
        .body::<SetQuotaRequest>()
        .response::<Envelope<QuotaList>>(200)
        .errors(&[ErrorCode::StoreNotFound]);
    Routes::new().with(show).with(set)
}

/// A quota of a store, and why it is set.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SetQuotaRequest {
    /// What is limited.
    quota: Quota,
    /// The limit; omitted or null: the default.
    #[schemars(range(min = 0))]
    maximum: Option<i64>,
    /// The reason, for the audit log. The merchant reads it too.
    #[schemars(length(min = 1, max = Reason::CHARACTERS_MAX))]
    reason: String,
}

/// The quotas of a store.
#[derive(Debug, Serialize, JsonSchema)]
struct QuotaList {
    /// All quotas.
    quotas: Vec<QuotaRecord>,
}

async fn show(
    _admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
) -> Result<Envelope<QuotaList>, ErrorResponse> {
    let merchant = rest.stores.find(&slug).await?.merchant;
    shown(&rest, merchant).await
}

async fn set(
    admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
    Json(request): Json<SetQuotaRequest>,
) -> Result<Envelope<QuotaList>, ErrorResponse> {
    let reason: Reason = request.reason.parse()?;
    let merchant = rest.stores.find(&slug).await?.merchant;
    let mut work = Work::for_platform(&rest.database).await?;
    let by = Administration { actor: Actor::Person(admin.user), reason: &reason };
    let SetQuotaRequest { quota, maximum, .. } = request;
    catalog::set_quota_by_operator(&mut work, by, merchant, quota, maximum).await?;
    work.commit().await?;
    shown(&rest, merchant).await
}

async fn shown(rest: &Rest, merchant: MerchantId) -> Result<Envelope<QuotaList>, ErrorResponse> {
    let reading = Reading::for_platform(&rest.database);
    Ok(Envelope::new(QuotaList { quotas: catalog::quotas(&reading, merchant).await? }))
}
