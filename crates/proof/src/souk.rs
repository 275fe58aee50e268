//! The real binary, as a child process.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::http::{Client, Fate};
use crate::report::Failure;

/// How long the doors may take to open: a reader checks every byte of its index first, and the largest
/// has gigabytes.
const READY_MAX: Duration = Duration::from_mins(3);

/// A running `souk serve`, killed when dropped.
pub(crate) struct Souk {
    child: Child,
    pub(crate) port: u16,
}

/// The address of a setting the scripts hand over.
#[expect(clippy::disallowed_methods, reason = "dev/prove hands these over and nothing else does")]
pub(crate) fn handed_over(name: &str) -> Result<String, Failure> {
    std::env::var(name).map_err(|_| format!("{name} is not set; use `just prove`").into())
}

/// Runs one of the binary's commands to its end.
pub(crate) fn command(database_url: &str, arguments: &[&str]) -> Result<(), Failure> {
    let mut command = Command::new(handed_over("SOUK_BIN")?);
    let status = command.args(arguments).env("DATABASE_URL", database_url).env("SOUK_LOG", "error");
    if status.status()?.success() {
        Ok(())
    } else {
        Err(format!("souk {arguments:?} failed").into())
    }
}

/// Runs one of the binary's commands to its end and answers what it said.
pub(crate) async fn answer(database_url: &str, arguments: &[&str]) -> Result<String, Failure> {
    let mut command = tokio::process::Command::new(handed_over("SOUK_BIN")?);
    command.args(arguments).env("DATABASE_URL", database_url).env("SOUK_LOG", "error");
    let output = command.stdin(Stdio::null()).output().await?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("souk {arguments:?} failed: {text}{why}").into())
}

/// A key of a store, made for this run.
pub(crate) async fn store_key(database_url: &str, slug: &str) -> Result<String, Failure> {
    let said = answer(database_url, &["keys", "create", slug]).await?;
    let key = said.split_whitespace().find(|word| word.starts_with("mrch_"));
    key.map(str::to_owned).ok_or_else(|| "no key was shown".into())
}

/// `souk serve`, not yet begun. Proofs of limits turn them on; the others call as often as they have to.
fn doors(
    database_url: &str,
    port: u16,
    settings: &[(&'static str, String)],
) -> Result<Command, Failure> {
    let mut command = Command::new(handed_over("SOUK_BIN")?);
    command
        .arg("serve")
        .env("DATABASE_URL", database_url)
        .env("SOUK_LISTEN", format!("127.0.0.1:{port}"))
        .env("SOUK_SITE_URL", format!("http://127.0.0.1:{port}"))
        .env("SOUK_LOG", "off")
        .env("SOUK_LIMITS", "off")
        .envs(settings.iter().map(|(name, value)| (*name, value)))
        .stdin(Stdio::null());
    Ok(command)
}

impl Souk {
    /// Starts a worker; it has no address and nothing to wait for.
    pub(crate) fn work(database_url: &str, lease_seconds: u32) -> Result<Self, Failure> {
        let child = Command::new(handed_over("SOUK_BIN")?)
            .arg("work")
            .env("DATABASE_URL", database_url)
            .env("SOUK_JOB_LEASE_SECONDS", lease_seconds.to_string())
            .env("SOUK_LOG", "off")
            .stdin(Stdio::null())
            .spawn()?;
        Ok(Self { child, port: 0 })
    }

    /// Starts a writer of the search index; it has no address and nothing to wait for.
    pub(crate) fn index(
        database_url: &str,
        settings: &[(&'static str, String)],
    ) -> Result<Self, Failure> {
        let child = Command::new(handed_over("SOUK_BIN")?)
            .arg("index")
            .env("DATABASE_URL", database_url)
            .envs(settings.iter().map(|(name, value)| (*name, value)))
            .env("SOUK_LOG", "off")
            .stdin(Stdio::null())
            .spawn()?;
        Ok(Self { child, port: 0 })
    }

    /// Starts the doors on a free port and waits until they are open.
    pub(crate) async fn serve(database_url: &str, arguments: &[&str]) -> Result<Self, Failure> {
        Self::serve_with(database_url, arguments, &[]).await
    }

    /// The same with further settings.
    pub(crate) async fn serve_with(
        database_url: &str,
        arguments: &[&str],
        settings: &[(&'static str, String)],
    ) -> Result<Self, Failure> {
        let port = free_port()?;
        let child = doors(database_url, port, settings)?.args(arguments).spawn()?;
        Self { child, port }.ready().await
    }

    /// The same process once its doors are open.
    pub(crate) async fn opened(self) -> Result<Self, Failure> {
        self.ready().await
    }

    /// Waits until the doors are open.
    async fn ready(self) -> Result<Self, Failure> {
        let since = Instant::now();
        let mut client = Client::new(self.port);
        while since.elapsed() < READY_MAX {
            if matches!(client.get("/health/ready").await, Fate::Answered { status: 200, .. }) {
                return Ok(self);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err("souk serve was not ready within three minutes".into())
    }

    /// The same, with its log in a file.
    pub(crate) async fn serve_logging(
        database_url: &str,
        settings: &[(&'static str, String)],
        log: &std::path::Path,
    ) -> Result<Self, Failure> {
        let port = free_port()?;
        let mut command = doors(database_url, port, settings)?;
        let file = std::fs::File::create(log)?;
        command.stdout(file.try_clone()?).stderr(file);
        Self { child: command.spawn()?, port }.ready().await
    }

    /// Starts the doors on a port and does not wait for them: whoever calls looks for itself.
    pub(crate) fn serve_on(
        database_url: &str,
        port: u16,
        settings: &[(&'static str, String)],
    ) -> Result<Self, Failure> {
        let child = doors(database_url, port, settings)?.spawn()?;
        Ok(Self { child, port })
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> Result<bool, Failure> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) -> Result<(), Failure> {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-s", name, &pid]).status()?;
        Ok(())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end; the exit code.
    pub(crate) async fn wait(&mut self, limit: Duration) -> Result<Option<i32>, Failure> {
        let since = Instant::now();
        while since.elapsed() < limit {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status.code());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err("it did not stop in time".into())
    }
}

impl Drop for Souk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The most memory a process ever held, in kilobytes.
pub(crate) fn peak_kilobytes(pid: u32) -> Result<u64, Failure> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| "an unknown form of /proc/pid/status".into())
}

/// CPU time of a process from `/proc`, which counts in hundredths of a second.
pub(crate) fn cpu_micros(pid: u32) -> Result<u64, Failure> {
    let [_, user, system, ..] = figures(pid)?;
    Ok((user + system) * 10_000)
}

/// The same of a process and of its children, those that are there and those that ended.
pub(crate) fn family_cpu_micros(pid: u32) -> Result<u64, Failure> {
    let [_, user, system, ended_user, ended_system] = figures(pid)?;
    let mut ticks = user + system + ended_user + ended_system;
    for entry in std::fs::read_dir("/proc")? {
        let other = entry?.file_name().to_string_lossy().parse();
        // Whoever ends meanwhile is counted by its parent the next time.
        let Some(Ok([parent, user, system, ..])) = other.ok().map(figures) else { continue };
        if parent == u64::from(pid) {
            ticks += user + system;
        }
    }
    Ok(ticks * 10_000)
}

/// The parent of a process and four counts of hundredths of a second: its own as a user and in the kernel, those of its children
/// that ended.
fn figures(pid: u32) -> Result<[u64; 5], Failure> {
    const UNKNOWN: &str = "an unknown form of /proc/pid/stat";
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, behind_name) = stat.rsplit_once(')').ok_or(UNKNOWN)?;
    let fields: Vec<&str> = behind_name.split_whitespace().collect();
    let mut found = [0; 5];
    for (place, index) in [1, 11, 12, 13, 14].into_iter().enumerate() {
        found[place] = fields.get(index).ok_or(UNKNOWN)?.parse()?;
    }
    Ok(found)
}

/// A port to come back to after a kill: outside the range from which the kernel takes the ends of
/// clients, so that none of them sits on it when the server starts again.
pub(crate) fn lasting_port() -> Result<u16, Failure> {
    static NEXT: std::sync::atomic::AtomicU16 = std::sync::atomic::AtomicU16::new(0);
    let first = 20_000 + u16::try_from(std::process::id() % 5_000)?;
    let free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let begin = first + NEXT.fetch_add(10, std::sync::atomic::Ordering::Relaxed);
    (begin..begin + 1_000).find(free).ok_or_else(|| "no port is free".into())
}

pub(crate) fn free_port() -> Result<u16, Failure> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
