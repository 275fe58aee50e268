//! A listener between a service and a receiver, both on this machine.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use primitives::{EventId, Id, Timestamp};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::*;

const KEY: &str = "mrch_0000000000000000000000000000000000000000000000000000000000000001";
const NOW: i64 = 1_800_000_000_000_000;
const BODY: &str = r#"{"event":"order.created","id":"evt_1","note":"Grüße"}"#;

/// What the service was asked, and what the receiver got.
#[derive(Clone, Default)]
struct Recorder {
    queries: Arc<Mutex<Vec<String>>>,
    received: Arc<Mutex<Vec<(HeaderMap, String)>>>,
    /// Responses of the service, the first one last.
    responses: Arc<Mutex<Vec<(StatusCode, Value)>>>,
}

async fn events(State(recorder): State<Recorder>, request: Request) -> Response {
    assert_eq!(request.headers()["authorization"], format!("Bearer {KEY}"));
    assert_eq!(request.headers()["x-store"], "attic");
    let query = request.uri().query().unwrap_or_default().to_owned();
    recorder.queries.lock().unwrap().push(query);
    let (status, body) = recorder.responses.lock().unwrap().pop().unwrap();
    (status, body.to_string()).into_response()
}

async fn receive(State(recorder): State<Recorder>, headers: HeaderMap, body: String) -> StatusCode {
    recorder.received.lock().unwrap().push((headers, body));
    StatusCode::NO_CONTENT
}

/// Starts the service and the receiver, and returns their address.
async fn start(recorder: Recorder) -> String {
    let router = Router::new()
        .route("/api/v1/merchant/webhooks/events", get(events))
        .route("/hook", any(receive))
        .with_state(recorder);
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(socket, router).await.unwrap() });
    format!("http://{address}")
}

fn listener(site: &str, forward_to: &str, since: Option<&str>) -> Listener {
    let arguments = ListenArguments {
        store: "attic".parse().unwrap(),
        forward_to: forward_to.parse().unwrap(),
        since: since.map(|text| duration(text).unwrap()),
        key: KEY.parse().unwrap(),
    };
    Listener::new(site, arguments, Clock::fixed(Timestamp::from_unix_micros(NOW))).unwrap()
}

fn page(ids: &[u128], store: &str, has_more: bool) -> (StatusCode, Value) {
    let event = |id: &u128| {
        json!({
            "event_id": EventId::from_random(*id),
            "event": "order.created",
            "created_at": "2027-01-15T07:59:00Z",
            "body": BODY,
        })
    };
    let events: Vec<Value> = ids.iter().map(event).collect();
    let data = json!({
        "store": store, "events": events, "next_cursor": "1.0.2-a", "has_more": has_more,
    });
    (StatusCode::OK, json!({ "success": true, "data": data }))
}

#[tokio::test]
async fn each_event_is_forwarded_once_with_both_signatures() {
    let recorder = Recorder::default();
    let responses = vec![page(&[2, 3], "attic", false), page(&[1, 2], "attic", true)];
    *recorder.responses.lock().unwrap() = responses;
    let site = start(recorder.clone()).await;
    let mut listener = listener(&site, &format!("{site}/hook"), Some("2h"));
    for _ in 0..2 {
        let page = listener.events.poll().await.unwrap();
        listener.forward_all(page).await.unwrap();
    }
    let queries = recorder.queries.lock().unwrap().clone();
    assert_eq!(queries, ["limit=100&since=2027-01-15T06:00:00Z", "limit=100&cursor=1.0.2-a"]);
    let received = recorder.received.lock().unwrap().clone();
    let ids: Vec<_> = received.iter().map(|(headers, _)| headers["webhook-id"].clone()).collect();
    assert_eq!(ids, [1, 2, 3].map(|id| EventId::from_random(id).to_string()));
    let (headers, body) = &received[0];
    assert_eq!(body, BODY);
    let now = Timestamp::from_unix_micros(NOW);
    let secrets = [SigningSecret::of(
        identity::Secret::new(KEY).unwrap().derived_key("souk webhooks listen"),
    )];
    let expected = webhooks::headers(EventId::from_random(1), now, BODY.as_bytes(), &secrets);
    for name in ["x-webhook-signature", "webhook-signature", "webhook-timestamp", "content-type"] {
        assert_eq!(headers[name], expected[name], "{name}");
    }
}

#[tokio::test]
async fn a_line_shows_the_response_or_why_there_is_none() {
    let site = start(Recorder::default()).await;
    let event = || PolledEvent {
        event_id: EventId::from_random(1),
        event: String::from("order.created"),
        created_at: Timestamp::from_unix_micros(NOW),
        body: BODY.to_owned(),
    };
    let line = listener(&site, &format!("{site}/hook"), None).forward(event()).await;
    let start = format!("2027-01-15T08:00:00Z  order.created  {}  → ", EventId::from_random(1));
    assert!(line.starts_with(&format!("{start}204 No Content (")), "{line}");
    // Nobody listens on a port that was just free.
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let line = listener(&site, &format!("http://{free}/"), None).forward(event()).await;
    assert!(line.starts_with(&start) && line.contains("refused"), "{line}");
}

#[tokio::test]
async fn errors_of_the_service_are_temporary_and_those_of_the_key_are_not() {
    let recorder = Recorder::default();
    let refusal = |status: u16| {
        (StatusCode::from_u16(status).unwrap(), json!({ "error": "x", "message": "why" }))
    };
    let (other, unreadable) = (page(&[], "skarvdal", false), (StatusCode::OK, json!([])));
    let responses = [unreadable, other, refusal(403), refusal(503), refusal(429)];
    *recorder.responses.lock().unwrap() = responses.to_vec();
    let site = start(recorder).await;
    let mut listener = listener(&site, &format!("{site}/hook"), None);
    let mut next = async || listener.events.poll().await.unwrap_err();
    for (is_transient, text) in [
        (true, "the service responded with 429 Too Many Requests: why"),
        (true, "the service responded with 503 Service Unavailable: why"),
        (false, "the service responded with 403 Forbidden: why"),
        (false, "the key belongs to the store skarvdal, not to attic"),
        (false, "the response of the service is not that of Souk's API: is --site-url right?"),
    ] {
        let error = next().await;
        assert_eq!((error.is_transient(), error.to_string().as_str()), (is_transient, text));
    }
}

#[test]
fn a_secret_belongs_to_a_key_and_does_not_reveal_it() {
    let one = listener("http://a.test", "http://b.test", None).secret.text();
    let again = listener("http://a.test", "http://b.test", None).secret.text();
    assert_eq!(one, again);
    assert!(one.starts_with("whsec_") && !one.contains(KEY));
}

#[test]
fn a_time_ago_is_a_number_with_a_unit() {
    let seconds = |text| duration(text).map(|it| it.as_secs()).ok();
    let valid = [("90s", 90), ("30m", 1_800), ("2h", 7_200), ("3d", 259_200)];
    for (text, expected) in valid {
        assert_eq!(seconds(text), Some(expected), "{text}");
    }
    for text in ["", "2", "h", "-1h", "2w", "2hh", "99999999999999999999d", "999999999999999999d"] {
        assert_eq!(seconds(text), None, "{text}");
    }
}

#[test]
fn events_are_forwarded_over_http_only() {
    assert!("http://127.0.0.1:4000/webhooks".parse::<ForwardUrl>().is_ok());
    for text in ["127.0.0.1:4000", "ftp://a.test", "/webhooks"] {
        assert!(text.parse::<ForwardUrl>().is_err(), "{text}");
    }
}
