//! Health checks.

use rest::{CheckState, Health};
use serde_json::json;

use crate::door::{Door, HEALTHY};

#[tokio::test]
async fn both_paths_report_the_health() {
    let door = Door::without_database();
    for address in ["/health", "/api/v1/health"] {
        let answer = door.get(address).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("cache-control"), "no-store");
        let expected = json!({
            "status": "ok",
            "version": env!("CARGO_PKG_VERSION"),
            "uptime_seconds": 0,
            "checks": { "database": "ok", "redis": "ok", "search": "not_configured", "jobs": "ok" },
            "time": "2026-11-15T08:00:00Z",
        });
        assert_eq!(answer.body, expected);
    }
}

#[tokio::test]
async fn a_degraded_service_responds_with_200() {
    let door = Door::without_database();
    for check in [CheckState::Degraded, CheckState::Down] {
        door.health.send_replace(Health { redis: check, ..HEALTHY });
        let answer = door.get("/health").await;
        assert_eq!((answer.status, &answer.body["status"]), (200, &json!("degraded")));
        assert_eq!(answer.body["checks"]["database"], "ok");
        assert_eq!(door.get("/health/ready").await.status, 200);
    }
}

#[tokio::test]
async fn liveness_and_readiness_are_reported_separately() {
    let door = Door::without_database();
    door.health.send_replace(Health::STARTING);
    for prefix in ["", "/api/v1"] {
        let live = door.get(&format!("{prefix}/health/live")).await;
        assert_eq!((live.status, live.body), (200, json!({ "status": "ok" })));
        let ready = door.get(&format!("{prefix}/health/ready")).await;
        assert_eq!(ready.error(), (503, "service_unavailable"));
        assert_eq!(ready.header("retry-after"), "30");
    }
    door.health.send_replace(HEALTHY);
    let ready = door.get("/health/ready").await;
    assert_eq!((ready.status, ready.body), (200, json!({ "status": "ok" })));
}
