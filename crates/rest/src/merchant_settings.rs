//! Settings of a store (docs/contract/merchant-api.md#settings).

pub(crate) mod sanitized;
pub(crate) mod version;
mod webhook_url;

use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::http::HeaderName;
use axum::http::header::ETAG;
use database::{Reading, Work};
use identity::StoreScope;
use merchants::{CurrentSettings, SettingsChange, SettingsError, SettingsRecord};
use primitives::ErrorCode;
use serde_json::Value;
use webhooks::{SigningSecret, UrlChange, WEBHOOK_URL};

use crate::merge_patch::merge;
use crate::openapi::inlined_schema;
use crate::request::{BodySchema, validated};
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, Rest, RestState, Routes, StoreCaller,
};

use sanitized::Sanitized;
use version::{IfMatch, Precondition, VersionRequired};
use webhook_url::url_change;

const ACCESS: Access = Access::Store(StoreScope::Settings);

pub(crate) fn endpoints() -> Routes<RestState> {
    let read = Endpoint::get("/merchant/settings", ACCESS, read)
        .operation_id("getSettings")
        .tag("merchant")
        .summary("Get the store settings")
        .description("Returns policies, confirmation policy, checkout URL, webhook URL, GTIN source, shipping, taxes and promotions. Change them with `PATCH`. The header `ETag` is the version.")
        .response::<Envelope<SettingsRecord>>(200);
    let change = Endpoint::patch("/merchant/settings", ACCESS, change)
        .operation_id("updateSettings")
        .tag("merchant")
        .summary("Change store settings")
        .description("Changes the fields that the body names and no others, as a JSON merge patch (RFC 7396): `null` resets a field, and a list is replaced as a whole. With `version` or `If-Match`, the call fails with 409 `invalid_status_transition` and `details.current_version` if the settings have changed since that version. `checkout_url_template` can be changed only by an owner of the store, with a token, and only to an https URL on a host that an operator allowed for the store. The first `webhook_url` creates a webhook endpoint, whose signing secret is `webhook_secret` of this response and is never returned again; `null` deletes it. A store key needs the scope `webhooks` as well to change it.")
        .header(IfMatch::NAME, IfMatch::DESCRIPTION)
        .draft_body::<SettingsRecord>()
        .response::<Envelope<SettingsRecord>>(200)
        .errors(&[ErrorCode::InvalidStatusTransition]);
    let replace = Endpoint::put("/merchant/settings", ACCESS, replace)
        .operation_id("replaceSettings")
        .tag("merchant")
        .summary("Replace the store settings")
        .description("Replaces all settings; omitted fields are reset, except `webhook_url`. Requires the version that is replaced, as `version` or `If-Match`: without it the call fails with 428 `precondition_required`, with another one than the current with 409 `invalid_status_transition` and `details.current_version`. Identical settings keep their version. `checkout_url_template` can be changed only by an owner of the store, with a token; other callers send it unchanged. Only `webhook_url: null` deletes the endpoint of `webhook_url`; the first URL creates a webhook endpoint, whose signing secret is `webhook_secret` of this response and is never returned again. A store key needs the scope `webhooks` as well to change it.")
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
    answer(&rest, &caller, None).await
}

async fn replace(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    if_match: IfMatch,
    Json(Sanitized(request)): Json<Sanitized<SettingsRecord>>,
) -> Result<Settings, ErrorResponse> {
    let replaced = if_match.or(request.version)?;
    let expected = replaced.version();
    let url = request.webhook_url.as_ref().map(Option::as_deref);
    let (work, current, url) = lock(&rest, &caller, expected, url).await?;
    let settings = parse(request, &caller)?;
    if replaced == Precondition::Unnamed {
        return Err(VersionRequired { current_version: current.version }.into());
    }
    let change = Change { settings: &settings, expected_version: expected, url };
    let secret = put(work, &rest, &caller, &current, &change).await?;
    answer(&rest, &caller, secret).await
}

async fn change(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    if_match: IfMatch,
    Json(patch): Json<Value>,
) -> Result<Settings, ErrorResponse> {
    let expected = if_match.or(patch["version"].as_i64())?.version();
    let url = match patch.get(WEBHOOK_URL) {
        Some(Value::String(url)) => Some(Some(url.as_str())),
        Some(Value::Null) => Some(None),
        // Anything else is invalid, which the schema says below.
        Some(_) | None => None,
    };
    // Locked before the patch is applied, so that the fields that it does not name stay as they are.
    let (work, current, url) = lock(&rest, &caller, expected, url).await?;
    let request = patched(current.clone(), &patch, &caller)?;
    let settings = parse(request, &caller)?;
    let change = Change { settings: &settings, expected_version: expected, url };
    let secret = put(work, &rest, &caller, &current, &change).await?;
    answer(&rest, &caller, secret).await
}

/// Locks the settings, and returns them with the change that leads to this URL; `None` if nothing is requested or nothing changes.
#[expect(clippy::option_option, reason = "an omitted URL differs from null")]
async fn lock(
    rest: &Rest,
    caller: &StoreCaller,
    expected_version: Option<i64>,
    url: Option<Option<&str>>,
) -> Result<(Work, CurrentSettings, Option<UrlChange>), ErrorResponse> {
    loop {
        let change = match url {
            Some(url) => url_change(rest, caller, expected_version, url).await?,
            None => None,
        };
        let mut work = Work::for_store(&rest.database, caller.merchant).await?;
        let current = merchants::lock_settings(&mut work, caller.merchant).await?;
        let is_complete = match url {
            Some(url) if change.is_none() => {
                rest.webhooks.is_settings_url(&mut work, caller.merchant, url).await?
            }
            Some(_) | None => true,
        };
        if is_complete {
            return Ok((work, current, change));
        }
        // Another request has changed the URL meanwhile, and this one changes it again.
        work.rollback().await?;
    }
}

/// Settings to store.
struct Change<'request> {
    settings: &'request merchants::Settings,
    expected_version: Option<i64>,
    /// `None`: the endpoint stays as it is.
    url: Option<UrlChange>,
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

/// Stores settings and the endpoint of `webhook_url`, and commits the transaction that locked the current ones. Returns the
/// secret of an endpoint that was created.
async fn put(
    mut work: Work,
    rest: &Rest,
    caller: &StoreCaller,
    current: &CurrentSettings,
    change: &Change<'_>,
) -> Result<Option<SigningSecret>, ErrorResponse> {
    let Change { settings, expected_version, url } = change;
    catalog::check_categories(&mut work, caller.merchant, settings, &current.settings).await?;
    let change = SettingsChange {
        settings,
        expected_version: *expected_version,
        editor: caller.editor,
        is_development: !rest.site_url.starts_with("https://"),
        other_fields: if url.is_some() { &[WEBHOOK_URL] } else { &[] },
    };
    merchants::put_settings(&mut work, caller.merchant, &change).await?;
    let secret = match url {
        Some(url) => {
            let (merchant, actor) = (caller.merchant, caller.editor.actor);
            rest.webhooks.apply_settings_url(&mut work, merchant, actor, url).await?
        }
        None => None,
    };
    work.commit().await?;
    Ok(secret)
}

/// Returns the settings as they are now, with the secret of an endpoint that was just created.
async fn answer(
    rest: &Rest,
    caller: &StoreCaller,
    secret: Option<SigningSecret>,
) -> Result<Settings, ErrorResponse> {
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let current = merchants::settings(&reading, caller.merchant).await?;
    let tag = [(ETAG, format!("\"{}\"", current.version))];
    let mut record = SettingsRecord::of(current, caller.store.currency);
    record.webhook_url = Some(rest.webhooks.settings_url(caller.merchant).await?);
    record.webhook_secret = secret.map(|secret| secret.text());
    Ok((tag, Envelope::new(record)))
}
