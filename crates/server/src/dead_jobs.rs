//! `souk jobs`: lists dead letters and moves them back to the queue.

use database::{Database, DatabaseError, Reading, Work};
use jobs::{DeadJob, QueueError};
use primitives::JobId;

use crate::cli::JobsCommand;

/// Characters of an error message that the list shows.
const ERROR_CHARS_MAX: usize = 100;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum JobsError {
    #[error("dead letter not found: {0}; `souk jobs dead` lists the dead letters")]
    NotFound(JobId),
    #[error("job queue failed: {0}")]
    Queue(#[from] QueueError),
    #[error("database failed: {0}")]
    Database(#[from] DatabaseError),
}

/// Runs a command and returns its output.
pub(crate) async fn run(database: &Database, command: JobsCommand) -> Result<String, JobsError> {
    match command {
        JobsCommand::Dead { limit } => list(database, limit).await,
        JobsCommand::Requeue { job_id } => {
            let mut work = Work::for_platform(database).await?;
            if !jobs::requeue(&mut work, job_id).await? {
                return Err(JobsError::NotFound(job_id));
            }
            work.commit().await?;
            Ok(format!("{job_id} is queued and due now; its attempts count from zero."))
        }
    }
}

async fn list(database: &Database, limit: u16) -> Result<String, JobsError> {
    // One more than shown, to see whether there are more.
    let found = jobs::dead_jobs(&Reading::for_platform(database), i64::from(limit) + 1).await?;
    if found.is_empty() {
        return Ok(String::from("No dead letters."));
    }
    let shown = &found[..found.len().min(limit.into())];
    let mut output = table(shown);
    if shown.len() < found.len() {
        output.push_str("\nThere are more dead letters; a larger --limit shows them.");
    }
    Ok(output)
}

/// Formats dead letters as a table. The last column is not padded.
fn table(dead: &[DeadJob]) -> String {
    let header = ["ID", "KIND", "MERCHANT", "REASON", "ATTEMPTS", "DIED AT", "LAST ERROR"];
    let mut rows = vec![header.map(String::from)];
    rows.extend(dead.iter().map(row));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; 7] = std::array::from_fn(|column| width(column).unwrap_or_default());
    let line = |row: &[String; 7]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn row(job: &DeadJob) -> [String; 7] {
    let merchant = job.merchant.map_or_else(|| String::from("-"), |merchant| merchant.to_string());
    let error = job.last_error.as_deref().unwrap_or("-");
    // An error message may quote text of a third party: control characters could change the terminal.
    let error = error.chars().take(ERROR_CHARS_MAX);
    let error = error.map(|char| if char.is_control() { ' ' } else { char });
    [
        job.id.to_string(),
        job.kind.clone(),
        merchant,
        job.reason.to_string(),
        job.attempts.to_string(),
        job.died_at.to_string(),
        error.collect(),
    ]
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

    /// Enqueues a job that becomes a dead letter, and returns its id.
    async fn dead_letter(test: &TestDatabase, merchant: Option<MerchantId>) -> JobId {
        let mut work = Work::for_platform(test.database()).await.unwrap();
        let id = jobs::enqueue(&mut work, &Import { merchant }).await.unwrap();
        work.commit().await.unwrap();
        assert_eq!(run_jobs(test, false).await, 1);
        test.clock().advance(Duration::from_mins(1));
        id
    }

    #[tokio::test]
    async fn dead_letters_are_listed_the_oldest_first() {
        let test = TestDatabase::new().await;
        let list = async |limit| run(test.database(), JobsCommand::Dead { limit }).await.unwrap();
        assert_eq!(list(5).await, "No dead letters.");
        let first = dead_letter(&test, Some(MerchantId::from_random(1))).await;
        let second = dead_letter(&test, None).await;
        let mut listed = list(2).await;
        for (number, id) in [(1, first), (2, second)] {
            listed = listed.replace(&id.to_string(), &JobId::from_random(number).to_string());
        }
        insta::assert_snapshot!(listed, @r#"
        ID                                    KIND    MERCHANT                              REASON  ATTEMPTS  DIED AT               LAST ERROR
        job_00000000000000000000000000000001  import  mer_00000000000000000000000000000001  failed  1         2026-11-15T08:00:00Z  feed [2J not found at host
        job_00000000000000000000000000000002  import  -                                     failed  1         2026-11-15T08:01:00Z  feed [2J not found at host
        "#);
        let [_, row, note] =
            list(1).await.lines().map(str::to_owned).collect::<Vec<_>>().try_into().unwrap();
        assert!(row.starts_with(&first.to_string()), "{row}");
        assert_eq!(note, "There are more dead letters; a larger --limit shows them.");
    }

    #[tokio::test]
    async fn a_requeued_dead_letter_runs_again() {
        let test = TestDatabase::new().await;
        let job_id = dead_letter(&test, None).await;
        let kept = dead_letter(&test, None).await;
        let output = run(test.database(), JobsCommand::Requeue { job_id }).await.unwrap();
        assert_eq!(
            output,
            format!("{job_id} is queued and due now; its attempts count from zero.")
        );
        let listed = run(test.database(), JobsCommand::Dead { limit: 5 }).await.unwrap();
        assert!(!listed.contains(&job_id.to_string()) && listed.contains(&kept.to_string()));
        assert_eq!(run_jobs(&test, true).await, 1);
    }

    #[tokio::test]
    async fn only_a_dead_letter_can_be_requeued() {
        let test = TestDatabase::new().await;
        let requeue = async |job_id| run(test.database(), JobsCommand::Requeue { job_id }).await;
        let unknown = requeue(JobId::from_random(1)).await.unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "dead letter not found: job_00000000000000000000000000000001; `souk jobs dead` lists the dead letters"
        );
        let job_id = dead_letter(&test, None).await;
        requeue(job_id).await.unwrap();
        assert!(matches!(requeue(job_id).await, Err(JobsError::NotFound(id)) if id == job_id));
        assert_eq!(run_jobs(&test, true).await, 1, "it was queued once");
    }
}
