//! Validation of settings. Every text and every list has a limit.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use url::Url;

use super::{
    Benefit, ConfirmationPolicy, HoldLimits, InvalidSetting, Promotion, Settings, ShippingRate,
    ShippingZone, TaxRate, country,
};

/// Largest amount: a decimal number in JSON still represents it exactly.
const MINOR_MAX: i64 = 999_999_999_999;
/// 100 % in basis points.
pub(super) const BASIS_POINTS_MAX: i32 = 10_000;
/// Smallest tax rate above 0: a smaller number is a percentage by mistake.
const BASIS_POINTS_MIN: i32 = 100;
/// Longest delivery time in days.
pub(crate) const DAYS_MAX: i32 = 365;
pub(super) const NAME_CHARACTERS_MAX: usize = 100;
pub(super) const CODE_LENGTH_MAX: usize = 50;
pub(crate) const URL_LENGTH_MAX: usize = 2000;

pub(super) const ZONES_MAX: usize = 100;
pub(super) const COUNTRIES_MAX: usize = 300;
pub(super) const RATES_MAX: usize = 20;
pub(super) const TAXES_MAX: usize = 500;
pub(super) const PROMOTIONS_MAX: usize = 200;
pub(super) const CATEGORIES_MAX: usize = 50;

pub(crate) type Checked = Result<(), InvalidSetting>;

impl Settings {
    /// Returns the first error, if any. Fields are named as in the API.
    pub fn check(&self) -> Checked {
        self.check_change(&Self::default())
    }

    /// Returns the first error of settings that replace others, if any. Countries and tax rates of the former settings stay
    /// accepted, so that a stricter rule does not prevent the change of another field.
    pub(crate) fn check_change(&self, former: &Self) -> Checked {
        let known = Known::of(former);
        self.policies.check_change(&former.policies)?;
        if self.confirmation == ConfirmationPolicy::Mandate {
            let stronger = Some(ConfirmationPolicy::Hosted.as_str());
            let invalid = InvalidSetting::new("confirmation_policy", ConfirmationPolicy::ALLOWED);
            return Err(invalid.suggest(stronger));
        }
        optional(self.hold_limits, check_hold_limits)?;
        count("shipping", self.shipping.len(), ZONES_MAX)?;
        let mut countries = BTreeSet::new();
        for (index, zone) in self.shipping.iter().enumerate() {
            check_zone(&format!("shipping[{index}]"), zone, &mut countries, &known)?;
        }
        count("taxes", self.taxes.len(), TAXES_MAX)?;
        let mut taxed = BTreeSet::new();
        for (index, tax) in self.taxes.iter().enumerate() {
            let at = format!("taxes[{index}]");
            check_tax(&at, tax, &known)?;
            let applies_to = (&tax.country, &tax.region, &tax.category);
            let allowed = "unique by country, region and category";
            ensure(taxed.insert(applies_to), &at, allowed)?;
        }
        count("promotions", self.promotions.len(), PROMOTIONS_MAX)?;
        let (mut ids, mut codes) = (BTreeSet::new(), BTreeSet::new());
        for (index, promotion) in self.promotions.iter().enumerate() {
            let at = format!("promotions[{index}]");
            check_promotion(&at, promotion)?;
            ensure(ids.insert(&promotion.id), &format!("{at}.id"), "unique")?;
            // Codes are not case-sensitive.
            let code = promotion.code.as_ref().map(|code| code.to_ascii_lowercase());
            let is_new = code.is_none_or(|code| codes.insert(code));
            ensure(is_new, &format!("{at}.code"), "unique")?;
        }
        Ok(())
    }
}

impl Settings {
    /// Returns the categories that the settings name, each with its field.
    pub fn categories(&self) -> impl Iterator<Item = (String, &str)> {
        let taxes = self.taxes.iter().enumerate().filter_map(|(index, tax)| {
            Some((format!("taxes[{index}].category"), tax.category.as_deref()?))
        });
        let promotions = self.promotions.iter().enumerate().flat_map(|(index, promotion)| {
            let named = promotion.categories.iter().enumerate();
            named.map(move |(place, category)| {
                (format!("promotions[{index}].categories[{place}]"), category.as_str())
            })
        });
        taxes.chain(promotions)
    }
}

/// What the former settings of a store hold.
struct Known<'former> {
    countries: BTreeSet<&'former str>,
    taxes: &'former [TaxRate],
}

impl<'former> Known<'former> {
    fn of(former: &'former Settings) -> Self {
        let zones = former.shipping.iter().flat_map(|zone| &zone.countries);
        let taxed = former.taxes.iter().map(|tax| &tax.country);
        Self { countries: zones.chain(taxed).map(String::as_str).collect(), taxes: &former.taxes }
    }

    fn country(&self, field: &str, code: &str) -> Checked {
        if self.countries.contains(code) { Ok(()) } else { country(field, code) }
    }
}

fn check_hold_limits(limits: HoldLimits) -> Checked {
    let limit = |field: &str, value: u32, max: u32| {
        let allowed = format!("an integer from 1 to {max}");
        ensure((1..=max).contains(&value), field, &allowed)
    };
    limit("hold_limits.holds", limits.holds, HoldLimits::HOLDS_MAX)?;
    limit("hold_limits.units", limits.units, HoldLimits::UNITS_MAX)
}

fn check_zone<'zone>(
    at: &str,
    zone: &'zone ShippingZone,
    countries: &mut BTreeSet<&'zone String>,
    known: &Known<'_>,
) -> Checked {
    text(&format!("{at}.name"), &zone.name, NAME_CHARACTERS_MAX)?;
    let field = format!("{at}.countries");
    count(&field, zone.countries.len(), COUNTRIES_MAX)?;
    ensure(!zone.countries.is_empty(), &field, "a non-empty list")?;
    for (index, code) in zone.countries.iter().enumerate() {
        let field = format!("{field}[{index}]");
        if code != "*" {
            known.country(&field, code)?;
        }
        ensure(countries.insert(code), &field, "a country that is in no other zone")?;
    }
    let field = format!("{at}.rates");
    count(&field, zone.rates.len(), RATES_MAX)?;
    ensure(!zone.rates.is_empty(), &field, "a non-empty list")?;
    zone.rates
        .iter()
        .enumerate()
        .try_for_each(|(index, rate)| check_rate(&format!("{field}[{index}]"), rate))
}

fn check_rate(at: &str, rate: &ShippingRate) -> Checked {
    text(&format!("{at}.name"), &rate.name, NAME_CHARACTERS_MAX)?;
    amount(&format!("{at}.price"), rate.price_minor)?;
    optional(rate.min_subtotal_minor, |it| amount(&format!("{at}.min_subtotal"), it))?;
    number(&format!("{at}.days_min"), rate.days_min, 0..=DAYS_MAX)?;
    number(&format!("{at}.days_max"), rate.days_max, rate.days_min..=DAYS_MAX)
}

fn check_tax(at: &str, tax: &TaxRate, known: &Known<'_>) -> Checked {
    known.country(&format!("{at}.country"), &tax.country)?;
    let (region, category) = (tax.region.as_deref(), tax.category.as_deref());
    optional(region, |it| text(&format!("{at}.region"), it, NAME_CHARACTERS_MAX))?;
    optional(category, |it| text(&format!("{at}.category"), it, NAME_CHARACTERS_MAX))?;
    let (field, points) = (format!("{at}.rate_basis_points"), tax.rate_basis_points);
    number(&field, points, 0..=BASIS_POINTS_MAX)?;
    if points == 0 || points >= BASIS_POINTS_MIN || known.taxes.contains(tax) {
        return Ok(());
    }
    let allowed = "0, or at least 100: basis points are hundredths of a percent, and 2300 is 23 %";
    Err(InvalidSetting::new(field, allowed).suggest(Some((points * 100).to_string())))
}

fn check_promotion(at: &str, promotion: &Promotion) -> Checked {
    text(&format!("{at}.id"), &promotion.id, NAME_CHARACTERS_MAX)?;
    text(&format!("{at}.name"), &promotion.name, NAME_CHARACTERS_MAX)?;
    let value = format!("{at}.value");
    match promotion.benefit {
        Benefit::Percent { basis_points } => {
            let fits = (1..=BASIS_POINTS_MAX).contains(&basis_points);
            ensure(fits, &value, "a percentage above 0 and up to 100")?;
        }
        Benefit::Amount { minor } => {
            ensure(minor > 0, &value, "an amount above 0")?;
            amount(&value, minor)?;
        }
        Benefit::FreeShipping => {}
    }
    optional(promotion.code.as_deref(), |code| {
        let is_typed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let fits = (1..=CODE_LENGTH_MAX).contains(&code.len()) && code.bytes().all(is_typed);
        ensure(fits, &format!("{at}.code"), "1 to 50 letters, digits, hyphens or underscores")
    })?;
    optional(promotion.min_subtotal_minor, |it| amount(&format!("{at}.min_subtotal"), it))?;
    let backwards = promotion.starts_at.zip(promotion.ends_at).is_some_and(|(from, to)| from >= to);
    ensure(!backwards, &format!("{at}.ends_at"), "later than starts_at")?;
    let field = format!("{at}.categories");
    count(&field, promotion.categories.len(), CATEGORIES_MAX)?;
    let mut categories = promotion.categories.iter().enumerate();
    categories
        .try_for_each(|(index, it)| text(&format!("{field}[{index}]"), it, NAME_CHARACTERS_MAX))
}

pub(crate) fn optional<T>(value: Option<T>, check: impl FnOnce(T) -> Checked) -> Checked {
    value.map_or(Ok(()), check)
}

pub(crate) fn ensure(holds: bool, field: &str, allowed: &str) -> Checked {
    if holds { Ok(()) } else { Err(InvalidSetting::new(field, allowed)) }
}

fn count(field: &str, length: usize, max: usize) -> Checked {
    if length <= max {
        return Ok(());
    }
    Err(InvalidSetting::new(field, format!("a list of at most {max}")))
}

pub(crate) fn number(field: &str, value: i32, range: RangeInclusive<i32>) -> Checked {
    if range.contains(&value) {
        return Ok(());
    }
    let (min, max) = (range.start(), range.end());
    Err(InvalidSetting::new(field, format!("an integer from {min} to {max}")))
}

pub(crate) fn amount(field: &str, minor: i64) -> Checked {
    let allowed = "an amount that is not negative and has at most twelve digits";
    ensure((0..=MINOR_MAX).contains(&minor), field, allowed)
}

pub(crate) fn text(field: &str, value: &str, characters_max: usize) -> Checked {
    let length = value.chars().count();
    if (1..=characters_max).contains(&length) && !value.contains(char::is_control) {
        return Ok(());
    }
    Err(InvalidSetting::new(field, format!("plain text of 1 to {characters_max} characters")))
}

pub(crate) fn web_url(field: &str, value: &str) -> Checked {
    // A user name reads like a host: https://bank.example@shop.example
    let is_bare = |url: &Url| url.username().is_empty() && url.password().is_none();
    let is_web = |url: Url| {
        matches!(url.scheme(), "http" | "https") && url.host().is_some() && is_bare(&url)
    };
    let fits = value.len() <= URL_LENGTH_MAX
        && !value.contains(|character: char| character.is_control() || character == '\\');
    let allowed = "an http or https URL of at most 2000 characters, without a user name";
    ensure(fits && Url::parse(value).is_ok_and(is_web), field, allowed)
}

pub(crate) fn country(field: &str, code: &str) -> Checked {
    if country::is_country(code) {
        return Ok(());
    }
    Err(InvalidSetting::new(field, country::ALLOWED).suggest(country::nearest(code)))
}
