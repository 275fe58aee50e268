//! Settings to their wire form.

use super::{
    Benefit, ConfirmationName, ConfirmationPolicy, Currency, CurrentSettings, Decimal, PERCENT,
    Policies, Promotion, PromotionKind, PromotionRecord, SettingsPolicies, SettingsRecord,
    ShippingRate, ShippingRateRecord, ShippingZone, ShippingZoneRecord, TaxRate, TaxRateRecord,
};

impl SettingsRecord {
    /// Returns the settings with amounts in this currency.
    pub(in super::super) fn of(current: CurrentSettings, currency: Currency) -> Self {
        let CurrentSettings { settings, version, updated_at } = current;
        let zone = |zone| zone_record(zone, currency);
        let promotion = |promotion| promotion_record(promotion, currency);
        Self {
            version: Some(version),
            updated_at,
            currency: Some(currency.to_string()),
            policies: policies_record(settings.policies, currency),
            confirmation_policy: match settings.confirmation {
                ConfirmationPolicy::Attested => ConfirmationName::Attested,
                ConfirmationPolicy::Hosted => ConfirmationName::Hosted,
                ConfirmationPolicy::Mandate => ConfirmationName::Mandate,
            },
            checkout_url_template: settings.checkout_url.map(|url| url.to_string()),
            gtin_source: settings.gtin_source.to_string(),
            shipping: settings.shipping.into_iter().map(zone).collect(),
            taxes: settings.taxes.into_iter().map(tax_record).collect(),
            promotions: settings.promotions.into_iter().map(promotion).collect(),
        }
    }
}

fn policies_record(policies: Policies, currency: Currency) -> SettingsPolicies {
    let threshold = policies.free_shipping_threshold_minor;
    SettingsPolicies {
        return_window_days: policies.return_window_days,
        free_shipping_threshold: threshold.map(|minor| Decimal::of(minor, currency)),
        shipping_days_min: policies.shipping_days_min,
        shipping_days_max: policies.shipping_days_max,
        return_summary: policies.return_summary,
        shipping_summary: policies.shipping_summary,
        privacy_url: policies.privacy_url,
        terms_url: policies.terms_url,
        warranty_months: policies.warranty_months,
    }
}

fn zone_record(zone: ShippingZone, currency: Currency) -> ShippingZoneRecord {
    let rate = |rate: ShippingRate| ShippingRateRecord {
        name: rate.name,
        price: Decimal::of(rate.price_minor, currency),
        min_subtotal: rate.min_subtotal_minor.map(|minor| Decimal::of(minor, currency)),
        days_min: rate.days_min,
        days_max: rate.days_max,
    };
    ShippingZoneRecord {
        name: zone.name,
        countries: zone.countries,
        rates: zone.rates.into_iter().map(rate).collect(),
    }
}

fn tax_record(tax: TaxRate) -> TaxRateRecord {
    TaxRateRecord {
        country: tax.country,
        region: tax.region,
        category: tax.category,
        rate_basis_points: tax.rate_basis_points,
        included: tax.included,
    }
}

fn promotion_record(promotion: Promotion, currency: Currency) -> PromotionRecord {
    let (kind, value) = match promotion.benefit {
        Benefit::Percent { basis_points } => {
            (PromotionKind::Percent, Some(Decimal::of(basis_points.into(), PERCENT)))
        }
        Benefit::Amount { minor } => (PromotionKind::Amount, Some(Decimal::of(minor, currency))),
        Benefit::FreeShipping => (PromotionKind::FreeShipping, None),
    };
    PromotionRecord {
        id: promotion.id,
        name: promotion.name,
        kind,
        value,
        code: promotion.code,
        min_subtotal: promotion.min_subtotal_minor.map(|minor| Decimal::of(minor, currency)),
        starts_at: promotion.starts_at,
        ends_at: promotion.ends_at,
        categories: promotion.categories,
    }
}
