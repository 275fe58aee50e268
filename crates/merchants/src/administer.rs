//! What operators and platform administrators do with a store. Each action is recorded in the audit log with its actor and its
//! reason, and posted as a notice, in the transaction that performs it.

use database::{Reading, Work};
use identity::{Actor, AuditAction, Reason};
use primitives::{CheckoutId, MerchantId};
use serde_json::{Value, json};

use crate::notice::{NoticeKind, post_notice};
use crate::register::publish_if_changed;
use crate::{
    CheckoutUrl, Identity, InvalidSetting, NewStore, SettingsError, StoreError, StoreStatus,
    register, set_identity, store_now, table,
};

/// Who acts, and why.
#[derive(Debug, Clone, Copy)]
pub struct Administration<'reason> {
    pub actor: Actor,
    pub reason: &'reason Reason,
}

/// Creates a store, in a platform transaction. Returns `SlugTaken` if there is one with this slug.
pub async fn create_store(
    work: &mut Work,
    by: Administration<'_>,
    store: &NewStore,
) -> Result<(), SettingsError> {
    store.check()?;
    register(work, store).await?;
    let details = json!({ "slug": store.slug.as_str(), "reason": by.reason.as_str() });
    identity::record_audit(work, by.actor, AuditAction::StoreCreated, &store.merchant, details)
        .await?;
    Ok(())
}

/// Sets the status of a store, in a platform transaction. Returns whether it differed.
pub async fn set_status(
    work: &mut Work,
    by: Administration<'_>,
    merchant: MerchantId,
    status: StoreStatus,
) -> Result<bool, StoreError> {
    let former = store_now(work, merchant).await?.status;
    if !table::set_status(work, merchant, status).await? {
        return Ok(false);
    }
    publish_if_changed(work, merchant, true).await?;
    let (action, notice) = match status {
        StoreStatus::Open => (AuditAction::StoreReinstated, NoticeKind::StoreReinstated),
        StoreStatus::Suspended => (AuditAction::StoreSuspended, NoticeKind::StoreSuspended),
        StoreStatus::Paused => (AuditAction::StorePaused, NoticeKind::StorePaused),
        StoreStatus::Closed => (AuditAction::StoreClosed, NoticeKind::StoreClosed),
    };
    let reason = by.reason.as_str();
    let details = json!({ "former_status": former.as_str(), "reason": reason });
    identity::record_audit(work, by.actor, action, &merchant, details).await?;
    post_notice(work, merchant, notice, json!({ "reason": reason })).await?;
    Ok(true)
}

/// Sets the result of a merchant's identity verification, in a platform transaction.
pub async fn verify_identity(
    work: &mut Work,
    by: Administration<'_>,
    merchant: MerchantId,
    result: &Identity,
) -> Result<(), StoreError> {
    store_now(work, merchant).await?;
    set_identity(work, merchant, result).await?;
    let status = result.status.as_str();
    let details = json!({
        "status": status,
        "level": result.level,
        "method": result.method,
        "reason": by.reason.as_str(),
    });
    identity::record_audit(work, by.actor, AuditAction::StoreIdentitySet, &merchant, details)
        .await?;
    let kind = NoticeKind::IdentityVerificationSet;
    Ok(post_notice(work, merchant, kind, json!({ "status": status })).await?)
}

/// Allows a host for the payment page of a store, in a platform transaction. Returns whether it was not allowed before.
pub async fn allow_host(
    work: &mut Work,
    by: Administration<'_>,
    merchant: MerchantId,
    host: &str,
) -> Result<bool, SettingsError> {
    store_now(work, merchant).await?;
    let host = CheckoutUrl::parse_host(host)
        .ok_or_else(|| InvalidSetting::new("host", "a host name such as pay.example.com"))?;
    if !table::allow_host(work, merchant, &host).await? {
        return Ok(false);
    }
    let details = json!({ "host": host, "reason": by.reason.as_str() });
    identity::record_audit(work, by.actor, AuditAction::StoreHostAllowed, &merchant, details)
        .await?;
    let notice: Value = json!({ "host": host });
    post_notice(work, merchant, NoticeKind::PaymentHostAllowed, notice).await?;
    Ok(true)
}

/// Records that the stock held by a checkout session was released, in the platform transaction that releases it.
pub async fn record_release(
    work: &mut Work,
    by: Administration<'_>,
    merchant: MerchantId,
    checkout: CheckoutId,
) -> Result<(), StoreError> {
    let reason = by.reason.as_str();
    let details = json!({ "merchant": merchant, "reason": reason });
    identity::record_audit(work, by.actor, AuditAction::CheckoutReleased, &checkout, details)
        .await?;
    let details =
        json!({ "checkout_id": checkout, "actor": by.actor.to_string(), "reason": reason });
    Ok(post_notice(work, merchant, NoticeKind::HoldReleased, details).await?)
}

/// Returns the hosts that are allowed for the payment page of a store.
pub async fn allowed_hosts(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<Vec<String>, StoreError> {
    reading.run(async |sql| Ok(table::hosts(sql, merchant).await?)).await
}
