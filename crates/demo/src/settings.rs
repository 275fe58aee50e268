//! Settings of the stores: policies, shipping rates and promotions.

use merchants::{Policies, Settings, ShippingRate, ShippingZone};

use crate::world::{Promotion, Store};

const DOMESTIC_RATE_MINOR: i64 = 4_90;
const INTERNATIONAL_RATE_MINOR: i64 = 12_90;
/// Additional delivery time of international shipping.
const INTERNATIONAL_DAYS: i32 = 3;

/// Returns the settings of a store. A store without a delivery time has no shipping rates.
pub(crate) fn settings(store: &Store) -> Settings {
    let policies = policies(store);
    let mut shipping = Vec::new();
    if let Some((min, max)) = policies.shipping_days_min.zip(policies.shipping_days_max) {
        let free_from = policies.free_shipping_threshold_minor;
        let domestic = rates(DOMESTIC_RATE_MINOR, free_from, (min, max));
        shipping.push(zone("Home", vec![store.country.clone()], domestic));
        let mut abroad = store.ships_to.clone();
        abroad.retain(|country| *country != store.country);
        if !abroad.is_empty() {
            let days = (min + INTERNATIONAL_DAYS, max + INTERNATIONAL_DAYS);
            shipping.push(zone("Abroad", abroad, rates(INTERNATIONAL_RATE_MINOR, None, days)));
        }
    }
    let promotions = store.promotions.iter().map(promotion).collect();
    Settings { policies, shipping, promotions, ..Settings::default() }
}

fn policies(store: &Store) -> Policies {
    let policies = &store.policies;
    Policies {
        return_window_days: policies.return_window_days.map(i32::from),
        free_shipping_threshold_minor: policies.free_shipping_threshold_minor,
        shipping_days_min: policies.shipping_days.map(|(min, _)| i32::from(min)),
        shipping_days_max: policies.shipping_days.map(|(_, max)| i32::from(max)),
        return_summary: policies.return_summary.clone(),
        shipping_summary: policies.shipping_summary.clone(),
        privacy_url: policies.privacy_url.clone(),
        terms_url: policies.terms_url.clone(),
        warranty_months: policies.warranty_months.map(i32::from),
    }
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

fn promotion(promotion: &Promotion) -> merchants::Promotion {
    merchants::Promotion {
        id: promotion.id.clone(),
        name: promotion.name.clone(),
        benefit: promotion.benefit,
        code: promotion.code.clone(),
        min_subtotal_minor: promotion.min_subtotal_minor,
        starts_at: None,
        ends_at: None,
        categories: Vec::new(),
    }
}
