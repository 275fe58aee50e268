//! What a merchant sets for its store (decisions §9).

mod wire;

use std::sync::Arc;

use axum::extract::State;
use database::{Reading, Work};
use primitives::ErrorCode;

use crate::{Access, Endpoint, Json, One, Opened, Refusal, Rest, Routes, StoreCaller};

use wire::SettingsRecord;

pub(crate) fn endpoints() -> Routes<Opened> {
    let read = Endpoint::get("/merchant/settings", Access::Store, read)
        .name("readSettings")
        .tag("merchant")
        .summary("What the store has set")
        .explanation("Policies, confirmation policy, checkout address, GTIN source, shipping, taxes and promotions. The answer can be changed and sent back with PUT.")
        .answer::<One<SettingsRecord>>(200);
    let replace = Endpoint::put("/merchant/settings", Access::Store, replace)
        .name("replaceSettings")
        .tag("merchant")
        .summary("Replace what the store has set")
        .explanation("Replaces the whole; what is left out is no longer set. With `version`, only the version that was read is replaced: if somebody else was quicker, the answer is 409 `invalid_status_transition` with `details.current_version`. Settings that do not differ keep their version.")
        .body::<SettingsRecord>()
        .answer::<One<SettingsRecord>>(200)
        .errors(&[ErrorCode::InvalidStatusTransition]);
    Routes::new().with(read).with(replace)
}

async fn read(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
) -> Result<One<SettingsRecord>, Refusal> {
    current(&rest, &caller).await
}

async fn replace(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Json(request): Json<SettingsRecord>,
) -> Result<One<SettingsRecord>, Refusal> {
    let expected = request.version;
    let settings =
        request.into_settings(caller.store.currency).map_err(merchants::SettingsError::from)?;
    let mut work = Work::for_store(&rest.database, caller.merchant).await?;
    merchants::put_settings(&mut work, caller.merchant, &settings, expected).await?;
    work.commit().await?;
    current(&rest, &caller).await
}

async fn current(rest: &Rest, caller: &StoreCaller) -> Result<One<SettingsRecord>, Refusal> {
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let current = merchants::settings(&reading, caller.merchant).await?;
    Ok(One::new(SettingsRecord::of(current, caller.store.currency)))
}
