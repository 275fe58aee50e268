//! A merchant's own store: its profile, and whether it is open (docs/contract/merchant-api.md#store).

use std::sync::{Arc, LazyLock};

use axum::extract::State;
use database::{Reading, Work};
use identity::StoreScope;
use merchants::{Band, Store, StoreProfile, StoreStatus};
use primitives::{ErrorCode, MerchantId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::merchant_settings::sanitized::Sanitized;
use crate::merge_patch::merge;
use crate::openapi::inlined_schema;
use crate::request::{BodySchema, validated};
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, OwnerCaller, Rest, RestState, Routes,
    StoreCaller,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let read = Endpoint::get("/merchant/store", Access::Store(StoreScope::Settings), read)
        .operation_id("getOwnStore")
        .tag("merchant")
        .summary("Get your store")
        .description(
            "Returns the profile of the store as agents see it, its status and its trust score.",
        )
        .response::<Envelope<OwnStoreRecord>>(200);
    let change = Endpoint::patch("/merchant/store", Access::Owner, change)
        .operation_id("updateOwnStore")
        .tag("merchant")
        .summary("Change the profile of your store")
        .description("Changes the fields that the body names and no others, as a JSON merge patch (RFC 7396); `null` removes a text. For owners only.")
        .draft_body::<ProfileRequest>()
        .response::<Envelope<OwnStoreRecord>>(200);
    let pause = status_endpoint("/merchant/store/pause", "pauseStore", "Pause your store", pause)
        .description("Agents cannot use the store until an owner reopens it: their calls return 403 `store_suspended` with the reason `paused`. What somebody already has there stays reachable. Pausing again changes nothing.");
    let reopen =
        status_endpoint("/merchant/store/reopen", "reopenStore", "Reopen your store", reopen)
            .description("Reopens a store that an owner paused or closed. What an operator suspended, paused or closed, an operator reopens: 409 `invalid_status_transition`.");
    let close = status_endpoint("/merchant/store/close", "closeStore", "Close your store", close)
        .description("Removes the store from the directory and from search: calls of agents return 403 `store_suspended` with the reason `closed`. What somebody already has there stays reachable, and sessions may end. An owner can reopen it.");
    Routes::new().with(read).with(change).with(pause).with(reopen).with(close)
}

fn status_endpoint<H, T>(
    path: &'static str,
    operation_id: &'static str,
    summary: &'static str,
    handler: H,
) -> Endpoint<RestState>
where
    H: axum::handler::Handler<T, RestState>,
    T: 'static,
{
    Endpoint::post(path, Access::Owner, handler)
        .operation_id(operation_id)
        .tag("merchant")
        .summary(summary)
        .response::<Envelope<OwnStoreRecord>>(200)
        .errors(&[ErrorCode::InvalidStatusTransition])
}

/// The profile of a store. Empty texts are not stated.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "support_url": "https://shop.example/help" })))]
struct ProfileRequest {
    /// Store name. Cannot be removed.
    #[serde(default)]
    #[schemars(length(max = StoreProfile::NAME_CHARACTERS_MAX))]
    name: String,
    /// Description, plain text.
    #[serde(default)]
    #[schemars(length(max = StoreProfile::DESCRIPTION_CHARACTERS_MAX))]
    description: String,
    /// Website, http or https.
    #[serde(default)]
    #[schemars(length(max = StoreProfile::URL_LENGTH_MAX))]
    website_url: String,
    /// URL of the logo, http or https. It is linked, not loaded.
    #[serde(default)]
    #[schemars(length(max = StoreProfile::URL_LENGTH_MAX))]
    logo_url: String,
    /// Email address of the customer support.
    #[serde(default)]
    #[schemars(length(max = 254))]
    support_email: String,
    /// Support page, http or https.
    #[serde(default)]
    #[schemars(length(max = StoreProfile::URL_LENGTH_MAX))]
    support_url: String,
}

impl From<StoreProfile> for ProfileRequest {
    fn from(profile: StoreProfile) -> Self {
        let StoreProfile { name, description, website_url, logo_url, support_email, support_url } =
            profile;
        Self { name, description, website_url, logo_url, support_email, support_url }
    }
}

impl From<ProfileRequest> for StoreProfile {
    fn from(request: ProfileRequest) -> Self {
        let ProfileRequest { name, description, website_url, logo_url, support_email, support_url } =
            request;
        Self { name, description, website_url, logo_url, support_email, support_url }
    }
}

/// Who decided the status of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StatusSource {
    /// An owner, who can reopen the store.
    Owner,
    /// An operator.
    Operator,
}

/// A store, for its merchant.
#[derive(Debug, Serialize, JsonSchema)]
struct OwnStoreRecord {
    /// Store slug, as in URLs.
    slug: String,
    /// Store name.
    name: String,
    /// Legal name of the company.
    legal_name: String,
    /// Description.
    description: String,
    /// Website.
    website_url: String,
    /// URL of the logo.
    logo_url: String,
    /// Email address of the customer support.
    support_email: String,
    /// Support page.
    support_url: String,
    /// Home country, ISO 3166, two letters.
    country: String,
    /// Currency of the prices.
    currency: String,
    /// Status of the store.
    status: StoreStatus,
    /// Who paused, closed or suspended the store; omitted if it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    status_set_by: Option<StatusSource>,
    /// Whether agents find the store: it is active and open, and its trust score does not suspend it.
    listed: bool,
    /// Number of products that agents see.
    product_count: i64,
    /// Trust score, 0 to 1; null while the store has no score.
    trust_score: Option<f64>,
    /// Trust band of the score; null while the store has no score.
    verification_level: Option<Band>,
    /// URL of the store's MCP endpoint.
    mcp_endpoint: String,
    /// When the store was registered.
    member_since: Timestamp,
    /// Last complete import of the catalog; omitted if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_sync_at: Option<Timestamp>,
}

impl OwnStoreRecord {
    fn of(store: Store, site_url: &str) -> Self {
        let source =
            if store.status_by_owner { StatusSource::Owner } else { StatusSource::Operator };
        Self {
            listed: store.is_listed(),
            status_set_by: (store.status != StoreStatus::Open).then_some(source),
            mcp_endpoint: format!("{site_url}/{}/mcp", store.slug),
            trust_score: store.standing.score,
            verification_level: store.standing.band(),
            slug: store.slug.to_string(),
            currency: store.currency.to_string(),
            name: store.name,
            legal_name: store.legal_name,
            description: store.description,
            website_url: store.website_url,
            logo_url: store.logo_url,
            support_email: store.support_email,
            support_url: store.support_url,
            country: store.country,
            status: store.status,
            product_count: store.product_count,
            member_since: store.member_since,
            last_sync_at: store.last_sync_at,
        }
    }
}

type Shown = Result<Envelope<OwnStoreRecord>, ErrorResponse>;

async fn read(caller: StoreCaller, State(rest): State<Arc<Rest>>) -> Shown {
    shown(&rest, caller.merchant).await
}

async fn change(
    owner: OwnerCaller,
    State(rest): State<Arc<Rest>>,
    Json(patch): Json<Value>,
) -> Shown {
    static SCHEMA: LazyLock<BodySchema> =
        LazyLock::new(|| BodySchema::new(inlined_schema::<ProfileRequest>));
    let mut work = Work::for_store(&rest.database, owner.merchant).await?;
    let profile = ProfileRequest::from(merchants::lock_profile(&mut work, owner.merchant).await?);
    let mut value = serde_json::to_value(profile).unwrap_or_default();
    merge(&mut value, &patch);
    let Sanitized(request): Sanitized<ProfileRequest> =
        validated(Some(&SCHEMA), value.to_string().as_bytes())?;
    merchants::put_profile(&mut work, owner.merchant, owner.user, &request.into()).await?;
    work.commit().await?;
    shown(&rest, owner.merchant).await
}

async fn pause(owner: OwnerCaller, State(rest): State<Arc<Rest>>) -> Shown {
    set_status(&owner, &rest, StoreStatus::Paused).await
}

async fn reopen(owner: OwnerCaller, State(rest): State<Arc<Rest>>) -> Shown {
    set_status(&owner, &rest, StoreStatus::Open).await
}

async fn close(owner: OwnerCaller, State(rest): State<Arc<Rest>>) -> Shown {
    set_status(&owner, &rest, StoreStatus::Closed).await
}

async fn set_status(owner: &OwnerCaller, rest: &Rest, status: StoreStatus) -> Shown {
    let mut work = Work::for_store(&rest.database, owner.merchant).await?;
    merchants::set_own_status(&mut work, owner.merchant, owner.user, status).await?;
    work.commit().await?;
    shown(rest, owner.merchant).await
}

/// Returns the store as it is now.
async fn shown(rest: &Rest, merchant: MerchantId) -> Shown {
    let reading = Reading::for_store(&rest.database, merchant)?;
    let store = merchants::store(&reading, merchant).await?;
    Ok(Envelope::new(OwnStoreRecord::of(store, &rest.site_url)))
}
