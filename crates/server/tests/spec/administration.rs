//! What platform administrators do over REST with stores, jobs and quotas (docs/contract/admin-api.md).

use axum::http::Method;
use identity::{AuditEntry, Role};
use primitives::{Id, JobId, Timestamp};
use serde_json::{Value, json};

use crate::app::{TestApp, TestResponse};

/// An administrator who is logged in.
struct Admin {
    app: TestApp,
    token: String,
    id: String,
}

impl Admin {
    async fn new() -> Self {
        let app = TestApp::start().await;
        let id = app.admin("root@example.com").await.to_string();
        let token = app.log_in("root@example.com").await;
        Self { app, token, id }
    }

    async fn call(&self, method: Method, path: &str, body: &Value) -> TestResponse {
        let headers = [("authorization", self.token.as_str())];
        self.app.request(method, &format!("/admin{path}"), &headers, body).await
    }

    async fn get(&self, path: &str) -> TestResponse {
        self.call(Method::GET, path, &Value::Null).await
    }

    /// Adds a dead letter that died some minutes after the start of the clock.
    async fn dead_letter(&self, number: u128, minutes: u64, key: Option<&str>) -> String {
        let id = JobId::from_random(number);
        let at = Timestamp::from_unix_micros(testkit::START);
        sqlx::query(
            "INSERT INTO dead_job (id, kind, payload, reason, attempts, crashes, last_error, once_key,
                                   enqueued_at, died_at)
             VALUES ($1, 'import', '{\"run\": 7}', 'failed', 3, 0, 'not found', $2, $3, $4)",
        )
        .bind(id)
        .bind(key)
        .bind(at)
        .bind(at.plus(std::time::Duration::from_mins(minutes)))
        .execute(&mut self.app.test.raw().await)
        .await
        .unwrap();
        id.to_string()
    }

    async fn audit(&self, subject: &str) -> Vec<AuditEntry> {
        identity::audit_entries(self.app.test.database(), subject, 10).await.unwrap()
    }
}

fn why() -> Value {
    json!({ "reason": "the host is back" })
}

/// Returns the ids of the listed jobs.
fn ids(listed: &Value) -> Vec<&str> {
    let jobs = listed["data"].as_array().unwrap();
    jobs.iter().map(|job| job["job_id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn jobs_are_listed_in_pages_and_shown() {
    let admin = Admin::new().await;
    let mut dead = Vec::new();
    for number in 1..=3 {
        dead.push(admin.dead_letter(number.into(), number, None).await);
    }
    let first = admin.get("/jobs?limit=2").await.json();
    assert_eq!(ids(&first), dead[..2]);
    let cursor = first["meta"]["next_cursor"].as_str().unwrap();
    let meta = json!({ "total": 3, "page": 1, "limit": 2, "next_cursor": cursor });
    assert_eq!(first["meta"], meta);
    let second = admin.get(&format!("/jobs?limit=2&cursor={cursor}")).await.json();
    assert_eq!(ids(&second), dead[2..]);
    assert_eq!(second["meta"], json!({ "total": 3, "page": 1, "limit": 2 }));
    assert_eq!(ids(&admin.get("/jobs?kind=other").await.json()), [""; 0]);
    assert_eq!(ids(&admin.get("/jobs?state=due").await.json()).len(), 0);
    assert!(ids(&admin.get("/jobs?state=any").await.json()).len() >= 3);
    for wrong in ["cursor=1", "state=gone"] {
        let refused = admin.get(&format!("/jobs?{wrong}")).await;
        let field = wrong.split('=').next().unwrap();
        assert_eq!((refused.status.as_u16(), refused.code().as_str()), (400, "invalid_request"));
        assert_eq!(refused.json()["details"]["field"], field, "{}", refused.text);
    }
    let shown = admin.get(&format!("/jobs/{}", dead[0])).await.json();
    let expected = json!({
        "job_id": dead[0], "kind": "import", "state": "dead", "merchant_id": null, "attempts": 3,
        "crashes": 0, "last_error": "not found", "enqueued_at": "2026-11-15T08:00:00Z",
        "at": "2026-11-15T08:01:00Z", "payload": { "run": 7 },
    });
    assert_eq!(shown["data"], expected);
    let unknown = admin.get(&format!("/jobs/{}", JobId::from_random(9))).await;
    assert_eq!((unknown.status.as_u16(), unknown.code().as_str()), (404, "not_found"));
}

#[tokio::test]
async fn a_dead_letter_is_revived_or_discarded_once_and_audited() {
    let admin = Admin::new().await;
    let revived = admin.dead_letter(1, 1, Some("key")).await;
    let superseded = admin.dead_letter(2, 2, Some("key")).await;
    let discarded = admin.dead_letter(3, 3, None).await;
    let post = async |id: &str, verb: &str, body: &Value| {
        admin.call(Method::POST, &format!("/jobs/{id}/{verb}"), body).await
    };
    let silent = post(&revived, "revive", &json!({ "reason": " " })).await;
    assert_eq!(
        (silent.status.as_u16(), &silent.json()["details"]["field"]),
        (400, &json!("reason"))
    );
    let done = post(&revived, "revive", &why()).await;
    assert_eq!(done.json()["data"], json!({ "job_id": revived, "queued": true }), "{}", done.text);
    let done = post(&superseded, "revive", &why()).await.json();
    assert_eq!(done["data"]["queued"], false);
    let done = post(&discarded, "discard", &why()).await.json();
    assert_eq!(done["data"], json!({ "job_id": discarded, "discarded": true }));
    for (id, verb, status, code) in [
        (&revived, "revive", 409, "invalid_status_transition"),
        (&revived, "discard", 409, "invalid_status_transition"),
        (&discarded, "discard", 404, "not_found"),
    ] {
        let again = post(id, verb, &why()).await;
        assert_eq!((again.status.as_u16(), again.code().as_str()), (status, code), "{id} {verb}");
    }
    for (id, action) in
        [(&revived, "job.revived"), (&superseded, "job.revived"), (&discarded, "job.discarded")]
    {
        let entries = admin.audit(id).await;
        assert_eq!(entries.len(), 1, "{entries:?}");
        let entry = &entries[0];
        assert_eq!((entry.actor.as_str(), entry.action.as_str()), (admin.id.as_str(), action));
        assert_eq!(entry.details["reason"], "the host is back");
        assert_eq!(entry.details["payload"], json!({ "run": 7 }));
    }
}

#[tokio::test]
async fn a_quota_of_a_store_is_set_audited_and_a_notice() {
    let admin = Admin::new().await;
    let path = "/stores/kivikiri/quota";
    let products = |answer: &Value| {
        let quotas = answer["data"]["quotas"].as_array().unwrap().iter();
        quotas.clone().find(|quota| quota["quota"] == "products").cloned().unwrap()
    };
    let before = admin.get(path).await.json();
    let default = json!({ "quota": "products", "maximum": 2_000_000, "is_default": true });
    assert_eq!(products(&before), default);
    let set = json!({ "quota": "products", "maximum": 5_000_000, "reason": "a large catalog" });
    for _ in 0..2 {
        let done = admin.call(Method::PUT, path, &set).await;
        let own = json!({ "quota": "products", "maximum": 5_000_000, "is_default": false });
        assert_eq!(products(&done.json()), own, "{}", done.text);
    }
    let merchant = admin.app.merchant("kivikiri").await;
    let entries = admin.audit(&merchant.to_string()).await;
    let set: Vec<_> =
        entries.iter().filter(|entry| entry.action.as_str() == "store.quota_set").collect();
    assert_eq!(set.len(), 1, "the second call changed nothing: {entries:?}");
    assert_eq!(
        (set[0].actor.as_str(), &set[0].details["reason"]),
        (admin.id.as_str(), &json!("a large catalog"))
    );
    admin.app.person("owner@example.com", &[("kivikiri", Role::Owner)]).await;
    let owner = admin.app.log_in("owner@example.com").await;
    let headers = [("authorization", owner.as_str())];
    let notices = admin.app.request(Method::GET, "/merchant/notices", &headers, &Value::Null).await;
    assert_eq!(notices.json()["data"][0]["kind"], "quota_set", "{}", notices.text);
    let count = notices.json()["data"].as_array().unwrap().len();
    assert_eq!(notices.json()["meta"], json!({ "total": count, "page": 1, "limit": 20 }));
    let reset = json!({ "quota": "products", "maximum": null, "reason": "as before" });
    assert_eq!(products(&admin.call(Method::PUT, path, &reset).await.json()), default);
    for (wrong, field) in [
        (json!({ "quota": "products", "maximum": -1, "reason": "x" }), "maximum"),
        (json!({ "quota": "patience", "maximum": 1, "reason": "x" }), "quota"),
        (json!({ "quota": "products", "maximum": 1, "reason": " " }), "reason"),
    ] {
        let refused = admin.call(Method::PUT, path, &wrong).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert_eq!(refused.json()["details"]["field"], field);
    }
    let unknown = admin.get("/stores/nowhere/quota").await;
    assert_eq!((unknown.status.as_u16(), unknown.code().as_str()), (404, "store_not_found"));
}

#[tokio::test]
async fn a_store_is_created_and_its_hosts_are_allowed_and_disallowed() {
    let admin = Admin::new().await;
    let new = json!({
        "slug": "lamp-attic", "name": "Lamp Attic", "country": "EE", "currency": "EUR", "reason": "contract",
    });
    let created = admin.call(Method::POST, "/stores", &new).await;
    assert_eq!(created.status, 201, "as by the command, without a website: {}", created.text);
    let mut wrong = new.clone();
    wrong["currency"] = json!("DOGE");
    let refused = admin.call(Method::POST, "/stores", &wrong).await.json();
    assert_eq!(refused["details"]["allowed"], primitives::Currency::SUPPORTED_CODES);
    let host = json!({ "host": "pay.lamp-attic.example", "reason": "verified by phone" });
    let allowed = admin.call(Method::POST, "/stores/lamp-attic/hosts", &host).await.json();
    assert_eq!(allowed["data"]["allowed_hosts"], json!(["pay.lamp-attic.example"]));
    for _ in 0..2 {
        let done = admin.call(Method::POST, "/stores/lamp-attic/hosts/disallow", &host).await;
        assert_eq!(done.json()["data"]["allowed_hosts"], json!([]), "{}", done.text);
    }
    let merchant = allowed["data"]["merchant_id"].as_str().unwrap();
    let entries = admin.audit(merchant).await;
    let actions: Vec<_> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["store.host_disallowed", "store.host_allowed", "store.created"]);
    assert_eq!(entries[0].actor, admin.id);
    let unknown = admin.call(Method::POST, "/stores/nowhere/hosts/disallow", &host).await;
    assert_eq!((unknown.status.as_u16(), unknown.code().as_str()), (404, "store_not_found"));
}
