//! Limits on what one agent key can hold at a store without paying (docs/contract/checkout.md#hold-limits).

use database::Work;
use merchants::HoldLimits;
use primitives::Plan;

use crate::revalidate::Revalidated;
use crate::{CheckoutContext, CheckoutError, Session, table};

/// Stock above which one key cannot hold more than half of an article.
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

/// Returns `HoldLimitReached` if a session that is about to hold its units exceeds the limits of its key. The session is
/// stored as holding. Completions of one key at one store wait for each other until the work ends.
pub(crate) async fn ensure_within_limits(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    revalidated: &Revalidated,
    session: &Session,
) -> Result<(), CheckoutError> {
    let (merchant, key) = (context.merchant(), session.owner.key);
    table::lock_holds(work, merchant, key).await?;
    let (holds, units) = table::count_holds(work, merchant, key).await?;
    let limits = revalidated.settings.hold_limits.unwrap_or(hold_limits(context.caller.plan));
    if holds > i64::from(limits.holds) || units > i64::from(limits.units) {
        return Err(CheckoutError::HoldLimitReached { limits, index: None });
    }
    // A store that sets its own limits replaces all of them. The stock of a sandbox is its own.
    if revalidated.settings.hold_limits.is_some() || session.owner.is_sandbox {
        return Ok(());
    }
    for (index, (line, quoted)) in
        session.lines.iter().zip(&revalidated.priced.quote.lines).enumerate()
    {
        let Some(available) = quoted.available.map(i64::from) else { continue };
        let quantity = i64::from(line.quantity);
        let is_only_hold = holds == 1;
        let held = if is_only_hold {
            quantity
        } else {
            table::count_held_units(work, merchant, Some(key), line).await?
        };
        // At least what is available to this key, with what it holds elsewhere.
        let least = available + held - quantity;
        if held <= least / 2 {
            continue;
        }
        let held_by_all = table::count_held_units(work, merchant, None, line).await?;
        let stock = available + held_by_all - quantity;
        if stock > SHARED_STOCK_MIN && held > stock / 2 {
            return Err(CheckoutError::HoldLimitReached { limits, index: Some(index) });
        }
    }
    Ok(())
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
