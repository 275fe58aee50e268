//! The parent's handle of a worker process. The process is killed when the handle is dropped.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clap::ValueEnum;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use crate::report::{Failure, ensure};
use crate::worker::WorkerArgs;

pub(crate) struct WorkerProcess {
    child: Child,
    lines: UnboundedReceiver<String>,
}

impl WorkerProcess {
    pub(crate) fn start(args: &WorkerArgs) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg("worker")
            .args(["--url", &args.url, "--name", &args.name])
            .args(["--lease-ms", &args.lease_ms.to_string()])
            .args(["--concurrency", &args.concurrency.to_string()])
            .args(["--seed", &args.seed.to_string()]);
        if let Some(point) = args.pause.and_then(|point| point.to_possible_value()) {
            command.args(["--pause", point.get_name()]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let (sender, lines) = unbounded_channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self { child, lines })
    }

    /// Waits for the next line it prints.
    pub(crate) async fn line(&mut self, limit: Duration) -> Result<String, Failure> {
        let line = timeout(limit, self.lines.recv()).await;
        line.ok().flatten().ok_or_else(|| "the worker printed nothing in time".into())
    }

    /// Returns whether the process has exited.
    pub(crate) fn has_ended(&mut self) -> Result<bool, Failure> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Kills it with SIGKILL.
    pub(crate) fn kill(&mut self) -> Result<(), Failure> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Stops it with SIGSTOP.
    pub(crate) fn pause(&self) -> Result<(), Failure> {
        self.signal("STOP")
    }

    pub(crate) fn resume(&self) -> Result<(), Failure> {
        self.signal("CONT")
    }

    fn signal(&self, name: &str) -> Result<(), Failure> {
        let process = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &process]).status()?;
        ensure(status.success(), || format!("SIG{name} could not be sent"))
    }

    /// Requests a graceful stop: it claims no further jobs.
    pub(crate) fn request_stop(&mut self) {
        self.child.stdin = None;
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
