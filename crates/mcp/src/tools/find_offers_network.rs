//! `find_offers_network`: who else sells an article.

use carts::{Destination, NetworkOffer};
use catalog::{Gtin, MerchantRecord, StockStatus};
use primitives::{Details, ErrorCode, Failure, Money, Problem, ProductId, Scope, VariantId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct FindOffersNetwork;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// A product of this store, by its GTIN; or name the GTIN.
    product_id: Option<ProductId>,
    /// The number on the bar code: 8, 12, 13 or 14 digits.
    #[schemars(length(min = 8, max = 14))]
    gtin: Option<String>,
    /// Where it would go; a country is enough.
    ship_to: Option<Destination>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// The article, as 14 digits.
    gtin: String,
    /// The offers, the best first.
    offers: Vec<Offer>,
}

/// An article at one store.
#[derive(Serialize, JsonSchema)]
pub(super) struct Offer {
    /// Who sells it, and how far it can be trusted.
    merchant: MerchantRecord,
    /// The endpoint to buy it at.
    mcp_url: String,
    /// The product, at that store.
    product_id: ProductId,
    /// The form of it; the cheapest that can be had, if the number is the product's.
    #[serde(skip_serializing_if = "Option::is_none")]
    variant_id: Option<VariantId>,
    /// What it is called there.
    name: String,
    /// What one costs.
    price: f64,
    /// Currency of the amounts. Amounts of different currencies are not compared.
    currency: String,
    /// Whether it can be had.
    stock_status: StockStatus,
    /// What the cheapest way there costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    shipping: Option<f64>,
    /// What one costs to have it there: with that way, taxes and what is cheaper. Left out if it cannot be had, or is not sent there.
    #[serde(skip_serializing_if = "Option::is_none")]
    landed_cost: Option<f64>,
    /// Whether agents may check out at that store.
    agent_checkout: bool,
}

impl Offer {
    fn of(offer: &NetworkOffer, site_url: &str) -> Self {
        let facts = &offer.product.facts;
        let known = offer.product.offer(offer.variant);
        Self {
            merchant: MerchantRecord::of(&offer.store),
            mcp_url: format!("{site_url}/{}/mcp", offer.store.slug),
            product_id: offer.product.id,
            variant_id: offer.variant,
            name: facts.name.clone(),
            price: offer.price.to_decimal(),
            currency: offer.price.currency().to_string(),
            stock_status: known.map_or(facts.stock_status, |known| known.stock_status),
            shipping: offer.shipping.map(Money::to_decimal),
            landed_cost: offer.landed.map(Money::to_decimal),
            agent_checkout: offer.store.standing.takes_checkout(),
        }
    }
}

/// The arguments name no article.
#[derive(Debug, thiserror::Error)]
enum Unnamed {
    #[error("name either product_id or gtin")]
    Neither,
    #[error("the product has no GTIN, so other offers of it cannot be told")]
    NoNumber,
    #[error("a GTIN is 8, 12, 13 or 14 digits with a right check digit")]
    Wrong,
}

impl Problem for Unnamed {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        let field = if matches!(self, Self::Wrong) { "gtin" } else { "product_id" };
        details.insert("field", field);
    }
}

async fn gtin(
    call: &Call<'_>,
    product: Option<ProductId>,
    text: Option<&str>,
) -> Result<Gtin, Failure> {
    let known = match (product, text) {
        (None, Some(text)) => return Ok(text.parse().map_err(|_| Unnamed::Wrong)?),
        (Some(id), None) => catalog::product(&call.reading()?, call.store.merchant, id).await?,
        _ => return Err(Unnamed::Neither.into()),
    };
    let numbers = known.variants.iter().filter_map(|variant| variant.facts.gtin.as_ref());
    let number = known.facts.gtin.iter().chain(numbers).find_map(|text| text.parse().ok());
    Ok(number.ok_or(Unnamed::NoNumber)?)
}

impl Tool for FindOffersNetwork {
    const NAME: &'static str = "find_offers_network";
    const TITLE: &'static str = "Find offers in all stores";
    const PURPOSE: &'static str = "Find the offers of one article in all stores of the network, by what it costs to have it there and by trust. Stores below the agent threshold come last.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Scope(Scope::AgentRead);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Failure> {
        let gtin = gtin(call, arguments.product_id, arguments.gtin.as_deref()).await?;
        let agent = call.caller()?;
        let sees = |merchant| agent.require_store(merchant).is_ok();
        let (stores, to) = (call.stores, arguments.ship_to.as_ref());
        let offers = carts::offers(call.database, stores, &gtin, to, call.store, sees).await?;
        let offers = offers.iter().map(|offer| Offer::of(offer, call.site_url)).collect();
        Ok(Output { gtin: gtin.to_14(), offers })
    }
}
