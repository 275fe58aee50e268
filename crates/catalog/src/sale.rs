//! Prices that apply for a period.

use database::{DatabaseError, Snapshot};
use primitives::{Money, Timestamp};
use serde::{Deserialize, Serialize};

use crate::update_offers::aggregate_offer;
use crate::{Incoming, Product, VariantFacts};

/// A price that applies for a period, and the prices outside of it. Amounts are minor units of the product's currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sale {
    pub price_minor: i64,
    /// `None`: it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<Timestamp>,
    /// The first moment after the period; `None`: it has no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Timestamp>,
    pub regular_price_minor: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regular_list_price_minor: Option<i64>,
}

impl Sale {
    /// Whether the price of the sale applies at this time.
    #[must_use]
    pub fn applies(&self, now: Timestamp) -> bool {
        self.starts_at.is_none_or(|start| start <= now) && self.ends_at.is_none_or(|end| now < end)
    }

    /// Returns the price and the list price at this time. During the sale, the regular price is the list price.
    #[must_use]
    pub fn prices(&self, now: Timestamp) -> (i64, Option<i64>) {
        if self.applies(now) {
            let list_price = Some(self.regular_price_minor);
            (self.price_minor, list_price.filter(|list| *list > self.price_minor))
        } else {
            (self.regular_price_minor, self.regular_list_price_minor)
        }
    }

    /// Returns when the price changes next.
    #[must_use]
    pub fn next_change(&self, now: Timestamp) -> Option<Timestamp> {
        [self.starts_at, self.ends_at].into_iter().flatten().filter(|at| *at > now).min()
    }
}

/// Sets the prices of products to those that apply now: a stored price may be some seconds older.
pub(crate) async fn set_current_prices<'product>(
    sql: &mut Snapshot,
    products: impl Iterator<Item = &'product mut Product>,
) -> Result<(), DatabaseError> {
    let products: Vec<&mut Product> = products.filter(|product| product.has_sale()).collect();
    if products.is_empty() {
        return Ok(());
    }
    let now = sql.now().await?;
    for product in products {
        product.set_prices(now);
    }
    Ok(())
}

impl Product {
    fn has_sale(&self) -> bool {
        let mut variants = self.variants.iter();
        self.facts.sale.is_some() || variants.any(|variant| variant.facts.sale.is_some())
    }

    /// Sets the prices to those that apply at this time.
    pub(crate) fn set_prices(&mut self, now: Timestamp) {
        let currency = self.facts.price.currency();
        if let Some(sale) = self.facts.sale {
            let (price, list_price) = sale.prices(now);
            self.facts.price = Money::new(price, currency);
            self.facts.list_price_minor = list_price;
        }
        if self.variants.iter().all(|variant| variant.facts.sale.is_none()) {
            return;
        }
        for variant in &mut self.variants {
            variant.facts.set_prices(now);
        }
        let offers = self.variants.iter().map(|variant| variant.facts.offer());
        if let Some(offer) = aggregate_offer(offers) {
            self.facts.price = Money::new(offer.price_minor, currency);
            self.facts.list_price_minor = offer.list_price_minor;
        }
    }
}

impl VariantFacts {
    fn set_prices(&mut self, now: Timestamp) {
        if let Some(sale) = self.sale {
            let (price, list_price) = sale.prices(now);
            self.price = Money::new(price, self.price.currency());
            self.list_price_minor = list_price;
        }
    }
}

impl Incoming {
    /// Sets the prices to those that apply at this time.
    pub(crate) fn set_prices(&mut self, now: Timestamp) {
        let currency = self.facts.price.currency();
        if let Some(sale) = self.facts.sale {
            let (price, list_price) = sale.prices(now);
            self.facts.price = Money::new(price, currency);
            self.facts.list_price_minor = list_price;
        }
        for (_, variant) in &mut self.variants {
            variant.set_prices(now);
        }
        let offers = self.variants.iter().map(|(_, variant)| variant.offer());
        if let Some(offer) = aggregate_offer(offers) {
            self.facts.price = Money::new(offer.price_minor, currency);
            self.facts.list_price_minor = offer.list_price_minor;
        }
    }

    /// Whether a price changes by itself at some time.
    pub(crate) fn has_sale(&self) -> bool {
        self.facts.sale.is_some() || self.variants.iter().any(|(_, variant)| variant.sale.is_some())
    }

    /// Returns when a price changes next.
    pub(crate) fn next_price_change(&self, now: Timestamp) -> Option<Timestamp> {
        let variants = self.variants.iter().filter_map(|(_, variant)| variant.sale);
        let sales = self.facts.sale.into_iter().chain(variants);
        sales.filter_map(|sale| sale.next_change(now)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_of_a_sale_applies_within_its_period() {
        let at = |second: i64| Timestamp::from_unix_micros(second * 1_000_000);
        let sale = Sale {
            price_minor: 800,
            starts_at: Some(at(10)),
            ends_at: Some(at(20)),
            regular_price_minor: 1_000,
            regular_list_price_minor: Some(1_200),
        };
        for (second, prices, next) in [
            (9, (1_000, Some(1_200)), Some(10)),
            (10, (800, Some(1_000)), Some(20)),
            (19, (800, Some(1_000)), Some(20)),
            (20, (1_000, Some(1_200)), None),
        ] {
            assert_eq!(sale.prices(at(second)), prices, "{second}");
            assert_eq!(sale.next_change(at(second)), next.map(at), "{second}");
        }
    }
}
