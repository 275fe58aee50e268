//! A verb: offers of one article at all stores, with landed costs.

use std::cmp::Ordering;
use std::sync::Arc;

use catalog::{Gtin, Lookup, Product, Variant};
use database::{Database, Reading};
use merchants::{Store, StoreCache};
use primitives::{MerchantId, Money, VariantId};

use crate::{CartError, Destination, Item, Quantity, estimate};

/// The offer of an article at one store.
#[derive(Debug, Clone)]
pub struct NetworkOffer {
    pub store: Arc<Store>,
    pub product: Product,
    /// The variant with the GTIN; if the product itself has the GTIN, its cheapest available variant.
    pub variant: Option<VariantId>,
    /// Unit price.
    pub price: Money,
    /// Unit price with the cheapest shipping option and added taxes; `None` if it is not available or not delivered there.
    pub landed_cost: Option<Money>,
    /// Price of the cheapest shipping option; `None` if the store states none.
    pub shipping: Option<Money>,
}

/// Returns the offers of an article at all visible stores, the best first: stores that allow agent checkout before others,
/// available before unavailable, then by landed cost, then by trust. Amounts of different currencies are not compared:
/// those in the currency of `home` come first.
pub async fn offers(
    database: &Database,
    stores: &StoreCache,
    gtin: &Gtin,
    destination: Option<&Destination>,
    home: &Store,
    is_visible: impl Fn(MerchantId) -> bool,
) -> Result<Vec<NetworkOffer>, CartError> {
    let mut found = Vec::new();
    for merchant in catalog::sellers(database, gtin).await? {
        let store = match stores.find_merchant(merchant).await {
            Ok(store) if store.admit().is_ok() && is_visible(merchant) => store,
            Ok(_) | Err(merchants::StoreError::NotFound) => continue,
            Err(error) => return Err(error.into()),
        };
        let reading = Reading::for_store(database, merchant)?;
        for product in catalog::find(&reading, merchant, &Lookup::Gtin(gtin.to_14())).await? {
            found.push(offer(&reading, &store, product, gtin, destination).await?);
        }
    }
    found.sort_by(|one, other| compare(one, other, home));
    Ok(found)
}

async fn offer(
    reading: &Reading,
    store: &Arc<Store>,
    product: Product,
    gtin: &Gtin,
    destination: Option<&Destination>,
) -> Result<NetworkOffer, CartError> {
    let variant = variant_with(&product, gtin);
    let price = product.offer(variant).map_or(product.facts.price, |offer| offer.price);
    let item = Item { product: product.id, variant, quantity: Quantity::ONE };
    let (landed_cost, shipping) = match estimate(reading, store, &[item], destination.cloned())
        .await
    {
        Ok(quote) => {
            let cheapest = quote.options.first().map(|option| option.price_minor);
            let is_deliverable = destination.is_none() || quote.is_deliverable();
            // Without a destination, the goods alone: stores estimate shipping for different countries.
            let total = match destination {
                Some(_) => quote.total_minor,
                None => quote.subtotal_minor - quote.discount_minor,
            };
            let money = |minor: i64| Money::new(minor, quote.currency);
            (is_deliverable.then(|| money(total)), cheapest.map(money))
        }
        // The offer is listed without a landed cost.
        Err(CartError::OutOfStock { .. } | CartError::UnsupportedCurrency { .. }) => (None, None),
        Err(error) => return Err(error),
    };
    Ok(NetworkOffer { store: Arc::clone(store), product, variant, price, landed_cost, shipping })
}

fn variant_with(product: &Product, gtin: &Gtin) -> Option<VariantId> {
    let has_gtin = |variant: &&Variant| {
        let known = variant.facts.gtin.as_deref().and_then(|text| text.parse::<Gtin>().ok());
        known.is_some_and(|known| known.to_14() == gtin.to_14())
    };
    let cost = |variant: &&Variant| {
        (!variant.facts.stock_status.is_available(), variant.facts.price.minor())
    };
    let variants = || product.variants.iter();
    variants().find(has_gtin).or_else(|| variants().min_by_key(cost)).map(|variant| variant.id)
}

fn compare(one: &NetworkOffer, other: &NetworkOffer, home: &Store) -> Ordering {
    let first = |offer: &NetworkOffer| {
        let is_foreign = offer.price.currency() != home.currency;
        (!offer.store.allows_agent_checkout(), offer.landed_cost.is_none(), is_foreign)
    };
    let code = |offer: &NetworkOffer| offer.price.currency().code();
    let cost = |offer: &NetworkOffer| offer.landed_cost.unwrap_or(offer.price).minor();
    let trust = |offer: &NetworkOffer| offer.store.standing.ranking_score().unwrap_or(0.0);
    first(one)
        .cmp(&first(other))
        .then_with(|| code(one).cmp(code(other)))
        .then_with(|| cost(one).cmp(&cost(other)))
        .then_with(|| trust(other).total_cmp(&trust(one)))
}
