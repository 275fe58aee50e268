//! Settings from their wire form, or the field that is invalid.

use super::{
    Benefit, CheckoutUrl, ConfirmationName, ConfirmationPolicy, Currency, GtinSource,
    InvalidSetting, PERCENT, Policies, Promotion, PromotionKind, PromotionRecord, Settings,
    SettingsPolicies, SettingsRecord, ShippingRate, ShippingRateRecord, ShippingZone,
    ShippingZoneRecord, TaxRate, TaxRateRecord, cleaned, cleaned_option, minor,
};

type Parsed<T> = Result<T, InvalidSetting>;

impl SettingsRecord {
    /// Parses the settings. Amounts must have the precision of the store's currency.
    pub(in super::super) fn into_settings(self, currency: Currency) -> Parsed<Settings> {
        if self.currency.is_some_and(|code| code != currency.code()) {
            return Err(InvalidSetting::new("currency", "the currency of the store, or omitted"));
        }
        let template = cleaned_option(self.checkout_url_template.as_ref());
        let checkout_url = template.map(|text| text.parse::<CheckoutUrl>()).transpose();
        let gtin_source = self.gtin_source.trim().parse::<GtinSource>();
        Ok(Settings {
            policies: policies(&self.policies, currency)?,
            confirmation: match self.confirmation_policy {
                ConfirmationName::Attested => ConfirmationPolicy::Attested,
                ConfirmationName::Hosted => ConfirmationPolicy::Hosted,
                ConfirmationName::Mandate => ConfirmationPolicy::Mandate,
            },
            checkout_url: checkout_url
                .map_err(|_| InvalidSetting::new("checkout_url_template", CheckoutUrl::ALLOWED))?,
            gtin_source: gtin_source
                .map_err(|_| InvalidSetting::new("gtin_source", GtinSource::ALLOWED))?,
            shipping: each("shipping", &self.shipping, |at, it| zone(at, it, currency))?,
            taxes: self.taxes.iter().map(tax).collect(),
            promotions: each("promotions", &self.promotions, |at, it| promotion(at, it, currency))?,
        })
    }
}

/// Parses a list, passing each item its path.
fn each<W, T>(field: &str, items: &[W], parse: impl Fn(&str, &W) -> Parsed<T>) -> Parsed<Vec<T>> {
    let numbered = items.iter().enumerate();
    numbered.map(|(index, item)| parse(&format!("{field}[{index}]"), item)).collect()
}

fn policies(sent: &SettingsPolicies, currency: Currency) -> Parsed<Policies> {
    let threshold = sent.free_shipping_threshold.as_ref();
    Ok(Policies {
        return_window_days: sent.return_window_days,
        free_shipping_threshold_minor: minor(
            threshold,
            "policies.free_shipping_threshold",
            currency,
        )?,
        shipping_days_min: sent.shipping_days_min,
        shipping_days_max: sent.shipping_days_max,
        return_summary: cleaned_option(sent.return_summary.as_ref()),
        shipping_summary: cleaned_option(sent.shipping_summary.as_ref()),
        privacy_url: cleaned_option(sent.privacy_url.as_ref()),
        terms_url: cleaned_option(sent.terms_url.as_ref()),
        warranty_months: sent.warranty_months,
    })
}

fn zone(at: &str, sent: &ShippingZoneRecord, currency: Currency) -> Parsed<ShippingZone> {
    Ok(ShippingZone {
        name: cleaned(&sent.name),
        countries: sent.countries.iter().map(|code| cleaned(code)).collect(),
        rates: each(&format!("{at}.rates"), &sent.rates, |at, it| rate(at, it, currency))?,
    })
}

fn rate(at: &str, sent: &ShippingRateRecord, currency: Currency) -> Parsed<ShippingRate> {
    let min_subtotal = sent.min_subtotal.as_ref();
    Ok(ShippingRate {
        name: cleaned(&sent.name),
        price_minor: sent.price.minor(&format!("{at}.price"), currency)?,
        min_subtotal_minor: minor(min_subtotal, &format!("{at}.min_subtotal"), currency)?,
        days_min: sent.days_min,
        days_max: sent.days_max,
    })
}

fn tax(sent: &TaxRateRecord) -> TaxRate {
    TaxRate {
        country: cleaned(&sent.country),
        region: cleaned_option(sent.region.as_ref()),
        category: cleaned_option(sent.category.as_ref()),
        rate_basis_points: sent.rate_basis_points,
        included: sent.included,
    }
}

fn promotion(at: &str, sent: &PromotionRecord, currency: Currency) -> Parsed<Promotion> {
    let min_subtotal = sent.min_subtotal.as_ref();
    Ok(Promotion {
        id: cleaned(&sent.id),
        name: cleaned(&sent.name),
        benefit: benefit(&format!("{at}.value"), sent, currency)?,
        code: cleaned_option(sent.code.as_ref()),
        min_subtotal_minor: minor(min_subtotal, &format!("{at}.min_subtotal"), currency)?,
        starts_at: sent.starts_at,
        ends_at: sent.ends_at,
        categories: sent.categories.iter().map(|name| cleaned(name)).collect(),
    })
}

fn benefit(field: &str, sent: &PromotionRecord, currency: Currency) -> Parsed<Benefit> {
    let percentage = "a percentage above 0 and up to 100, with at most two decimal places";
    match (sent.kind, &sent.value) {
        (PromotionKind::FreeShipping, None) => Ok(Benefit::FreeShipping),
        (PromotionKind::FreeShipping, Some(_)) => {
            Err(InvalidSetting::new(field, "omitted for free_shipping"))
        }
        (PromotionKind::Percent, Some(value)) => {
            let points = value.minor(field, PERCENT).ok().and_then(|it| i32::try_from(it).ok());
            let basis_points = points.ok_or_else(|| InvalidSetting::new(field, percentage))?;
            Ok(Benefit::Percent { basis_points })
        }
        (PromotionKind::Amount, Some(value)) => {
            Ok(Benefit::Amount { minor: value.minor(field, currency)? })
        }
        (PromotionKind::Percent, None) => Err(InvalidSetting::new(field, percentage)),
        (PromotionKind::Amount, None) => Err(InvalidSetting::new(field, "an amount above 0")),
    }
}
