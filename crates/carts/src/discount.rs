//! Discounts: promotions that apply automatically, and promotions with a code.

use merchants::{Benefit, Promotion};
use primitives::Timestamp;

use crate::rounding::{allocate, scale};
use crate::{CODES_MAX, CartError, text};

/// Most characters of a discount code.
pub const CODE_LENGTH_MAX: usize = 100;

/// A promotion that applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discount {
    /// The promotion's code; `None` if it applies automatically.
    pub code: Option<String>,
    /// Merchant text.
    pub title: String,
    /// The discount on all lines.
    pub minor: i64,
    /// The discount on each line; adds up to `minor`.
    pub by_line: Vec<i64>,
    /// Whether the cheapest shipping option is free.
    pub grants_free_shipping: bool,
}

/// A discount code that does not apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedCode {
    pub code: String,
    pub reason: CodeRejection,
}

primitives::text_enum! {
    /// Why a discount code does not apply.
    pub enum CodeRejection {
        /// The store has no such code.
        #[strum(serialize = "discount_code_invalid")]
        Invalid,
        /// The promotion is not active now.
        #[strum(serialize = "discount_code_expired")]
        Expired,
        /// The subtotal is below the promotion's minimum.
        #[strum(serialize = "discount_code_minimum_not_met")]
        MinimumNotMet,
        /// No line of the cart is eligible.
        #[strum(serialize = "discount_code_not_applicable")]
        NotApplicable,
    }
}

/// Goods as discounts and shipping see them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goods<'product> {
    /// Path of the category.
    pub category: &'product str,
    /// Price of all units, before discounts.
    pub minor: i64,
}

/// Applies promotions in the order set by the merchant, each to what the earlier ones left. Returns the discounts and the
/// codes that do not apply.
pub(crate) fn discounts(
    lines: &[Goods<'_>],
    promotions: &[Promotion],
    codes: &[String],
    now: Timestamp,
) -> (Vec<Discount>, Vec<RejectedCode>) {
    let mut remaining: Vec<i64> = lines.iter().map(|line| line.minor).collect();
    let subtotal = total_of(&remaining);
    let entered_code = |promotion: &Promotion| {
        let code = promotion.code.as_deref()?;
        codes.iter().find(|entered| entered.eq_ignore_ascii_case(code))
    };
    let mut applied = Vec::new();
    for promotion in promotions {
        let is_requested = promotion.code.is_none() || entered_code(promotion).is_some();
        let meets_minimum = promotion.min_subtotal_minor.is_none_or(|min| subtotal >= min);
        if !is_requested || !meets_minimum || !promotion.is_active(now) {
            continue;
        }
        let eligible: Vec<i64> = lines
            .iter()
            .zip(&remaining)
            .map(|(line, left)| if applies_to(promotion, line.category) { *left } else { 0 })
            .collect();
        let total = total_of(&eligible);
        let minor = match promotion.benefit {
            Benefit::Percent { basis_points } => scale(total, i64::from(basis_points), 10_000),
            Benefit::Amount { minor } => minor,
            Benefit::FreeShipping => 0,
        }
        .clamp(0, total);
        let grants_free_shipping = promotion.benefit == Benefit::FreeShipping && total > 0;
        if minor == 0 && !grants_free_shipping {
            continue;
        }
        let by_line = allocate(minor, &eligible);
        for (left, discount) in remaining.iter_mut().zip(&by_line) {
            *left -= discount;
        }
        let (code, title) = (promotion.code.clone(), promotion.name.clone());
        applied.push(Discount { code, title, minor, by_line, grants_free_shipping });
    }
    let rejected =
        codes.iter().filter_map(|code| rejection(code, promotions, &applied, subtotal, now));
    let rejected = rejected.collect();
    (applied, rejected)
}

/// Adds amounts up. A sum beyond 64 bits is the largest amount: the price of such a cart is refused as a whole.
fn total_of(amounts: &[i64]) -> i64 {
    amounts.iter().fold(0_i64, |sum, amount| sum.saturating_add(*amount)).max(0)
}

/// Returns why a code does not apply, or `None` if it does.
fn rejection(
    code: &str,
    promotions: &[Promotion],
    applied: &[Discount],
    subtotal: i64,
    now: Timestamp,
) -> Option<RejectedCode> {
    let is_same = |other: &Option<String>| {
        other.as_deref().is_some_and(|other| other.eq_ignore_ascii_case(code))
    };
    if applied.iter().any(|discount| is_same(&discount.code)) {
        return None;
    }
    let reason = match promotions.iter().find(|promotion| is_same(&promotion.code)) {
        None => CodeRejection::Invalid,
        Some(promotion) if !promotion.is_active(now) => CodeRejection::Expired,
        Some(promotion) => match promotion.min_subtotal_minor {
            Some(minimum) if subtotal < minimum => CodeRejection::MinimumNotMet,
            _ => CodeRejection::NotApplicable,
        },
    };
    Some(RejectedCode { code: code.to_owned(), reason })
}

/// Returns whether a promotion applies to a category: it names no category, this one, or an ancestor.
fn applies_to(promotion: &Promotion, category: &str) -> bool {
    promotion.categories.is_empty()
        || promotion.categories.iter().any(|named| is_within(category, named))
}

/// Returns whether a category is the same as another one or a descendant of it.
pub(crate) fn is_within(category: &str, ancestor: &str) -> bool {
    category.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns a code normalized to one line.
fn validate_code(code: &str) -> Result<String, CartError> {
    text::single_line("code", code, CODE_LENGTH_MAX)
}

/// Returns the codes normalized, without duplicates that differ only in case.
pub(crate) fn validate_codes(codes: &[String]) -> Result<Vec<String>, CartError> {
    let mut unique: Vec<String> = Vec::new();
    for code in codes {
        let code = validate_code(code)?;
        if !unique.iter().any(|other| other.eq_ignore_ascii_case(&code)) {
            unique.push(code);
        }
    }
    if unique.len() > CODES_MAX { Err(CartError::TooManyCodes) } else { Ok(unique) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn promotion(benefit: Benefit, min_subtotal_minor: Option<i64>) -> Promotion {
        Promotion {
            id: String::from("sale"),
            name: String::from("Sale"),
            benefit,
            code: None,
            min_subtotal_minor,
            starts_at: None,
            ends_at: None,
            categories: Vec::new(),
        }
    }

    fn benefit() -> impl Strategy<Value = Benefit> {
        prop_oneof![
            (1..=10_000).prop_map(|basis_points| Benefit::Percent { basis_points }),
            any::<i64>().prop_map(|minor| Benefit::Amount { minor }),
            Just(Benefit::FreeShipping),
        ]
    }

    proptest! {
        /// Whatever the prices and promotions, a discount is between nothing and the price of its lines.
        #[test]
        fn no_amount_overflows(
            minors in prop::collection::vec(0_i64..=i64::MAX, 0..8),
            promotions in prop::collection::vec((benefit(), prop::option::of(any::<i64>())), 0..4),
        ) {
            let lines: Vec<Goods<'_>> =
                minors.iter().map(|minor| Goods { category: "", minor: *minor }).collect();
            let promotions: Vec<Promotion> = promotions
                .into_iter()
                .map(|(benefit, minimum)| promotion(benefit, minimum))
                .collect();
            let now = Timestamp::from_unix_micros(0);
            let (applied, _) = discounts(&lines, &promotions, &[], now);
            for (index, minor) in minors.iter().enumerate() {
                let taken: i128 = applied.iter().map(|it| i128::from(it.by_line[index])).sum();
                prop_assert!((0..=i128::from(*minor)).contains(&taken), "{} of {}", taken, minor);
            }
        }
    }
}
