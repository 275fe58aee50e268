//! The end of a process, announced in two steps.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// The two steps: first drain, then stop. Both are false until the signal comes.
#[derive(Clone)]
pub(crate) struct Stop {
    pub(crate) draining: watch::Receiver<bool>,
    pub(crate) stopped: watch::Receiver<bool>,
}

/// Waits for SIGTERM or Ctrl-C, drains for so long, then stops. A second signal stops at once.
pub(crate) fn on_signal(drain: std::time::Duration) -> std::io::Result<Stop> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (drain_sender, draining) = watch::channel(false);
    let (stop_sender, stopped) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!(seconds = drain.as_secs(), "draining; a second signal stops at once");
        let _ = drain_sender.send(true);
        tokio::select! {
            () = tokio::time::sleep(drain) => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        let _ = stop_sender.send(true);
        // Kept until everyone has seen it.
        stop_sender.closed().await;
        drop(drain_sender);
    });
    Ok(Stop { draining, stopped })
}
