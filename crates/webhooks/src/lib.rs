#![doc = include_str!("../README.md")]

mod bucket;
mod catalog;
mod claim;
mod context;
mod deliveries;
mod dispatcher;
mod endpoint;
mod endpoints;
mod error;
mod event;
mod kind;
mod listen;
mod position;
mod probe;
mod publish;
mod purge;
mod record;
mod redeliver;
mod schedule;
mod secret;
mod settings_endpoint;
mod signature;
mod stats;
mod table;
mod trust_score_changed;
mod webhook_test;

pub use catalog::{CatalogEntry, CatalogField, catalog};
pub use context::Webhooks;
pub use deliveries::{
    Attempt, AttemptOutcome, DeliveriesFilter, Delivery, DeliveryCursor, DeliveryPage,
    DeliveryStatus, EndpointHealth, HealthState,
};
pub use dispatcher::{Dispatcher, DispatcherSettings};
#[cfg(feature = "simulation")]
pub use dispatcher::{SimulationSummary, simulate};
pub use endpoint::{DisabledReason, Endpoint, EndpointPatch, EndpointStatus, NewEndpoint};
pub use endpoints::EndpointWithSecret;
pub use error::{EndpointError, WebhookError};
pub use event::{
    CheckoutAbandoned, DisputePayload, FulfillmentPayload, LineItem, OrderChange, OrderChanged,
    OrderCreated, RefundPayload, ReturnPayload, UnitsPayload, WebhookEvent,
};
pub use kind::EventKind;
pub use listen::{EventCursor, EventPage, EventStart, ListedEvent};
pub use position::InvalidCursor;
pub use probe::probe_failing_endpoints;
pub use publish::publish;
pub use purge::{DeadLetterDeliveries, DeleteDeliveries, PurgeWebhooks, RETENTION};
pub use record::{AttemptRecord, DeliveryRecord, EndpointRecord, EventRecord, HealthRecord};
pub use redeliver::{RecoverLateEvents, Recovery};
pub use secret::{SealingKey, SecretError, SigningSecret};
pub use settings_endpoint::{UrlChange, UrlPlan, WEBHOOK_URL};
pub use signature::headers;
pub use stats::{WebhookStats, WebhookVerdict, started, webhook_stats};
pub use trust_score_changed::{TrustReason, TrustScoreChanged};

pub(crate) use endpoint::EndpointUrl;
pub(crate) use position::EventPosition;
