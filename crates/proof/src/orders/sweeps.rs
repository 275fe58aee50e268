//! The job that completes orders, run by a worker again and again, and the return windows that end for it.

use std::time::{Duration, Instant};

use database::{Database, Work};
use orders::CompleteOrders;
use primitives::OrderId;
use sqlx::PgConnection;
use testkit::TestDatabase;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::report::{Failure, ensure};

/// How long a run of the job may take.
const RUN_MAX: Duration = Duration::from_mins(1);
const IS_QUEUED: &str = "SELECT EXISTS (SELECT FROM job WHERE kind = 'orders.complete')";

/// Enqueues the job again whenever a run has ended.
pub(super) struct Sweeps {
    url: String,
    runs: watch::Receiver<u64>,
    task: JoinHandle<()>,
}

impl Drop for Sweeps {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Sweeps {
    pub(super) fn start(test: &TestDatabase) -> Self {
        let (count, runs) = watch::channel(0);
        let (database, url) = (test.another_process(), test.url());
        let own_url = url.clone();
        let task = tokio::spawn(async move {
            // Whoever waits for a run says that none comes.
            let _ = repeat(&database, &own_url, &count).await;
        });
        Self { url, runs, task }
    }

    pub(super) fn watch(&self) -> Watch {
        Watch { url: self.url.clone(), runs: self.runs.clone() }
    }
}

async fn repeat(database: &Database, url: &str, count: &watch::Sender<u64>) -> Result<(), Failure> {
    use sqlx::Connection;
    let mut sql = PgConnection::connect(url).await?;
    database.refresh_directory().await?;
    loop {
        let mut work = Work::for_platform(database).await?;
        jobs::enqueue_sweep::<CompleteOrders>(&mut work).await?;
        work.commit().await?;
        while sqlx::query_scalar::<_, bool>(IS_QUEUED).fetch_one(&mut sql).await? {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        count.send_modify(|count| *count += 1);
    }
}

/// Counts the runs of the job.
#[derive(Clone)]
pub(super) struct Watch {
    url: String,
    runs: watch::Receiver<u64>,
}

/// What became of an order whose return window ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completion {
    /// It was not delivered, so that it had no window.
    NotDelivered,
    Completed,
    /// The job left it, and the window was opened again.
    LeftOpen,
}

impl Watch {
    /// Lets the return window of an order end, waits for a run of the job that began afterwards, and opens the window again if
    /// the order was not completed.
    pub(super) async fn complete(mut self, order: OrderId) -> Result<Completion, Failure> {
        use sqlx::Connection;
        let mut sql = PgConnection::connect(&self.url).await?;
        if !shift(&mut sql, order, "-1 second").await? {
            return Ok(Completion::NotDelivered);
        }
        // The run that is under way may have passed the order.
        let last = *self.runs.borrow() + 2;
        let since = Instant::now();
        while *self.runs.borrow_and_update() < last {
            ensure(since.elapsed() < RUN_MAX, || String::from("the job did not run"))?;
            let _ = tokio::time::timeout(Duration::from_secs(5), self.runs.changed()).await;
        }
        // A delivered order is completed or stays delivered: one statement finds out and opens the window.
        let is_open = shift(&mut sql, order, "30 days").await?;
        Ok(if is_open { Completion::LeftOpen } else { Completion::Completed })
    }
}

/// Moves the end of the return window, and returns whether the order is delivered and has one.
async fn shift(sql: &mut PgConnection, order: OrderId, by: &str) -> Result<bool, Failure> {
    let moved = sqlx::query(
        "UPDATE placed_order SET returnable_until = now() + $2::interval
         WHERE order_id = $1 AND status = 'delivered'",
    )
    .bind(order.uuid())
    .bind(by)
    .execute(sql)
    .await?;
    Ok(moved.rows_affected() == 1)
}
