//! The shipping rates and promotions that apply to an order.

use primitives::{Timestamp, country};

use crate::{Promotion, Settings, ShippingRate, TaxRate};

/// Country code of the zone for all countries that are in no other zone.
const EVERYWHERE_ELSE: &str = "*";

/// Returns whether settings name a country. Those from before the list of countries was checked may name `UK`, which
/// means `GB`.
fn means(named: &str, country: &str) -> bool {
    named.eq_ignore_ascii_case(country) || country::nearest(named) == Some(country)
}

impl TaxRate {
    /// Returns whether the rate is of this country.
    #[must_use]
    pub fn is_in(&self, country: &str) -> bool {
        means(&self.country, country)
    }
}

impl Settings {
    /// Returns the shipping rates to a country that apply at a subtotal, the cheapest first. Empty if the store does not
    /// ship there.
    #[must_use]
    pub fn shipping_rates_to(&self, country: &str, subtotal_minor: i64) -> Vec<&ShippingRate> {
        let zone_of = |country: &str| {
            self.shipping.iter().find(|zone| zone.countries.iter().any(|it| means(it, country)))
        };
        let zone = zone_of(country).or_else(|| zone_of(EVERYWHERE_ELSE));
        let applies =
            |rate: &&ShippingRate| rate.min_subtotal_minor.is_none_or(|min| subtotal_minor >= min);
        let mut rates: Vec<&ShippingRate> =
            zone.into_iter().flat_map(|zone| &zone.rates).filter(applies).collect();
        rates.sort_by_key(|rate| (rate.price_minor, rate.days_max));
        rates
    }
}

impl Promotion {
    /// Whether the promotion is active at a time.
    #[must_use]
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.starts_at.is_none_or(|start| start <= now) && self.ends_at.is_none_or(|end| now < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Benefit, ShippingZone};

    fn rate(name: &str, price_minor: i64, min_subtotal_minor: Option<i64>) -> ShippingRate {
        let name = name.to_owned();
        ShippingRate { name, price_minor, min_subtotal_minor, days_min: 1, days_max: 3 }
    }

    fn zone(countries: &[&str], rates: Vec<ShippingRate>) -> ShippingZone {
        let countries = countries.iter().map(|country| (*country).to_owned()).collect();
        ShippingZone { name: String::from("zone"), countries, rates }
    }

    #[test]
    fn a_country_has_the_rates_of_its_zone() {
        let home = zone(&["DE"], vec![rate("express", 990, None), rate("free", 0, Some(5_000))]);
        let mut settings = Settings { shipping: vec![home], ..Settings::default() };
        let names = |settings: &Settings, country, subtotal| -> Vec<String> {
            settings
                .shipping_rates_to(country, subtotal)
                .iter()
                .map(|rate| rate.name.clone())
                .collect()
        };
        assert_eq!(names(&settings, "DE", 4_999), ["express"]);
        assert_eq!(names(&settings, "DE", 5_000), ["free", "express"]);
        assert!(names(&settings, "FR", 5_000).is_empty());
        settings.shipping.push(zone(&["*"], vec![rate("abroad", 1_990, None)]));
        assert_eq!(names(&settings, "FR", 0), ["abroad"]);
    }

    #[test]
    fn a_promotion_is_active_from_its_start_until_before_its_end() {
        let at = Timestamp::from_unix_micros;
        let promotion = Promotion {
            id: String::from("p"),
            name: String::from("p"),
            benefit: Benefit::FreeShipping,
            code: None,
            min_subtotal_minor: None,
            starts_at: Some(at(10)),
            ends_at: Some(at(20)),
            categories: Vec::new(),
        };
        let active: Vec<bool> =
            [9, 10, 19, 20].into_iter().map(|micros| promotion.is_active(at(micros))).collect();
        assert_eq!(active, [false, true, true, false]);
    }
}
