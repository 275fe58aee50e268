//! Taxes, from the rates set by the merchant.

use merchants::TaxRate;

use crate::destination::Destination;
use crate::discount::is_within;
use crate::rounding::scale;

/// The tax on an amount, in minor units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tax {
    /// Added to the amount.
    pub(crate) added_minor: i64,
    /// Already included in the amount.
    pub(crate) included_minor: i64,
}

/// Returns the tax on goods of a category shipped to a destination. The most specific rate applies; among equally
/// specific ones, the first.
pub(crate) fn tax_on(rates: &[TaxRate], to: &Destination, category: &str, minor: i64) -> Tax {
    let mut best: Option<(usize, &TaxRate)> = None;
    for rate in rates {
        let Some(specificity) = specificity(rate, to, category) else { continue };
        if best.is_none_or(|(highest, _)| specificity > highest) {
            best = Some((specificity, rate));
        }
    }
    let Some((_, rate)) = best else { return Tax::default() };
    let points = i64::from(rate.rate_basis_points);
    if rate.included {
        Tax { added_minor: 0, included_minor: scale(minor, points, 10_000 + points) }
    } else {
        Tax { added_minor: scale(minor, points, 10_000), included_minor: 0 }
    }
}

/// Returns how specifically a rate matches, or `None` if it does not apply.
fn specificity(rate: &TaxRate, to: &Destination, category: &str) -> Option<usize> {
    if !rate.is_in(&to.country) {
        return None;
    }
    let region = match &rate.region {
        None => 0,
        Some(region) if to.region.as_deref().is_some_and(|it| it.eq_ignore_ascii_case(region)) => 1,
        Some(_) => return None,
    };
    match &rate.category {
        None => Some(region),
        // The deeper in the category tree, the more specific.
        Some(named) if is_within(category, named) => Some(region + 1 + named.matches('/').count()),
        Some(_) => None,
    }
}
