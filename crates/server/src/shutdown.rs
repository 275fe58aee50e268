//! Graceful shutdown in two steps: drain, then stop.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// The two steps. Both values are false until a signal arrives.
#[derive(Clone)]
pub(crate) struct Shutdown {
    pub(crate) draining: watch::Receiver<bool>,
    pub(crate) stopped: watch::Receiver<bool>,
}

/// Waits for SIGTERM or SIGINT, drains for the given time, then stops. A second signal stops immediately.
pub(crate) fn on_signal(drain: std::time::Duration) -> std::io::Result<Shutdown> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (drain_sender, draining) = watch::channel(false);
    let (stop_sender, stopped) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!(
            seconds = drain.as_secs(),
            "shutdown signal received: draining; a second signal stops immediately"
        );
        let _ = drain_sender.send(true);
        tokio::select! {
            () = tokio::time::sleep(drain) => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        let _ = stop_sender.send(true);
        // The senders live until all receivers are dropped.
        stop_sender.closed().await;
        drop(drain_sender);
    });
    Ok(Shutdown { draining, stopped })
}
