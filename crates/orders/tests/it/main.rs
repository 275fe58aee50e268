//! Tests against a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod bounds;
mod canceling;
mod changing;
mod completing;
mod desk;
mod disputes;
mod feedback;
mod fulfillment;
mod lists;
mod machine;
mod placing;
mod purging;
mod pushing;
mod reading;
mod refunds;
mod return_edges;
mod returns;
mod settlements;
mod shop;
mod simulating;
mod statuses;
mod updating;
