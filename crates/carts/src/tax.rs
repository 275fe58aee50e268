//! Taxes, as far as the merchant says.

use merchants::TaxRate;

use crate::destination::Destination;
use crate::discount::is_in;
use crate::share::part_of;

/// What is due on an amount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Due {
    /// On top of it.
    pub(crate) added: i64,
    /// In it already.
    pub(crate) included: i64,
}

/// What is due on goods of a category that go to a place. The rate that names most of it wins; of those that name as much,
/// the first.
pub(crate) fn due(rates: &[TaxRate], to: &Destination, category: &str, minor: i64) -> Due {
    let mut best: Option<(usize, &TaxRate)> = None;
    for rate in rates {
        let Some(named) = names(rate, to, category) else { continue };
        if best.is_none_or(|(most, _)| named > most) {
            best = Some((named, rate));
        }
    }
    let Some((_, rate)) = best else { return Due::default() };
    let points = i64::from(rate.rate_basis_points);
    if rate.included {
        Due { added: 0, included: part_of(minor, points, 10_000 + points) }
    } else {
        Due { added: part_of(minor, points, 10_000), included: 0 }
    }
}

/// How much of it a rate names; none if it is about something else.
fn names(rate: &TaxRate, to: &Destination, category: &str) -> Option<usize> {
    if !rate.country.eq_ignore_ascii_case(&to.country) {
        return None;
    }
    let region = match &rate.region {
        None => 0,
        Some(region) if to.region.as_deref().is_some_and(|it| it.eq_ignore_ascii_case(region)) => 1,
        Some(_) => return None,
    };
    match &rate.category {
        None => Some(region),
        // The deeper in the tree, the more it names.
        Some(named) if is_in(category, named) => Some(region + 1 + named.matches('/').count()),
        Some(_) => None,
    }
}
