//! What is cheaper: promotions that apply by themselves, and those a code asks for.

use merchants::{Benefit, Promotion};
use primitives::Timestamp;

use crate::share::{part_of, share_out};
use crate::{CODES_MAX, CartError, text};

/// The longest code.
const CODE_MAX: usize = 100;

/// A promotion that applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discount {
    /// What was typed; none if it applies by itself.
    pub code: Option<String>,
    /// What the merchant calls it. Merchant text.
    pub title: String,
    /// How much less the goods cost.
    pub minor: i64,
    /// Of which line how much.
    pub by_line: Vec<i64>,
    /// Whether the cheapest way to ship costs nothing.
    pub frees_shipping: bool,
}

/// A code that gives nothing, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedCode {
    /// What was typed.
    pub code: String,
    /// Why it gives nothing.
    pub reason: CodeRefusal,
}

/// Why a code gives nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeRefusal {
    /// The store has no such code.
    Unknown,
    /// It does not hold now.
    NotRunning,
    /// The goods cost too little.
    BelowMinimum {
        /// What they would have to cost.
        minor: i64,
    },
    /// Nothing in the cart is meant by it.
    NothingFits,
}

impl CodeRefusal {
    /// The stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "discount_code_invalid",
            Self::NotRunning => "discount_code_expired",
            Self::BelowMinimum { .. } => "discount_code_minimum_not_met",
            Self::NothingFits => "discount_code_not_applicable",
        }
    }
}

/// What a line is about, for discounts.
pub(crate) struct Discountable<'line> {
    pub(crate) category: &'line str,
    pub(crate) minor: i64,
}

/// Applies what applies, in the order the merchant set: each to what those before have left.
pub(crate) fn discounts(
    lines: &[Discountable<'_>],
    promotions: &[Promotion],
    codes: &[String],
    now: Timestamp,
) -> (Vec<Discount>, Vec<RefusedCode>) {
    let mut left: Vec<i64> = lines.iter().map(|line| line.minor).collect();
    let subtotal: i64 = left.iter().sum();
    let typed = |promotion: &Promotion| {
        let code = promotion.code.as_deref()?;
        codes.iter().find(|typed| typed.eq_ignore_ascii_case(code))
    };
    let mut applied = Vec::new();
    for promotion in promotions {
        let asked_for = promotion.code.is_none() || typed(promotion).is_some();
        let reaches = promotion.min_subtotal_minor.is_none_or(|min| subtotal >= min);
        if !asked_for || !reaches || !promotion.is_running(now) {
            continue;
        }
        let meant: Vec<i64> = lines
            .iter()
            .zip(&left)
            .map(|(line, left)| if is_about(promotion, line.category) { *left } else { 0 })
            .collect();
        let all: i64 = meant.iter().sum();
        let minor = match promotion.benefit {
            Benefit::Percent { basis_points } => part_of(all, i64::from(basis_points), 10_000),
            Benefit::Amount { minor } => minor,
            Benefit::FreeShipping => 0,
        }
        .clamp(0, all);
        let frees_shipping = promotion.benefit == Benefit::FreeShipping && all > 0;
        if minor == 0 && !frees_shipping {
            continue;
        }
        let by_line = share_out(minor, &meant);
        for (left, less) in left.iter_mut().zip(&by_line) {
            *left -= less;
        }
        let (code, title) = (promotion.code.clone(), promotion.name.clone());
        applied.push(Discount { code, title, minor, by_line, frees_shipping });
    }
    let refused =
        codes.iter().filter_map(|code| refusal(code, promotions, &applied, subtotal, now));
    let refused = refused.collect();
    (applied, refused)
}

fn refusal(
    code: &str,
    promotions: &[Promotion],
    applied: &[Discount],
    subtotal: i64,
    now: Timestamp,
) -> Option<RefusedCode> {
    let is_it = |other: &Option<String>| {
        other.as_deref().is_some_and(|other| other.eq_ignore_ascii_case(code))
    };
    if applied.iter().any(|discount| is_it(&discount.code)) {
        return None;
    }
    let reason = match promotions.iter().find(|promotion| is_it(&promotion.code)) {
        None => CodeRefusal::Unknown,
        Some(promotion) if !promotion.is_running(now) => CodeRefusal::NotRunning,
        Some(promotion) => match promotion.min_subtotal_minor {
            Some(minor) if subtotal < minor => CodeRefusal::BelowMinimum { minor },
            _ => CodeRefusal::NothingFits,
        },
    };
    Some(RefusedCode { code: code.to_owned(), reason })
}

/// Whether a promotion is about a category: it names none, this one, or one above it.
fn is_about(promotion: &Promotion, category: &str) -> bool {
    promotion.categories.is_empty()
        || promotion.categories.iter().any(|named| is_in(category, named))
}

/// Whether a category is another one or stands below it.
pub(crate) fn is_in(category: &str, above: &str) -> bool {
    category.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A code, as it is kept.
pub(crate) fn checked_code(code: &str) -> Result<String, CartError> {
    text::line("code", code, CODE_MAX)
}

/// Codes, as they are kept: each once, whatever its letters look like.
pub(crate) fn checked_codes(codes: &[String]) -> Result<Vec<String>, CartError> {
    let mut kept: Vec<String> = Vec::new();
    for code in codes {
        let code = checked_code(code)?;
        if !kept.iter().any(|other| other.eq_ignore_ascii_case(&code)) {
            kept.push(code);
        }
    }
    if kept.len() > CODES_MAX { Err(CartError::TooManyCodes) } else { Ok(kept) }
}
