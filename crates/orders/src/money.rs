//! What can be refunded of an order, and what its units cost. Amounts are minor units.

use primitives::{LineId, Money};

use crate::{Order, OrderError, OrderLine, OrderStatus, PaymentStatus};

/// Returns what is left of the payment: the largest refund.
pub(crate) fn refundable_minor(order: &Order) -> i64 {
    let is_paid = order.payment == PaymentStatus::Paid && order.status != OrderStatus::Failed;
    let left_minor = order.total.minor().saturating_sub(order.refunded_minor);
    if is_paid { left_minor.max(0) } else { 0 }
}

/// Returns a refund in minor units, if it is above 0, in the currency of the order and at most what is left of the payment.
/// `field` is the name of the amount in the request.
pub(crate) fn refund_amount(
    order: &Order,
    field: &'static str,
    amount: Money,
) -> Result<i64, OrderError> {
    check_refundable(order, field, checked_minor(order, field, amount, 1)?)
}

/// Returns an amount of the merchant in minor units, if it has the currency of the order and is not below a minimum.
pub(crate) fn checked_minor(
    order: &Order,
    field: &'static str,
    amount: Money,
    minor_min: i64,
) -> Result<i64, OrderError> {
    if amount.currency() != order.currency() {
        return Err(OrderError::invalid("currency", "the currency of the order"));
    }
    if amount.minor() < minor_min {
        let allowed = if minor_min > 0 { "an amount above 0" } else { "an amount of at least 0" };
        return Err(OrderError::invalid(field, allowed));
    }
    Ok(amount.minor())
}

/// Returns the refund again, or `RefundExceeded` if it is above what is left of the payment.
pub(crate) fn check_refundable(
    order: &Order,
    field: &'static str,
    minor: i64,
) -> Result<i64, OrderError> {
    if minor > refundable_minor(order) { Err(exceeded(order, field)) } else { Ok(minor) }
}

/// Returns the error of a refund above what is left of the payment.
pub(crate) fn exceeded(order: &Order, field: &'static str) -> OrderError {
    let available = order.money(refundable_minor(order)).to_decimal();
    OrderError::RefundExceeded { field, available, currency: order.currency().code() }
}

/// What was paid for the goods of an order, divided among their units: the total of each line after discounts and its
/// share of the tax that was added. Shipping belongs to no unit.
///
/// Every share is the difference of two rounded-down sums, so that the shares of all units add up to what was paid for
/// the goods, to the minor unit, and never to more.
pub(crate) struct Shares<'order> {
    lines: &'order [OrderLine],
    /// Sum of the lines.
    goods_minor: i128,
    /// What was paid for the lines: their sum, unless less was paid.
    paid_minor: i128,
    /// What was paid as tax.
    tax_minor: i128,
}

impl<'order> Shares<'order> {
    pub(crate) fn of(order: &'order Order) -> Self {
        let shipping_minor = order.shipping_minor.unwrap_or(0).max(0);
        let without_shipping_minor = order.total.minor().saturating_sub(shipping_minor);
        Self::new(&order.lines, without_shipping_minor, order.tax_minor.unwrap_or(0))
    }

    fn new(lines: &'order [OrderLine], without_shipping_minor: i64, tax_minor: i64) -> Self {
        let goods_minor = sum(lines);
        let available_minor = i128::from(without_shipping_minor.max(0));
        let paid_minor = goods_minor.min(available_minor);
        let tax_minor = i128::from(tax_minor.max(0)).min(available_minor - paid_minor);
        Self { lines, goods_minor, paid_minor, tax_minor }
    }

    /// Returns the share of units of a line, of which `before` units came earlier. The shares of disjoint units never
    /// overlap. Units beyond the quantity of the line have no share.
    pub(crate) fn units_minor(&self, line: LineId, before: u32, units: u32) -> i64 {
        let Some(at) = self.lines.iter().position(|it| it.line == line) else { return 0 };
        let quantity = self.lines.get(at).map_or(0, |it| it.quantity);
        let parts = [self.line_part(self.paid_minor, at), self.line_part(self.tax_minor, at)];
        let until = |count: u32| -> i128 {
            let count = i128::from(count.min(quantity));
            parts.iter().map(|part| proportion(*part, count, i128::from(quantity))).sum()
        };
        let minor = until(before.saturating_add(units)) - until(before);
        // Not above the total of the order.
        i64::try_from(minor).unwrap_or(0)
    }

    /// Returns the part of an amount that belongs to the line at a position.
    fn line_part(&self, minor: i128, at: usize) -> i128 {
        let until = |end: usize| {
            let lines = self.lines.get(..end).unwrap_or_default();
            proportion(minor, sum(lines), self.goods_minor)
        };
        until(at + 1) - until(at)
    }
}

fn sum(lines: &[OrderLine]) -> i128 {
    lines.iter().map(|line| i128::from(line.total_minor.max(0))).sum()
}

/// Returns `minor * part / whole`, rounded down. It does not decrease as `part` increases.
fn proportion(minor: i128, part: i128, whole: i128) -> i128 {
    minor.saturating_mul(part).checked_div(whole).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use primitives::{Id, ProductId};
    use proptest::prelude::*;

    use super::*;

    fn line(number: u128, quantity: u32, total_minor: i64) -> OrderLine {
        OrderLine {
            line: LineId::from_random(number),
            product: ProductId::from_random(1),
            variant: None,
            sku: String::new(),
            name: String::new(),
            quantity,
            unit_minor: total_minor,
            total_minor,
            canceled: 0,
            shipped: 0,
            returned: 0,
        }
    }

    fn share(shares: &Shares<'_>, number: u128, before: u32, units: u32) -> i64 {
        shares.units_minor(LineId::from_random(number), before, units)
    }

    #[test]
    fn a_share_has_its_part_of_discounts_and_tax() {
        // 3 for 10.00, and 1 for 5.01; 2.86 of tax (19.05 %), of which 1.90 and 0.96 belong to the lines.
        let lines = [line(1, 3, 10_00), line(2, 1, 5_01)];
        let shares = Shares::new(&lines, 17_87, 2_86);
        assert_eq!([0, 1, 2].map(|before| share(&shares, 1, before, 1)), [3_96, 3_96, 3_98]);
        assert_eq!((share(&shares, 1, 0, 2), share(&shares, 1, 0, 3)), (7_92, 11_90));
        assert_eq!(share(&shares, 2, 0, 1), 5_97);
        assert_eq!(share(&shares, 1, 0, 3) + share(&shares, 2, 0, 1), 17_87);
    }

    #[test]
    fn units_that_were_not_ordered_have_no_share() {
        let lines = [line(1, 2, 9), line(2, 0, 0)];
        let shares = Shares::new(&lines, 9, 0);
        assert_eq!(share(&shares, 1, 0, u32::MAX), 9);
        assert_eq!(share(&shares, 1, 2, 1), 0);
        assert_eq!(share(&shares, 1, u32::MAX, u32::MAX), 0);
        assert_eq!((share(&shares, 2, 0, 1), share(&shares, 3, 0, 1)), (0, 0));
    }

    /// A small amount, for a comparison with an exact part.
    fn float(minor: i64) -> f64 {
        f64::from(i32::try_from(minor).unwrap())
    }

    #[test]
    fn goods_that_cost_nothing_have_no_share_of_the_tax() {
        let lines = [line(1, 2, 0)];
        assert_eq!(share(&Shares::new(&lines, 100, 100), 1, 0, 2), 0);
    }

    #[test]
    fn the_largest_amounts_do_not_overflow() {
        let lines = [line(1, u32::MAX, i64::MAX), line(2, 1, i64::MAX)];
        let shares = Shares::new(&lines, i64::MAX, i64::MAX);
        let all = i128::from(share(&shares, 1, 0, u32::MAX)) + i128::from(share(&shares, 2, 0, 1));
        assert!((0..=i128::from(i64::MAX)).contains(&all), "{all}");
    }

    prop_compose! {
        /// Lines with a quantity and a total, and how many units each return takes.
        fn lines()(
            lines in proptest::collection::vec((1_u32..8, 0_i64..40), 1..6),
        ) -> Vec<OrderLine> {
            let numbered = (1_u128..).zip(lines);
            numbered.map(|(number, (quantity, total))| line(number, quantity, total)).collect()
        }
    }

    proptest! {
        #[test]
        fn the_shares_of_all_units_add_up_to_what_was_paid_for_the_goods(
            lines in lines(), tax in 0_i64..30, missing in 0_i64..60, step in 1_u32..4,
        ) {
            let goods: i64 = lines.iter().map(|line| line.total_minor).sum();
            // What was paid may be less than the lines and the tax.
            let paid = (goods + tax - missing).max(0);
            let shares = Shares::new(&lines, paid, tax);
            let mut all = 0;
            for line in &lines {
                for before in (0..line.quantity).step_by(step as usize) {
                    let units = step.min(line.quantity - before);
                    let minor = shares.units_minor(line.line, before, units);
                    prop_assert!(minor >= 0);
                    all += minor;
                }
            }
            let expected = if goods == 0 { 0 } else { paid };
            prop_assert_eq!(all, expected);
        }

        #[test]
        fn a_share_differs_from_the_exact_part_by_less_than_two_minor_units(
            lines in lines(), tax in 0_i64..30,
        ) {
            let goods: i64 = lines.iter().map(|line| line.total_minor).sum();
            let shares = Shares::new(&lines, goods + tax, tax);
            for line in lines.iter().filter(|line| line.total_minor > 0) {
                let exact = float(line.total_minor) * (1.0 + float(tax) / float(goods));
                let minor = float(shares.units_minor(line.line, 0, line.quantity));
                prop_assert!((minor - exact).abs() < 1.0, "{minor} {exact}");
                for before in 0..line.quantity {
                    let unit = float(shares.units_minor(line.line, before, 1));
                    prop_assert!((unit - exact / f64::from(line.quantity)).abs() < 2.2);
                }
            }
        }
    }
}
