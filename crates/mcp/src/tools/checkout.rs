//! The context shared by the checkout tools.

use checkout::CheckoutContext;

use crate::request_context::RequestContext;

/// Builds the checkout context of a request.
pub(super) fn checkout_context(context: &RequestContext) -> CheckoutContext<'_> {
    let (database, site_url) = (&context.app.database, &*context.app.site_url);
    CheckoutContext { database, store: &context.store, site_url }
}
