//! `get_confirmation_status`: the state of a confirmation request.

use checkout::ConfirmationRecord;
use primitives::{ConfirmationId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::checkout::checkout_context;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetConfirmationStatus;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `request_human_confirmation`.
    confirmation_id: ConfirmationId,
}

impl Tool for GetConfirmationStatus {
    const NAME: &'static str = "get_confirmation_status";
    const TITLE: &'static str = "Get a confirmation status";
    const PURPOSE: &'static str = "Get the person's answer to request_human_confirmation: pending, confirmed, rejected or expired.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = ConfirmationRecord;

    async fn call(
        context: &RequestContext,
        arguments: Arguments,
    ) -> Result<ConfirmationRecord, Failure> {
        let (checkout, key) = (checkout_context(context), context.owner()?.key);
        let found = checkout::confirmation(&checkout, arguments.confirmation_id, Some(key)).await?;
        Ok(found.record())
    }
}
