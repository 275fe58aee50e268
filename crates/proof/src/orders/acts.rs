//! Acts as HTTP requests, and their answers.

use std::time::Duration;

use primitives::OrderId;
use serde_json::{Value, json};

use super::model::{Act, OrderModel, ReturnStep, Units, Who};
use super::store::Callers;
use crate::http::{Client, Delivery};
use crate::report::Failure;

/// The ids of an order and of what belongs to it, each list in the order of the model.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) order: OrderId,
    pub(super) lines: Vec<String>,
    pub(super) parcels: Vec<String>,
    pub(super) returns: Vec<String>,
    disputes: Vec<String>,
}

impl Named {
    pub(super) fn new(order: OrderId, lines: Vec<String>) -> Self {
        Self { order, lines, parcels: Vec::new(), returns: Vec::new(), disputes: Vec::new() }
    }

    /// Adds what entries of the history created: the kind of the entry, and the id.
    pub(super) fn add(&mut self, subjects: &[(String, String)]) {
        for (kind, id) in subjects {
            let list = match kind.as_str() {
                "shipped" => &mut self.parcels,
                "return_requested" => &mut self.returns,
                _ => &mut self.disputes,
            };
            list.push(id.clone());
        }
    }

    fn units(&self, units: &Units) -> Value {
        let item = |(line, units): &(usize, u32)| json!({ "line_id": self.lines[*line], "quantity": units });
        units.iter().map(item).collect()
    }

    /// Adds units to a body. All units are named by none.
    fn with_items(&self, mut body: Value, units: &Units) -> Value {
        if !units.is_empty() {
            body["items"] = self.units(units);
        }
        body
    }
}

/// How a request is sent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Request<'call> {
    /// The version that the change is based on.
    pub(super) version: Option<i32>,
    pub(super) idempotency_key: Option<&'call str>,
    /// The position of the server.
    pub(super) server: usize,
}

/// The answer to an act.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// Accepted, with the order that was returned, if one was.
    Done(Option<Box<Seen>>),
    /// The HTTP status and the code.
    Refused(u16, String),
}

/// An order as an answer shows it.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    version: i64,
    status: String,
    /// Entries of the history, with the placement.
    entries: usize,
    /// Of each line: ordered, current, fulfilled.
    lines: Vec<[u64; 3]>,
    fulfillments: usize,
    returns: Vec<String>,
}

impl Seen {
    /// Returns the order of an answer, if it has one.
    fn of(data: &Value) -> Option<Box<Self>> {
        let order = if data["order"]["version"].is_number() { &data["order"] } else { data };
        let list = |name: &str| order[name].as_array().map(Vec::as_slice).unwrap_or_default();
        let units = |item: &Value| {
            ["ordered", "current", "fulfilled"]
                .map(|name| item["quantity"][name].as_u64().unwrap_or(0))
        };
        let status = |it: &Value| it["status"].as_str().unwrap_or_default().to_owned();
        Some(Box::new(Self {
            version: order["version"].as_i64()?,
            status: status(order),
            entries: list("status_history").len(),
            lines: list("items").iter().map(units).collect(),
            fulfillments: list("fulfillments").len(),
            returns: list("returns").iter().map(status).collect(),
        }))
    }

    /// Whether the order that was shown is the one of the model. All parts of it have to be of the same moment.
    pub(super) fn is(&self, model: &OrderModel) -> bool {
        let lines = model
            .lines
            .iter()
            .map(|line| [line.ordered, line.ordered - line.canceled, line.shipped].map(u64::from));
        let mut returns: Vec<&str> = model.returns.iter().map(|it| it.status).collect();
        let mut shown: Vec<&str> = self.returns.iter().map(String::as_str).collect();
        // An answer lists returns by their time, which may be that of the begin of a transaction that waited.
        returns.sort_unstable();
        shown.sort_unstable();
        self.version == i64::from(model.version)
            && self.status == model.status
            && i64::try_from(self.entries) == Ok(self.version)
            && lines.eq(self.lines.iter().copied())
            && self.fulfillments == model.parcels.len()
            && returns == shown
    }
}

/// How often an act is sent again while it is refused as retryable, and the time between two of them. On a slow machine a hundred
/// acts at one order take longer than a request waits for its turn.
const REPETITIONS_MAX: u32 = 60;
const REPETITION_PAUSE: Duration = Duration::from_millis(500);

/// Connections of one person or program at both servers.
pub(super) struct Hand {
    callers: Callers,
    ports: [u16; 2],
    connections: [Option<Client>; 2],
}

impl Hand {
    pub(super) fn new(callers: &Callers, ports: [u16; 2]) -> Self {
        Self { callers: callers.clone(), ports, connections: [None, None] }
    }

    /// Sends an act, again if it was refused as retryable, and returns its answer. Fails if there was none.
    pub(super) async fn send(
        &mut self,
        named: &Named,
        who: Who,
        act: &Act,
        request: &Request<'_>,
    ) -> Result<Answer, Failure> {
        let mut delivery = self.deliver(named, who, act, request).await;
        for _ in 0..REPETITIONS_MAX {
            if !is_retryable(&delivery) {
                break;
            }
            tokio::time::sleep(REPETITION_PAUSE).await;
            delivery = self.deliver(named, who, act, request).await;
        }
        answer(&delivery).ok_or_else(|| format!("{who:?} {act:?}: {delivery:?}").into())
    }

    /// Sends an act, and returns whether it was sent and answered.
    pub(super) async fn deliver(
        &mut self,
        named: &Named,
        who: Who,
        act: &Act,
        request: &Request<'_>,
    ) -> Delivery {
        let connection = self.connections[request.server].take();
        let connection = connection.unwrap_or_else(|| Client::new(self.ports[request.server]));
        let mut connection = match who {
            Who::Merchant => connection.with_key(&self.callers.store_key),
            Who::Agent => self.callers.agent.reuse(connection),
            Who::Payment | Who::Job => connection.with_key(&self.callers.admin),
        };
        if let Some(version) = request.version {
            connection = connection.with_header("If-Match", &format!("\"{version}\""));
        }
        if let Some(key) = request.idempotency_key {
            connection = connection.with_header("Idempotency-Key", key);
        }
        let (method, path, body) = message(named, who, act);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let delivery = connection.send(method, &format!("/api/v1{path}"), body.as_bytes()).await;
        self.connections[request.server] = Some(connection);
        delivery
    }
}

/// Interprets a response; `None` if there is none, or if the server failed.
pub(super) fn answer(delivery: &Delivery) -> Option<Answer> {
    let Delivery::Answered { status, body } = delivery else { return None };
    let body: Value = serde_json::from_str(body).ok()?;
    match status {
        200..300 => Some(Answer::Done(Seen::of(&body["data"]))),
        400..500 => Some(Answer::Refused(*status, body["error"].as_str()?.to_owned())),
        _ => None,
    }
}

/// Whether an act was refused because too many others of its store or its order were in progress: before it began, or because it
/// waited too long for them and was rolled back. If one had taken effect all the same, the orders would not be those of the model.
fn is_retryable(delivery: &Delivery) -> bool {
    let Delivery::Answered { status: 503, body } = delivery else { return false };
    serde_json::from_str::<Value>(body).is_ok_and(|body| body["details"]["retryable"] == true)
}

/// Returns method, path and body of an act.
fn message(named: &Named, who: Who, act: &Act) -> (&'static str, String, Value) {
    let order = named.order;
    if let Act::Return(at, step) = act {
        // A return that does not exist, if the order has none.
        let id =
            named.returns.get(*at).map_or("ret_00000000000000000000000000000000", String::as_str);
        let side = if who == Who::Agent { "agent" } else { "merchant" };
        return ("PATCH", format!("/{side}/orders/{order}/returns/{id}"), return_body(*step));
    }
    match who {
        Who::Agent => agent_message(named, act),
        Who::Merchant if *act == Act::Read => {
            ("GET", format!("/merchant/orders/{order}"), Value::Null)
        }
        Who::Merchant => merchant_message(named, act),
        Who::Payment | Who::Job => {
            let payment = if let Act::Payment(payment) = act { payment } else { "paid" };
            let body = json!({ "payment_status": payment, "reason": "proof" });
            ("POST", format!("/admin/orders/{order}/payment-status"), body)
        }
    }
}

fn merchant_message(named: &Named, act: &Act) -> (&'static str, String, Value) {
    let path = format!("/merchant/orders/{}", named.order);
    if let Act::Refund(amount) = act {
        let mut body = json!({ "reason": "goodwill" });
        if let Some(minor) = amount {
            body["amount"] = decimal(*minor);
            body["currency"] = json!("EUR");
        }
        return ("POST", format!("{path}/refunds"), body);
    }
    let body = match act {
        Act::Review => json!({ "action": "review" }),
        Act::Process => json!({ "action": "process" }),
        Act::Ship(units) => {
            let body = json!({ "action": "ship", "carrier": "DHL", "tracking_number": "T1" });
            named.with_items(body, units)
        }
        Act::Deliver(None) => json!({ "action": "deliver" }),
        Act::Deliver(Some(parcel)) => {
            json!({ "action": "deliver", "fulfillment_ids": [named.parcels[*parcel]] })
        }
        Act::Cancel(units, reason) => {
            named.with_items(json!({ "action": "cancel", "reason": reason }), units)
        }
        _ => json!({ "action": "confirm" }),
    };
    ("PATCH", path, body)
}

fn agent_message(named: &Named, act: &Act) -> (&'static str, String, Value) {
    let path = format!("/agent/orders/{}", named.order);
    match act {
        Act::Cancel(units, _) => {
            ("POST", format!("{path}/cancel"), named.with_items(json!({}), units))
        }
        Act::Note(note) => ("PATCH", path, json!({ "note": format!("note {note}") })),
        Act::RequestReturn(units, outcome) => {
            let mut items = named.units(units);
            for item in items.as_array_mut().into_iter().flatten() {
                item["reason"] = json!("no_longer_needed");
            }
            ("POST", format!("{path}/returns"), json!({ "items": items, "outcome": outcome }))
        }
        Act::OpenDispute => {
            let body = json!({ "reason": "not_received", "statement": "It did not arrive." });
            ("POST", format!("{path}/disputes"), body)
        }
        Act::WithdrawDispute(_) => {
            let id = named
                .disputes
                .last()
                .map_or("dsp_00000000000000000000000000000000", String::as_str);
            ("POST", format!("{path}/disputes/{id}/withdraw"), json!({}))
        }
        _ => ("GET", path, Value::Null),
    }
}

fn return_body(step: ReturnStep) -> Value {
    match step {
        ReturnStep::Approve => json!({ "action": "approve" }),
        ReturnStep::Decline => json!({ "action": "decline", "reason": "not_returnable" }),
        ReturnStep::Send => json!({ "action": "in_transit" }),
        ReturnStep::Receive => json!({ "action": "receive" }),
        ReturnStep::Inspect => json!({ "action": "inspect" }),
        ReturnStep::Settle(None) => json!({ "action": "settle" }),
        ReturnStep::Settle(Some(minor)) => {
            json!({ "action": "settle", "refund": decimal(minor), "currency": "EUR" })
        }
        ReturnStep::Reject => json!({ "action": "reject", "reason": "used" }),
        ReturnStep::Close => json!({ "action": "close" }),
        ReturnStep::Cancel => json!({ "action": "cancel" }),
    }
}

/// An amount in euros. Two decimals of a number below 2^53 survive as they are.
fn decimal(minor: i64) -> Value {
    let text = format!("{}.{:02}", minor / 100, minor % 100);
    serde_json::from_str(&text).unwrap_or(Value::Null)
}
