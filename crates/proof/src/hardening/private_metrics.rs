//! `private-metrics`: metrics are served on the private listener of each process and nowhere else.

use std::time::Duration;

use testkit::TestDatabase;

use super::deployment::Deployment;
use crate::http::{Client, Delivery};
use crate::report::{Trial, Verdict, ensure};
use crate::souk::{Souk, free_port};

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let deployment = Deployment::of(&trial).await?;
    let souk = &deployment.souk;
    for path in ["/metrics", "/metrics/", "/api/v1/metrics"] {
        let public = Client::new(souk.port).get(path).await;
        ensure(matches!(public, Delivery::Answered { status: 404, .. }), || {
            format!("GET {path} on the public listener: {public:?}")
        })?;
    }
    let private = Client::for_operators(souk.port).get("/metrics").await;
    let is_served = |delivery: &Delivery, metric: &str| matches!(delivery, Delivery::Answered { status: 200, body } if body.contains(metric));
    ensure(is_served(&private, "souk_engine_up"), || format!("the private listener: {private:?}"))?;
    for path in ["/health", "/api/v1/stores/directory", "/demo-store/mcp"] {
        let private = Client::for_operators(souk.port).get(path).await;
        ensure(matches!(private, Delivery::Answered { status: 404, .. }), || {
            format!("GET {path} on the private listener: {private:?}")
        })?;
    }
    let (test, port) = (TestDatabase::new().await, free_port()?);
    let _worker =
        Souk::work_with(&test.url(), &[("SOUK_OPERATOR_LISTEN", format!("127.0.0.2:{port}"))])?;
    for _ in 0..100 {
        let metrics = Client::for_operators(port).get("/metrics").await;
        if is_served(&metrics, "souk_jobs_completed_total") {
            return Ok(String::from(
                "GET /metrics is 404 on the public listener; server and worker serve it on their private ones, and nothing else",
            ));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err("the worker serves no metrics of its jobs".into())
}
