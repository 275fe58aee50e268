//! A verb of operators: attempting deliveries to endpoints that fail at once, after an outage of Souk's own network.

use database::{Database, Work};
use identity::AuditAction;
use merchants::Administration;
use primitives::MerchantId;
use serde_json::json;

use crate::{EndpointError, table};

/// Endpoints that one transaction looks at: all of them may fail.
const PAGE_ENDPOINTS: i64 = 500;

/// Lets the first pending delivery to every endpoint that fails be attempted now, whatever its circuit and its next attempt, in parts
/// of 500 endpoints, each in a transaction with an entry in the audit log. Returns the number of endpoints.
pub async fn probe_failing_endpoints(
    database: &Database,
    by: Administration<'_>,
    store: Option<MerchantId>,
) -> Result<u64, EndpointError> {
    let subject = store.map_or_else(|| String::from("all stores"), |store| store.to_string());
    let (mut endpoints, mut after) = (0, None);
    loop {
        let mut work = Work::for_platform(database).await?;
        table::plan_anew(work.sql()).await?;
        let limit = PAGE_ENDPOINTS;
        let page = table::endpoint::probe_failing(&mut work, store, after, limit).await?;
        if after.is_none() || page.probed > 0 {
            let details = json!({ "endpoints": page.probed, "reason": by.reason.as_str() });
            let action = AuditAction::WebhookEndpointsProbed;
            identity::record_audit(&mut work, by.actor, action, &subject, details).await?;
        }
        work.commit().await?;
        endpoints += u64::try_from(page.probed).unwrap_or_default();
        if page.seen < limit {
            return Ok(endpoints);
        }
        after = page.last;
    }
}
