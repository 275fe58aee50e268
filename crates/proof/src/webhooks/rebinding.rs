//! `rebinding`: host names whose addresses change, are mixed, or are aliases of something else. Server and worker resolve them with
//! a name server of the check, whose answers may not be cached.
//!
//! One loopback address is permitted and stands for the public internet; all others stand for the network of the server. The
//! receiver listens at all of them and records the address of each connection. Every connection must be to the permitted one,
//! also in the cases in which the name has another address a moment later. A client that resolves a name, checks the addresses and
//! then lets the HTTP library resolve it again connects to the other one.

use std::net::IpAddr;

use primitives::{EventId, MerchantId};
use serde_json::{Value, json};

use super::name_server::NameServer;
use super::site::{Environment, PATIENCE, Site, Worker, worker};
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, store_key_with};

/// The address that is permitted, and one that is not.
const PERMITTED: &str = "127.77.0.1";
const INSIDE: &str = "127.0.0.1";
/// Deliveries to a name whose address changes with every question.
const CHANGES: usize = 12;
/// Deliveries of them for which the name server answers too late.
const UNANSWERED_MAX: usize = 2;

pub(crate) async fn prove(_: Trial) -> Verdict {
    let check = Check::open().await?;
    let refused = check.refused_at_registration().await?;
    check.refused_after_registration().await?;
    let (delivered, rejected) = check.changing_with_every_question().await?;
    check.open_connection().await?;
    let connections = check.site.receiver.connections()?;
    let permitted: IpAddr = PERMITTED.parse()?;
    let others: Vec<&IpAddr> = connections.iter().filter(|to| **to != permitted).collect();
    ensure(others.is_empty(), || format!("connections to {others:?}"))?;
    Ok(format!(
        "{refused} sets of addresses with one that is not permitted, among them aliases and mixed ones, refused as a whole; a name \
         that moved after its registration refused; of {CHANGES} deliveries to a name that changes with every question {delivered} \
         arrived and {rejected} were refused; all {} connections to the permitted address",
        connections.len(),
    ))
}

/// The processes and the store.
struct Check {
    names: NameServer,
    merchant: MerchantId,
    key: String,
    server: Souk,
    worker: Worker,
    site: Site,
}

impl Check {
    async fn open() -> Result<Self, Failure> {
        let site = Site::open().await?;
        let names = NameServer::start().await?;
        let merchant = site.store("attic").await;
        let environment: Environment = vec![
            ("SOUK_OUTBOUND_ALLOW", format!("{PERMITTED}/32")),
            ("SOUK_OUTBOUND_HTTP", String::from("on")),
            ("SOUK_OUTBOUND_NAMESERVERS", names.address.to_string()),
        ];
        let url = site.test.url();
        let server = Souk::serve_with(&url, &[], &environment).await?;
        let key = store_key_with(&url, "attic", &["--scope", "webhooks"]).await?;
        let worker = worker(&url, &environment)?;
        Ok(Self { names, merchant, key, server, worker, site })
    }

    /// Registers a host and returns the endpoint, or why it was refused. The receiver closes the connection after each response
    /// if the path begins with `/close`.
    async fn register(&self, host: &str, path: &str) -> Result<Result<String, String>, Failure> {
        let url = self.site.receiver.url_at(host, &format!("{path}/{host}"));
        let body = json!({ "url": url }).to_string();
        let mut client = Client::new(self.server.port).with_key(&self.key);
        let answer = client.post("/api/v1/merchant/webhooks", &body).await;
        let Delivery::Answered { status, body } = &answer else {
            return Err(format!("{host}: {answer:?}").into());
        };
        let answer: Value = serde_json::from_str(body)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match status {
            201 => Ok(Ok(text(&answer["data"]["endpoint_id"]))),
            400 => Ok(Err(text(&answer["details"]["reason"]))),
            _ => Err(format!("{host}: {status} {answer}").into()),
        }
    }

    async fn register_permitted(&self, host: &str, path: &str) -> Result<String, Failure> {
        let registered = self.register(host, path).await?;
        registered.map_err(|reason| format!("{host} was refused: {reason}").into())
    }

    async fn unregister(&self, endpoint: &str) -> Result<(), Failure> {
        let mut client = Client::new(self.server.port).with_key(&self.key);
        let path = format!("/api/v1/merchant/webhooks/{endpoint}");
        let answer = client.send("DELETE", &path, b"").await;
        ensure(matches!(answer, Delivery::Answered { status: 200, .. }), || format!("{answer:?}"))
    }

    /// Publishes an event for the only endpoint, and returns the status or error of its first attempt.
    async fn deliver(&self) -> Result<String, Failure> {
        let event = self.site.publish(self.merchant).await?;
        let since = std::time::Instant::now();
        loop {
            if let Some(result) = self.result_of(event).await? {
                return Ok(result);
            }
            ensure(since.elapsed() < PATIENCE, || String::from("nothing was attempted"))?;
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    async fn result_of(&self, event: EventId) -> Result<Option<String>, Failure> {
        let query = "SELECT coalesce(error, status::text) FROM webhook_attempt WHERE event_id = $1 AND number = 1";
        let query = sqlx::query_scalar(query).bind(event.uuid());
        Ok(query.fetch_optional(&mut self.site.raw().await).await?)
    }

    /// Sets of addresses that contain one which is not permitted, and chains that lead to one. Returns their number.
    async fn refused_at_registration(&self) -> Result<usize, Failure> {
        let sets: [&[&str]; 6] = [
            &[INSIDE],
            &[PERMITTED, INSIDE],
            &[INSIDE, PERMITTED],
            &[PERMITTED, "::1"],
            &[PERMITTED, "::ffff:127.0.0.1"],
            &["10.0.0.1", PERMITTED, "169.254.169.254"],
        ];
        for (number, addresses) in sets.iter().enumerate() {
            let host = format!("set-{number}.example.com");
            self.names.set(&host, addresses)?;
            let registered = self.register(&host, "/ok").await?;
            let is_refused = registered == Err(String::from("address_refused"));
            ensure(is_refused, || format!("{addresses:?}: {registered:?}"))?;
        }
        self.names.set_alias("alias.example.com", "edge.example.net")?;
        self.names.set_alias("edge.example.net", "internal.example.org")?;
        self.names.set("internal.example.org", &[INSIDE])?;
        let registered = self.register("alias.example.com", "/ok").await?;
        let is_refused = registered == Err(String::from("address_refused"));
        ensure(is_refused, || format!("an alias of {INSIDE}: {registered:?}"))?;
        // The chain itself works.
        self.names.set("internal.example.org", &[PERMITTED])?;
        let endpoint = self.register_permitted("alias.example.com", "/ok").await?;
        let result = self.deliver().await?;
        ensure(result == "200", || format!("an alias of {PERMITTED}: {result}"))?;
        self.unregister(&endpoint).await?;
        Ok(sets.len() + 1)
    }

    /// The name has another address, or another one besides, when something is sent.
    async fn refused_after_registration(&self) -> Result<(), Failure> {
        for (host, later) in [("moved", &[INSIDE][..]), ("joined", &[PERMITTED, INSIDE][..])] {
            let host = format!("{host}.example.com");
            self.names.set(&host, &[PERMITTED])?;
            let endpoint = self.register_permitted(&host, "/ok").await?;
            self.names.set(&host, later)?;
            let result = self.deliver().await?;
            ensure(result == "address_refused", || format!("{host} at {later:?}: {result}"))?;
            self.unregister(&endpoint).await?;
        }
        Ok(())
    }

    /// Each question gets another answer. Returns how many deliveries arrived, and how many were refused.
    async fn changing_with_every_question(&self) -> Result<(usize, usize), Failure> {
        let host = "changing.example.com";
        self.names.set(host, &[PERMITTED])?;
        let endpoint = self.register_permitted(host, "/close").await?;
        // Fewer refused ones in a row than open the circuit.
        self.names.set_changing(host, &[&[PERMITTED], &[INSIDE], &[INSIDE]])?;
        let (mut delivered, mut refused, mut unanswered) = (0, 0, 0);
        for _ in 0..CHANGES {
            match self.deliver().await?.as_str() {
                "200" => delivered += 1,
                "address_refused" => refused += 1,
                // On a busy machine the name server of the check may answer too late.
                "dns_failed" if unanswered < UNANSWERED_MAX => unanswered += 1,
                other => return Err(format!("{host}: {other}").into()),
            }
        }
        self.unregister(&endpoint).await?;
        ensure(delivered > 0 && refused > 0, || format!("{delivered} arrived, {refused} refused"))?;
        Ok((delivered, refused))
    }

    /// The name moves while a connection to its former address is open: that one is used, or the delivery is refused.
    async fn open_connection(&self) -> Result<(), Failure> {
        let host = "open.example.com";
        self.names.set(host, &[PERMITTED])?;
        self.register_permitted(host, "/ok").await?;
        let first = self.deliver().await?;
        ensure(first == "200", || format!("{host} at {PERMITTED}: {first}"))?;
        self.names.set(host, &[INSIDE])?;
        let second = self.deliver().await?;
        let is_safe = second == "200" || second == "address_refused";
        ensure(is_safe, || format!("{host} after it moved: {second}"))?;
        let serves = self.worker.metric("souk_webhook_fenced_total").await.is_some();
        ensure(serves, || String::from("the worker has ended"))
    }
}
