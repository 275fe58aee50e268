//! Settings of the stores: policies, shipping rates and promotions.

use merchants::{Settings, ShippingRate, ShippingZone};

use crate::cents;
use crate::world::Store;

const DOMESTIC_RATE_CENTS: i64 = 4_90;
const INTERNATIONAL_RATE_CENTS: i64 = 12_90;
/// Additional delivery time of international shipping.
const INTERNATIONAL_DAYS: i32 = 3;

/// Returns the settings of a store. A store without a delivery time has no shipping rates.
pub(crate) fn settings(store: &Store) -> Settings {
    let policies = store.policies.clone();
    let mut shipping = Vec::new();
    if let Some((min, max)) = policies.shipping_days_min.zip(policies.shipping_days_max) {
        let price = |cents| cents::minor(cents, &store.currency);
        let free_from = policies.free_shipping_threshold_minor;
        let domestic = rates(price(DOMESTIC_RATE_CENTS), free_from, (min, max));
        shipping.push(zone("Home", vec![store.country.clone()], domestic));
        let mut abroad = store.ships_to.clone();
        abroad.retain(|country| *country != store.country);
        if !abroad.is_empty() {
            let days = (min + INTERNATIONAL_DAYS, max + INTERNATIONAL_DAYS);
            let rates = rates(price(INTERNATIONAL_RATE_CENTS), None, days);
            shipping.push(zone("Abroad", abroad, rates));
        }
    }
    Settings { policies, shipping, promotions: store.promotions.clone(), ..Settings::default() }
}

fn zone(name: &str, countries: Vec<String>, rates: Vec<ShippingRate>) -> ShippingZone {
    ShippingZone { name: name.to_owned(), countries, rates }
}

fn rates(price_minor: i64, free_from: Option<i64>, (min, max): (i32, i32)) -> Vec<ShippingRate> {
    let rate = |name: &str, price_minor, min_subtotal_minor| ShippingRate {
        name: name.to_owned(),
        price_minor,
        min_subtotal_minor,
        days_min: min,
        days_max: max,
    };
    let mut rates = vec![rate("Standard", price_minor, None)];
    rates.extend(free_from.map(|from| rate("Standard, free", 0, Some(from))));
    rates
}
