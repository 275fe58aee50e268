#![doc = include_str!("../README.md")]

mod api;
mod credentials;
mod error;
mod key;
mod page;
mod payment;
mod paypal;
mod processors;
mod refund;
mod stripe;
mod webhook;

pub use credentials::{
    Credentials, InvalidSecret, PayPalCredentials, PayPalEnvironment, Secret, StripeCredentials,
};
pub use error::{
    InvalidRequest, NotSent, ProcessorCode, ProcessorError, Refusal, RefusalReason, UnknownOutcome,
};
pub use key::IdempotencyKey;
pub use payment::{
    HostedPayment, HostedPaymentRequest, PaidPayment, PaymentMismatch, PaymentSnapshot,
    PaymentState,
};
pub use paypal::CertificateAuthorities;
pub use processors::{
    Endpoints, InvalidEndpoint, Processor, Processors, REQUEST_TIMEOUT, RESPONSE_MAX_BYTES,
};
pub use refund::{Refund, RefundRequest, RefundState};
pub use webhook::{HintKind, HintReference, WebhookError, WebhookHint};
