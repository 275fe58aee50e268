//! `create_permalink`: an address a person can open.

use carts::Opens;
use primitives::{Failure, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cart::{CartItem, items};
use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CreatePermalink;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// What the link is for, 1 to 50 lines.
    #[schemars(length(min = 1, max = 50))]
    items: Vec<CartItem>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// The address.
    url: String,
    /// What opens there.
    opens: Opens,
}

impl Tool for CreatePermalink {
    const NAME: &'static str = "create_permalink";
    const TITLE: &'static str = "Make a link to a basket";
    const PURPOSE: &'static str = "Make a link that opens these items: in the merchant's own shop where the store has such links, else as a summary of this service. Nothing is kept or held.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Failure> {
        let (reading, store) = (call.reading()?, call.store);
        let quote = carts::estimate(&reading, store, &items(&arguments.items)?, None).await?;
        let link = carts::permalink(&reading, store, &quote, call.site_url).await?;
        Ok(Output { url: link.url, opens: link.opens })
    }
}
