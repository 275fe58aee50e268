//! The execution of an act in the model.

use super::{
    Act, EDGES, Entry, INVALID, Line, NOT_FOUND, NOT_POSSIBLE, OrderModel, Parcel, Refusal, Status,
    Units, Who,
};

/// The execution of one act.
pub(super) struct Run<'observed> {
    pub(super) order: OrderModel,
    pub(super) who: Who,
    pub(super) entries: Vec<Entry>,
    /// The entries that the history has from here on.
    pub(super) observed: &'observed [Entry],
}

impl Run<'_> {
    fn record(&mut self, kind: &str, previous: Status, detail: Option<String>) {
        self.entries.push(Entry {
            kind: kind.to_owned(),
            previous: previous.to_owned(),
            status: self.order.status.to_owned(),
            actor: self.who.actor().to_owned(),
            detail,
        });
    }

    /// Appends an entry that is no change of the status.
    pub(super) fn note(&mut self, kind: &str, detail: Option<String>) {
        self.record(kind, self.order.status, detail);
    }

    /// Changes the status along a documented edge.
    fn go(&mut self, to: Status) -> Result<(), Refusal> {
        let from = self.order.status;
        if !EDGES.contains(&(from, to)) {
            return Err(NOT_POSSIBLE);
        }
        self.order.status = to;
        self.record("status_changed", from, None);
        Ok(())
    }

    fn is(&self, statuses: &[Status]) -> bool {
        statuses.contains(&self.order.status)
    }

    pub(super) fn act(&mut self, act: &Act) -> Result<(), Refusal> {
        match act {
            Act::Read => Ok(()),
            Act::Confirm => self.confirm(),
            Act::Review if self.is(&["manual_review"]) => Ok(()),
            Act::Review => self.go("manual_review"),
            Act::Process => self.process(),
            Act::Ship(units) => self.ship(units),
            Act::Deliver(parcel) => self.deliver(*parcel),
            Act::Cancel(units, _) => self.cancel(units),
            Act::Refund(amount) => self.refund(*amount),
            Act::Payment(payment) => self.payment(payment),
            Act::Note(note) => self.update_note(*note),
            Act::RequestReturn(units, outcome) => self.request_return(units, outcome),
            Act::Return(at, step) => self.change_return(*at, *step),
            Act::OpenDispute => self.open_dispute(),
            Act::WithdrawDispute(at) => self.withdraw_dispute(*at),
            Act::CloseWindow | Act::OpenWindow if !self.is(&["delivered"]) => Err(NOT_POSSIBLE),
            Act::CloseWindow => {
                self.order.is_window_open = false;
                Ok(())
            }
            Act::OpenWindow => {
                self.order.is_window_open = true;
                Ok(())
            }
            Act::Complete(is_complete) => match (is_complete, self.order.can_complete()) {
                (true, true) => self.go("completed"),
                (false, false) => Ok(()),
                _ => Err(NOT_POSSIBLE),
            },
        }
    }

    fn confirm(&mut self) -> Result<(), Refusal> {
        let further =
            ["confirmed", "processing", "partially_shipped", "shipped", "delivered", "completed"];
        if self.is(&further) { Ok(()) } else { self.go("confirmed") }
    }

    fn process(&mut self) -> Result<(), Refusal> {
        if self.is(&["manual_review", "canceled", "failed"]) {
            return Err(NOT_POSSIBLE);
        }
        self.walk_to_processing()
    }

    fn walk_to_processing(&mut self) -> Result<(), Refusal> {
        if self.is(&["pending"]) {
            self.go("confirmed")?;
        }
        if self.is(&["confirmed"]) {
            self.go("processing")?;
        }
        Ok(())
    }

    /// Returns the named units, or all that are not shipped.
    fn unshipped(&self, named: &Units) -> Result<Units, Refusal> {
        let lines = &self.order.lines;
        if named.is_empty() {
            let all = lines.iter().map(Line::unshipped).enumerate();
            return Ok(all.filter(|(_, units)| *units > 0).collect());
        }
        let fits = |(line, units): &(usize, u32)| lines[*line].unshipped() >= *units && *units > 0;
        if named.iter().all(fits) { Ok(named.clone()) } else { Err(INVALID) }
    }

    fn ship(&mut self, named: &Units) -> Result<(), Refusal> {
        if !self.is(&["pending", "confirmed", "processing", "partially_shipped"]) {
            return Err(NOT_POSSIBLE);
        }
        let units = self.unshipped(named)?;
        self.walk_to_processing()?;
        for (line, units) in &units {
            self.order.lines[*line].shipped += units;
        }
        self.order.parcels.push(Parcel { units, is_delivered: false });
        self.note("shipped", None);
        match self.order.unshipped() {
            0 => self.go("shipped"),
            _ if self.is(&["partially_shipped"]) => Ok(()),
            _ => self.go("partially_shipped"),
        }
    }

    fn deliver(&mut self, parcel: Option<usize>) -> Result<(), Refusal> {
        if self.order.parcels.is_empty() {
            return Err(NOT_POSSIBLE);
        }
        for at in 0..self.order.parcels.len() {
            let it = &mut self.order.parcels[at];
            if !it.is_delivered && parcel.is_none_or(|named| named == at) {
                it.is_delivered = true;
                self.note("delivered", None);
            }
        }
        self.deliver_order()
    }

    /// An order that is shipped is delivered with its last parcel.
    fn deliver_order(&mut self) -> Result<(), Refusal> {
        let is_delivered = self.order.parcels.iter().all(|parcel| parcel.is_delivered);
        if self.is(&["shipped"]) && is_delivered { self.go("delivered") } else { Ok(()) }
    }

    fn cancel(&mut self, named: &Units) -> Result<(), Refusal> {
        let early = ["pending", "confirmed", "manual_review"];
        let late = ["processing", "partially_shipped"];
        if !(self.is(&early) || self.who == Who::Merchant && self.is(&late)) {
            return Err(NOT_POSSIBLE);
        }
        for (line, units) in self.unshipped(named)? {
            self.order.lines[line].canceled += units;
        }
        self.note("lines_canceled", None);
        if self.order.unshipped() > 0 {
            return Ok(());
        }
        if !self.is(&["partially_shipped"]) {
            return self.go("canceled");
        }
        self.go("shipped")?;
        self.deliver_order()
    }

    fn refund(&mut self, amount: Option<i64>) -> Result<(), Refusal> {
        if self.is(&["failed"]) {
            return Err(NOT_POSSIBLE);
        }
        let left = self.order.refundable_minor();
        let amount = amount.unwrap_or(left);
        if !(1..=left).contains(&amount) {
            return Err(INVALID);
        }
        self.record_refund(amount);
        Ok(())
    }

    pub(super) fn record_refund(&mut self, amount: i64) {
        self.order.refunded_minor += amount;
        self.note("refunded", Some(amount.to_string()));
    }

    fn payment(&mut self, payment: Status) -> Result<(), Refusal> {
        if self.order.payment == payment {
            return Ok(());
        }
        self.order.payment = payment;
        if payment == "failed" && self.is(&["pending"]) {
            return self.go("failed");
        }
        self.note("payment_changed", None);
        Ok(())
    }

    fn update_note(&mut self, note: u32) -> Result<(), Refusal> {
        if !self.is(&["pending", "confirmed", "manual_review", "processing"]) {
            return Err(NOT_POSSIBLE);
        }
        if self.order.note != Some(note) {
            self.order.note = Some(note);
            self.note("updated", None);
        }
        Ok(())
    }

    fn open_dispute(&mut self) -> Result<(), Refusal> {
        if self.order.has_open_dispute {
            return Err(NOT_POSSIBLE);
        }
        if self.order.disputes >= 5 {
            return Err(INVALID);
        }
        self.order.disputes += 1;
        self.order.has_open_dispute = true;
        self.note("dispute_opened", None);
        Ok(())
    }

    /// Ends a dispute. Only the newest one can be open.
    fn withdraw_dispute(&mut self, at: Option<u32>) -> Result<(), Refusal> {
        let Some(at) = at else { return Err(NOT_FOUND) };
        if !self.order.has_open_dispute || at + 1 != self.order.disputes {
            return Err(NOT_POSSIBLE);
        }
        self.order.has_open_dispute = false;
        self.note("dispute_changed", None);
        Ok(())
    }
}
