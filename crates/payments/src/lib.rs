#![doc = include_str!("../README.md")]

mod account;
mod error;
mod finding;
mod ledger;
mod machine;
mod method;
mod payment;
mod processor_provider;
mod provider;
mod provider_name;
mod providers;
mod refund;
mod table;
mod test_provider;
mod webhook;
mod x402_authorization;
mod x402_provider;
mod x402_quote;

pub use account::{
    AccountCredentials, AccountError, AccountStatus, PaymentAccount, PaymentAccounts, accounts,
    accounts_now,
};
pub use error::PaymentError;
pub use finding::{
    Finding, FindingKind, NewFinding, all_findings, close_findings, findings, open_finding,
};
pub use ledger::{
    Account, Balance, NewTransfer, PaymentTotals, StatedBy, Transfer, TransferKind, balances,
    record_transfer, transfers,
};
pub use machine::{PAYMENT_TRANSITIONS, PaymentStatus, PaymentTransition, payment_state_diagram};
pub use method::{PaymentHandler, PaymentMethod, PaymentType};
pub use payment::{
    NewPayment, Payment, check_delay, create, end_checks, find, find_by_reference, find_due,
    find_paid, find_pending, find_pending_of, find_stuck, purge, record_fee, record_late_charge,
    record_outcome, record_page, record_processing, schedule_check,
};
pub use processor_provider::ProcessorProvider;
pub use provider::{
    Attempt, CallError, Charge, ChargeOutcome, NextStep, PageRequest, PaymentHint, Provider,
    ProviderFuture, ProviderPage, ProviderStatus, ReceivedWebhook, RefundAttempt, RefundStatus,
    VerifiedWebhook, WebhookRejection,
};
pub use provider_name::ProviderName;
pub use providers::Providers;
pub use refund::{
    NewPaymentRefund, PaymentRefund, PaymentRefundStatus, create_refund, find_due_refunds,
    find_refund, record_refund_done, record_refund_open, record_refund_refused,
};
pub use test_provider::{TestInstrument, TestProvider};
pub use webhook::{PurgePaymentWebhooks, record_webhook};
pub use x402_authorization::{
    NewX402Authorization, X402Authorization, authorize, find_authorization, find_authorization_of,
    find_same, payload_hash,
};
pub use x402_provider::{X402Provider, X402Unavailable};
pub use x402_quote::{find_x402_quote, quote_x402, token_amount};
