//! `create_permalink`: a link to a set of items.

use carts::{ItemRequest, LINES_MAX, PermalinkTarget};
use primitives::{Failure, Scope, const_text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CreatePermalink;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    #[schemars(length(min = 1, max = LINES_MAX), description = const_text!("Items, 1 to ", LINES_MAX, "."))]
    items: Vec<ItemRequest>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// The link.
    url: String,
    /// Kind of page the link opens.
    opens: PermalinkTarget,
}

impl Tool for CreatePermalink {
    const NAME: &'static str = "create_permalink";
    const TITLE: &'static str = "Create a link to items";
    const PURPOSE: &'static str = "Create a link that opens these items in the merchant's own shop or, if the shop has no such links, on a Souk summary page. For a person who wants to order without the agent. Stores and reserves nothing.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let (reading, store) = (context.reading()?, &context.store);
        let items = ItemRequest::parse(&arguments.items)?;
        let quote = carts::estimate(&reading, store, &items, None).await?;
        let link = carts::permalink(&reading, store, &quote, &context.app.site_url).await?;
        Ok(Output { url: link.url, opens: link.target })
    }
}
