//! Threads that search and do nothing else. Each takes up the next search where its last one ended, so that
//! nobody has to be woken between two searches while others wait.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use tokio::sync::oneshot;

use crate::SearchError;

/// How long a search may wait for its turn.
const WAIT_MAX: Duration = Duration::from_secs(2);
/// Searches that may wait; more than that would not have their turn in time anyway.
const WAITING_MAX: usize = 4_096;

type Turn = Box<dyn FnOnce() + Send>;

/// They end with the last of those who can ask them.
#[derive(Clone)]
pub(crate) struct Threads {
    waiting: Sender<Turn>,
}

impl Threads {
    pub(crate) fn start(count: usize) -> Self {
        let (waiting, turns) = bounded(WAITING_MAX);
        for number in 0..count.max(1) {
            let turns = turns.clone();
            let thread = std::thread::Builder::new().name(format!("search-{number}"));
            if let Err(error) = thread.spawn(move || work(&turns)) {
                tracing::error!(%error, "a thread that searches could not be started");
            }
        }
        Self { waiting }
    }

    /// Runs a search when its turn comes. One whose caller has gone away is not run.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        search: impl FnOnce() -> Result<T, SearchError> + Send + 'static,
    ) -> Result<T, SearchError> {
        let (tell, told) = oneshot::channel();
        let since = Instant::now();
        let turn = move || {
            if tell.is_closed() {
                return;
            }
            let is_late = since.elapsed() > WAIT_MAX;
            let _ = tell.send(if is_late { Err(SearchError::Busy) } else { search() });
        };
        self.waiting.try_send(Box::new(turn)).map_err(|_| SearchError::Busy)?;
        told.await.unwrap_or(Err(SearchError::Failed))
    }
}

fn work(turns: &Receiver<Turn>) {
    while let Ok(turn) = turns.recv() {
        // What a search was handed is gone with it; the next one finds nothing half done.
        if catch_unwind(AssertUnwindSafe(turn)).is_err() {
            tracing::error!("a search failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_search_that_fails_takes_no_thread_with_it() {
        let threads = Threads::start(1);
        let failed = threads.run(|| -> Result<(), _> { panic!("as it may") }).await;
        assert!(matches!(failed, Err(SearchError::Failed)));
        assert_eq!(threads.run(|| Ok(7)).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn nobody_searches_for_a_caller_who_has_gone() {
        let threads = Threads::start(1);
        let (begin, may_begin) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let (one, other) = (threads.clone(), threads.clone());
        let first = tokio::spawn(async move { one.run(move || Ok(may_begin.recv())).await });
        tokio::task::yield_now().await;
        let gone = tokio::spawn(async move { other.run(move || Ok(tell.send(()))).await });
        tokio::task::yield_now().await;
        gone.abort();
        assert!(gone.await.is_err());
        begin.send(()).unwrap();
        assert!(first.await.unwrap().unwrap().is_ok());
        assert!(threads.run(|| Ok(true)).await.unwrap() && told.try_recv().is_err());
    }
}
