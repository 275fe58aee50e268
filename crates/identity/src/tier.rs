//! What needs a higher plan (docs/decisions/0021). How often one may call is known to `limits`.

use database::{Database, Reading};
use primitives::{MerchantId, Plan};

use crate::{IdentityError, table};

/// Keys of agents that work at once.
pub(crate) const fn agent_keys_max(plan: Plan) -> i64 {
    match plan {
        Plan::Free => 10,
        Plan::Starter => 25,
        Plan::Growth | Plan::Pro | Plan::Enterprise => 100,
    }
}

/// The cheapest plan that has more of something.
pub(crate) fn cheapest_above(plan: Plan, of: fn(Plan) -> i64) -> Option<Plan> {
    Plan::ALL.into_iter().find(|other| of(*other) > of(plan))
}

/// What a store's owners pay for: the best of their plans.
pub async fn store_plan(database: &Database, merchant: MerchantId) -> Result<Plan, IdentityError> {
    let mut snapshot = Reading::for_platform(database).open().await?;
    let plans = table::person::plans_of_owners(&mut snapshot, merchant).await?;
    snapshot.close().await?;
    Ok(plans.into_iter().max().unwrap_or(Plan::Free))
}

/// Whether a plan has a feature that another plan begins to have.
pub fn require_plan(plan: Plan, needed: Plan, feature: &'static str) -> Result<(), IdentityError> {
    if plan >= needed { Ok(()) } else { Err(IdentityError::TierRequired { needed, feature }) }
}
