//! What operators and platform administrators do with a store. Each action is recorded in the audit log with its actor and its
//! reason, and posted as a notice, in the transaction that performs it.

use database::{Reading, Work};
use identity::{Actor, AuditAction, Reason};
use primitives::{CheckoutId, DisputeId, MerchantId, OrderId};
use serde_json::{Value, json};

use crate::notice::{NoticeKind, post_notice};
use crate::put_settings::remove_payment_page;
use crate::register::publish_if_changed;
use crate::store_status::{Decider, Decisions};
use crate::{
    CheckoutUrl, Identity, IdentityStatus, InvalidSetting, NewStore, SettingsError, StoreError,
    StoreStatus, register, set_identity, store_now, table,
};

/// Describes valid hosts; completes "must be …".
const HOST_ALLOWED: &str = "a host such as pay.example.com, with its port unless that is 443";

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

/// Decides about a store as an operator, in a platform transaction. Returns whether the operators' decision differed. `Open`
/// withdraws it: a store that an owner paused or closed stays so.
pub async fn set_status(
    work: &mut Work,
    by: Administration<'_>,
    merchant: MerchantId,
    status: StoreStatus,
) -> Result<bool, StoreError> {
    let reason = by.reason.as_str();
    decide_status(work, (Decider::Operator, by.actor), reason, merchant, status).await
}

/// Decides about a store under the lock of its row, publishes it, and records it in the audit log and as a notice. Returns
/// whether the decision differed.
pub(crate) async fn decide_status(
    work: &mut Work,
    (decider, actor): (Decider, Actor),
    reason: &str,
    merchant: MerchantId,
    status: StoreStatus,
) -> Result<bool, StoreError> {
    if !table::lock_store(work, merchant).await? {
        return Err(StoreError::NotFound);
    }
    let former = Decisions::of(&store_now(work, merchant).await?);
    let decisions = former.decide(decider, status)?;
    if decisions == former {
        return Ok(false);
    }
    table::set_status(work, merchant, decisions).await?;
    publish_if_changed(work, merchant, true).await?;
    let (action, notice) = match status {
        StoreStatus::Open => (AuditAction::StoreReinstated, NoticeKind::StoreReinstated),
        StoreStatus::Suspended => (AuditAction::StoreSuspended, NoticeKind::StoreSuspended),
        StoreStatus::Paused => (AuditAction::StorePaused, NoticeKind::StorePaused),
        StoreStatus::Closed => (AuditAction::StoreClosed, NoticeKind::StoreClosed),
    };
    let (former, status) = (former.status().as_str(), decisions.status().as_str());
    let details = json!({ "former_status": former, "status": status, "reason": reason });
    identity::record_audit(work, actor, action, &merchant, details).await?;
    // Merchants see that an operator decided, not which administrator.
    let actor = match decider {
        Decider::Owner => actor,
        Decider::Operator => Actor::Operator,
    };
    let details = json!({ "status": status, "reason": reason, "actor": actor.to_string() });
    post_notice(work, merchant, notice, details).await?;
    Ok(true)
}

/// The result of an identity verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerificationResult {
    pub status: IdentityStatus,
    pub level: Option<String>,
    pub method: Option<String>,
}

/// Sets the result of a merchant's identity verification, in a platform transaction. Only a verified identity has a time
/// of verification, which is now.
pub async fn verify_identity(
    work: &mut Work,
    by: Administration<'_>,
    merchant: MerchantId,
    result: &VerificationResult,
) -> Result<(), StoreError> {
    store_now(work, merchant).await?;
    let verified_at = (result.status == IdentityStatus::Verified).then(|| work.now());
    let VerificationResult { status, level, method } = result.clone();
    let identity = Identity { status, level, method, verified_at };
    set_identity(work, merchant, &identity).await?;
    let status = identity.status.as_str();
    let details = json!({
        "status": status,
        "level": identity.level,
        "method": identity.method,
        "reason": by.reason.as_str(),
    });
    identity::record_audit(work, by.actor, AuditAction::StoreIdentitySet, &merchant, details)
        .await?;
    let kind = NoticeKind::IdentityVerificationSet;
    let details = json!({ "status": status, "reason": by.reason.as_str() });
    Ok(post_notice(work, merchant, kind, details).await?)
}

/// Allows a host for the payment page of a store, in a platform transaction. Returns whether it was not allowed before.
pub async fn allow_host(
    work: &mut Work,
    by: Administration<'_>,
    merchant: MerchantId,
    host: &str,
) -> Result<bool, SettingsError> {
    store_now(work, merchant).await?;
    let host = parse_host(host)?;
    if !table::allow_host(work, merchant, &host).await? {
        return Ok(false);
    }
    let details = json!({ "host": host, "reason": by.reason.as_str() });
    identity::record_audit(work, by.actor, AuditAction::StoreHostAllowed, &merchant, details)
        .await?;
    let notice: Value = json!({ "host": host, "reason": by.reason.as_str() });
    post_notice(work, merchant, NoticeKind::PaymentHostAllowed, notice).await?;
    Ok(true)
}

/// Withdraws a host from the payment page of a store, in a platform transaction. Returns whether it was allowed. If the
/// payment page is on this host, the store has none of its own from now on; sessions that await a payment keep the URL that
/// they were completed with.
pub async fn disallow_host(
    work: &mut Work,
    by: Administration<'_>,
    merchant: MerchantId,
    host: &str,
) -> Result<bool, SettingsError> {
    let host = parse_host(host)?;
    // Before the host is removed, so that no owner sets a page there meanwhile.
    if !table::lock_store(work, merchant).await? {
        return Err(StoreError::NotFound.into());
    }
    if !table::disallow_host(work, merchant, &host).await? {
        return Ok(false);
    }
    let details = json!({ "host": host, "reason": by.reason.as_str() });
    let action = AuditAction::StoreHostDisallowed;
    identity::record_audit(work, by.actor, action, &merchant, details.clone()).await?;
    post_notice(work, merchant, NoticeKind::PaymentHostDisallowed, details).await?;
    remove_payment_page(work, merchant, by.actor, &host).await?;
    Ok(true)
}

fn parse_host(host: &str) -> Result<String, InvalidSetting> {
    CheckoutUrl::parse_host(host).ok_or_else(|| InvalidSetting::new("host", HOST_ALLOWED))
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

/// Records that the status of the payment of an order was set, in the platform transaction that sets it.
pub async fn record_payment_status(
    work: &mut Work,
    by: Administration<'_>,
    merchant: MerchantId,
    order: OrderId,
    status: &str,
) -> Result<(), StoreError> {
    let reason = by.reason.as_str();
    let details = json!({ "merchant": merchant, "payment_status": status, "reason": reason });
    let action = AuditAction::PaymentStatusSet;
    Ok(identity::record_audit(work, by.actor, action, &order, details).await?)
}

/// Records that a dispute was decided, in the platform transaction that decides it.
pub async fn record_decision(
    work: &mut Work,
    by: Administration<'_>,
    merchant: MerchantId,
    dispute: DisputeId,
    resolution: &str,
) -> Result<(), StoreError> {
    let reason = by.reason.as_str();
    let details = json!({ "merchant": merchant, "resolution": resolution, "reason": reason });
    let action = AuditAction::DisputeDecided;
    Ok(identity::record_audit(work, by.actor, action, &dispute, details).await?)
}

/// Records that a quota of the catalog of a store was set, in the platform transaction that sets it.
pub async fn record_quota(
    work: &mut Work,
    by: Administration<'_>,
    merchant: MerchantId,
    quota: &str,
    maximum: i64,
) -> Result<(), StoreError> {
    let details = json!({ "quota": quota, "maximum": maximum, "reason": by.reason.as_str() });
    identity::record_audit(work, by.actor, AuditAction::StoreQuotaSet, &merchant, details).await?;
    let notice = json!({ "quota": quota, "maximum": maximum, "reason": by.reason.as_str() });
    Ok(post_notice(work, merchant, NoticeKind::QuotaSet, notice).await?)
}

/// Returns the hosts that are allowed for the payment page of a store.
pub async fn allowed_hosts(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<Vec<String>, StoreError> {
    reading.run(async |sql| Ok(table::hosts(sql, merchant).await?)).await
}
