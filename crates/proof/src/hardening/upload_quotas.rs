//! `upload-quotas`: a merchant uploads until each of its quotas is used up. What exceeds one is refused with the quota, what
//! is used of it and when to try again, before it is stored; other stores upload meanwhile.
//!
//! An operator has set small quotas. No worker runs at first, so that imports do not end.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::shop::Shop;
use crate::catalog::merchant::Merchant;
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::Souk;

const IMPORTS: &str = "/api/v1/merchant/imports?format=ndjson&mode=merge";
const MIB: usize = 1 << 20;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let (uploader, other) = (Uploader::open(&trial).await?, Uploader::open(&trial).await?);
    uploader.fill_open_runs().await?;
    other.accept(b"{}").await?;
    uploader.fill_stored_bytes().await?;
    uploader.fill_day().await?;
    concurrent_uploads(&uploader, &other, &Uploader::open(&trial).await?).await?;
    without_disk(&uploader).await?;
    let _worker = Souk::work(&uploader.shop.url(), 30)?;
    uploader.fill_catalog().await?;
    Ok(String::from(
        "open imports, stored bytes, bytes per day, uploads at once, rows of a feed, products and variants: each refused beyond \
         its quota with bucket, usage, hint and Retry-After, nothing of it stored; another store uploads meanwhile; 503 without \
         disk space",
    ))
}

/// A store that uploads.
struct Uploader {
    shop: Shop,
    key: String,
}

impl Uploader {
    async fn open(trial: &Trial) -> Result<Self, Failure> {
        let shop = Shop::open(trial).await?;
        Ok(Self { key: shop.key().await?, shop })
    }

    async fn set_quota(&self, quota: &str, maximum: usize) -> Result<(), Failure> {
        let mut raw = self.shop.deployment.test.raw().await;
        sqlx::query(
            "INSERT INTO catalog_quota (merchant_id, quota, maximum) VALUES ($1, $2, $3)
             ON CONFLICT (merchant_id, quota) DO UPDATE SET maximum = $3",
        )
        .bind(self.shop.merchant)
        .bind(quota)
        .bind(i64::try_from(maximum)?)
        .execute(&mut raw)
        .await?;
        Ok(())
    }

    /// Ends all imports and deletes their files, as a worker does in time.
    async fn end_imports(&self) -> Result<(), Failure> {
        for sql in [
            "DELETE FROM catalog_run_chunk WHERE merchant_id = $1",
            "UPDATE catalog_run SET stored_bytes = 0 WHERE merchant_id = $1",
            "UPDATE catalog_run SET state = 'failed', finished_at = now()
             WHERE merchant_id = $1 AND finished_at IS NULL",
        ] {
            self.shop.execute(sql).await?;
        }
        Ok(())
    }

    async fn upload(&self, path: &str, feed: &[u8]) -> Result<(u16, Value, Client), Failure> {
        let mut client = Client::new(self.shop.port()).with_key(&self.key);
        match client.send("POST", path, feed).await {
            Delivery::Answered { status, body } => {
                Ok((status, serde_json::from_str(&body).unwrap_or_default(), client))
            }
            other => Err(format!("an upload of {} bytes: {other:?}", feed.len()).into()),
        }
    }

    async fn accept(&self, feed: &[u8]) -> Result<String, Failure> {
        let (status, body, _) = self.upload(IMPORTS, feed).await?;
        let job = body["data"]["job_id"].as_str().filter(|_| status == 202);
        job.map(str::to_owned).ok_or_else(|| format!("not accepted: {status} {body}").into())
    }

    /// Uploads a feed that exceeds a quota, and fails unless nothing of it is stored.
    async fn refuse(&self, bucket: &str, feed: &[u8]) -> Result<(), Failure> {
        let before = self.stored().await?;
        let (status, body, client) = self.upload(IMPORTS, feed).await?;
        refused(bucket, status, &body)?;
        let retry_after = client.header_number("retry-after");
        ensure(retry_after.is_some_and(|seconds| seconds > 0), || {
            format!("{bucket}: no Retry-After")
        })?;
        let after = self.stored().await?;
        ensure(after == before, || format!("{bucket}: {before:?} became {after:?}"))
    }

    /// Returns the number of imports and the bytes that are stored.
    async fn stored(&self) -> Result<(i64, i64), Failure> {
        let runs = "SELECT count(*) FROM catalog_run WHERE merchant_id = $1";
        let bytes = "SELECT coalesce(sum(octet_length(bytes)), 0)::bigint FROM catalog_run_chunk WHERE merchant_id = $1";
        Ok((self.shop.count(runs).await?, self.shop.count(bytes).await?))
    }

    /// The sixth import while five have not ended.
    async fn fill_open_runs(&self) -> Result<(), Failure> {
        for _ in 0..5 {
            self.accept(b"{}").await?;
        }
        self.refuse("open_feed_runs", b"{}").await?;
        self.end_imports().await
    }

    /// More bytes than may be stored: announced, and arriving without an announcement.
    async fn fill_stored_bytes(&self) -> Result<(), Failure> {
        self.set_quota("stored_feed_bytes", 3 * MIB).await?;
        self.accept(&vec![b' '; 2 * MIB]).await?;
        self.refuse("stored_feed_bytes", &vec![b' '; 2 * MIB]).await?;
        let (status, body) = self.upload_unannounced(8 * MIB).await?;
        refused("stored_feed_bytes", status, &body)?;
        let (_, bytes) = self.stored().await?;
        ensure(bytes <= i64::try_from(3 * MIB)?, || format!("{bytes} bytes are stored"))?;
        self.set_quota("stored_feed_bytes", 1 << 33).await?;
        self.end_imports().await
    }

    /// More bytes than may be sent in a day, as feeds and as pushes.
    async fn fill_day(&self) -> Result<(), Failure> {
        let sent = "SELECT sum(bytes)::bigint FROM catalog_upload WHERE merchant_id = $1";
        let sent = usize::try_from(self.shop.count(sent).await?)?;
        self.set_quota("upload_bytes_per_day", sent + MIB).await?;
        self.refuse("upload_bytes_per_day", &vec![b' '; 2 * MIB]).await?;
        self.accept(&vec![b' '; MIB]).await?;
        self.refuse("upload_bytes_per_day", b"{}").await?;
        let item = json!({ "external_id": "more", "name": "More", "price": "1.00" });
        let push = json!({ "products": [item] }).to_string();
        let mut client = Client::new(self.shop.port()).with_key(&self.key);
        let pushed = client.send("PATCH", "/api/v1/merchant/products", push.as_bytes()).await;
        let Delivery::Answered { status, body } = pushed else {
            return Err(format!("a push beyond the quota: {pushed:?}").into());
        };
        refused("upload_bytes_per_day", status, &serde_json::from_str(&body)?)?;
        let stored = "SELECT count(*) FROM product WHERE merchant_id = $1 AND external_id = 'more'";
        ensure(self.shop.count(stored).await? == 0, || String::from("the product was stored"))?;
        self.set_quota("upload_bytes_per_day", 1 << 34).await?;
        self.end_imports().await
    }

    /// Returns the beginning of an upload whose length is not announced.
    fn unannounced(&self) -> Vec<u8> {
        let head = format!(
            "POST {IMPORTS} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n",
            self.key
        );
        head.into_bytes()
    }

    /// Opens a connection that has begun an upload.
    async fn begin(&self) -> Result<TcpStream, Failure> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.shop.port())).await?;
        stream.write_all(&self.unannounced()).await?;
        Ok(stream)
    }

    /// Uploads bytes without announcing how many.
    async fn upload_unannounced(&self, bytes: usize) -> Result<(u16, Value), Failure> {
        let mut request = self.unannounced();
        for _ in 0..bytes / 0x10000 {
            request.extend_from_slice(b"10000\r\n");
            request.extend(std::iter::repeat_n(b' ', 0x10000));
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"0\r\n\r\n");
        let answer = crate::mcp::exchange(self.shop.port(), &request).await?;
        Ok((answer.status, serde_json::from_str(&answer.body).unwrap_or_default()))
    }

    /// More rows than a feed may have, more products and variants than a store may have.
    async fn fill_catalog(&self) -> Result<(), Failure> {
        let port = self.shop.port();
        let merchant = Merchant::new(self.key.clone());
        let row =
            |number: usize| format!(r#"{{"external_id":"r{number}","name":"R","price":"1"}}"#);
        let feed = |rows: std::ops::Range<usize>| rows.map(|number| row(number) + "\n").collect();
        let feed: [String; 2] = [feed(0..11), feed(0..10)];
        self.set_quota("feed_rows", 10).await?;
        self.set_quota("products", 4).await?;
        self.set_quota("variants", 1).await?;
        let job = self.accept(feed[0].as_bytes()).await?;
        let end = merchant.wait_for_job(|| port, &job, |_| {}).await?;
        let reason = end["reason"].as_str().unwrap_or_default();
        ensure(end["status"] == "refused" && reason.contains("mode=merge"), || {
            format!("eleven rows, ten are allowed: {end}")
        })?;
        let job = self.accept(feed[1].as_bytes()).await?;
        let end = merchant.wait_for_job(|| port, &job, |_| {}).await?;
        ensure((&end["created"], &end["failed"]) == (&json!(3), &json!(7)), || {
            format!("room for three products more: {end}")
        })?;
        let errors = merchant.row_errors(port, &job).await?;
        ensure(errors.iter().all(|(_, _, code)| code == "quota_exceeded"), || {
            format!("{errors:?}")
        })?;
        let variants = json!([{ "sku": "r0-1" }, { "sku": "r0-2" }]);
        let item = json!({ "external_id": "r0", "name": "R", "price": "1", "variants": variants });
        let push = json!({ "products": [item] }).to_string();
        let mut client = Client::new(port).with_key(&self.key);
        let pushed = client.send("PATCH", "/api/v1/merchant/products", push.as_bytes()).await;
        let is_refused = matches!(&pushed, Delivery::Answered { status: 200, body }
            if body.contains("quota_exceeded") && body.contains("\"failed\":1"));
        ensure(is_refused, || format!("two variants, one is allowed: {pushed:?}"))?;
        let size = "SELECT (SELECT count(*) FROM product WHERE merchant_id = $1) * 10
                         + (SELECT count(*) FROM variant WHERE merchant_id = $1)";
        let size = self.shop.count(size).await?;
        ensure(size == 40, || format!("{size}: more than four products or any variant"))
    }
}

/// Fails unless a response says which quota is used up, and what to do.
fn refused(bucket: &str, status: u16, body: &Value) -> Result<(), Failure> {
    let details = &body["details"];
    let number = |field: &str| details[field].as_i64().unwrap_or(-1);
    let is_refused = status == 429
        && body["error"] == "rate_limit_exceeded"
        && details["bucket"] == bucket
        && details["hint"].as_str().is_some_and(|hint| !hint.is_empty())
        && number("limit") > 0
        && number("used") >= 0
        && number("retry_after_seconds") > 0;
    ensure(is_refused, || format!("429 with the bucket {bucket} expected: {status} {body}"))
}

/// Two uploads of a store at the same time, the second only if a place remains for another store.
async fn concurrent_uploads(
    uploader: &Uploader,
    other: &Uploader,
    third: &Uploader,
) -> Result<(), Failure> {
    let mut open = vec![uploader.begin().await?, uploader.begin().await?];
    until_receiving(&[uploader], 2).await?;
    let (status, body, _) = uploader.upload(IMPORTS, b"{}").await?;
    refused("uploads", status, &body)?;
    other.accept(b"{}").await?;
    open.push(other.begin().await?);
    until_receiving(&[other], 1).await?;
    let (status, body, _) = other.upload(IMPORTS, b"{}").await?;
    ensure(status == 503 && body["details"]["hint"].is_string(), || {
        format!("the last place for a store that uploads: {status} {body}")
    })?;
    third.accept(b"{}").await?;
    // The connections end, and with them their uploads.
    drop(open);
    until_receiving(&[uploader, other], 0).await?;
    uploader.end_imports().await?;
    other.end_imports().await?;
    // A place is free a moment after the end of its upload is recorded.
    for _ in 0..20 {
        if other.accept(b"{}").await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err("the places of ended uploads are not free again".into())
}

/// Waits until so many uploads of stores have begun and not ended.
async fn until_receiving(uploaders: &[&Uploader], expected: i64) -> Result<(), Failure> {
    let runs = "SELECT count(*) FROM catalog_run WHERE merchant_id = $1 AND state = 'receiving'";
    for _ in 0..200 {
        let mut receiving = 0;
        for uploader in uploaders {
            receiving += uploader.shop.count(runs).await?;
        }
        if receiving == expected {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err("the uploads did not begin or end within ten seconds".into())
}

/// A server whose disk has less free space than it needs.
async fn without_disk(uploader: &Uploader) -> Result<(), Failure> {
    let settings = [("SOUK_DISK_BYTES_MIN", u64::MAX.to_string())];
    let full = Souk::serve_with(&uploader.shop.url(), &[], &settings).await?;
    let mut client = Client::new(full.port).with_key(&uploader.key);
    let answer = client.post(IMPORTS, "{}").await;
    let is_refused = matches!(&answer, Delivery::Answered { status: 503, body } if body.contains("disk_space_low"));
    ensure(is_refused && client.header_number("retry-after").is_some(), || {
        format!("an upload without disk space: {answer:?}")
    })
}
