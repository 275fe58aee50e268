//! A verb: who else sells an article, and what it would cost to have it there.

use std::cmp::Ordering;
use std::sync::Arc;

use catalog::{Gtin, Lookup, Product, Variant};
use database::{Database, Reading};
use merchants::{Store, StoreCache};
use primitives::{MerchantId, Money, VariantId};

use crate::{CartError, Destination, Item, Quantity, estimate};

/// An article at one store.
#[derive(Debug, Clone)]
pub struct NetworkOffer {
    /// Who sells it.
    pub store: Arc<Store>,
    /// The product.
    pub product: Product,
    /// The form of it that has the number, or the cheapest that can be had of a product that has it as a whole.
    pub variant: Option<VariantId>,
    /// What one costs.
    pub price: Money,
    /// What one costs with the cheapest way there and taxes on top; none if it cannot be had at once or is not sent there.
    pub landed: Option<Money>,
    /// What the cheapest way there costs.
    pub shipping: Option<Money>,
}

/// The offers of an article in all stores that may be seen, the best first: stores that take checkout before others, what
/// can be had before what cannot, then by what it costs to have it there, then by trust. Amounts of different currencies
/// are not compared: those in `home`'s currency come first.
pub async fn offers(
    database: &Database,
    stores: &StoreCache,
    gtin: &Gtin,
    destination: Option<&Destination>,
    home: &Store,
    sees: impl Fn(MerchantId) -> bool,
) -> Result<Vec<NetworkOffer>, CartError> {
    let mut found = Vec::new();
    for merchant in catalog::sellers(database, gtin).await? {
        let store = match stores.find_merchant(merchant).await {
            Ok(store) if store.admit().is_ok() && sees(merchant) => store,
            Ok(_) | Err(merchants::StoreError::NotFound) => continue,
            Err(error) => return Err(error.into()),
        };
        let reading = Reading::for_store(database, merchant)?;
        for product in catalog::find(&reading, merchant, &Lookup::Gtin(gtin.to_14())).await? {
            found.push(offer(&reading, &store, product, gtin, destination).await?);
        }
    }
    found.sort_by(|one, other| order(one, other, home));
    Ok(found)
}

async fn offer(
    reading: &Reading,
    store: &Arc<Store>,
    product: Product,
    gtin: &Gtin,
    destination: Option<&Destination>,
) -> Result<NetworkOffer, CartError> {
    let variant = form(&product, gtin);
    let price = product.offer(variant).map_or(product.facts.price, |offer| offer.price);
    let item = Item { product: product.id, variant, quantity: Quantity::ONE };
    let (landed, shipping) = match estimate(reading, store, &[item], destination.cloned()).await {
        Ok(quote) => {
            let way = quote.options.first().map(|option| option.price_minor);
            let is_served = destination.is_none() || quote.is_served();
            let all = quote.total_minor.checked_add(way.unwrap_or(0));
            let money = |minor: i64| Money::new(minor, quote.currency);
            (all.filter(|_| is_served).map(money), way.map(money))
        }
        // It is there, and cannot be bought as it is: it is shown without a cost.
        Err(CartError::OutOfStock { .. }) => (None, None),
        Err(error) => return Err(error),
    };
    Ok(NetworkOffer { store: Arc::clone(store), product, variant, price, landed, shipping })
}

fn form(product: &Product, gtin: &Gtin) -> Option<VariantId> {
    let has_number = |variant: &&Variant| {
        let known = variant.facts.gtin.as_deref().and_then(|text| text.parse::<Gtin>().ok());
        known.is_some_and(|known| known.to_14() == gtin.to_14())
    };
    let cost = |variant: &&Variant| {
        (!variant.facts.stock_status.is_at_hand(), variant.facts.price.minor())
    };
    let variants = || product.variants.iter();
    variants().find(has_number).or_else(|| variants().min_by_key(cost)).map(|variant| variant.id)
}

fn order(one: &NetworkOffer, other: &NetworkOffer, home: &Store) -> Ordering {
    let first = |offer: &NetworkOffer| {
        let is_foreign = offer.price.currency() != home.currency;
        (!offer.store.standing.takes_checkout(), offer.landed.is_none(), is_foreign)
    };
    let code = |offer: &NetworkOffer| offer.price.currency().code();
    let cost = |offer: &NetworkOffer| offer.landed.unwrap_or(offer.price).minor();
    let trust = |offer: &NetworkOffer| offer.store.standing.ranking_score().unwrap_or(0.0);
    first(one)
        .cmp(&first(other))
        .then_with(|| code(one).cmp(code(other)))
        .then_with(|| cost(one).cmp(&cost(other)))
        .then_with(|| trust(other).total_cmp(&trust(one)))
}
