//! `souk jobs`: lists jobs and rows that failed; revives and discards dead letters.

use std::fmt::Write as _;

use database::{Database, DatabaseError, Reading, Work};
use identity::{Actor, Reason};
use jobs::{FailedRow, JobFilter, JobInfo, JobState, QueueError, Revival};
use primitives::JobId;

use crate::cli::{JobStates, JobsCommand};

/// Characters of an error message that a list shows.
const ERROR_CHARS_MAX: usize = 100;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum JobsError {
    #[error("{0}")]
    Queue(#[from] QueueError),
    #[error("database failed: {0}")]
    Database(#[from] DatabaseError),
}

/// Runs a command and returns its output.
pub(crate) async fn run(database: &Database, command: JobsCommand) -> Result<String, JobsError> {
    match command {
        JobsCommand::List { state: JobStates(state), kind, limit } => {
            let filter = JobFilter { state, kind, after: None };
            // One more than shown, to see whether there are more.
            let reading = Reading::for_platform(database);
            let found = jobs::list(&reading, &filter, i64::from(limit) + 1).await?;
            Ok(listed(&found, limit, JOB_HEADER, job_row, "No such jobs."))
        }
        JobsCommand::Rows { limit } => {
            let reading = Reading::for_platform(database);
            let found = jobs::failed_rows(&reading, i64::from(limit) + 1).await?;
            Ok(listed(&found, limit, ROW_HEADER, failed_row, "No rows that failed."))
        }
        JobsCommand::Show { job_id } => Ok(shown(&find(database, job_id).await?)),
        JobsCommand::Revive { job_id, reason } => revive(database, job_id, &reason).await,
        JobsCommand::Discard { job_id, reason } => discard(database, job_id, &reason).await,
    }
}

async fn find(database: &Database, id: JobId) -> Result<JobInfo, JobsError> {
    let found = jobs::find(&Reading::for_platform(database), id).await?;
    Ok(found.ok_or(QueueError::JobNotFound(id))?)
}

async fn revive(database: &Database, id: JobId, reason: &Reason) -> Result<String, JobsError> {
    let mut work = Work::for_platform(database).await?;
    let revived = identity::revive_job(&mut work, Actor::Operator, id, reason).await?;
    work.commit().await?;
    Ok(match revived {
        Revival::Queued => format!("{id} is queued and due now; its attempts count from zero."),
        Revival::Superseded => {
            format!("A job like {id} is queued already; the dead letter is deleted.")
        }
    })
}

async fn discard(database: &Database, id: JobId, reason: &Reason) -> Result<String, JobsError> {
    let mut work = Work::for_platform(database).await?;
    identity::discard_job(&mut work, Actor::Operator, id, reason).await?;
    work.commit().await?;
    Ok(format!("{id} is deleted."))
}

const JOB_HEADER: [&str; 7] = ["ID", "KIND", "MERCHANT", "STATE", "ATTEMPTS", "AT", "LAST ERROR"];

fn job_row(job: &JobInfo) -> [String; 7] {
    let merchant = job.merchant.map_or_else(|| String::from("-"), |merchant| merchant.to_string());
    [
        job.id.to_string(),
        job.kind.clone(),
        merchant,
        job.state.to_string(),
        job.attempts.to_string(),
        job.at.to_string(),
        one_line(job.last_error.as_deref().unwrap_or("-")),
    ]
}

const ROW_HEADER: [&str; 7] =
    ["SWEEP", "ROW", "MERCHANT", "ATTEMPTS", "FAILED AT", "RETRY AT", "LAST ERROR"];

fn failed_row(row: &FailedRow) -> [String; 7] {
    [
        row.sweep.clone(),
        row.row.to_string(),
        row.merchant.to_string(),
        row.attempts.to_string(),
        row.failed_at.to_string(),
        row.retry_at.to_string(),
        one_line(&row.last_error),
    ]
}

/// Returns the beginning of an error message. It may quote text of a third party: control characters could change the
/// terminal.
fn one_line(error: &str) -> String {
    printable(error.chars().take(ERROR_CHARS_MAX))
}

fn printable(text: impl Iterator<Item = char>) -> String {
    text.map(|char| if char.is_control() { ' ' } else { char }).collect()
}

fn listed<T>(
    found: &[T],
    limit: u16,
    header: [&str; 7],
    row: impl Fn(&T) -> [String; 7],
    none: &str,
) -> String {
    if found.is_empty() {
        return none.to_owned();
    }
    let shown = &found[..found.len().min(limit.into())];
    let mut output = table(header, shown.iter().map(row));
    if shown.len() < found.len() {
        output.push_str("\nThere are more; a larger --limit shows them.");
    }
    output
}

/// Formats a table. The last column is not padded.
fn table(header: [&str; 7], rows: impl Iterator<Item = [String; 7]>) -> String {
    let rows: Vec<[String; 7]> = std::iter::once(header.map(String::from)).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; 7] = std::array::from_fn(|column| width(column).unwrap_or_default());
    let line = |row: &[String; 7]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn shown(job: &JobInfo) -> String {
    let at = match job.state {
        JobState::Dead => "died at",
        JobState::Running => "lease ends at",
        _ => "due at",
    };
    let merchant = job.merchant.map_or_else(|| String::from("none"), |it| it.to_string());
    let mut output = format!("{}  {}  {}\n", job.id, job.kind, job.state);
    let error = job.last_error.as_deref().unwrap_or("none");
    let fields = [
        ("merchant", merchant),
        ("enqueued at", job.enqueued_at.to_string()),
        (at, job.at.to_string()),
        ("failed attempts", job.attempts.to_string()),
        ("crashes", job.crashes.to_string()),
        ("payload", job.payload.to_string()),
        ("last error", printable(error.chars())),
    ];
    for (name, value) in fields {
        // Writing to a string does not fail.
        let _ = writeln!(output, "  {name}: {value}");
    }
    if job.state == JobState::Dead {
        output.push_str(
            "Revive it once its cause is removed, or discard it: `souk jobs revive|discard`.\n",
        );
    }
    output.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jobs::{Job, JobContext, JobError, Outcome, Runner, RunnerSettings};
    use primitives::{Id, MerchantId};
    use serde::{Deserialize, Serialize};
    use testkit::TestDatabase;

    use super::*;

    /// Fails for good unless its dependency is true.
    #[derive(Serialize, Deserialize)]
    struct Import {
        merchant: Option<MerchantId>,
    }

    impl Job for Import {
        const NAME: &'static str = "import";
        type Dependencies = bool;

        fn merchant(&self) -> Option<MerchantId> {
            self.merchant
        }

        async fn run(self, _: JobContext, succeeds: bool) -> Result<Outcome, JobError> {
            if succeeds {
                return Ok(Outcome::DONE);
            }
            Err(JobError::Permanent(String::from("feed\u{1b}[2J not found\nat host")))
        }
    }

    async fn run_jobs(test: &TestDatabase, succeeds: bool) -> usize {
        let runner = Runner::new(test.database().clone(), RunnerSettings::default());
        runner.register::<Import>(succeeds).run_until_idle().await.unwrap()
    }

    async fn enqueue(test: &TestDatabase, merchant: Option<MerchantId>) -> JobId {
        let mut work = Work::for_platform(test.database()).await.unwrap();
        let id = jobs::enqueue(&mut work, &Import { merchant }).await.unwrap();
        work.commit().await.unwrap();
        id
    }

    /// Enqueues a job that becomes a dead letter, and returns its id.
    async fn dead_letter(test: &TestDatabase, merchant: Option<MerchantId>) -> JobId {
        let id = enqueue(test, merchant).await;
        assert_eq!(run_jobs(test, false).await, 1);
        test.clock().advance(Duration::from_mins(1));
        id
    }

    fn list(limit: u16) -> JobsCommand {
        JobsCommand::List { state: JobStates(Some(JobState::Dead)), kind: None, limit }
    }

    fn reason() -> Reason {
        "the host is back".parse().unwrap()
    }

    #[tokio::test]
    async fn dead_letters_are_listed_the_oldest_first() {
        let test = TestDatabase::new().await;
        let list = async |limit| run(test.database(), list(limit)).await.unwrap();
        assert_eq!(list(5).await, "No such jobs.");
        let first = dead_letter(&test, Some(MerchantId::from_random(1))).await;
        let second = dead_letter(&test, None).await;
        let mut listed = list(2).await;
        for (number, id) in [(1, first), (2, second)] {
            listed = listed.replace(&id.to_string(), &JobId::from_random(number).to_string());
        }
        insta::assert_snapshot!(listed, @r#"
        ID                                    KIND    MERCHANT                              STATE  ATTEMPTS  AT                    LAST ERROR
        job_00000000000000000000000000000001  import  mer_00000000000000000000000000000001  dead   1         2026-11-15T08:00:00Z  feed [2J not found at host
        job_00000000000000000000000000000002  import  -                                     dead   1         2026-11-15T08:01:00Z  feed [2J not found at host
        "#);
        let [_, row, note] =
            list(1).await.lines().map(str::to_owned).collect::<Vec<_>>().try_into().unwrap();
        assert!(row.starts_with(&first.to_string()), "{row}");
        assert_eq!(note, "There are more; a larger --limit shows them.");
    }

    #[tokio::test]
    async fn a_job_is_shown_with_its_payload_and_error() {
        let test = TestDatabase::new().await;
        let job_id = dead_letter(&test, None).await;
        let shown = run(test.database(), JobsCommand::Show { job_id }).await.unwrap();
        insta::assert_snapshot!(shown.replace(&job_id.to_string(), "job_…"), @r#"
        job_…  import  dead
          merchant: none
          enqueued at: 2026-11-15T08:00:00Z
          died at: 2026-11-15T08:00:00Z
          failed attempts: 1
          crashes: 0
          payload: {"merchant":null}
          last error: feed [2J not found at host
        Revive it once its cause is removed, or discard it: `souk jobs revive|discard`.
        "#);
    }

    #[tokio::test]
    async fn a_revived_dead_letter_runs_again() {
        let test = TestDatabase::new().await;
        let job_id = dead_letter(&test, None).await;
        let kept = dead_letter(&test, None).await;
        let revive = JobsCommand::Revive { job_id, reason: reason() };
        let output = run(test.database(), revive).await.unwrap();
        assert_eq!(
            output,
            format!("{job_id} is queued and due now; its attempts count from zero.")
        );
        let listed = run(test.database(), list(5)).await.unwrap();
        assert!(!listed.contains(&job_id.to_string()) && listed.contains(&kept.to_string()));
        assert_eq!(run_jobs(&test, true).await, 1);
    }

    #[tokio::test]
    async fn what_is_done_to_a_dead_letter_is_in_the_audit_log() {
        let test = TestDatabase::new().await;
        let job_id = dead_letter(&test, None).await;
        let other = dead_letter(&test, None).await;
        run(test.database(), JobsCommand::Revive { job_id, reason: reason() }).await.unwrap();
        let discard = JobsCommand::Discard { job_id: other, reason: reason() };
        assert_eq!(run(test.database(), discard).await.unwrap(), format!("{other} is deleted."));
        for (id, action) in [(job_id, "job.revived"), (other, "job.discarded")] {
            let entries =
                identity::audit_entries(test.database(), &id.to_string(), 5).await.unwrap();
            assert_eq!(entries.len(), 1);
            assert_eq!(
                (entries[0].actor.as_str(), entries[0].action.as_str()),
                ("operator", action)
            );
            assert_eq!(entries[0].details["reason"], "the host is back");
        }
    }

    #[tokio::test]
    async fn only_a_dead_letter_can_be_revived_or_discarded() {
        let test = TestDatabase::new().await;
        let revive = async |job_id| {
            run(test.database(), JobsCommand::Revive { job_id, reason: reason() }).await
        };
        let unknown = revive(JobId::from_random(1)).await.unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "job not found: job_00000000000000000000000000000001; it may be done, or never existed"
        );
        let queued = enqueue(&test, None).await;
        let refused = revive(queued).await.unwrap_err();
        assert_eq!(refused.to_string(), format!("{queued} is no dead letter: it is due"));
        let discard = JobsCommand::Discard { job_id: queued, reason: reason() };
        let refused = run(test.database(), discard).await;
        assert!(matches!(refused, Err(JobsError::Queue(QueueError::NotDead(..)))));
        assert_eq!(run_jobs(&test, true).await, 1);
    }
}
