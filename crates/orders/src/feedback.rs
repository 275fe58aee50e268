//! A verb: what an agent says about an order.

use primitives::OrderId;

use crate::change::{Change, Opened};
use crate::{ActorKind, OrderContext, OrderError, free_text, table};

primitives::text_enum! {
    /// How an order went, in the eyes of the agent that placed it.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum FeedbackOutcome {
        /// Everything went as agreed.
        Completed,
        ProblemResolved,
        ProblemUnresolved,
        /// The agent would not buy at this store again.
        WouldNotRepeat,
    }
}

/// Stores the feedback of an agent about an order that it sees; a later one of the same key replaces it. The order does not
/// change: there is no entry in its history and no event.
pub async fn submit_feedback(
    context: &OrderContext<'_>,
    id: OrderId,
    outcome: FeedbackOutcome,
    note: Option<String>,
) -> Result<(), OrderError> {
    let agent = context.actor.id.as_deref().filter(|_| context.actor.kind == ActorKind::Agent);
    let Some(agent) = agent.and_then(|key| key.parse().ok()) else {
        return Err(OrderError::invalid("actor", "an agent"));
    };
    let note = free_text::paragraphs("note", note.as_deref(), free_text::NOTE)?;
    let mut change = match Change::open(context, id, None).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(_) => return Ok(()),
    };
    let (merchant, work) = (context.merchant, &mut change.work);
    table::put_feedback(work, merchant, id, agent, outcome.as_str(), note.as_deref()).await?;
    change.finish(None).await?;
    Ok(())
}
