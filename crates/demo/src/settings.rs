//! What the stores of the demo world charge for shipping, and what is cheaper there.

use merchants::{Benefit, Policies, Promotion, Settings, ShippingRate, ShippingZone};

use crate::DEMO_STORE;
use crate::world::Store;

/// What shipping costs at home and abroad, in minor units.
const HOME_MINOR: i64 = 4_90;
const ABROAD_MINOR: i64 = 12_90;
/// How much longer it takes abroad, in days.
const ABROAD_DAYS: i32 = 3;

/// The settings of a store. One that promises no time of delivery names no way to ship either.
pub(crate) fn settings(store: &Store, policies: Policies) -> Settings {
    let mut shipping = Vec::new();
    if let Some((min, max)) = policies.shipping_days_min.zip(policies.shipping_days_max) {
        let free_from = policies.free_shipping_threshold_minor;
        shipping.push(zone("Home", &[store.country], rates(HOME_MINOR, free_from, (min, max))));
        let abroad: Vec<&str> =
            store.ships_to.iter().copied().filter(|country| *country != store.country).collect();
        if !abroad.is_empty() {
            let days = (min + ABROAD_DAYS, max + ABROAD_DAYS);
            shipping.push(zone("Abroad", &abroad, rates(ABROAD_MINOR, None, days)));
        }
    }
    let promotions = if store.slug == DEMO_STORE { promotions() } else { Vec::new() };
    Settings { policies, shipping, promotions, ..Settings::default() }
}

fn zone(name: &str, countries: &[&str], rates: Vec<ShippingRate>) -> ShippingZone {
    let countries = countries.iter().map(|country| (*country).to_owned()).collect();
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

fn promotions() -> Vec<Promotion> {
    let promotion =
        |id: &str, name: &str, benefit, code: Option<&str>, min_subtotal_minor| Promotion {
            id: id.to_owned(),
            name: name.to_owned(),
            benefit,
            code: code.map(str::to_owned),
            min_subtotal_minor,
            starts_at: None,
            ends_at: None,
            categories: Vec::new(),
        };
    vec![
        promotion(
            "welcome",
            "Ten percent off the first order",
            Benefit::Percent { basis_points: 1_000 },
            Some("WELCOME10"),
            Some(50_00),
        ),
        promotion("winter", "Free shipping all winter", Benefit::FreeShipping, None, Some(30_00)),
    ]
}
