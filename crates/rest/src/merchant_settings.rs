//! Settings of a store (docs/contract/merchant-api.md#settings).

mod sanitized;

use std::sync::Arc;

use axum::extract::State;
use database::{Reading, Work};
use identity::StoreScope;
use merchants::{SettingsChange, SettingsRecord};
use primitives::ErrorCode;

use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, Rest, RestState, Routes, StoreCaller,
};

use sanitized::Sanitized;

pub(crate) fn endpoints() -> Routes<RestState> {
    let read = Endpoint::get("/merchant/settings", Access::Store(StoreScope::Settings), read)
        .operation_id("getSettings")
        .tag("merchant")
        .summary("Get the store settings")
        .description("Returns policies, confirmation policy, checkout URL, GTIN source, shipping, taxes and promotions. The result can be edited and sent back with PUT.")
        .response::<Envelope<SettingsRecord>>(200);
    let replace = Endpoint::put("/merchant/settings", Access::Store(StoreScope::Settings), replace)
        .operation_id("replaceSettings")
        .tag("merchant")
        .summary("Replace the store settings")
        .description("Replaces all settings; omitted fields are reset. `checkout_url_template` can be changed only by an owner of the store, with a token, and only to an https URL on a host that an operator allowed for the store; other callers send it unchanged. With `version`, the call fails with 409 `invalid_status_transition` and `details.current_version` if the settings have changed since that version. Identical settings keep their version.")
        .body::<SettingsRecord>()
        .response::<Envelope<SettingsRecord>>(200)
        .errors(&[ErrorCode::InvalidStatusTransition]);
    Routes::new().with(read).with(replace)
}

async fn read(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
) -> Result<Envelope<SettingsRecord>, ErrorResponse> {
    current(&rest, &caller).await
}

async fn replace(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Json(Sanitized(request)): Json<Sanitized<SettingsRecord>>,
) -> Result<Envelope<SettingsRecord>, ErrorResponse> {
    let expected_version = request.version;
    let settings =
        request.into_settings(caller.store.currency).map_err(merchants::SettingsError::from)?;
    let editor = caller.editor;
    let mut work = Work::for_store(&rest.database, caller.merchant).await?;
    let is_development = !rest.site_url.starts_with("https://");
    let change = SettingsChange { settings: &settings, expected_version, editor, is_development };
    merchants::put_settings(&mut work, caller.merchant, &change).await?;
    work.commit().await?;
    current(&rest, &caller).await
}

async fn current(
    rest: &Rest,
    caller: &StoreCaller,
) -> Result<Envelope<SettingsRecord>, ErrorResponse> {
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let current = merchants::settings(&reading, caller.merchant).await?;
    Ok(Envelope::new(SettingsRecord::of(current, caller.store.currency)))
}
