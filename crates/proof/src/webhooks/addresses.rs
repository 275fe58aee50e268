//! `addresses`: URLs that lead, or are meant to lead, into the network of the server, in every spelling. Each is refused when an
//! endpoint is registered, and again when something is sent to it.
//!
//! For the second part the URLs are written into the table, as if the first part had not existed. The receiver listens at every
//! loopback address and records connections before it reads anything: there must be none. An address that is not of this machine
//! is refused by the client at once; an attempt to connect would end with another error. At the end the same worker with an
//! exception for loopback addresses connects: the check can fail.

use std::time::Duration;

use serde_json::{Value, json};

use super::site::{PATIENCE, Site, worker};
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, store_key_with};

/// URLs that lead to this machine. `PORT` is that of the receiver.
const LOOPBACK: &[&str] = &[
    "https://127.0.0.1:PORT/",
    "https://127.1:PORT/",
    "https://127.0.1:PORT/",
    "https://0x7f.1:PORT/",
    "https://0x7f000001:PORT/",
    "https://0X7F.0.0.1:PORT/",
    "https://0177.0.0.1:PORT/",
    "https://2130706433:PORT/",
    "https://017700000001:PORT/",
    "https://127.255.255.254:PORT/",
    "https://%31%32%37.0.0.1:PORT/",
    "https://１２７.０.０.１:PORT/",
    "https://①②⑦.⓪.⓪.①:PORT/",
    "https://127。0。0。1:PORT/",
    "https://127.0.0.1.:PORT/",
    "https://0.0.0.0:PORT/",
    "https://0:PORT/",
    "https://[::1]:PORT/",
    "https://[0:0:0:0:0:0:0:1]:PORT/",
    "https://[::ffff:127.0.0.1]:PORT/",
    "https://[::ffff:7f00:1]:PORT/",
    "https://[::127.0.0.1]:PORT/",
    "https://[::]:PORT/",
    "https://localhost:PORT/",
    "https://LOCALHOST:PORT/",
    "https://localhost.:PORT/",
    "https://hooks.localhost:PORT/",
    "https://hooks.example.com@127.0.0.1:PORT/",
    "https://user:password@127.0.0.1:PORT/",
    "https://127.0.0.1:PORT\\@hooks.example.com/",
    "https://127.0.0.1:PORT#@hooks.example.com/",
    "http://127.0.0.1:PORT/",
    "HTTP://127.0.0.1:PORT/",
    "https:127.0.0.1:PORT/",
    "https:///127.0.0.1:PORT/",
    " https://127.0.0.1:PORT/",
    "https://127.0.0.1:PORT/\r\nX-Injected: 1",
];

/// URLs that lead to other private networks, to special networks, to other services and to other protocols.
const OTHERS: &[&str] = &[
    "https://169.254.169.254/latest/meta-data/",
    "https://0xa9fea9fe/",
    "https://[fd00:ec2::254]/",
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://192.168.1.1/",
    "https://100.64.0.1/",
    "https://192.0.0.1/",
    "https://192.0.2.1/",
    "https://198.18.0.1/",
    "https://198.51.100.1/",
    "https://203.0.113.1/",
    "https://224.0.0.1/",
    "https://240.0.0.1/",
    "https://255.255.255.255/",
    "https://[fd00::1]/",
    "https://[fe80::1]/",
    "https://[ff02::1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[64:ff9b::10.0.0.1]/",
    "https://[64:ff9b:1::1]/",
    "https://[2002:7f00:1::]/",
    "https://[2002:a00:1::]/",
    "https://[2001:0:4136:e378:8000:63bf:80ff:fffe]/",
    "https://[2001:db8::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://1.1.1.1:22/",
    "https://1.1.1.1:25/",
    "https://1.1.1.1:80/",
    "https://1.1.1.1:5432/",
    "https://1.1.1.1:6379/",
    "http://1.1.1.1/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "ftp://127.0.0.1/",
    "dict://127.0.0.1:11211/stats",
    "jar:https://127.0.0.1!/",
    "//127.0.0.1/",
    "127.0.0.1",
];

/// Endpoints of a store.
const ENDPOINTS_MAX: usize = 20;

pub(crate) async fn prove(_: Trial) -> Verdict {
    let site = Site::open().await?;
    let port = site.receiver.port.to_string();
    let urls: Vec<String> =
        LOOPBACK.iter().chain(OTHERS).map(|url| url.replace("PORT", &port)).collect();
    refused_at_registration(&site, &urls).await?;
    write_into_table(&site, &urls).await?;
    refused_at_connect(&site, &urls).await?;
    let seen = connects_with_exception(&site).await?;
    Ok(format!(
        "{} URLs refused when an endpoint is registered or moved, and again when something is sent; no connection to any loopback \
         address; with an exception the same worker made {seen}",
        urls.len(),
    ))
}

/// Fails unless a server with the default policy refuses each URL of a new and of a moved endpoint.
async fn refused_at_registration(site: &Site, urls: &[String]) -> Result<(), Failure> {
    site.store("attic").await;
    let database_url = site.test.url();
    let server = Souk::serve(&database_url, &[]).await?;
    let key = store_key_with(&database_url, "attic", &["--scope", "webhooks"]).await?;
    let mut client = Client::new(server.port).with_key(&key);
    let path = "/api/v1/merchant/webhooks";
    let body = json!({ "url": "https://1.1.1.1/hooks" }).to_string();
    let made = client.post(path, &body).await;
    let Delivery::Answered { status: 201, body } = &made else {
        return Err(format!("a public URL: {made:?}").into());
    };
    let made: Value = serde_json::from_str(body)?;
    let id = made["data"]["endpoint_id"].as_str().ok_or("an endpoint without an id")?;
    let own = format!("{path}/{id}");
    for url in urls {
        let body = json!({ "url": url }).to_string();
        for (method, path) in [("POST", path), ("PATCH", own.as_str())] {
            let answer = client.send(method, path, body.as_bytes()).await;
            let Delivery::Answered { status: 400, body } = &answer else {
                return Err(format!("{method} {url:?}: {answer:?}").into());
            };
            let error: Value = serde_json::from_str(body)?;
            let is_named = error["details"]["field"] == "url";
            ensure(is_named, || format!("{method} {url:?}: {error}"))?;
        }
    }
    let stored = site.count("SELECT count(*) FROM webhook_endpoint").await?;
    ensure(stored == 1, || format!("{stored} endpoints are stored"))?;
    let deleted = client.send("DELETE", &own, b"").await;
    ensure(matches!(deleted, Delivery::Answered { status: 200, .. }), || format!("{deleted:?}"))
}

/// Registers public addresses, and replaces each by a URL.
async fn write_into_table(site: &Site, urls: &[String]) -> Result<(), Failure> {
    let mut sql = site.raw().await;
    for (number, urls) in urls.chunks(ENDPOINTS_MAX).enumerate() {
        let merchant = super::site::merchant(number);
        for url in urls {
            // The policy of this process permits loopback addresses.
            let endpoint = site.endpoint(merchant, "/ok").await?;
            sqlx::query("UPDATE webhook_endpoint SET url = $2 WHERE endpoint_id = $1")
                .bind(endpoint.id.uuid())
                .bind(url)
                .execute(&mut sql)
                .await?;
        }
        site.publish(merchant).await?;
    }
    Ok(())
}

/// Fails unless a worker with the default policy refuses to send to each of the URLs, and nobody connects.
async fn refused_at_connect(site: &Site, urls: &[String]) -> Result<(), Failure> {
    let worker = worker(&site.test.url(), &[])?;
    let attempted = "SELECT count(DISTINCT endpoint_id) FROM webhook_attempt";
    site.until_count("attempts", attempted, i64::try_from(urls.len())?, PATIENCE).await?;
    drop(worker);
    let others: Vec<(String, Option<String>, i32)> = sqlx::query_as(
        "SELECT DISTINCT url, error, latency_ms FROM webhook_attempt JOIN webhook_endpoint USING (merchant_id, endpoint_id)
         WHERE error IS DISTINCT FROM 'address_refused' OR webhook_attempt.status IS NOT NULL",
    )
    .fetch_all(&mut site.raw().await)
    .await?;
    ensure(others.is_empty(), || format!("not refused: {others:?}"))?;
    let connections = site.receiver.connections()?;
    ensure(connections.is_empty(), || format!("connections to {connections:?}"))
}

/// Fails unless a worker that may send to loopback addresses connects. Returns the number of connections.
async fn connects_with_exception(site: &Site) -> Result<String, Failure> {
    // Without the wait after the refused attempt, and with the circuits closed.
    sqlx::raw_sql(
        "DELETE FROM webhook_health; UPDATE webhook_delivery SET due_at = now(), attempts = 0, starts = 0;
         UPDATE webhook_queue SET due_at = now(), owner = NULL",
    )
    .execute(&mut site.raw().await)
    .await?;
    let _worker = site.worker(&[])?;
    let since = std::time::Instant::now();
    loop {
        let seen = site.receiver.connections()?.len();
        // The spellings of loopback addresses which are valid URLs.
        if seen >= 10 {
            return Ok(format!("{seen} connections"));
        }
        ensure(since.elapsed() < PATIENCE, || format!("only {seen} connections"))?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
