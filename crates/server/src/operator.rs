//! The private listener for operators: metrics. The public listener serves none of it.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::Config;
use crate::listen::{self, ConnectionLimits};

/// Open connections of operators.
const CONNECTIONS_MAX: usize = 64;
/// Interval at which recorded values are merged, so that they do not pile up between scrapes.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Returns the routes of the private listener.
pub fn router(metrics: PrometheusHandle) -> Router {
    Router::new().route("/metrics", get(async move || metrics.render()))
}

/// Serves operators in a task until `stopped` becomes true. An address that is in use is no reason to stop the process: a
/// warning is logged.
pub(crate) async fn start(
    config: &Config,
    metrics: PrometheusHandle,
    stopped: watch::Receiver<bool>,
) {
    let address = config.operator_listen;
    match TcpListener::bind(address).await {
        Ok(listener) => {
            tracing::info!(%address, "metrics for operators at /metrics");
            let limits = ConnectionLimits {
                total: CONNECTIONS_MAX,
                per_network: CONNECTIONS_MAX,
                trusted_proxies: Arc::new([]),
            };
            let router = router(metrics.clone());
            tokio::spawn(listen::serve(listener, router, limits, stopped.clone()));
        }
        Err(error) => tracing::warn!(
            %address, %error,
            "cannot listen for operators: metrics of this process cannot be read; set SOUK_OPERATOR_LISTEN to a free address"
        ),
    }
    tokio::spawn(keep_up(metrics, stopped));
}

async fn keep_up(metrics: PrometheusHandle, mut stopped: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(UPKEEP_INTERVAL) => metrics.run_upkeep(),
            _ = stopped.wait_for(|stopped| *stopped) => return,
        }
    }
}
