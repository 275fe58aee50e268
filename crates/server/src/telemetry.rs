//! Logging and metrics.

use std::io::IsTerminal;
use std::sync::OnceLock;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

use crate::config::{Config, LogFormat};
use crate::metric_list::{self, Process};

/// Histogram buckets in seconds, from a cached read to the request timeout.
const BUCKETS: [f64; 11] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0];

/// Initializes logging to standard error; standard output is for the output of commands.
pub(crate) fn init_logging(config: &Config) {
    let filter = log_filter(&config.log).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let _ = match config.log_format {
        LogFormat::Text => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}

/// Returns the filter of log lines for a setting.
pub(crate) fn log_filter(log: &str) -> Result<EnvFilter, ParseError> {
    // rmcp logs a warning for every unknown name that a caller sends; metrics count these calls.
    EnvFilter::try_new(format!("rmcp=error,{log}"))
}

/// Installs the metrics recorder once, with the metrics of these processes, and returns its handle.
pub(crate) fn install_metrics(processes: &[Process]) -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE
        .get_or_init(|| {
            let builder = PrometheusBuilder::new();
            let builder = builder
                .set_buckets_for_metric(Matcher::Suffix(String::from("_seconds")), &BUCKETS)
                .unwrap_or_else(|_| PrometheusBuilder::new());
            let recorder = builder.build_recorder();
            let handle = recorder.handle();
            if metrics::set_global_recorder(recorder).is_ok() {
                metric_list::install(processes);
            }
            handle
        })
        .clone()
}
