//! Settings.

use database::{DatabaseError, Work};
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::unreadable;
use crate::{
    CheckoutUrl, ConfirmationPolicy, CurrentSettings, HoldLimits, Policies, Promotion, Settings,
    ShippingZone, TaxRate,
};

/// Locks the settings of a store until the end of the transaction, by locking the store row, which always exists; the
/// settings row may not. Returns whether the store exists.
pub(crate) async fn lock_store(work: &mut Work, merchant: MerchantId) -> sqlx::Result<bool> {
    let found = sqlx::query_scalar!(
        r#"SELECT true AS "found!" FROM store WHERE merchant_id = $1 FOR NO KEY UPDATE"#,
        merchant as MerchantId,
    )
    .fetch_optional(work.sql())
    .await?;
    Ok(found.is_some())
}

pub(crate) async fn settings(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> Result<CurrentSettings, DatabaseError> {
    let policies = super::policies(sql, merchant).await?;
    settings_with(sql, merchant, policies).await
}

/// Returns the settings of a store whose policies are known.
pub(crate) async fn settings_with(
    sql: &mut PgConnection,
    merchant: MerchantId,
    policies: Policies,
) -> Result<CurrentSettings, DatabaseError> {
    let row = sqlx::query!(
        r#"SELECT gtin_source, confirmation_policy, checkout_url_template,
                  shipping AS "shipping: Json<Vec<ShippingZone>>",
                  taxes AS "taxes: Json<Vec<TaxRate>>",
                  promotions AS "promotions: Json<Vec<Promotion>>",
                  destination_required, hold_limit_holds, hold_limit_units,
                  version, updated_at AS "updated_at: Timestamp"
           FROM store_setting WHERE merchant_id = $1"#,
        merchant as MerchantId,
    )
    .fetch_optional(sql)
    .await?;
    let Some(row) = row else {
        let settings = Settings { policies, ..Settings::default() };
        return Ok(CurrentSettings { settings, version: 0, updated_at: None });
    };
    let hold_limits = match (row.hold_limit_holds, row.hold_limit_units) {
        (Some(holds), Some(units)) => Some(hold_limits(holds, units)?),
        _ => None,
    };
    let template = row.checkout_url_template.map(|text| text.parse()).transpose();
    let settings = Settings {
        policies,
        confirmation: ConfirmationPolicy::parse(&row.confirmation_policy)
            .ok_or_else(|| unreadable("a confirmation policy"))?,
        checkout_url: template.map_err(|_| unreadable("a checkout URL template"))?,
        destination_required: row.destination_required,
        hold_limits,
        gtin_source: row.gtin_source.parse().map_err(|_| unreadable("a GTIN source"))?,
        shipping: row.shipping.0,
        taxes: row.taxes.0,
        promotions: row.promotions.0,
    };
    Ok(CurrentSettings { settings, version: row.version, updated_at: Some(row.updated_at) })
}

fn hold_limits(holds: i32, units: i32) -> Result<HoldLimits, DatabaseError> {
    let number = |value: i32| u32::try_from(value).map_err(|_| unreadable("a hold limit"));
    Ok(HoldLimits { holds: number(holds)?, units: number(units)? })
}

/// The check of the settings bounds a limit far below the largest `integer`.
fn stored(limit: u32) -> i32 {
    i32::try_from(limit).unwrap_or(i32::MAX)
}

/// Sets the checkout URL template of a store that has settings. Only the role of the platform may.
pub(crate) async fn put_checkout_url(
    work: &mut Work,
    merchant: MerchantId,
    url: Option<&CheckoutUrl>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE store_setting SET checkout_url_template = $2 WHERE merchant_id = $1",
        merchant as MerchantId,
        url.map(CheckoutUrl::as_str),
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Writes all settings but the policies, which have their own table, and the checkout URL template.
pub(crate) async fn put_settings(
    work: &mut Work,
    merchant: MerchantId,
    settings: &Settings,
    version: i64,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO store_setting
             (merchant_id, gtin_source, confirmation_policy, shipping, taxes, promotions, version, updated_at,
              destination_required, hold_limit_holds, hold_limit_units)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         ON CONFLICT (merchant_id) DO UPDATE SET
             gtin_source = $2, confirmation_policy = $3, shipping = $4, taxes = $5, promotions = $6, version = $7,
             updated_at = $8, destination_required = $9, hold_limit_holds = $10, hold_limit_units = $11",
        merchant as MerchantId,
        settings.gtin_source.to_string(),
        settings.confirmation.as_str(),
        Json(&settings.shipping) as _,
        Json(&settings.taxes) as _,
        Json(&settings.promotions) as _,
        version,
        now as Timestamp,
        settings.destination_required,
        settings.hold_limits.map(|limits| stored(limits.holds)),
        settings.hold_limits.map(|limits| stored(limits.units)),
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
