//! All SQL of webhooks, by subject.

pub(crate) mod attempt;
pub(crate) mod delivery;
pub(crate) mod endpoint;
pub(crate) mod event;
pub(crate) mod purge;
pub(crate) mod queue;
pub(crate) mod redeliver;
pub(crate) mod settlement;
pub(crate) mod stats;
