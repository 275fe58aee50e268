//! `souk doctor`: checks a deployment and says what to do about each problem.

pub(crate) mod engines;
mod payments;
pub(crate) mod settings;
pub(crate) mod storage;

use std::fmt;

use database::{Database, Reading};
use webhooks::WebhookVerdict;

use crate::Config;
use crate::settings::unknown_variables;

/// Age of the oldest due job from which the queue is late.
const JOB_WAIT_MAX_SECONDS: f64 = 60.0;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Ok,
    /// Worth knowing; the service works.
    Warning,
    /// The service does not work, or not safely.
    Problem,
}

impl Level {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "PROBLEM",
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    pub(crate) level: Level,
    /// What was checked: one word.
    pub(crate) subject: &'static str,
    /// What was found.
    pub(crate) text: String,
    /// What to do about it; empty if nothing.
    pub(crate) remedy: String,
}

impl Finding {
    pub(crate) fn ok(subject: &'static str, text: impl Into<String>) -> Self {
        Self { level: Level::Ok, subject, text: text.into(), remedy: String::new() }
    }

    pub(crate) fn warning(
        subject: &'static str,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { level: Level::Warning, subject, text: text.into(), remedy: remedy.into() }
    }

    pub(crate) fn problem(
        subject: &'static str,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { level: Level::Problem, subject, text: text.into(), remedy: remedy.into() }
    }
}

/// The results of all checks.
#[derive(Debug)]
pub(crate) struct Report(Vec<Finding>);

impl Report {
    /// Returns whether there is no problem; warnings are allowed.
    pub(crate) fn is_healthy(&self) -> bool {
        self.0.iter().all(|finding| finding.level < Level::Problem)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding { level, subject, text, remedy } in &self.0 {
            let mark = level.as_str();
            writeln!(formatter, "{mark:<8} {subject:<13} {text}")?;
            if !remedy.is_empty() {
                writeln!(formatter, "{:<8} {:<13} → {remedy}", "", "")?;
            }
        }
        let count = |level| self.0.iter().filter(|finding| finding.level == level).count();
        let (problems, warnings) = (count(Level::Problem), count(Level::Warning));
        write!(formatter, "{} checks: {problems} problems, {warnings} warnings", self.0.len())
    }
}

/// Checks everything. What depends on an engine that is unavailable is left out.
pub(crate) async fn run(config: &Config, database: Database) -> Report {
    let mut findings = settings::check_unknown(&unknown_variables());
    findings.extend(settings::check(config).into_iter().map(|(_, finding)| finding));
    let (redis, (postgres, is_usable)) = tokio::join!(
        engines::check_redis(config.redis_url.reveal()),
        engines::check_postgres(config, &database)
    );
    findings.push(redis);
    findings.extend(postgres);
    if is_usable {
        findings.extend(check_outbox(&database).await);
        findings.push(check_index(&database).await);
        findings.extend(check_jobs(&database).await);
        findings.push(check_webhooks(&database).await);
        findings.push(payments::check(&database).await);
    }
    findings.extend(storage::check(config).into_iter().map(|(_, finding)| finding));
    Report(findings)
}

/// Finds a database that was restored on another cluster and not prepared.
async fn check_outbox(database: &Database) -> Option<Finding> {
    match jobs::outbox_is_ahead(&Reading::for_platform(database)).await {
        Ok(false) => None,
        Ok(true) => Some(Finding::problem(
            "outbox",
            "it has events of another cluster: the database was restored, and changes do not reach the search index",
            "stop all processes, run `souk after-restore`, and start them again",
        )),
        Err(error) => Some(Finding::problem("outbox", error.to_string(), "see PostgreSQL")),
    }
}

async fn check_index(database: &Database) -> Finding {
    let lag_max = search::SearchState::AGE_MAX;
    match search::published_lag(database).await {
        Err(error) => {
            Finding::problem("search index", error.to_string(), "see the log of `souk index`")
        }
        Ok(None) => Finding::problem(
            "search index",
            "no index is published: searches across stores return 503",
            "run `souk index`",
        ),
        Ok(Some(lag)) if lag > lag_max => Finding::problem(
            "search index",
            format!("{} seconds behind the catalog", lag.as_secs()),
            "run `souk index`, or see its log; it writes to SOUK_SEARCH_OBJECTS",
        ),
        Ok(Some(lag)) => Finding::ok("search index", format!("{} seconds old", lag.as_secs())),
    }
}

async fn check_jobs(database: &Database) -> Vec<Finding> {
    let stats = match jobs::queue_stats(&Reading::for_platform(database)).await {
        Ok(stats) => stats,
        Err(error) => return vec![Finding::problem("jobs", error.to_string(), "see PostgreSQL")],
    };
    let mut findings = Vec::new();
    findings.push(if stats.oldest_due_seconds > JOB_WAIT_MAX_SECONDS {
        Finding::problem(
            "jobs",
            format!(
                "{} are due, the oldest for {:.0} seconds",
                stats.due, stats.oldest_due_seconds
            ),
            "run `souk work`, or more of them; `souk jobs list --state due` lists the jobs",
        )
    } else {
        Finding::ok("jobs", format!("{} are due, {} are running", stats.due, stats.leased))
    });
    let counts = [
        (stats.dead, "dead letters", "`souk jobs list`, then `souk jobs revive` or `discard`"),
        (
            stats.failing_schedules,
            "scheduled jobs fail",
            "`souk jobs list --state failing` shows the errors; stock holds may not be released",
        ),
        (
            stats.failed_rows,
            "rows could not be processed by scheduled jobs",
            "`souk jobs rows` shows the errors; the rows are retried",
        ),
        (stats.suspects, "jobs were interrupted", "workers crash: see the log of `souk work`"),
    ];
    for (count, what, remedy) in counts {
        if count > 0 {
            findings.push(Finding::warning("jobs", format!("{count} {what}"), remedy));
        }
    }
    findings
}

async fn check_webhooks(database: &Database) -> Finding {
    let stats = match webhooks::webhook_stats(&Reading::for_platform(database)).await {
        Ok(stats) => stats,
        Err(error) => return Finding::problem("webhooks", error.to_string(), "see PostgreSQL"),
    };
    let workers = format!("{} wait, {} workers deliver", stats.pending, stats.dispatchers);
    let verdict = stats.verdict();
    if verdict == WebhookVerdict::InTime {
        return Finding::ok("webhooks", workers);
    }
    let text = format!("{workers}; the oldest waits for {:.0} seconds", stats.lag_seconds);
    Finding::problem("webhooks", text, verdict.advice())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use testkit::TestDatabase;

    use super::*;
    use crate::cli::Cli;

    fn config(test: &TestDatabase, arguments: &[&str]) -> Config {
        let (database, redis) = (test.url(), testkit::redis_url());
        let given = ["souk", "doctor", "--database-url", &database, "--redis-url", &redis];
        Cli::parse_from([&given[..], arguments].concat()).config
    }

    fn of<'report>(report: &'report Report, subject: &str) -> Vec<&'report Finding> {
        report.0.iter().filter(|finding| finding.subject == subject).collect()
    }

    #[tokio::test]
    async fn a_fresh_deployment_lacks_only_an_index() {
        let test = TestDatabase::new().await;
        let mut config = config(&test, &[]);
        config.secret = Some("x".repeat(32).parse().unwrap());
        let report = run(&config, test.another_process()).await;
        let problems: Vec<&str> = report
            .0
            .iter()
            .filter(|finding| finding.level == Level::Problem && finding.subject != "durability")
            .map(|finding| finding.subject)
            .collect();
        assert_eq!(problems, ["search index"], "{report}");
        assert!(report.to_string().contains("→ run `souk index`"));
    }

    #[tokio::test]
    async fn every_problem_has_a_remedy() {
        let test = TestDatabase::new().await;
        let arguments = ["--site-url", "http://souk.example", "--redis-url", "redis://127.0.0.1:1"];
        let mut config = config(&test, &[]);
        config.secret = None;
        config.site_url = arguments[1].parse().unwrap();
        config.redis_url = arguments[3].parse().unwrap();
        config.search_directory = "/nowhere/at/all".into();
        test.forget_last_migration().await;
        let report = run(&config, test.another_process()).await;
        for subject in ["secret", "site URL", "Redis", "schema", "disk"] {
            let found = of(&report, subject);
            assert!(found.iter().any(|it| it.level == Level::Problem), "{subject}: {report}");
        }
        assert!(!report.is_healthy());
        let lacks_remedy =
            |finding: &&Finding| finding.level > Level::Ok && finding.remedy.is_empty();
        assert!(!report.0.iter().any(|finding| lacks_remedy(&finding)), "{report}");
    }

    #[tokio::test]
    async fn an_unreachable_database_is_a_problem() {
        let test = TestDatabase::new().await;
        let config = config(&test, &["--database-connections", "2"]);
        let database = test.another_process();
        database.close().await;
        let report = run(&config, database).await;
        assert_eq!(of(&report, "PostgreSQL")[0].level, Level::Problem);
        assert!(of(&report, "jobs").is_empty());
    }
}
