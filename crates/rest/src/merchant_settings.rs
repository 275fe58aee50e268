//! Settings of a store (docs/contract/merchant-api.md#settings).

pub(crate) mod sanitized;
pub(crate) mod version;

use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::http::HeaderName;
use axum::http::header::ETAG;
use database::{Reading, Work};
use identity::StoreScope;
use merchants::{CurrentSettings, SettingsChange, SettingsError, SettingsRecord};
use primitives::ErrorCode;
use serde_json::Value;

use crate::merge_patch::merge;
use crate::openapi::inlined_schema;
use crate::request::{BodySchema, validated};
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, Rest, RestState, Routes, StoreCaller,
};

use sanitized::Sanitized;
use version::{IfMatch, Precondition, VersionRequired};

const ACCESS: Access = Access::Store(StoreScope::Settings);

pub(crate) fn endpoints() -> Routes<RestState> {
    let read = Endpoint::get("/merchant/settings", ACCESS, read)
        .operation_id("getSettings")
        .tag("merchant")
        .summary("Get the store settings")
        .description("Returns policies, confirmation policy, checkout URL, GTIN source, shipping, taxes and promotions. Change them with `PATCH`. The header `ETag` is the version.")
        .response::<Envelope<SettingsRecord>>(200);
    let change = Endpoint::patch("/merchant/settings", ACCESS, change)
        .operation_id("updateSettings")
        .tag("merchant")
        .summary("Change store settings")
        .description("Changes the fields that the body names and no others, as a JSON merge patch (RFC 7396): `null` resets a field, and a list is replaced as a whole. With `version` or `If-Match`, the call fails with 409 `invalid_status_transition` and `details.current_version` if the settings have changed since that version. `checkout_url_template` can be changed only by an owner of the store, with a token, and only to an https URL on a host that an operator allowed for the store.")
        .header(IfMatch::NAME, IfMatch::DESCRIPTION)
        .draft_body::<SettingsRecord>()
        .response::<Envelope<SettingsRecord>>(200)
        .errors(&[ErrorCode::InvalidStatusTransition]);
    let replace = Endpoint::put("/merchant/settings", ACCESS, replace)
        .operation_id("replaceSettings")
        .tag("merchant")
        .summary("Replace the store settings")
        .description("Replaces all settings; omitted fields are reset. Requires the version that is replaced, as `version` or `If-Match`: without it the call fails with 428 `precondition_required`, with another one than the current with 409 `invalid_status_transition` and `details.current_version`. Identical settings keep their version. `checkout_url_template` can be changed only by an owner of the store, with a token; other callers send it unchanged.")
        .header(IfMatch::NAME, IfMatch::DESCRIPTION)
        .body::<SettingsRecord>()
        .response::<Envelope<SettingsRecord>>(200)
        .errors(&[ErrorCode::InvalidStatusTransition, ErrorCode::PreconditionRequired]);
    Routes::new().with(read).with(change).with(replace)
}

/// Settings with their version as a header.
type Settings = ([(HeaderName, String); 1], Envelope<SettingsRecord>);

async fn read(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
) -> Result<Settings, ErrorResponse> {
    let current = current(&rest, &caller).await?;
    Ok(answer(current, &caller))
}

async fn replace(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    if_match: IfMatch,
    Json(Sanitized(request)): Json<Sanitized<SettingsRecord>>,
) -> Result<Settings, ErrorResponse> {
    let replaced = if_match.or(request.version)?;
    let mut work = Work::for_store(&rest.database, caller.merchant).await?;
    let current = merchants::lock_settings(&mut work, caller.merchant).await?;
    let settings = parse(request, &caller)?;
    let expected = match replaced {
        Precondition::Any => None,
        Precondition::Version(version) => Some(version),
        Precondition::Unnamed => {
            return Err(VersionRequired { current_version: current.version }.into());
        }
    };
    put(work, &rest, &caller, &current, &settings, expected).await?;
    read(caller, State(rest)).await
}

async fn change(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    if_match: IfMatch,
    Json(patch): Json<Value>,
) -> Result<Settings, ErrorResponse> {
    let expected = match if_match.or(patch["version"].as_i64())? {
        Precondition::Version(version) => Some(version),
        Precondition::Any | Precondition::Unnamed => None,
    };
    let mut work = Work::for_store(&rest.database, caller.merchant).await?;
    // Locked before the patch is applied, so that the fields that it does not name stay as they are.
    let current = merchants::lock_settings(&mut work, caller.merchant).await?;
    let request = patched(current.clone(), &patch, &caller)?;
    let settings = parse(request, &caller)?;
    put(work, &rest, &caller, &current, &settings, expected).await?;
    read(caller, State(rest)).await
}

/// Returns the settings with a merge patch applied.
fn patched(
    current: CurrentSettings,
    patch: &Value,
    caller: &StoreCaller,
) -> Result<SettingsRecord, ErrorResponse> {
    static SCHEMA: LazyLock<BodySchema> =
        LazyLock::new(|| BodySchema::new(inlined_schema::<SettingsRecord>));
    let record = SettingsRecord::of(current, caller.store.currency);
    let mut value = serde_json::to_value(record).unwrap_or_default();
    merge(&mut value, patch);
    let Sanitized(request) = validated(Some(&SCHEMA), value.to_string().as_bytes())?;
    Ok(request)
}

fn parse(
    request: SettingsRecord,
    caller: &StoreCaller,
) -> Result<merchants::Settings, SettingsError> {
    Ok(request.into_settings(caller.store.currency)?)
}

/// Stores settings and commits the transaction that locked the current ones.
async fn put(
    mut work: Work,
    rest: &Rest,
    caller: &StoreCaller,
    current: &CurrentSettings,
    settings: &merchants::Settings,
    expected_version: Option<i64>,
) -> Result<(), ErrorResponse> {
    catalog::check_categories(&mut work, caller.merchant, settings, &current.settings).await?;
    let is_development = !rest.site_url.starts_with("https://");
    let editor = caller.editor;
    let change = SettingsChange { settings, expected_version, editor, is_development };
    merchants::put_settings(&mut work, caller.merchant, &change).await?;
    Ok(work.commit().await?)
}

async fn current(rest: &Rest, caller: &StoreCaller) -> Result<CurrentSettings, ErrorResponse> {
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    Ok(merchants::settings(&reading, caller.merchant).await?)
}

fn answer(current: CurrentSettings, caller: &StoreCaller) -> Settings {
    let tag = [(ETAG, format!("\"{}\"", current.version))];
    (tag, Envelope::new(SettingsRecord::of(current, caller.store.currency)))
}
