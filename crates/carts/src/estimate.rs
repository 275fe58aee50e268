//! A verb: pricing items without creating a cart.

use catalog::StockPool;
use database::Reading;
use merchants::{Settings, Store};
use primitives::{CartId, Id, KeyId, MerchantId, Timestamp, country};

use crate::discount::{Goods, discounts};
use crate::quote::{ShippingOption, shipping_options, sum};
use crate::read::{PricedCart, price};
use crate::{Cart, CartError, CartOwner, CartStatus, Destination, Item, Quote, items};

/// Returns the price of items, shipped to a destination if one is given. Nothing is stored.
pub async fn estimate(
    reading: &Reading,
    store: &Store,
    wanted: &[Item],
    destination: Option<Destination>,
) -> Result<Quote, CartError> {
    if wanted.is_empty() {
        return Err(CartError::NoItems);
    }
    let destination = destination.map(Destination::validated).transpose()?;
    let available = items::check_availability(reading, store, StockPool::Store, wanted).await?;
    let now = reading.run(async |sql| sql.now().await).await?;
    let id = CartId::from_random(0);
    let mut lines = Vec::new();
    let messages = items::add_to_lines(id, &mut lines, &available)?;
    let cart = Cart {
        id,
        owner: CartOwner { key: KeyId::from_random(0), name: String::new(), is_sandbox: false },
        stored_status: CartStatus::Active,
        version: 1,
        currency: available.first().map_or(store.currency, |item| item.currency),
        lines,
        destination,
        buyer: None,
        shipping_option: None,
        codes: Vec::new(),
        created_at: now,
        updated_at: now,
    };
    let mut quote = price(reading, store, cart, now).await?.quote;
    quote.messages.splice(0..0, messages);
    Ok(quote)
}

/// Returns the price of a cart shipped to a destination. Nothing is stored.
pub async fn estimate_cart(
    reading: &Reading,
    store: &Store,
    priced: PricedCart,
    destination: Destination,
) -> Result<Quote, CartError> {
    let PricedCart { mut cart, now, .. } = priced;
    cart.destination = Some(destination.validated()?);
    Ok(price(reading, store, cart, now).await?.quote)
}

/// Estimates shipping at one store and time.
#[derive(Debug, Clone)]
pub struct ShippingEstimator {
    pub(crate) settings: Settings,
    pub(crate) now: Timestamp,
}

/// Reads what determines the price of shipping at a store.
pub async fn shipping_estimator(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<ShippingEstimator, CartError> {
    let settings = merchants::settings(reading, merchant).await?.settings;
    let now = reading.run(async |sql| sql.now().await).await?;
    Ok(ShippingEstimator { settings, now })
}

impl ShippingEstimator {
    /// Returns the shipping options to a country, the cheapest first: those of a cart with these goods and no discount
    /// codes. Stock is not checked.
    pub fn options(
        &self,
        country: &str,
        goods: &[Goods<'_>],
    ) -> Result<Vec<ShippingOption>, CartError> {
        if !country::is_country(country) {
            return Err(CartError::InvalidCountry { nearest: country::nearest(country) });
        }
        let subtotal = sum(goods.iter().map(|goods| goods.minor))?;
        let (discounts, _) = discounts(goods, &self.settings.promotions, &[], self.now);
        let discount = sum(discounts.iter().map(|discount| discount.minor))?;
        Ok(shipping_options(&self.settings, country, subtotal - discount, &discounts))
    }
}
