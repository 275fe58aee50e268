//! `find_offers_network`: offers of one product at all stores.

use carts::{Destination, NetworkOffer};
use catalog::{Gtin, MerchantRecord, StockStatus};
use primitives::{
    Details, ErrorCode, Failure, Money, NotExactlyOne, Problem, ProductId, Scope, VariantId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct FindOffersNetwork;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// A product of this store that has a GTIN; give this or `gtin`.
    product_id: Option<ProductId>,
    /// Bar code number: 8, 12, 13 or 14 digits.
    #[schemars(length(min = 8, max = 14))]
    gtin: Option<String>,
    /// Destination; a country is enough.
    destination: Option<Destination>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// GTIN, as 14 digits.
    gtin: String,
    /// Offers, best first.
    offers: Vec<Offer>,
}

/// The product at one store.
#[derive(Serialize, JsonSchema)]
pub(super) struct Offer {
    /// The store, with its trust score.
    merchant: MerchantRecord,
    /// MCP endpoint of that store.
    mcp_url: String,
    /// Product id at that store.
    product_id: ProductId,
    /// Variant with this GTIN, or the cheapest available one if the GTIN belongs to the product.
    #[serde(skip_serializing_if = "Option::is_none")]
    variant_id: Option<VariantId>,
    /// Product name at that store.
    name: String,
    /// Unit price.
    price: f64,
    /// Currency of the amounts. Amounts in different currencies are not compared.
    currency: String,
    /// Stock status.
    stock_status: StockStatus,
    /// Cost of the cheapest shipping option.
    #[serde(skip_serializing_if = "Option::is_none")]
    shipping: Option<f64>,
    /// Total for one unit with discounts, shipping and taxes. Omitted if out of stock or not shipped there.
    #[serde(skip_serializing_if = "Option::is_none")]
    landed_cost: Option<f64>,
    /// Whether the trust score and standing of that store allow agents to check out. Its `list_payment_methods` says whether
    /// a person can pay.
    agent_checkout: bool,
}

impl Offer {
    fn of(offer: &NetworkOffer, site_url: &str) -> Self {
        let facts = &offer.product.facts;
        let item = offer.product.offer(offer.variant);
        Self {
            merchant: MerchantRecord::of(&offer.store),
            mcp_url: format!("{site_url}/{}/mcp", offer.store.slug),
            product_id: offer.product.id,
            variant_id: offer.variant,
            name: facts.name.clone(),
            price: offer.price.to_decimal(),
            currency: offer.price.currency().to_string(),
            stock_status: item.map_or(facts.stock_status, |item| item.stock_status),
            shipping: offer.shipping.map(Money::to_decimal),
            landed_cost: offer.landed_cost.map(Money::to_decimal),
            agent_checkout: offer.store.allows_agent_checkout(),
        }
    }
}

/// The arguments do not identify a product.
#[derive(Debug, thiserror::Error)]
enum InvalidIdentifier {
    #[error("the product has no GTIN, so its offers at other stores cannot be found")]
    NoGtin,
    #[error("gtin must be 8, 12, 13 or 14 digits with a valid check digit")]
    InvalidGtin,
}

impl Problem for InvalidIdentifier {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        let field = if matches!(self, Self::InvalidGtin) { "gtin" } else { "product_id" };
        details.insert("field", field);
    }
}

/// Returns the GTIN that the arguments name, directly or through a product.
async fn gtin(
    context: &RequestContext,
    product: Option<ProductId>,
    text: Option<&str>,
) -> Result<Gtin, Failure> {
    let product = match (product, text) {
        (None, Some(text)) => {
            return Ok(text.parse().map_err(|_| InvalidIdentifier::InvalidGtin)?);
        }
        (Some(id), None) => {
            catalog::product(&context.reading()?, context.store.merchant, id).await?
        }
        _ => return Err(NotExactlyOne(&["product_id", "gtin"]).into()),
    };
    let numbers = product.variants.iter().filter_map(|variant| variant.facts.gtin.as_ref());
    let number = product.facts.gtin.iter().chain(numbers).find_map(|text| text.parse().ok());
    Ok(number.ok_or(InvalidIdentifier::NoGtin)?)
}

impl Tool for FindOffersNetwork {
    const NAME: &'static str = "find_offers_network";
    const TITLE: &'static str = "Find offers in all stores";
    const PURPOSE: &'static str = "Find which stores of the network offer one specific product, by product_id or GTIN (bar code). Returns offers by landed cost (price, shipping, taxes), then trust; stores where agents cannot check out come last. To find stores for a kind of product, use nlweb_who.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Scope(Scope::AgentRead);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let gtin = gtin(context, arguments.product_id, arguments.gtin.as_deref()).await?;
        let agent = context.caller()?;
        let sees = |merchant| agent.require_store(merchant).is_ok();
        let (stores, to) = (&context.app.stores, arguments.destination.as_ref());
        let offers =
            carts::offers(&context.app.database, stores, &gtin, to, &context.store, sees).await?;
        let offers = offers.iter().map(|offer| Offer::of(offer, &context.app.site_url)).collect();
        Ok(Output { gtin: gtin.to_14(), offers })
    }
}
