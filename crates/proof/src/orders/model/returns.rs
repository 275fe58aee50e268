//! Returns in the model.

use super::{
    INVALID, NOT_ELIGIBLE, NOT_FOUND, NOT_POSSIBLE, RETURN_EDGES, Refusal, Return, ReturnStep, Run,
    Status, Units, Who,
};

/// How far a computed refund may lie from the exact share of its units, in minor units. Goods and tax of a line are each
/// rounded once.
const ROUNDING_MINOR_MAX: i128 = 2;

impl Run<'_> {
    pub(super) fn request_return(&mut self, units: &Units, outcome: Status) -> Result<(), Refusal> {
        for (line, wanted) in units {
            let delivered = self.order.delivered(*line);
            let left = delivered - self.order.lines[*line].returned;
            if *wanted > left || !self.order.is_window_open {
                return Err(NOT_ELIGIBLE);
            }
        }
        if self.order.returns.len() >= 20 {
            return Err(INVALID);
        }
        for (line, wanted) in units {
            self.order.lines[*line].returned += wanted;
        }
        let units = units.clone();
        self.order.returns.push(Return { status: "requested", outcome, units });
        self.note("return_requested", Some(String::from("requested")));
        Ok(())
    }

    pub(super) fn change_return(&mut self, at: usize, step: ReturnStep) -> Result<(), Refusal> {
        let is_cancel = step == ReturnStep::Cancel;
        // Sending is for both sides, withdrawing for the agent, everything else for the merchant.
        if step != ReturnStep::Send && is_cancel != (self.who == Who::Agent) {
            return Err(INVALID);
        }
        if at >= self.order.returns.len() {
            return Err(NOT_FOUND);
        }
        match step {
            ReturnStep::Approve => self.move_return(at, "approved"),
            ReturnStep::Decline => self.refuse(at, "declined"),
            ReturnStep::Send => self.move_return(at, "in_transit"),
            ReturnStep::Receive => {
                if self.order.returns[at].status == "approved" {
                    self.move_return(at, "in_transit")?;
                }
                self.move_return(at, "received")
            }
            ReturnStep::Inspect => self.move_return(at, "inspected"),
            ReturnStep::Settle(amount) => self.settle(at, amount),
            ReturnStep::Reject => {
                self.inspect_received(at)?;
                self.refuse(at, "rejected")
            }
            ReturnStep::Close => self.move_return(at, "closed"),
            ReturnStep::Cancel => self.refuse(at, "canceled"),
        }
    }

    /// Changes the status of a return along a documented edge.
    fn move_return(&mut self, at: usize, to: Status) -> Result<(), Refusal> {
        let it = &mut self.order.returns[at];
        if !RETURN_EDGES.contains(&(it.status, to)) {
            return Err(NOT_POSSIBLE);
        }
        it.status = to;
        self.note("return_changed", Some(to.to_owned()));
        Ok(())
    }

    /// Received items count as inspected.
    fn inspect_received(&mut self, at: usize) -> Result<(), Refusal> {
        if self.order.returns[at].status == "received" {
            self.move_return(at, "inspected")?;
        }
        Ok(())
    }

    /// Ends a return whose units stay with the buyer.
    fn refuse(&mut self, at: usize, to: Status) -> Result<(), Refusal> {
        self.move_return(at, to)?;
        for (line, units) in self.order.returns[at].units.clone() {
            self.order.lines[line].returned -= units;
        }
        Ok(())
    }

    fn settle(&mut self, at: usize, named: Option<i64>) -> Result<(), Refusal> {
        self.inspect_received(at)?;
        if self.order.returns[at].status != "inspected" {
            return Err(NOT_POSSIBLE);
        }
        if ["exchange", "replacement"].contains(&self.order.returns[at].outcome) {
            return match named {
                Some(_) => Err(INVALID),
                None => self.move_return(at, "exchanged"),
            };
        }
        let amount = match named {
            Some(amount) => amount,
            None => self.computed(at),
        };
        if amount > self.order.refundable_minor() {
            return Err(INVALID);
        }
        if amount > 0 {
            self.record_refund(amount);
        }
        self.move_return(at, "refunded")
    }

    /// Returns the refund of a return: the one that was observed, if it is the share of the units up to rounding. Without
    /// one, a share that rounding may lift above what is left of the payment is above it, and is refused; any other is the
    /// exact share, which the history then contradicts.
    fn computed(&self, at: usize) -> i64 {
        let left = i128::from(self.order.refundable_minor());
        let exact = self.share_minor(at);
        let rounding = ROUNDING_MINOR_MAX * self.rounded(at);
        let observed = self.observed.get(self.entries.len()).filter(|it| it.kind == "refunded");
        let observed = observed.and_then(|it| it.detail.as_ref()?.parse::<i64>().ok());
        let observed = observed.unwrap_or(0);
        if (i128::from(observed) - exact).abs() <= rounding {
            observed
        } else if exact + rounding > left {
            i64::MAX
        } else {
            i64::try_from(exact).unwrap_or(i64::MAX)
        }
    }

    /// How many lines are rounded.
    fn rounded(&self, at: usize) -> i128 {
        i128::try_from(self.order.returns[at].units.len()).unwrap_or(1)
    }

    /// What was paid for the units of a return, tax included.
    fn share_minor(&self, at: usize) -> i128 {
        let lines = &self.order.lines;
        let all: i128 = lines.iter().map(|line| i128::from(line.total_minor)).sum();
        let share = |(line, units): &(usize, u32)| {
            let line = &lines[*line];
            let part = i128::from(line.total_minor) * i128::from(*units);
            part * i128::from(self.order.goods_minor) / (all * i128::from(line.ordered)).max(1)
        };
        self.order.returns[at].units.iter().map(share).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Act, Entry, Line, OrderModel};
    use super::*;

    /// Returns an order of two units for 20.00, of which one was returned and received.
    fn received() -> OrderModel {
        let line = Line { ordered: 2, canceled: 0, shipped: 0, returned: 0, total_minor: 20_00 };
        let mut order = OrderModel::new("pending", vec![line], 20_00, 20_00);
        for (who, act) in [
            (Who::Merchant, Act::Ship(Vec::new())),
            (Who::Merchant, Act::Deliver(None)),
            (Who::Agent, Act::RequestReturn(vec![(0, 1)], "refund")),
            (Who::Merchant, Act::Return(0, ReturnStep::Approve)),
            (Who::Merchant, Act::Return(0, ReturnStep::Receive)),
        ] {
            order.execute(who, &act, &[]).unwrap();
        }
        order
    }

    fn step(order: &mut OrderModel, step: ReturnStep) -> Result<Vec<Entry>, Refusal> {
        order.execute(Who::Merchant, &Act::Return(0, step), &[])
    }

    #[test]
    fn a_share_above_what_is_left_is_refused_and_a_named_refund_is_not() {
        let mut order = received();
        order.execute(Who::Merchant, &Act::Refund(Some(15_00)), &[]).unwrap();
        assert_eq!(step(&mut order, ReturnStep::Settle(None)), Err(INVALID));
        assert_eq!(step(&mut order, ReturnStep::Settle(Some(5_01))), Err(INVALID));
        assert_eq!(step(&mut order, ReturnStep::Settle(Some(5_00))).unwrap().len(), 3);
        assert_eq!((order.returns[0].status, order.refunded_minor), ("refunded", 20_00));
    }

    #[test]
    fn received_items_are_rejected_without_an_inspection() {
        let mut order = received();
        assert_eq!(step(&mut order, ReturnStep::Reject).unwrap().len(), 2);
        assert_eq!((order.returns[0].status, order.lines[0].returned), ("rejected", 0));
    }
}
