//! `open_dispute`: opens a dispute about an order.

use orders::{
    Dispute, DisputeReason, DisputeRecord, EVIDENCE_LENGTH_MAX, EVIDENCE_MAX, NewDispute,
    OrderError, STATEMENT_LENGTH_MAX,
};
use primitives::{Failure, OrderId, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::order::order_context;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct OpenDispute;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id of the order.
    #[schemars(extend("x-former-names" = ["orderId"]))]
    order_id: OrderId,
    /// What it is about.
    reason: DisputeReason,
    /// What happened, in the words of the person.
    #[schemars(length(min = 1, max = STATEMENT_LENGTH_MAX))]
    statement: String,
    /// Links to photos or documents, https; at most 10.
    #[schemars(length(max = EVIDENCE_MAX), inner(length(min = 1, max = EVIDENCE_LENGTH_MAX)))]
    evidence: Option<Vec<String>>,
}

impl Tool for OpenDispute {
    const NAME: &'static str = "open_dispute";
    const TITLE: &'static str = "Open a dispute";
    const PURPOSE: &'static str = "Open a dispute about an order that the merchant does not put right. The merchant answers within 7 days; then the platform decides. Follow it with get_dispute. For returns, use onx_create_return first. Ask the person first.";
    const SET: ToolSet = ToolSet::Orders;
    const ACCESS: Access = Access::Scope(Scope::AgentOrders);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const STORES: Stores = Stores::Any;
    type Arguments = Arguments;
    type Output = DisputeRecord;

    async fn call(
        context: &RequestContext,
        arguments: Arguments,
    ) -> Result<DisputeRecord, Failure> {
        let dispute = NewDispute {
            reason: arguments.reason,
            statement: arguments.statement,
            evidence: arguments.evidence.unwrap_or_default(),
        };
        let changed =
            orders::open_dispute(&order_context(context).await?, arguments.order_id, dispute)
                .await?;
        let details = &changed.details;
        let is_opened = |it: &&Dispute| changed.subject.as_ref() == Some(&it.id.to_string());
        let opened = details.disputes.iter().find(is_opened).ok_or(OrderError::DisputeNotFound)?;
        Ok(opened.record(&details.order, context.store.slug.as_str()))
    }
}
