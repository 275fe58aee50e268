//! The context shared by the checkout tools.

use checkout::{CheckoutCaller, CheckoutContext};
use primitives::Plan;

use crate::request_context::RequestContext;

/// Builds the checkout context of a request.
pub(super) fn checkout_context(context: &RequestContext) -> CheckoutContext<'_> {
    let (database, site_url) = (&context.app.database, &*context.app.site_url);
    let agent = context.agent.as_ref();
    let plan = agent.map_or_else(Plan::default, |agent| agent.plan);
    let account = agent.and_then(|agent| agent.owner);
    CheckoutContext {
        database,
        store: &context.store,
        site_url,
        gateway: &context.app.payment_gateway,
        caller: CheckoutCaller { account, plan, address: context.client_address },
    }
}
