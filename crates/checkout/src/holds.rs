//! Limits on what an agent key and its account can hold at a store without paying (docs/contract/checkout.md#hold-limits).

use database::Work;
use merchants::HoldLimits;
use primitives::{KeyId, Plan, UserId};

use crate::revalidate::Revalidated;
use crate::{CheckoutContext, CheckoutError, Session, table};

/// Stock above which one account cannot hold more than half of the stock of a product.
const SHARED_STOCK_MIN: i64 = 10;

/// Returns the limits of a plan. A store can set its own.
#[must_use]
pub const fn hold_limits(plan: Plan) -> HoldLimits {
    match plan {
        Plan::Free | Plan::Starter => HoldLimits { holds: 20, units: 200 },
        Plan::Growth => HoldLimits { holds: 200, units: 2_000 },
        Plan::Pro | Plan::Enterprise => HoldLimits { holds: 1_000, units: 10_000 },
    }
}

/// Makes the completions of one account at one store wait for each other until the work ends. A key without an account is
/// a sandbox key, which stands for itself.
pub(crate) async fn lock(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    key: KeyId,
) -> Result<(), CheckoutError> {
    let holder = context.caller.account.map_or_else(|| key.uuid(), UserId::uuid);
    Ok(table::lock_holds(work, context.merchant(), holder).await?)
}

/// Returns `HoldLimitReached` if a session that is about to hold its units exceeds the limits of its key or account. The
/// session is stored as holding, and its units are not held yet.
pub(crate) async fn ensure_within_limits(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    revalidated: &Revalidated,
    session: &Session,
) -> Result<(), CheckoutError> {
    let (merchant, key) = (context.merchant(), session.owner.key);
    lock(work, context, key).await?;
    let (holds, units) = table::count_holds(work, merchant, key).await?;
    let limits = revalidated.settings.hold_limits.unwrap_or(hold_limits(context.caller.plan));
    if holds > i64::from(limits.holds) || units > i64::from(limits.units) {
        return Err(CheckoutError::HoldLimitReached { limits, index: None });
    }
    // A store that sets its own limits replaces all of them. The stock of a sandbox is its own.
    if revalidated.settings.hold_limits.is_some() || session.owner.is_sandbox {
        return Ok(());
    }
    match over_half(work, context, session).await? {
        Some(index) => Err(CheckoutError::HoldLimitReached { limits, index: Some(index) }),
        None => Ok(()),
    }
}

/// Returns the first line of which the account holds more than half of the stock, with all its keys.
async fn over_half(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    session: &Session,
) -> Result<Option<usize>, CheckoutError> {
    let merchant = context.merchant();
    let counted = catalog::stock_and_held(work, merchant, &session.units()).await?;
    let mut keys = None;
    for (index, (line, counted)) in session.lines.iter().zip(counted).enumerate() {
        let Some((stock, held_by_all)) = counted else { continue };
        // Nobody holds more than all together, which is known without a look at sessions and keys.
        let is_shared = held_by_all + i64::from(line.quantity) <= stock / 2;
        if stock <= SHARED_STOCK_MIN || is_shared {
            continue;
        }
        if keys.is_none() {
            keys = Some(match context.caller.account {
                Some(account) => identity::keys_of_account(work, account).await?,
                None => vec![session.owner.key],
            });
        }
        let keys = keys.as_deref().unwrap_or_default();
        if table::count_held_units(work, merchant, keys, line).await? > stock / 2 {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_plan_holds_at_least_as_much() {
        for plans in Plan::ALL.windows(2) {
            let (smaller, larger) = (hold_limits(plans[0]), hold_limits(plans[1]));
            assert!(smaller.holds <= larger.holds && smaller.units <= larger.units);
        }
    }
}
