//! A model of orders without locks, transactions and SQL, written from the contract (docs/contract/orders.md) and apart from
//! the crate `orders`. It says for each act whether it is accepted, which entries it appends to the history, and what the
//! order is afterwards.

mod returns;
mod run;

use self::run::Run;

/// A status of an order or of a return, by its name.
pub(super) type Status = &'static str;

/// Every documented edge of an order.
pub(super) const EDGES: [(Status, Status); 15] = [
    ("pending", "confirmed"),
    ("manual_review", "confirmed"),
    ("pending", "manual_review"),
    ("confirmed", "manual_review"),
    ("confirmed", "processing"),
    ("processing", "partially_shipped"),
    ("processing", "shipped"),
    ("partially_shipped", "shipped"),
    ("shipped", "delivered"),
    ("delivered", "completed"),
    ("pending", "canceled"),
    ("confirmed", "canceled"),
    ("manual_review", "canceled"),
    ("processing", "canceled"),
    ("pending", "failed"),
];

/// Every documented edge of a return.
pub(super) const RETURN_EDGES: [(Status, Status); 13] = [
    ("requested", "approved"),
    ("requested", "declined"),
    ("approved", "in_transit"),
    ("in_transit", "received"),
    ("received", "inspected"),
    ("inspected", "refunded"),
    ("inspected", "exchanged"),
    ("inspected", "rejected"),
    ("refunded", "closed"),
    ("exchanged", "closed"),
    ("rejected", "closed"),
    ("requested", "canceled"),
    ("approved", "canceled"),
];

/// Units of lines: the position of the line, and how many.
pub(super) type Units = Vec<(usize, u32)>;

/// Who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Merchant,
    Agent,
    /// Whoever knows of the money: an administrator's call.
    Payment,
    Job,
}

impl Who {
    /// The actor in the history.
    pub(super) const fn actor(self) -> &'static str {
        match self {
            Self::Merchant => "merchant",
            Self::Agent => "agent",
            Self::Payment => "platform",
            Self::Job => "system",
        }
    }
}

/// What somebody tries to do to an order. An empty list of units means all that are left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    Read,
    Confirm,
    Review,
    Process,
    Ship(Units),
    /// The position of a parcel; `None`: all of them.
    Deliver(Option<usize>),
    Cancel(Units, Status),
    /// `None`: everything that is left of the payment.
    Refund(Option<i64>),
    Payment(Status),
    /// The text of a note; another one each time.
    Note(u32),
    RequestReturn(Units, Status),
    /// The position of a return, and what happens to it.
    Return(usize, ReturnStep),
    OpenDispute,
    /// The position of a dispute; `None` if the order had none.
    WithdrawDispute(Option<u32>),
    /// The return window ends, as far as the database is concerned.
    CloseWindow,
    /// The job that completes orders. Its argument says whether it did.
    Complete(bool),
    /// The return window is open again.
    OpenWindow,
}

/// What happens to a return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReturnStep {
    Approve,
    Decline,
    Send,
    Receive,
    Inspect,
    /// `None`: the refund is computed.
    Settle(Option<i64>),
    Reject,
    Close,
    Cancel,
}

/// Why an act is refused: the HTTP status and the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) u16, pub(super) &'static str);

pub(super) const NOT_POSSIBLE: Refusal = Refusal(409, "invalid_status_transition");
pub(super) const INVALID: Refusal = Refusal(400, "invalid_request");
const NOT_ELIGIBLE: Refusal = Refusal(422, "return_not_eligible");
pub(super) const NOT_FOUND: Refusal = Refusal(404, "not_found");

/// An entry of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: String,
    pub(super) previous: String,
    pub(super) status: String,
    pub(super) actor: String,
    /// The status of a return or the amount of a refund, if the entry is about one.
    pub(super) detail: Option<String>,
}

/// A line. Units are canceled, shipped and returned one way only, except that a refused return gives its units back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) ordered: u32,
    pub(super) canceled: u32,
    pub(super) shipped: u32,
    pub(super) returned: u32,
    pub(super) total_minor: i64,
}

impl Line {
    const fn unshipped(&self) -> u32 {
        self.ordered - self.canceled - self.shipped
    }
}

/// A shipment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parcel {
    pub(super) units: Units,
    pub(super) is_delivered: bool,
}

/// A return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Return {
    pub(super) status: Status,
    pub(super) outcome: Status,
    pub(super) units: Units,
}

/// An order as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OrderModel {
    pub(super) status: Status,
    pub(super) version: i32,
    pub(super) lines: Vec<Line>,
    pub(super) parcels: Vec<Parcel>,
    pub(super) returns: Vec<Return>,
    pub(super) paid_minor: i64,
    /// What was paid for the goods and their tax: everything but shipping.
    pub(super) goods_minor: i64,
    pub(super) refunded_minor: i64,
    pub(super) payment: Status,
    note: Option<u32>,
    pub(super) disputes: u32,
    pub(super) has_open_dispute: bool,
    /// Whether items can still be returned, as far as time is concerned.
    is_window_open: bool,
}

impl OrderModel {
    pub(super) fn new(status: Status, lines: Vec<Line>, paid_minor: i64, goods_minor: i64) -> Self {
        Self {
            status,
            version: 1,
            lines,
            parcels: Vec::new(),
            returns: Vec::new(),
            paid_minor,
            goods_minor,
            refunded_minor: 0,
            payment: "paid",
            note: None,
            disputes: 0,
            has_open_dispute: false,
            is_window_open: true,
        }
    }

    /// Executes an act, or changes nothing. `observed` are the entries that the history has from here on: they name the
    /// amount of a refund that the merchant left to be computed, and nothing else is taken from them.
    pub(super) fn execute(
        &mut self,
        who: Who,
        act: &Act,
        observed: &[Entry],
    ) -> Result<Vec<Entry>, Refusal> {
        let mut run = Run { order: self.clone(), who, entries: Vec::new(), observed };
        run.act(act)?;
        run.order.version += i32::try_from(run.entries.len()).unwrap_or(i32::MAX);
        let Run { order, entries, .. } = run;
        *self = order;
        Ok(entries)
    }

    /// What is left of the payment.
    pub(super) fn refundable_minor(&self) -> i64 {
        if self.payment == "paid" && self.status != "failed" {
            self.paid_minor - self.refunded_minor
        } else {
            0
        }
    }

    fn unshipped(&self) -> u32 {
        self.lines.iter().map(Line::unshipped).sum()
    }

    fn delivered(&self, line: usize) -> u32 {
        let delivered = self.parcels.iter().filter(|parcel| parcel.is_delivered);
        let units = delivered.flat_map(|parcel| &parcel.units).filter(|(at, _)| *at == line);
        units.map(|(_, units)| units).sum()
    }

    fn has_open_return(&self) -> bool {
        let open = ["requested", "approved", "in_transit", "received", "inspected"];
        self.returns.iter().any(|it| open.contains(&it.status))
    }

    /// Whether the job completes the order now.
    pub(super) fn can_complete(&self) -> bool {
        let has_matter = self.has_open_return() || self.has_open_dispute;
        self.status == "delivered" && !self.is_window_open && !has_matter
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns the edges of a diagram of docs/orders.md, which is generated from the tables that the code applies.
    fn documented(heading: &str) -> BTreeSet<(String, String)> {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/orders.md");
        let text = std::fs::read_to_string(file).unwrap();
        let section = text.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
        let edges = section.lines().filter_map(|line| line.trim().split_once(" --> "));
        let edges = edges.filter_map(|(from, to)| Some((from, to.split_once(':')?.0)));
        let edges = edges.filter(|(from, _)| *from != "[*]");
        edges.map(|(from, to)| (from.to_owned(), to.to_owned())).collect()
    }

    fn owned(edges: &[(Status, Status)]) -> BTreeSet<(String, String)> {
        edges.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect()
    }

    #[test]
    fn the_tables_of_the_model_are_the_documented_ones() {
        assert_eq!(owned(&EDGES), documented("Orders"));
        assert_eq!(owned(&RETURN_EDGES), documented("Returns"));
    }

    #[test]
    fn a_refused_act_changes_nothing() {
        let line = Line { ordered: 2, canceled: 0, shipped: 0, returned: 0, total_minor: 20_00 };
        let mut order = OrderModel::new("manual_review", vec![line], 20_00, 20_00);
        let before = order.clone();
        let shipped = order.execute(Who::Merchant, &Act::Ship(Vec::new()), &[]);
        assert_eq!((shipped, order.clone()), (Err(NOT_POSSIBLE), before));
        let walked = order.execute(Who::Merchant, &Act::Confirm, &[]);
        assert_eq!(walked.map(|entries| entries.len()), Ok(1));
        assert_eq!(order.execute(Who::Merchant, &Act::Ship(Vec::new()), &[]).unwrap().len(), 3);
        assert_eq!((order.status, order.version), ("shipped", 5));
    }
}
