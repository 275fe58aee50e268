//! What settings offer a buyer at some moment.

use primitives::Timestamp;

use crate::{Promotion, Settings, ShippingRate};

/// The name of the zone of all countries that no other zone names.
const EVERYWHERE_ELSE: &str = "*";

impl Settings {
    /// The ways to ship to a country that are offered at a subtotal, the cheapest first. None if the
    /// store names no way there.
    #[must_use]
    pub fn ways_to(&self, country: &str, subtotal_minor: i64) -> Vec<&ShippingRate> {
        let zone_of = |country: &str| {
            self.shipping.iter().find(|zone| zone.countries.iter().any(|known| known == country))
        };
        let zone = zone_of(country).or_else(|| zone_of(EVERYWHERE_ELSE));
        let offered =
            |rate: &&ShippingRate| rate.min_subtotal_minor.is_none_or(|min| subtotal_minor >= min);
        let mut ways: Vec<&ShippingRate> =
            zone.into_iter().flat_map(|zone| &zone.rates).filter(offered).collect();
        ways.sort_by_key(|rate| (rate.price_minor, rate.days_max));
        ways
    }
}

impl Promotion {
    /// Whether it holds at a moment.
    #[must_use]
    pub fn is_running(&self, now: Timestamp) -> bool {
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
    fn a_country_has_the_ways_of_its_zone() {
        let home = zone(&["DE"], vec![rate("express", 990, None), rate("free", 0, Some(5_000))]);
        let mut settings = Settings { shipping: vec![home], ..Settings::default() };
        let names = |settings: &Settings, country, subtotal| -> Vec<String> {
            settings.ways_to(country, subtotal).iter().map(|rate| rate.name.clone()).collect()
        };
        assert_eq!(names(&settings, "DE", 4_999), ["express"]);
        assert_eq!(names(&settings, "DE", 5_000), ["free", "express"]);
        assert!(names(&settings, "FR", 5_000).is_empty());
        settings.shipping.push(zone(&["*"], vec![rate("abroad", 1_990, None)]));
        assert_eq!(names(&settings, "FR", 0), ["abroad"]);
    }

    #[test]
    fn a_promotion_holds_from_its_start_to_before_its_end() {
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
        let running: Vec<bool> =
            [9, 10, 19, 20].into_iter().map(|micros| promotion.is_running(at(micros))).collect();
        assert_eq!(running, [false, true, true, false]);
    }
}
