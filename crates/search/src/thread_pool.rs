//! Dedicated search threads. Each takes the next search from the queue when it has finished one, so that under load no
//! thread has to be woken between two searches.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use tokio::sync::oneshot;

use crate::SearchError;

/// Maximum time in the queue.
const WAIT_MAX: Duration = Duration::from_secs(2);
/// Maximum length of the queue; further searches would time out anyway.
const QUEUE_MAX: usize = 4_096;

type Task = Box<dyn FnOnce() + Send>;

/// A pool of search threads, which stop when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct ThreadPool {
    queue: Sender<Task>,
}

impl ThreadPool {
    pub(crate) fn start(count: usize) -> Self {
        let (queue, tasks) = bounded(QUEUE_MAX);
        for number in 0..count.max(1) {
            let tasks = tasks.clone();
            let thread = std::thread::Builder::new().name(format!("search-{number}"));
            if let Err(error) = thread.spawn(move || work(&tasks)) {
                tracing::error!(%error, "starting a search thread failed; the pool has one thread less");
            }
        }
        Self { queue }
    }

    /// Queues a search and returns its result. A search whose caller was cancelled is not run.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        search: impl FnOnce() -> Result<T, SearchError> + Send + 'static,
    ) -> Result<T, SearchError> {
        let (sender, receiver) = oneshot::channel();
        let since = Instant::now();
        let task = move || {
            if sender.is_closed() {
                return;
            }
            let is_late = since.elapsed() > WAIT_MAX;
            let _ = sender.send(if is_late { Err(SearchError::Overloaded) } else { search() });
        };
        self.queue.try_send(Box::new(task)).map_err(|_| SearchError::Overloaded)?;
        receiver.await.unwrap_or(Err(SearchError::Panicked))
    }
}

fn work(tasks: &Receiver<Task>) {
    while let Ok(task) = tasks.recv() {
        // A search owns its data, so a panic leaves nothing inconsistent for the next one.
        if catch_unwind(AssertUnwindSafe(task)).is_err() {
            tracing::error!("a search panicked; its caller receives an internal error");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_search_that_panics_does_not_stop_its_thread() {
        let threads = ThreadPool::start(1);
        let failed = threads.run(|| -> Result<(), _> { panic!("expected") }).await;
        assert!(matches!(failed, Err(SearchError::Panicked)));
        assert_eq!(threads.run(|| Ok(7)).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn the_search_of_a_cancelled_caller_is_not_run() {
        let threads = ThreadPool::start(1);
        let (begin, may_begin) = mpsc::channel::<()>();
        let (ran, has_run) = mpsc::channel();
        let (one, other) = (threads.clone(), threads.clone());
        let first = tokio::spawn(async move { one.run(move || Ok(may_begin.recv())).await });
        tokio::task::yield_now().await;
        let cancelled = tokio::spawn(async move { other.run(move || Ok(ran.send(()))).await });
        tokio::task::yield_now().await;
        cancelled.abort();
        assert!(cancelled.await.is_err());
        begin.send(()).unwrap();
        assert!(first.await.unwrap().unwrap().is_ok());
        assert!(threads.run(|| Ok(true)).await.unwrap() && has_run.try_recv().is_err());
    }
}
