//! Settling a return: the refund of the returned units, or other items.

use primitives::{LineId, Money};

use crate::free_text::{self, REFERENCE};
use crate::handle_return::Handling;
use crate::money::{Shares, check_refundable, checked_minor};
use crate::refund_order::{find_reference, record_refund};
use crate::{OrderError, Refund, RefundReason, ReturnOutcome, ReturnStatus, ReturnTransition};

/// The name of the refund in the request.
pub(crate) const REFUND: &str = "refund";
/// The name of the fee in the request.
const RESTOCKING_FEE: &str = "restocking_fee";

/// How the merchant settles a return.
pub(crate) struct Settlement {
    pub(crate) refund: Option<Money>,
    pub(crate) restocking_fee: Option<Money>,
    pub(crate) reference: Option<String>,
}

/// Settles a return as its outcome says. Received items count as inspected.
pub(crate) async fn settle(
    handling: &mut Handling<'_>,
    settlement: Settlement,
) -> Result<(), OrderError> {
    handling.inspect_received().await?;
    let from = handling.it.status;
    if from != ReturnStatus::Inspected {
        return Err(OrderError::InvalidReturnTransition { from });
    }
    handling.it.settled_at = Some(handling.change.now());
    match handling.it.outcome {
        ReturnOutcome::Refund | ReturnOutcome::StoreCredit => refund(handling, settlement).await?,
        ReturnOutcome::Exchange | ReturnOutcome::Replacement => exchange(handling, &settlement)?,
    }
    let transition = match handling.it.outcome {
        ReturnOutcome::Refund | ReturnOutcome::StoreCredit => ReturnTransition::Refund,
        ReturnOutcome::Exchange | ReturnOutcome::Replacement => ReturnTransition::Exchange,
    };
    handling.apply(transition, None).await
}

/// Other items replace the returned ones, and no money moves.
fn exchange(handling: &mut Handling<'_>, settlement: &Settlement) -> Result<(), OrderError> {
    let given = [
        (REFUND, settlement.refund.is_some()),
        (RESTOCKING_FEE, settlement.restocking_fee.is_some()),
        ("reference", settlement.reference.is_some()),
    ];
    if let Some((field, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        return Err(OrderError::invalid(field, "none: the outcome of the return is no refund"));
    }
    handling.it.refund_minor = Some(0);
    Ok(())
}

/// Records the refund of the returned units. A refund of 0 is none.
async fn refund(handling: &mut Handling<'_>, settlement: Settlement) -> Result<(), OrderError> {
    let reference = settlement.reference.as_deref();
    let reference = free_text::one_line("reference", reference, REFERENCE)?;
    if let Some(reference) = &reference
        && find_reference(&mut handling.change, reference).await?.is_some()
    {
        let allowed = "a reference that no refund of the order has";
        return Err(OrderError::invalid("reference", allowed));
    }
    let (amount_minor, fee_minor) = amounts(handling, &settlement)?;
    handling.it.refund_minor = Some(amount_minor);
    handling.it.restocking_fee_minor = Some(fee_minor);
    if amount_minor == 0 {
        return Ok(());
    }
    let refund = Refund {
        id: handling.change.work.new_id(),
        return_id: Some(handling.it.id),
        amount_minor,
        reason: RefundReason::Returned,
        note: None,
        reference,
        created_at: handling.change.now(),
    };
    record_refund(&mut handling.change, &refund).await
}

/// Returns the refund and the restocking fee, which is at most the share of the units. A refund that the merchant names may
/// differ from the share, and may be 0. Neither exceeds what is left of the payment: the share is never reduced to it, because
/// only the merchant knows what the earlier refunds were for.
fn amounts(handling: &Handling<'_>, settlement: &Settlement) -> Result<(i64, i64), OrderError> {
    let order = &handling.change.order;
    let share_minor = share_minor(handling);
    let fee_minor = match settlement.restocking_fee {
        Some(fee) => checked_minor(order, RESTOCKING_FEE, fee, 0)?,
        None => 0,
    };
    if fee_minor > share_minor {
        return Err(OrderError::invalid(RESTOCKING_FEE, "at most what was paid for the items"));
    }
    let amount_minor = match settlement.refund {
        Some(amount) => checked_minor(order, REFUND, amount, 0)?,
        None => share_minor - fee_minor,
    };
    Ok((check_refundable(order, REFUND, amount_minor)?, fee_minor))
}

/// Returns the share of the returned units. Units of returns that were settled before came earlier, so that the shares
/// of all returns of a line add up to those of its units.
fn share_minor(handling: &Handling<'_>) -> i64 {
    let shares = Shares::of(&handling.change.order);
    let settled = |line: LineId| -> u32 {
        let settled = handling.others.iter().filter(|other| other.is_accepted());
        let items = settled.flat_map(|other| &other.items).filter(|item| item.line == line);
        items.map(|item| item.quantity).sum()
    };
    let items = handling.it.items.iter();
    items.map(|item| shares.units_minor(item.line, settled(item.line), item.quantity)).sum()
}
