//! A verb of operators: trying the endpoints whose circuit is open at once, after an outage of the network of Souk itself.

use database::{Database, Work};
use identity::AuditAction;
use merchants::Administration;
use primitives::MerchantId;
use serde_json::json;

use crate::{EndpointError, table};

/// Lets the next probe of every open circuit be sent now, of one store or of all, with an entry in the audit log. Returns the number
/// of circuits.
pub async fn probe_open_circuits(
    database: &Database,
    by: Administration<'_>,
    store: Option<MerchantId>,
) -> Result<u64, EndpointError> {
    let mut work = Work::for_platform(database).await?;
    let circuits = table::endpoint::probe_all(&mut work, store).await?;
    let subject = store.map_or_else(|| String::from("all stores"), |store| store.to_string());
    let details = json!({ "circuits": circuits, "reason": by.reason.as_str() });
    let action = AuditAction::WebhookEndpointsProbed;
    identity::record_audit(&mut work, by.actor, action, &subject, details).await?;
    work.commit().await?;
    Ok(circuits)
}
