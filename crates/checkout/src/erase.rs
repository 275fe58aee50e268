//! A verb of operators: erasing the personal data of one buyer at all stores (docs/retention.md#erasure).

use database::Work;
use identity::AuditAction;
use merchants::Administration;
use primitives::{CartId, MerchantId};
use serde_json::json;

use crate::{CheckoutError, table};

/// How many rows were erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Erased {
    pub carts: usize,
    pub orders: usize,
}

/// Erases name, address, email and telephone number of the buyer with this email address: in carts, sessions, confirmations
/// and orders of all stores. Items, amounts, the country and the hash of the approved terms remain. A checkout that is still
/// open keeps its data until it ends. The work is one of the platform; the entry of the audit log names no buyer.
pub async fn erase_buyer(
    work: &mut Work,
    by: Administration<'_>,
    email: &str,
) -> Result<Erased, CheckoutError> {
    let carts = carts::erase_buyer(work, email).await?;
    let orders = orders::erase_buyer(work, email).await?;
    let erased = Erased { carts: carts.len(), orders: orders.len() };
    let mut all: Vec<(MerchantId, CartId)> = carts;
    all.extend(orders);
    all.sort_unstable();
    all.dedup();
    table::erase_terms(work, &all).await?;
    let Erased { carts, orders } = erased;
    let details = json!({ "reason": by.reason.as_str(), "carts": carts, "orders": orders });
    identity::record_audit(work, by.actor, AuditAction::BuyerErased, &"buyer", details).await?;
    Ok(erased)
}
