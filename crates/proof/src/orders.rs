//! Checks of everything after the purchase: statuses, shipments, refunds, returns and disputes of orders.

mod acts;
mod bench;
mod books;
mod clock;
mod demo;
mod histories;
mod kills;
mod model;
mod onx;
mod refunds;
mod snapshot;
mod store;
mod sweeps;
mod visibility;

use crate::report::Check;

pub(crate) use bench::bench;
pub(crate) use clock::WrongClock;
pub(crate) use kills::{Actors, soak};
pub(crate) use store::{OrderStore, SLUG, copy};

/// The checks of this topic, in the order in which they run.
pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "histories",
        guarantee: "merchant, agent, payment and job act at once on the same orders at two processes: every answer and every \
                    entry is what a model gives for some serial order; the edges are exactly the documented ones, each \
                    transition has one event",
        run: |trial| Box::pin(histories::prove(trial)),
    },
    Check {
        name: "refunds",
        guarantee: "a hundred concurrent refunds of one order at two processes, and returns unit by unit with discount, tax and \
                    shipping: paid = kept + refunded, to the minor unit",
        run: |trial| Box::pin(refunds::prove(trial)),
    },
    Check {
        name: "kills",
        guarantee: "every process is killed again and again, and at each point of a change: repeated changes take effect once, \
                    paid equals kept plus refunded, each transition has one event",
        run: |trial| Box::pin(kills::prove(trial)),
    },
    Check {
        name: "snapshot",
        guarantee: "the policies the buyer agreed to decide, whatever the store states later; the last second of a return \
                    window counts by the database's clock, with servers whose clock is wrong by an hour",
        run: |trial| Box::pin(snapshot::prove(trial)),
    },
    Check {
        name: "visibility",
        guarantee: "the order of somebody else is answered byte for byte as one that does not exist, at every route and tool; \
                    orders of suspended, paused and closed stores are read and changed",
        run: |trial| Box::pin(visibility::prove(trial)),
    },
    Check {
        name: "onx",
        guarantee: "orders, fulfillments and returns of the onX tools validate against the schemas that onX publishes",
        run: |trial| Box::pin(onx::prove(trial)),
    },
    Check {
        name: "demo-return",
        guarantee: "order, shipment, delivered, return and refund with the official Python client",
        run: |trial| Box::pin(demo::prove(trial)),
    },
];
