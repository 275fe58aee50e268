//! Gauges of webhook deliveries.

use std::time::Instant;

use database::{Database, Reading};

use super::{CHECK_TIMEOUT, as_f64};

/// When the deliveries were measured last.
pub(super) struct WebhookGauges {
    measured_at: Instant,
}

impl WebhookGauges {
    /// Begins with an age of zero, without numbers.
    pub(super) fn new() -> Self {
        Self { measured_at: Instant::now() }
    }

    /// Measures deliveries. A failure leaves the former numbers, whose age grows.
    pub(super) async fn measure(&mut self, database: &Database) {
        let platform = Reading::for_platform(database);
        let stats =
            match tokio::time::timeout(CHECK_TIMEOUT, webhooks::webhook_stats(&platform)).await {
                Ok(Ok(stats)) => stats,
                Ok(Err(error)) => return tracing::warn!(%error, "webhooks cannot be counted"),
                Err(_) => return tracing::warn!("webhooks cannot be counted in time"),
            };
        self.measured_at = Instant::now();
        metrics::gauge!("souk_webhook_pending").set(as_f64(stats.pending));
        metrics::gauge!("souk_webhook_dead").set(as_f64(stats.dead));
        metrics::gauge!("souk_webhook_lag_seconds").set(stats.lag_seconds);
        metrics::gauge!("souk_webhook_dispatchers").set(as_f64(stats.dispatchers));
        metrics::gauge!("souk_webhook_open_circuits").set(as_f64(stats.open_circuits));
        let endpoints = |status: &'static str, count: i64| {
            metrics::gauge!("souk_webhook_endpoints", "status" => status).set(as_f64(count));
        };
        endpoints("enabled", stats.enabled_endpoints);
        endpoints("disabled", stats.disabled_endpoints());
    }

    /// Records how old the numbers are.
    pub(super) fn record_age(&self) {
        let age = self.measured_at.elapsed().as_secs_f64();
        metrics::gauge!("souk_webhook_stats_age_seconds").set(age);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use metrics_exporter_prometheus::PrometheusBuilder;
    use testkit::TestDatabase;

    use super::*;

    #[tokio::test]
    async fn numbers_that_cannot_be_measured_say_how_old_they_are() {
        let test = TestDatabase::new().await;
        let recorder = PrometheusBuilder::new().build_recorder();
        let _recording = metrics::set_default_local_recorder(&recorder);
        let age = |gauges: &WebhookGauges| -> f64 {
            gauges.record_age();
            let rendered = recorder.handle().render();
            let line =
                rendered.lines().find_map(|it| it.strip_prefix("souk_webhook_stats_age_seconds "));
            line.unwrap().parse().unwrap()
        };
        let long_ago = Instant::now().checked_sub(Duration::from_mins(10)).unwrap();
        let mut gauges = WebhookGauges { measured_at: long_ago };
        gauges.measure(test.database()).await;
        assert!(age(&gauges) < 60.0);
        gauges.measured_at = long_ago;
        test.database().close().await;
        gauges.measure(test.database()).await;
        assert!(age(&gauges) >= 600.0);
    }
}
