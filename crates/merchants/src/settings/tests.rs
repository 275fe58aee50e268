use super::*;

fn rate() -> ShippingRate {
    let name = String::from("Standard");
    ShippingRate { name, price_minor: 490, min_subtotal_minor: None, days_min: 2, days_max: 4 }
}

fn zone(countries: &[&str]) -> ShippingZone {
    let countries = countries.iter().map(|code| (*code).to_owned()).collect();
    ShippingZone { name: String::from("Near"), countries, rates: vec![rate()] }
}

fn tax(region: Option<&str>) -> TaxRate {
    TaxRate {
        country: String::from("PT"),
        region: region.map(str::to_owned),
        category: None,
        rate_basis_points: 2300,
        included: true,
    }
}

fn promotion(id: &str, code: Option<&str>) -> Promotion {
    Promotion {
        id: id.to_owned(),
        name: String::from("Ten off"),
        benefit: Benefit::Percent { basis_points: 1000 },
        code: code.map(str::to_owned),
        min_subtotal_minor: None,
        starts_at: None,
        ends_at: None,
        categories: Vec::new(),
    }
}

fn valid() -> Settings {
    Settings {
        shipping: vec![zone(&["PT", "ES"]), zone(&["*"])],
        taxes: vec![tax(None), tax(Some("Madeira"))],
        promotions: vec![promotion("a", Some("TEN")), promotion("b", None), promotion("c", None)],
        ..Settings::default()
    }
}

#[test]
fn typical_settings_are_valid() {
    assert_eq!(Settings::default().check(), Ok(()));
    assert_eq!(valid().check(), Ok(()));
}

/// Makes valid settings invalid and expects the error to name the field.
#[track_caller]
fn rejected(field: &str, change: impl FnOnce(&mut Settings)) {
    let mut settings = valid();
    change(&mut settings);
    let error = settings.check().expect_err(field);
    assert_eq!(error.field(), field, "{error}");
}

#[test]
fn policies_are_checked() {
    rejected("policies.return_window_days", |it| it.policies.return_window_days = Some(-1));
    rejected("policies.warranty_months", |it| it.policies.warranty_months = Some(1201));
    rejected("policies.shipping_days_max", |it| it.policies.shipping_days_min = Some(1));
    rejected("policies.shipping_days_max", |it| {
        (it.policies.shipping_days_min, it.policies.shipping_days_max) = (Some(3), Some(2));
    });
    rejected("policies.free_shipping_threshold", |it| {
        it.policies.free_shipping_threshold_minor = Some(-1);
    });
    rejected("policies.return_summary", |it| it.policies.return_summary = Some("x".repeat(2001)));
    rejected("policies.shipping_summary", |it| it.policies.shipping_summary = Some("a\0".into()));
    rejected("policies.privacy_url", |it| it.policies.privacy_url = Some("javascript:x".into()));
    rejected("policies.terms_url", |it| it.policies.terms_url = Some("shop.example".into()));
}

#[test]
fn checkout_settings_are_checked() {
    rejected("confirmation_policy", |it| it.confirmation = ConfirmationPolicy::Mandate);
    let limits = |holds, units| Some(HoldLimits { holds, units });
    rejected("hold_limits.holds", |it| it.hold_limits = limits(0, 1));
    rejected("hold_limits.holds", |it| it.hold_limits = limits(HoldLimits::HOLDS_MAX + 1, 1));
    rejected("hold_limits.units", |it| it.hold_limits = limits(1, 0));
    rejected("hold_limits.units", |it| it.hold_limits = limits(1, HoldLimits::UNITS_MAX + 1));
    let largest = limits(HoldLimits::HOLDS_MAX, HoldLimits::UNITS_MAX);
    for hold_limits in [limits(1, 1), largest] {
        assert_eq!(Settings { hold_limits, ..valid() }.check(), Ok(()));
    }
}

#[test]
fn zones_are_checked() {
    rejected("shipping", |it| it.shipping = vec![zone(&["PT"]); 101]);
    rejected("shipping[0].name", |it| it.shipping[0].name = String::new());
    rejected("shipping[0].countries", |it| it.shipping[0].countries.clear());
    rejected("shipping[0].countries[1]", |it| it.shipping[0].countries[1] = "es".into());
    rejected("shipping[1].countries[0]", |it| it.shipping[1] = zone(&["PT"]));
    rejected("shipping[1].rates", |it| it.shipping[1].rates.clear());
    rejected("shipping[1].rates", |it| it.shipping[1].rates = vec![rate(); 21]);
    rejected("shipping[1].rates[0].price", |it| it.shipping[1].rates[0].price_minor = -1);
    rejected("shipping[1].rates[0].price", |it| it.shipping[1].rates[0].price_minor = i64::MAX);
    rejected("shipping[1].rates[0].min_subtotal", |it| {
        it.shipping[1].rates[0].min_subtotal_minor = Some(-1);
    });
    rejected("shipping[1].rates[0].days_max", |it| it.shipping[1].rates[0].days_max = 1);
}

#[test]
fn taxes_are_checked() {
    rejected("taxes", |it| it.taxes = vec![tax(None); 501]);
    rejected("taxes[1]", |it| it.taxes[1].region = None);
    rejected("taxes[0].country", |it| it.taxes[0].country = "*".into());
    rejected("taxes[0].rate_basis_points", |it| it.taxes[0].rate_basis_points = 10_001);
    rejected("taxes[1].region", |it| it.taxes[1].region = Some(String::new()));
    rejected("taxes[1].category", |it| it.taxes[1].category = Some("x".repeat(101)));
}

#[test]
fn countries_and_rates_that_were_stored_before_stay_accepted() {
    let mut former = valid();
    former.shipping[0].countries[0] = "UK".into();
    former.taxes[0].country = "XX".into();
    former.taxes[1].rate_basis_points = 23;
    assert!(former.check().is_err());
    let mut settings = former.clone();
    settings.promotions.clear();
    assert_eq!(settings.check_change(&former), Ok(()));
    settings.taxes[1].rate_basis_points = 24;
    let error = settings.check_change(&former).expect_err("another rate");
    assert_eq!(error.field(), "taxes[1].rate_basis_points");
    settings.taxes[1].rate_basis_points = 2300;
    settings.shipping[0].countries[1] = "EN".into();
    let error = settings.check_change(&former).expect_err("another country");
    assert_eq!(error.field(), "shipping[0].countries[1]");
}

#[test]
fn promotions_are_checked() {
    rejected("promotions", |it| it.promotions = vec![promotion("a", None); 201]);
    rejected("promotions[1].id", |it| it.promotions[1].id = "a".into());
    rejected("promotions[1].code", |it| it.promotions[1].code = Some("ten".into()));
    rejected("promotions[0].code", |it| it.promotions[0].code = Some("ten percent".into()));
    for benefit in [
        Benefit::Percent { basis_points: 0 },
        Benefit::Percent { basis_points: 10_001 },
        Benefit::Amount { minor: 0 },
    ] {
        rejected("promotions[0].value", |it| it.promotions[0].benefit = benefit);
    }
    rejected("promotions[0].ends_at", |it| {
        let time = Timestamp::from_unix_micros(0);
        (it.promotions[0].starts_at, it.promotions[0].ends_at) = (Some(time), Some(time));
    });
    rejected("promotions[0].categories", |it| {
        it.promotions[0].categories = vec!["Home".into(); 51];
    });
    rejected("promotions[0].categories[0]", |it| it.promotions[0].categories = vec![String::new()]);
}
