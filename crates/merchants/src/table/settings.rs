//! Settings.

use database::{DatabaseError, Work};
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::unreadable;
use crate::{
    CheckoutUrl, ConfirmationPolicy, CurrentSettings, Policies, Promotion, Settings, ShippingZone,
    TaxRate,
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
    let template = row.checkout_url_template.map(|text| text.parse()).transpose();
    let settings = Settings {
        policies,
        confirmation: ConfirmationPolicy::parse(&row.confirmation_policy)
            .ok_or_else(|| unreadable("a confirmation policy"))?,
        checkout_url: template.map_err(|_| unreadable("a checkout URL template"))?,
        gtin_source: row.gtin_source.parse().map_err(|_| unreadable("a GTIN source"))?,
        shipping: row.shipping.0,
        taxes: row.taxes.0,
        promotions: row.promotions.0,
    };
    Ok(CurrentSettings { settings, version: row.version, updated_at: Some(row.updated_at) })
}

/// Writes all settings but the policies, which have their own table.
pub(crate) async fn put_settings(
    work: &mut Work,
    merchant: MerchantId,
    settings: &Settings,
    version: i64,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO store_setting
             (merchant_id, gtin_source, confirmation_policy, checkout_url_template, shipping, taxes,
              promotions, version, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         ON CONFLICT (merchant_id) DO UPDATE SET
             gtin_source = $2, confirmation_policy = $3, checkout_url_template = $4, shipping = $5,
             taxes = $6, promotions = $7, version = $8, updated_at = $9",
        merchant as MerchantId,
        settings.gtin_source.to_string(),
        settings.confirmation.as_str(),
        settings.checkout_url.as_ref().map(CheckoutUrl::as_str),
        Json(&settings.shipping) as _,
        Json(&settings.taxes) as _,
        Json(&settings.promotions) as _,
        version,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
