//! Stores, for platform administrators (docs/contract/admin-api.md#stores).

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use database::{Reading, Work};
use identity::{Actor, Reason};
use merchants::{
    Administration, IdentityStatus, InvalidSetting, NewStore, SettingsError, Store, StoreStatus,
    VerificationResult,
};
use primitives::{Currency, ErrorCode, MerchantId, StoreSlug, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Access, AdminCaller, Endpoint, Envelope, ErrorResponse, Json, Path, Rest, RestState, Routes,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let create = Endpoint::post("/admin/stores", Access::Admin, create)
        .operation_id("adminCreateStore")
        .tag("admin")
        .summary("Create a store")
        .description(
            "Creates a store without products and without a trust score. The slug is permanent.",
        )
        .body::<CreateStoreRequest>()
        .response::<Envelope<AdminStoreRecord>>(201);
    let show = Endpoint::get("/admin/stores/{slug}", Access::Admin, show)
        .operation_id("adminGetStore")
        .tag("admin")
        .summary("Get a store in any state")
        .path::<StoreSlug>()
        .response::<Envelope<AdminStoreRecord>>(200)
        .errors(&[ErrorCode::StoreNotFound]);
    let verify = Endpoint::put("/admin/stores/{slug}/identity", Access::Admin, set_identity)
        .operation_id("adminSetIdentity")
        .tag("admin")
        .summary("Set the result of an identity verification")
        .path::<StoreSlug>()
        .body::<SetIdentityRequest>()
        .response::<Envelope<AdminStoreRecord>>(200)
        .errors(&[ErrorCode::StoreNotFound]);
    let allow = Endpoint::post("/admin/stores/{slug}/hosts", Access::Admin, allow_host)
        .operation_id("adminAllowHost")
        .tag("admin")
        .summary("Allow a host for the payment page of a store")
        .description("An owner of the store may then set a `checkout_url_template` on this host.")
        .path::<StoreSlug>()
        .body::<HostRequest>()
        .response::<Envelope<AdminStoreRecord>>(200)
        .errors(&[ErrorCode::StoreNotFound]);
    let disallow =
        Endpoint::post("/admin/stores/{slug}/hosts/disallow", Access::Admin, disallow_host)
            .operation_id("adminDisallowHost")
            .tag("admin")
            .summary("Withdraw a host from the payment page of a store")
            .description("A `checkout_url_template` on this host is removed. Sessions that await a payment keep their URL.")
            .path::<StoreSlug>()
            .body::<HostRequest>()
            .response::<Envelope<AdminStoreRecord>>(200)
            .errors(&[ErrorCode::StoreNotFound]);
    let routes = Routes::new().with(create).with(show).with(verify).with(allow).with(disallow);
    let suspend = Endpoint::post("/admin/stores/{slug}/suspend", Access::Admin, suspend)
        .operation_id("adminSuspendStore")
        .summary("Suspend a store");
    let pause = Endpoint::post("/admin/stores/{slug}/pause", Access::Admin, pause)
        .operation_id("adminPauseStore")
        .summary("Pause a store");
    let close = Endpoint::post("/admin/stores/{slug}/close", Access::Admin, close)
        .operation_id("adminCloseStore")
        .summary("Close a store");
    let reinstate = Endpoint::post("/admin/stores/{slug}/reinstate", Access::Admin, reinstate)
        .operation_id("adminReinstateStore")
        .summary("Reopen a suspended, paused or closed store");
    [suspend, pause, close, reinstate].into_iter().fold(routes, |routes, endpoint| {
        let endpoint = endpoint
            .tag("admin")
            .description("Recorded in the audit log with the administrator and the reason, and posted to the merchant as a notice. Setting the same status again changes nothing.")
            .path::<StoreSlug>()
            .body::<ReasonRequest>()
            .response::<Envelope<AdminStoreRecord>>(200)
            .errors(&[ErrorCode::StoreNotFound]);
        routes.with(endpoint)
    })
}

/// Why an administrator acts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReasonRequest {
    /// The reason, for the audit log. The merchant reads it too, if it is about a store.
    #[schemars(length(min = 1, max = Reason::CHARACTERS_MAX))]
    pub(crate) reason: String,
}

/// A new store.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateStoreRequest {
    /// Slug, permanent and unique.
    #[schemars(length(min = 1, max = StoreSlug::LENGTH_MAX))]
    slug: String,
    /// Name of the store.
    #[schemars(length(min = 1, max = 200))]
    name: String,
    /// Legal name of the company; omitted: the name.
    #[schemars(length(max = 200))]
    legal_name: Option<String>,
    /// Website of the merchant.
    #[schemars(length(max = 2000))]
    website_url: Option<String>,
    /// Home country, ISO 3166, two letters.
    #[schemars(length(min = 2, max = 2))]
    country: String,
    #[schemars(length(max = 4), description = format!("Currency of the prices: {}.", Currency::SUPPORTED_CODES))]
    currency: String,
    /// Email address of customer support.
    #[schemars(length(min = 3, max = 254))]
    support_email: Option<String>,
    /// The reason, for the audit log.
    #[schemars(length(min = 1, max = Reason::CHARACTERS_MAX))]
    reason: String,
}

/// The result of an identity verification.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SetIdentityRequest {
    /// The result.
    status: IdentityStatus,
    /// Level of the verification.
    #[schemars(length(max = 100))]
    level: Option<String>,
    /// Method of the verification.
    #[schemars(length(max = 100))]
    method: Option<String>,
    /// The reason, for the audit log.
    #[schemars(length(min = 1, max = Reason::CHARACTERS_MAX))]
    reason: String,
}

/// A host of the payment page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HostRequest {
    /// Host name, such as `pay.example.com`, without scheme or path; with the port unless it is 443.
    #[schemars(length(min = 1, max = 253))]
    host: String,
    /// The reason, for the audit log.
    #[schemars(length(min = 1, max = Reason::CHARACTERS_MAX))]
    reason: String,
}

/// A store as administrators see it.
#[derive(Debug, Serialize, JsonSchema)]
struct AdminStoreRecord {
    /// ID of the merchant.
    merchant_id: MerchantId,
    /// Store slug.
    slug: String,
    /// Store name.
    name: String,
    /// False for a store that does not exist for agents.
    active: bool,
    /// What operators decided about the store.
    status: StoreStatus,
    /// Trust score, 0 to 1; null while the store has no score.
    trust_score: Option<f64>,
    /// Whether agents can use the store.
    listed: bool,
    /// Status of the merchant's identity verification.
    identity_verification: IdentityStatus,
    /// Number of listed products.
    product_count: i64,
    /// Hosts that are allowed for the payment page.
    allowed_hosts: Vec<String>,
    /// When the store was registered.
    member_since: Timestamp,
}

impl AdminStoreRecord {
    fn of(store: Store, allowed_hosts: Vec<String>) -> Self {
        Self {
            merchant_id: store.merchant,
            slug: store.slug.to_string(),
            active: store.active,
            status: store.status,
            trust_score: store.standing.score,
            listed: store.is_listed(),
            identity_verification: store.identity.status,
            product_count: store.product_count,
            allowed_hosts,
            member_since: store.member_since,
            name: store.name,
        }
    }
}

type Shown = Result<Envelope<AdminStoreRecord>, ErrorResponse>;

async fn create(
    admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Json(request): Json<CreateStoreRequest>,
) -> Result<(StatusCode, Envelope<AdminStoreRecord>), ErrorResponse> {
    let reason: Reason = request.reason.parse()?;
    let slug: StoreSlug = request.slug.parse()?;
    let allowed = Currency::SUPPORTED_CODES;
    let currency: Currency = request
        .currency
        .parse()
        .map_err(|_| SettingsError::from(InvalidSetting::new("currency", allowed)))?;
    let mut work = Work::for_platform(&rest.database).await?;
    let now = work.now();
    let store = NewStore {
        legal_name: request.legal_name.unwrap_or_else(|| request.name.clone()),
        website_url: request.website_url.unwrap_or_default(),
        support_email: request.support_email.unwrap_or_default(),
        ..NewStore::new(work.new_id(), slug, request.name, request.country, currency, now)
    };
    let by = Administration { actor: Actor::Person(admin.user), reason: &reason };
    merchants::create_store(&mut work, by, &store).await?;
    work.commit().await?;
    Ok((StatusCode::CREATED, shown(&rest, store.merchant).await?))
}

async fn show(
    _admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
) -> Shown {
    let merchant = rest.stores.find(&slug).await?.merchant;
    shown(&rest, merchant).await
}

async fn set_identity(
    admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
    Json(request): Json<SetIdentityRequest>,
) -> Shown {
    let reason: Reason = request.reason.parse()?;
    let merchant = rest.stores.find(&slug).await?.merchant;
    let mut work = Work::for_platform(&rest.database).await?;
    let SetIdentityRequest { status, level, method, .. } = request;
    let result = VerificationResult { status, level, method };
    let by = Administration { actor: Actor::Person(admin.user), reason: &reason };
    merchants::verify_identity(&mut work, by, merchant, &result).await?;
    work.commit().await?;
    shown(&rest, merchant).await
}

async fn allow_host(
    admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
    Json(request): Json<HostRequest>,
) -> Shown {
    let reason: Reason = request.reason.parse()?;
    let merchant = rest.stores.find(&slug).await?.merchant;
    let mut work = Work::for_platform(&rest.database).await?;
    let by = Administration { actor: Actor::Person(admin.user), reason: &reason };
    merchants::allow_host(&mut work, by, merchant, &request.host).await?;
    work.commit().await?;
    shown(&rest, merchant).await
}

async fn disallow_host(
    admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
    Json(request): Json<HostRequest>,
) -> Shown {
    let reason: Reason = request.reason.parse()?;
    let merchant = rest.stores.find(&slug).await?.merchant;
    let mut work = Work::for_platform(&rest.database).await?;
    let by = Administration { actor: Actor::Person(admin.user), reason: &reason };
    merchants::disallow_host(&mut work, by, merchant, &request.host).await?;
    work.commit().await?;
    shown(&rest, merchant).await
}

/// Declares the handler of a status.
macro_rules! status_handler {
    ($name:ident, $status:expr) => {
        async fn $name(
            admin: AdminCaller,
            State(rest): State<Arc<Rest>>,
            Path(slug): Path<StoreSlug>,
            Json(request): Json<ReasonRequest>,
        ) -> Shown {
            set_status(admin, &rest, &slug, &request, $status).await
        }
    };
}

status_handler!(suspend, StoreStatus::Suspended);
status_handler!(pause, StoreStatus::Paused);
status_handler!(close, StoreStatus::Closed);
status_handler!(reinstate, StoreStatus::Open);

async fn set_status(
    admin: AdminCaller,
    rest: &Rest,
    slug: &StoreSlug,
    request: &ReasonRequest,
    status: StoreStatus,
) -> Shown {
    let reason: Reason = request.reason.parse()?;
    let merchant = rest.stores.find(slug).await?.merchant;
    let mut work = Work::for_platform(&rest.database).await?;
    let by = Administration { actor: Actor::Person(admin.user), reason: &reason };
    merchants::set_status(&mut work, by, merchant, status).await?;
    work.commit().await?;
    shown(rest, merchant).await
}

/// Returns the store as it is now.
async fn shown(rest: &Rest, merchant: MerchantId) -> Shown {
    let reading = Reading::for_platform(&rest.database);
    let store = merchants::store(&reading, merchant).await?;
    let hosts = merchants::allowed_hosts(&reading, merchant).await?;
    Ok(Envelope::new(AdminStoreRecord::of(store, hosts)))
}
