//! All metrics: what `/metrics` describes, and what `docs/metrics.md` lists.

use metrics::Label;

use Process::{Index, Serve, Work};

/// A process that serves metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Process {
    Serve,
    Work,
    Index,
}

impl Process {
    pub(crate) const ALL: &'static [Self] = &[Serve, Work, Index];

    const fn as_str(self) -> &'static str {
        match self {
            Serve => "serve",
            Work => "work",
            Index => "index",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// The labels of a time series, with their values.
type Series = &'static [(&'static str, &'static str)];

/// A metric.
#[derive(Debug)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    kind: Kind,
    labels: &'static [&'static str],
    /// Processes that record it.
    processes: &'static [Process],
    help: &'static str,
    /// Time series that exist from the start of the process: a rate needs a zero to start from. A gauge that is measured
    /// all the time has none.
    series: &'static [Series],
}

const fn counter(name: &'static str, processes: &'static [Process], help: &'static str) -> Metric {
    Metric { name, kind: Kind::Counter, labels: &[], processes, help, series: &[&[]] }
}

const fn histogram(
    name: &'static str,
    processes: &'static [Process],
    help: &'static str,
) -> Metric {
    Metric { name, kind: Kind::Histogram, labels: &[], processes, help, series: &[&[]] }
}

const fn gauge(name: &'static str, processes: &'static [Process], help: &'static str) -> Metric {
    Metric { name, kind: Kind::Gauge, labels: &[], processes, help, series: &[] }
}

impl Metric {
    /// Adds labels, and the time series that exist from the start.
    const fn by(self, labels: &'static [&'static str], series: &'static [Series]) -> Self {
        Self { labels, series, ..self }
    }

    /// Lets a gauge be zero until it is set.
    const fn starting_at_zero(self) -> Self {
        Self { series: &[&[]], ..self }
    }

    /// Describes the metric to the recorder, and creates its first time series.
    fn install(&self) {
        let (name, help) = (self.name, self.help);
        match self.kind {
            Kind::Counter => metrics::describe_counter!(name, help),
            Kind::Gauge => metrics::describe_gauge!(name, help),
            Kind::Histogram => metrics::describe_histogram!(name, help),
        }
        for series in self.series {
            let labels: Vec<Label> =
                series.iter().map(|(label, value)| Label::new(*label, *value)).collect();
            match self.kind {
                Kind::Counter => metrics::counter!(name, labels).increment(0),
                Kind::Gauge => metrics::gauge!(name, labels).set(0.0),
                Kind::Histogram => drop(metrics::histogram!(name, labels)),
            }
        }
    }
}

/// Every metric, by subject.
pub(crate) const METRICS: &[Metric] = &[
    // Engines.
    gauge("souk_engine_up", &[Serve], "Whether an engine is available: 1, or 0; Redis that accepts no writes is not")
        .by(&["engine"], &[]),
    gauge("souk_database_connections", &[Serve], "Connections of this process to PostgreSQL")
        .by(&["state"], &[]),
    gauge("souk_xmin_age_seconds", &[Serve], "Age of the oldest open transaction, which delays vacuum"),
    gauge("souk_xmin_age_transactions", &[Serve], "Age of the oldest open transaction, in transactions since then"),
    // Requests.
    counter("souk_http_requests_total", &[Serve], "Requests, by the template of their route").by(
        &["method", "route", "status", "by_agent"],
        &[&[("method", "GET"), ("route", "/health/ready"), ("status", "200"), ("by_agent", "false")]],
    ),
    histogram("souk_http_request_seconds", &[Serve], "Time to respond to a request")
        .by(&["route"], &[&[("route", "/health/ready")]]),
    counter("souk_tool_calls_total", &[Serve], "Calls of MCP tools; the outcome is ok or an error code").by(
        &["tool", "outcome"],
        &[&[("tool", "search_products"), ("outcome", "ok")]],
    ),
    histogram("souk_tool_seconds", &[Serve], "Time that a tool takes")
        .by(&["tool"], &[&[("tool", "search_products")]]),
    gauge("souk_connections_open", Process::ALL, "Open connections of clients and of operators").starting_at_zero(),
    counter("souk_connections_refused_total", Process::ALL, "Connections refused because there were too many"),
    counter(
        "souk_connections_evicted_total",
        Process::ALL,
        "Connections closed before their first request, to make room for others",
    ),
    counter("souk_bulkhead_refusals_total", &[Serve], "Requests refused because their store had too many at once"),
    counter("souk_body_refusals_total", &[Serve], "Requests refused because large bodies used all their memory"),
    // Rate limits and credentials.
    gauge(
        "souk_limits_degraded",
        &[Serve],
        "Whether each process counts rate limits on its own, because Redis cannot count: 1, or 0",
    )
    .starting_at_zero(),
    counter("souk_limits_degraded_calls_total", &[Serve], "Calls counted by this process instead of Redis"),
    counter("souk_limits_rejected_total", &[Serve], "Calls rejected by a rate limit or by the limit of concurrent calls")
        .by(&["bucket"], &[&[("bucket", "concurrency")]]),
    counter("souk_key_lookups_total", &[Serve], "Keys looked up in PostgreSQL, because they were not cached"),
    counter("souk_password_verifications_total", &[Serve], "Passwords verified"),
    gauge("souk_password_verifications_in_progress", &[Serve], "Passwords being verified").starting_at_zero(),
    // Catalogs.
    counter("souk_uploads_refused_total", &[Serve], "Uploads of feeds refused or aborted").by(
        &["reason"],
        &[&[("reason", "busy")], &[("reason", "disk")], &[("reason", "slow")]],
    ),
    counter("souk_catalog_runs_total", &[Work], "Imports of feeds that were read to the end, also those that failed because no product was imported")
        .by(&["format"], &[&[("format", "ndjson")]]),
    counter("souk_catalog_rows_total", &[Work], "Rows of imports that were read to the end").by(
        &["format", "result"],
        &[&[("format", "ndjson"), ("result", "failed")]],
    ),
    counter(
        "souk_catalog_unreadable_total",
        &[Serve, Index],
        "Products that could not be read; the log names them",
    ),
    // Jobs.
    gauge("souk_jobs_due", &[Serve], "Jobs that are due"),
    gauge("souk_jobs_oldest_due_seconds", &[Serve], "Time for which the oldest due job has waited"),
    gauge("souk_jobs_leased", &[Serve], "Jobs that are running"),
    gauge("souk_jobs_suspects", &[Serve], "Jobs whose worker ended while they ran"),
    gauge("souk_jobs_dead", &[Serve], "Dead letters: jobs that do not run again by themselves"),
    gauge("souk_jobs_failing_schedules", &[Serve], "Scheduled jobs whose last run failed"),
    gauge("souk_jobs_failed_rows", &[Serve], "Rows that scheduled jobs could not process; they are retried"),
    counter("souk_jobs_completed_total", &[Work], "Runs of jobs").by(
        &["kind", "outcome"],
        &[&[("kind", "catalog.apply_run"), ("outcome", "failed")]],
    ),
    histogram("souk_job_duration_seconds", &[Work], "Time that a run of a job takes")
        .by(&["kind"], &[&[("kind", "catalog.apply_run")]]),
    counter("souk_sweep_rows_total", &[Work], "Rows that scheduled jobs processed").by(
        &["sweep", "outcome"],
        &[&[("sweep", "checkout.notice_abandoned"), ("outcome", "failed")]],
    ),
    gauge("souk_outbox_lag_seconds", &[Serve], "Age of the oldest event that a reader of the outbox has not processed")
        .by(&["cursor"], &[]),
    // Orders.
    gauge("souk_disputes_under_review", &[Serve], "Disputes that an administrator has to decide, up to 1,000"),
    gauge("souk_disputes_overdue", &[Serve], "Disputes whose time for the decision has passed, up to 1,000"),
    gauge("souk_returns_unanswered", &[Serve], "Returns that merchants have not answered for seven days, up to 1,000"),
    // Webhooks.
    counter("souk_webhook_attempts_total", &[Work], "Attempts to deliver an event to an endpoint").by(
        &["outcome"],
        &[&[("outcome", "delivered")], &[("outcome", "retry")], &[("outcome", "dead")]],
    ),
    histogram(
        "souk_webhook_delivery_seconds",
        &[Work],
        "Time from an event to its delivery, of deliveries whose first attempt succeeded",
    ),
    gauge("souk_webhook_in_flight", &[Work], "Requests in flight or about to start, by the state of their endpoints").by(&["class"], &[]),
    counter(
        "souk_webhook_fenced_total",
        &[Work],
        "Results that were dropped because another worker had taken over the store",
    ),
    counter(
        "souk_webhook_quarantined_total",
        &[Work],
        "Deliveries that were quarantined because their attempts ended the worker or panicked",
    ),
    gauge(
        "souk_webhook_clock_skew_seconds",
        &[Work],
        "How far the clock of the worker is ahead of that of the database; beyond 30 in either direction nothing is sent",
    )
    .starting_at_zero(),
    gauge("souk_webhook_pending", &[Serve], "Deliveries that wait for an attempt, up to 100,000"),
    gauge("souk_webhook_lag_seconds", &[Serve], "Time for which deliveries have waited for a worker, or in one"),
 counter("souk_webhook_secrets_unreadable_total", &[Work], "Times that nothing was sent because the secret of an endpoint could not be decrypted"),
    gauge("souk_webhook_dispatchers", &[Serve], "Workers that deliver webhooks"),
    gauge("souk_webhook_open_circuits", &[Serve], "Endpoints at which deliveries wait for a probe after several failures"),
    gauge("souk_webhook_dead", &[Serve], "Dead letters: deliveries that are attempted again only on request, up to 100,000"),
    gauge("souk_webhook_endpoints", &[Serve], "Endpoints of merchants").by(&["status"], &[]),
    gauge("souk_webhook_stats_age_seconds", &[Serve], "Time since the gauges of pending and dead deliveries, lag, workers, circuits and endpoints were measured"),
    // Trust scores.
    counter("souk_trust_scores_total", &[Work], "Trust scores that were computed and stored").by(
        &["cause"],
        &[&[("cause", "scheduled")], &[("cause", "requested")], &[("cause", "correction")]],
    ),
    counter(
        "souk_trust_failures_total",
        &[Work],
        "Stores whose trust score could not be computed, or whose facts could not be counted; `souk trust status` names them",
    ),
    counter("souk_trust_suspensions_total", &[Work], "Stores that their trust score suspended or reinstated").by(
        &["change"],
        &[&[("change", "suspended")], &[("change", "reinstated")]],
    ),
    counter("souk_trust_alerts_total", &[Work], "Trust scores that rose or fell unusually fast"),
    gauge("souk_trust_lag_seconds", &[Serve], "Time for which the first store whose trust score is due has waited"),
    gauge(
        "souk_trust_oldest_stale_day_seconds",
        &[Serve],
        "Time for which the oldest day whose facts have to be counted again has waited",
    ),
    gauge("souk_trust_failed_days", &[Serve], "Days whose facts could not be counted; they are tried again"),
    gauge("souk_trust_failing_stores", &[Serve], "Stores that cannot be scored"),
    gauge("souk_trust_skipped_epochs", &[Serve], "Epochs that were not computed within seven days, whose trust scores are missing for good"),
    gauge("souk_trust_old_standings", &[Serve], "Stores whose trust score is older than 12 hours"),
    // The search index.
    gauge("souk_search_documents", &[Serve, Index], "Products in the search index; of a writer by shard")
        .by(&["shard"], &[]),
    gauge("souk_search_index_age_seconds", &[Serve], "Time since the search index of this process contained all products, except of stores that change many at once")
        .by(&["shard"], &[]),
    gauge("souk_search_bulk_age_seconds", &[Serve], "Time since the search index contained all products of stores that change many at once; 0 without such stores")
        .by(&["shard"], &[]),
    gauge("souk_search_bulk_stores", &[Index], "Stores that change many products at once, whose changes wait in the database")
        .by(&["shard"], &[]),
    gauge("souk_search_waiting_changes", &[Index], "Changes of all other stores that are read and not applied")
        .by(&["shard"], &[]),
    gauge("souk_search_store_directory_age_seconds", &[Serve], "Age of the stores that searches know"),
    histogram("souk_search_pull_seconds", &[Serve], "Time to load and verify a version of a shard"),
    counter("souk_search_damage_total", &[Serve, Index], "Damaged files of the search index that were found"),
    counter("souk_search_tallies_dropped_total", &[Serve], "Searches that search analytics left out"),
    counter("souk_search_merged_files_total", &[Index], "Large files that merges uploaded before a version contained them").by(
        &["outcome"],
        &[&[("outcome", "listed")], &[("outcome", "unlisted")], &[("outcome", "failed")]],
    ),
    counter("souk_search_publications_total", &[Index], "Versions of shards that were published"),
    gauge("souk_search_skipped_rows", &[Index], "Products and stores that the index lacks because they cannot be read")
        .by(&["shard"], &[]),
];

/// Describes the metrics of these processes, and creates the time series that exist from the start.
pub(crate) fn install(processes: &[Process]) {
    let is_of = |metric: &&Metric| metric.processes.iter().any(|it| processes.contains(it));
    METRICS.iter().filter(is_of).for_each(Metric::install);
}

/// Returns the list of metrics as a document.
pub(crate) fn document() -> String {
    let head = "# Metrics\n\nGenerated by `just generate` from `crates/server/src/metric_list.rs`. Each process serves its metrics at \
                `/metrics` on\n`SOUK_OPERATOR_LISTEN`; how to use them: [operate](how-to/operate.md#metrics-and-the-private-listener), \
                [alert rules](alerts.yaml).\n\n| Metric | Type | Labels | Processes | Meaning |\n|---|---|---|---|---|\n";
    let row = |metric: &Metric| {
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let processes: Vec<&str> = metric.processes.iter().map(|it| it.as_str()).collect();
        let (name, labels, processes) = (metric.name, labels.join(", "), processes.join(", "));
        format!("| `{name}` | {kind} | {labels} | {processes} | {} |\n", metric.help)
    };
    std::iter::once(head.to_owned()).chain(METRICS.iter().map(row)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    fn listed() -> BTreeSet<String> {
        METRICS.iter().map(|metric| metric.name.to_owned()).collect()
    }

    /// Returns the names of metrics in a text.
    fn names_in(text: &str) -> BTreeSet<String> {
        let words = text.split(|letter: char| !letter.is_ascii_lowercase() && letter != '_');
        words.filter(|word| word.starts_with("souk_")).map(str::to_owned).collect()
    }

    /// Returns the metric of a name in a query: histograms have series with suffixes.
    fn metric_of(name: &str) -> String {
        let suffixes = ["_bucket", "_sum", "_count"];
        let base = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        let is_histogram =
            METRICS.iter().any(|metric| metric.name == base && metric.kind == Kind::Histogram);
        if is_histogram { base.to_owned() } else { name.to_owned() }
    }

    fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }

    /// Names in the code that are no metrics: the roles in PostgreSQL.
    const ROLES: [&str; 3] = ["souk_store", "souk_platform", "souk_checkout"];

    /// Returns the metrics that the code names.
    fn recorded() -> BTreeSet<String> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(root().join("crates")).unwrap() {
            let path = entry.unwrap().path();
            if !["proof", "testkit", "tidy"].iter().any(|name| path.ends_with(name)) {
                sources(&path.join("src"), &mut files);
            }
        }
        let mut found = BTreeSet::new();
        for file in files.iter().filter(|file| !file.ends_with("metric_list.rs")) {
            let text = std::fs::read_to_string(file).unwrap();
            let literals = text.split('"').filter(|part| part.starts_with("souk_"));
            let is_name =
                |part: &&str| part.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
            found.extend(literals.filter(is_name).map(str::to_owned));
        }
        found.retain(|name| !ROLES.contains(&name.as_str()));
        found
    }

    #[test]
    fn the_list_has_exactly_the_metrics_that_the_code_records() {
        assert_eq!(listed(), recorded(), "metrics listed here, and named in crates/*/src");
        assert_eq!(METRICS.len(), listed().len(), "a metric is listed twice");
    }

    #[test]
    fn every_metric_has_a_help_text_and_valid_series() {
        for metric in METRICS {
            assert!(metric.help.len() > 10 && !metric.help.contains('|'), "{}", metric.name);
            let is_counter = metric.kind == Kind::Counter;
            assert_eq!(metric.name.ends_with("_total"), is_counter, "{}", metric.name);
            for series in metric.series {
                let labels: Vec<&str> = series.iter().map(|(label, _)| *label).collect();
                assert_eq!(labels, metric.labels, "{}", metric.name);
            }
        }
    }

    #[test]
    fn documents_and_alert_rules_name_metrics_that_exist() {
        for file in ["docs/alerts.yaml", "docs/how-to/operate.md"] {
            let text = std::fs::read_to_string(root().join(file)).unwrap();
            let named: BTreeSet<String> =
                names_in(&text).iter().map(|name| metric_of(name)).collect();
            assert!(named.len() > 10, "{file} names {named:?}");
            let listed = listed();
            let unknown: Vec<&String> = named.difference(&listed).collect();
            assert!(unknown.is_empty(), "{file} names metrics that do not exist: {unknown:?}");
        }
    }
}
