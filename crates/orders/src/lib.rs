#![doc = include_str!("../README.md")]

mod actor;
mod administer;
mod answer_dispute;
mod backlog;
mod buyer_options;
mod by_id;
mod cancel;
mod change;
mod close_returns;
mod complete;
mod confirm;
mod context;
mod decide_dispute;
mod deliver;
mod details;
mod dispute;
mod dispute_change;
mod dispute_deadlines;
mod eligibility;
mod error;
mod feedback;
mod free_text;
mod fulfillment;
mod handle_return;
mod history;
mod import;
mod list;
mod list_returns;
mod machine;
mod money;
mod of_agent;
mod open_dispute;
mod order;
mod order_return;
mod payment;
mod place;
mod push;
mod read;
mod read_disputes;
mod record;
mod refund;
mod refund_order;
mod request_return;
mod return_machine;
mod settle_return;
mod ship;
mod simulate_sandbox;
mod statement;
mod table;
mod units;
mod update_order;

pub use actor::{Actor, ActorKind, Viewer};
pub use administer::{decide_dispute, set_payment_status};
pub use answer_dispute::{NewStatement, answer_dispute};
pub use backlog::{Backlog, backlog};
pub use buyer_options::{BuyerOptions, buyer_options};
pub use by_id::orders_by_id;
pub use cancel::{CancelReason, Cancellation, cancel};
pub use change::Changed;
pub use close_returns::CloseReturns;
pub use complete::CompleteOrders;
pub use confirm::{confirm, hold_for_review, start_processing};
pub use context::OrderContext;
pub use decide_dispute::{Decision, accept_proposal, withdraw_dispute};
pub use deliver::deliver;
pub use details::{ExpectedStatus, OrderDetails, OrderParts};
pub use dispute::{Dispute, DisputeReason, DisputeStatus, Resolution, Statement};
pub use dispute_deadlines::{EscalateDisputes, RemindOfDisputes};
pub use eligibility::{LineEligibility, ReturnEligibility, eligibility};
pub use error::OrderError;
pub use feedback::{FeedbackOutcome, submit_feedback};
pub use free_text::{NAME_LENGTH_MAX, NOTE_LENGTH_MAX, REFERENCE_LENGTH_MAX};
pub use fulfillment::Fulfillment;
pub use handle_return::{ReturnAction, change_return};
pub use history::{HistoryEntry, HistoryKind};
pub use import::import;
pub use list::{InvalidOrderCursor, OrderCursor, OrderPage, OrdersFilter};
pub use list_returns::{
    InvalidReturnCursor, ReturnCursor, ReturnPage, ReturnsFilter, merchant_returns, order_of_return,
};
pub use machine::{INITIAL_STATUSES, OrderStatus, OrderTransition, TRANSITIONS, state_diagram};
pub use of_agent::{PartsFilter, fulfillments_of_keys, orders_of_numbers, returns_of_keys};
pub use open_dispute::{NewDispute, open_dispute};
pub use order::{
    ConfirmationLevel, FulfillmentStatus, LineStatus, LineUnits, Order, OrderLine, PaymentStatus,
    order_number,
};
pub use order_return::{
    DeclineReason, IneligibleReason, OrderReturn, ReturnCondition, ReturnItem, ReturnOutcome,
    ReturnReason,
};

pub use place::place;
pub use push::{
    PUSHED_ID_LENGTH_MAX, PUSHED_LINES_MAX, PUSHED_NAME_LENGTH_MAX, PUSHED_ORDERS_MAX, PushOutcome,
    PushResult, Pushed, PushedLine, PushedOrder, PushedPage, StoredPush, push, pushed_order,
    pushed_orders,
};
pub use read::{details, merchant_of, order, orders, orders_of_keys_at};
pub use read_disputes::{
    DisputeCursor, DisputePage, DisputesFilter, dispute, dispute_of_order, disputes_of_store,
    disputes_to_decide, merchant_of_dispute,
};
pub use record::{
    AdjustmentRecord, AdjustmentStatus, AdjustmentType, DisputeRecord, DisputeStatement,
    DisputeSummary, EligibilityRecord, EligibleItem, FulfillmentRecord, HistoryEntryRecord,
    OrderAddress, OrderAgent, OrderBuyer, OrderConfirmation, OrderItem, OrderPolicies,
    OrderQuantities, OrderRecord, OrderShipping, OrderTotals, PushedItemRecord, PushedOrderRecord,
    RefundRecord, ReturnItemRecord, ReturnProgress, ReturnRecord, ShipmentStatus, UnitsRecord,
};
pub use refund::{Refund, RefundReason};
pub use refund_order::{NewRefund, refund};
pub use request_return::{ITEMS_MAX, RequestedItem, ReturnRequest, request_return};
pub use return_machine::{
    RETURN_TRANSITIONS, ReturnStatus, ReturnTransition, return_state_diagram,
};
pub use ship::{FULFILLMENTS_MAX, Shipment, TRACKING_URL_LENGTH_MAX, ship};
pub use simulate_sandbox::SimulateSandbox;
pub use statement::{EVIDENCE_LENGTH_MAX, EVIDENCE_MAX, STATEMENT_LENGTH_MAX};
pub use table::{erase_buyer, purge_sandbox};
pub use update_order::{LockedDestination, OrderUpdate, update};
