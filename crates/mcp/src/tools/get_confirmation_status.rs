//! `get_confirmation_status`: what a person answered.

use checkout::ConfirmationRecord;
use primitives::{ConfirmationId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::checkout::counter;
use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetConfirmationStatus;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The question, as `request_human_confirmation` returned it.
    confirmation_id: ConfirmationId,
}

impl Tool for GetConfirmationStatus {
    const NAME: &'static str = "get_confirmation_status";
    const TITLE: &'static str = "See what a person answered";
    const PURPOSE: &'static str = "See whether the person has approved or rejected what was put to them: pending, confirmed, rejected or expired.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = ConfirmationRecord;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<ConfirmationRecord, Failure> {
        let (counter, key) = (counter(call), call.owner()?.key);
        let found = checkout::confirmation(&counter, arguments.confirmation_id, Some(key)).await?;
        Ok(found.record())
    }
}
