//! A verb of operators: attempting deliveries to endpoints that fail at once, after an outage of Souk's own network.

use database::{Database, Work};
use identity::AuditAction;
use merchants::Administration;
use primitives::MerchantId;
use serde_json::json;

use crate::{EndpointError, table};

/// Lets the first pending delivery to every endpoint that fails be attempted now, whatever its circuit and its next attempt, with an
/// entry in the audit log. Returns the number of endpoints.
pub async fn probe_failing_endpoints(
    database: &Database,
    by: Administration<'_>,
    store: Option<MerchantId>,
) -> Result<u64, EndpointError> {
    let mut work = Work::for_platform(database).await?;
    let endpoints = table::endpoint::probe_failing(&mut work, store).await?;
    let subject = store.map_or_else(|| String::from("all stores"), |store| store.to_string());
    let details = json!({ "endpoints": endpoints, "reason": by.reason.as_str() });
    let action = AuditAction::WebhookEndpointsProbed;
    identity::record_audit(&mut work, by.actor, action, &subject, details).await?;
    work.commit().await?;
    Ok(endpoints)
}
