//! Checks of webhooks: delivery, isolation of receivers, signatures.

mod addresses;
mod bad_receivers;
mod bench;
mod clock;
mod delivery_model;
mod egress_wall;
mod evidence;
mod first_webhook;
mod kill_between;
mod name_server;
mod nothing_lost;
mod paused_worker;
mod poison;
mod printing;
mod rebinding;
mod receiver;
mod responses;
mod signatures;
mod simulation;
mod site;

use crate::report::{Check, Schedule};

pub(crate) use bench::bench;
pub(crate) use evidence::{body_of, check_request};
pub(crate) use nothing_lost::soak;
pub(crate) use receiver::{ReceiverArgs, run as receive};
pub(crate) use site::{Registered, Site, Worker};

/// Checks mostly wait for leases and timeouts, so that they run side by side; what measures time runs alone.
pub(crate) const SCHEDULE: Schedule = Schedule {
    lanes: 4,
    first: &["nothing-lost", "first-webhook", "responses", "poison", "paused-worker"],
    alone: &["simulation", "bad-receivers"],
};

/// Checks that take turns in the short form.
pub(crate) const ROTATED: &[&str] =
    &["paused-worker", "rebinding", "poison", "egress-wall", "responses", "clock"];
/// How many of them run on a day.
pub(crate) const ROTATED_OF_DAY: usize = 3;
/// What the short form leaves out: the gate runs it in a stage of its own, in its long form.
pub(crate) const IN_OWN_STAGE: &[&str] = &["signatures"];

/// The checks of this topic, in the order in which they are listed.
pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "kill-between-post-and-record",
        guarantee: "the worker ends between start, response and record: every event is sent again within the lease and 5 s, with \
                    the same id and bytes and a new signature, and recorded as delivered once",
        run: |trial| Box::pin(kill_between::prove(trial)),
    },
    Check {
        name: "paused-worker",
        guarantee: "a worker paused past its lease under load: its results are refused and counted, nothing is recorded twice",
        run: |trial| Box::pin(paused_worker::prove(trial)),
    },
    Check {
        name: "bad-receivers",
        guarantee: "5,000 receivers of which 90 % hang, drip, fail or reset: first attempts at the others p99 below 2 s and within \
                    2 times those without the bad ones, at most 2 requests at an endpoint, memory flat",
        run: |trial| Box::pin(bad_receivers::prove(trial)),
    },
    Check {
        name: "responses",
        guarantee: "410, Retry-After, redirects, endless bodies, gzip bombs, slow headers and others: each has its record and next \
                    attempt; at most 20 kB are read, nothing is decompressed, no redirect is followed",
        run: |trial| Box::pin(responses::prove(trial)),
    },
    Check {
        name: "addresses",
        guarantee: "URLs that lead into the network of the server, in every spelling: refused at registration and at connect, \
                    without a connection",
        run: |trial| Box::pin(addresses::prove(trial)),
    },
    Check {
        name: "rebinding",
        guarantee: "host names whose addresses change, are mixed or are aliases: every connection is to a permitted address, and a \
                    mixed set is refused as a whole",
        run: |trial| Box::pin(rebinding::prove(trial)),
    },
    Check {
        name: "egress-wall",
        guarantee: "a worker whose filter is disabled, in a network that denies private addresses: public receivers get events, \
                    private ones nothing",
        run: |trial| Box::pin(egress_wall::prove(trial)),
    },
    Check {
        name: "poison",
        guarantee: "an event that ends the worker is quarantined after exactly three crashes, the last of them alone, one that panics \
                    after three panics; all others are delivered",
        run: |trial| Box::pin(poison::prove(trial)),
    },
    Check {
        name: "delivery-model",
        guarantee: "the ownership of stores by dispatchers in every order of events: no wake and no \
                    delivery is lost, no result of a replaced dispatcher counts; without its guards \
                    the model fails",
        run: |trial| Box::pin(delivery_model::prove(trial)),
    },
    Check {
        name: "simulation",
        guarantee: "thousands of simulated days with crashes, pauses and bad receivers: every delivery ends, slots and lanes stay \
                    within their limits, working endpoints do not wait for others",
        run: |trial| Box::pin(simulation::prove(trial)),
    },
    Check {
        name: "nothing-lost",
        guarantee: "orders while servers, workers and PostgreSQL are killed: every event is received, repeated ones are the same \
                    bytes, the sequence of each order is complete",
        run: |trial| Box::pin(nothing_lost::prove(trial)),
    },
    Check {
        name: "signatures",
        guarantee: "recorded requests verified by the libraries of Stripe and Standard Webhooks, by our verifiers and by the receivers \
                    to copy: first and second attempts, both secrets of a rotation; tampered forms are rejected",
        run: |trial| Box::pin(signatures::prove(trial)),
    },
    Check {
        name: "clock",
        guarantee: "a worker whose clock is wrong by more than 30 s sends nothing and says so",
        run: |trial| Box::pin(clock::prove(trial)),
    },
    Check {
        name: "first-webhook",
        guarantee: "a merchant's first webhook, followed literally from the document",
        run: |trial| Box::pin(first_webhook::prove(trial)),
    },
];
