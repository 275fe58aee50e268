//! Features of plans (docs/decisions/0021). Rate limits of plans are in `limits`.

use database::{Database, Reading};
use primitives::{MerchantId, Plan};

use crate::{IdentityError, table};

/// Returns the maximum number of active agent keys of a plan.
pub(crate) const fn agent_keys_max(plan: Plan) -> i64 {
    match plan {
        Plan::Free => 10,
        Plan::Starter => 25,
        Plan::Growth | Plan::Pro | Plan::Enterprise => 100,
    }
}

/// Returns the cheapest plan with a higher limit, or `None` if there is none.
pub(crate) fn cheapest_above(plan: Plan, limit: fn(Plan) -> i64) -> Option<Plan> {
    Plan::ALL.iter().copied().find(|other| limit(*other) > limit(plan))
}

/// Returns the plan of a store: the highest plan of its owners.
pub async fn store_plan(database: &Database, merchant: MerchantId) -> Result<Plan, IdentityError> {
    let reading = Reading::for_platform(database);
    let plans: Vec<Plan> = reading
        .run(async |sql| {
            Ok::<_, IdentityError>(table::person::plans_of_owners(sql, merchant).await?)
        })
        .await?;
    Ok(plans.into_iter().max().unwrap_or(Plan::Free))
}

/// Returns `TierRequired` if a plan is lower than the cheapest plan with a feature.
pub fn require_plan(plan: Plan, needed: Plan, feature: &'static str) -> Result<(), IdentityError> {
    if plan >= needed { Ok(()) } else { Err(IdentityError::TierRequired { needed, feature }) }
}
