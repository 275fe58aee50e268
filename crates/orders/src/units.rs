//! Units of lines that a request names.

use crate::{LineUnits, Order, OrderError, OrderLine};

/// Returns the units that a request names, each line once, or all available units if it names none. Entries of the same line
/// are added up; an error names the first of them.
pub(crate) fn requested(
    order: &Order,
    items: &[LineUnits],
    available: fn(&OrderLine) -> u32,
) -> Result<Vec<LineUnits>, OrderError> {
    if items.is_empty() {
        let all = |line: &OrderLine| LineUnits { line: line.line, quantity: available(line) };
        return Ok(order.lines.iter().map(all).filter(|units| units.quantity > 0).collect());
    }
    let mut wanted: Vec<(usize, LineUnits)> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if item.quantity == 0 {
            return Err(OrderError::invalid(quantity_field(index), "at least 1"));
        }
        match wanted.iter_mut().find(|(_, known)| known.line == item.line) {
            Some((_, known)) => known.quantity = known.quantity.saturating_add(item.quantity),
            None => wanted.push((index, *item)),
        }
    }
    for (index, units) in &wanted {
        let Some(line) = order.line(units.line) else {
            return Err(OrderError::UnknownLine { field: format!("items[{index}].line_id") });
        };
        let (requested, available) = (units.quantity, available(line));
        if requested > available {
            let field = quantity_field(*index);
            return Err(OrderError::QuantityExceeded { field, requested, available });
        }
    }
    Ok(wanted.into_iter().map(|(_, units)| units).collect())
}

/// Returns how many units of an order are still to be shipped.
pub(crate) fn unshipped(order: &Order) -> u64 {
    order.lines.iter().map(|line| u64::from(line.unshipped())).sum()
}

fn quantity_field(index: usize) -> String {
    format!("items[{index}].quantity")
}
