//! The `souk` binary as a child process.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use crate::http::{Client, Delivery};
use crate::report::Failure;

/// How long `souk serve` may take to become ready: a reader first verifies every byte of its index,
/// and the largest has gigabytes.
const READY_MAX: Duration = Duration::from_mins(3);

/// The loopback address of private listeners. They have the same port as the public ones.
pub(crate) const OPERATOR_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Records that the scores of the next ten days are computed, and keeps every store from being marked for a computation outside
/// of the schedule.
const COMPUTED: &str = "
    INSERT INTO trust_epoch (epoch, order_key, position, opened_at, updated_at)
        SELECT moment.epoch + ahead, '00000000-0000-0000-0000-000000000000'::uuid,
               'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid, now(), now()
        FROM (SELECT floor(extract(epoch FROM now()) / 21600)::bigint AS epoch) AS moment, generate_series(0, 40) AS ahead;
    CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER leave_out BEFORE INSERT ON trust_recomputation FOR EACH ROW EXECUTE FUNCTION leave_out()";

/// A running `souk serve`, `souk work` or `souk index`, killed when dropped.
pub(crate) struct Souk {
    child: Child,
    pub(crate) port: u16,
}

/// Returns the value of an environment variable that `dev/prove` sets.
#[expect(clippy::disallowed_methods, reason = "set by dev/prove and by nothing else")]
pub(crate) fn required_env(name: &str) -> Result<String, Failure> {
    std::env::var(name).map_err(|_| format!("{name} is not set; use `just prove`").into())
}

/// Returns the value of an environment variable that whoever runs a check may set.
#[expect(clippy::disallowed_methods, reason = "set for one check and by nothing else")]
pub(crate) fn optional_env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Runs a `souk` command to completion.
pub(crate) fn command(database_url: &str, arguments: &[&str]) -> Result<(), Failure> {
    let mut command = Command::new(required_env("SOUK_BIN")?);
    let status = command.args(arguments).env("DATABASE_URL", database_url).env("SOUK_LOG", "error");
    if status.status()?.success() {
        Ok(())
    } else {
        Err(format!("souk {arguments:?} failed").into())
    }
}

/// Runs a `souk` command to completion and returns its standard output.
pub(crate) async fn output(database_url: &str, arguments: &[&str]) -> Result<String, Failure> {
    let mut command = tokio::process::Command::new(required_env("SOUK_BIN")?);
    command.args(arguments).env("DATABASE_URL", database_url).env("SOUK_LOG", "error");
    let output = command.stdin(Stdio::null()).output().await?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("souk {arguments:?} failed: {text}{why}").into())
}

/// Creates a key of a store with the default scopes and returns it.
pub(crate) async fn store_key(database_url: &str, slug: &str) -> Result<String, Failure> {
    store_key_with(database_url, slug, &[]).await
}

/// Creates a key of a store with these scopes, each preceded by `--scope`, and returns it.
pub(crate) async fn store_key_with(
    database_url: &str,
    slug: &str,
    scopes: &[&str],
) -> Result<String, Failure> {
    let printed = output(database_url, &[&["keys", "create", slug], scopes].concat()).await?;
    let key = printed.split_whitespace().find(|word| word.starts_with("mrch_"));
    key.map(str::to_owned).ok_or_else(|| "`souk keys create` printed no key".into())
}

/// Returns a directory without a search index, so that a server does not serve the one that development left in its default place.
fn no_index() -> std::path::PathBuf {
    std::env::temp_dir().join("souk-proof-without-index")
}

/// Returns the command `souk serve`, with rate limits off unless `settings` turns them on, and without a search index unless it
/// names one.
fn serve_command(
    database_url: &str,
    port: u16,
    settings: &[(&'static str, String)],
) -> Result<Command, Failure> {
    let mut command = Command::new(required_env("SOUK_BIN")?);
    command
        .arg("serve")
        .env("DATABASE_URL", database_url)
        .env("SOUK_LISTEN", format!("127.0.0.1:{port}"))
        .env("SOUK_SITE_URL", format!("http://127.0.0.1:{port}"))
        .env("SOUK_OPERATOR_LISTEN", format!("{OPERATOR_ADDRESS}:{port}"))
        // Faults of the engines are warnings. What a server logs as an error explains a check that is red.
        .env("SOUK_LOG", "error")
        .env("SOUK_LIMITS", "off")
        .env("SOUK_TEST_PAYMENTS", "on")
        .env("SOUK_SEARCH_OBJECTS", no_index())
        .env("SOUK_SEARCH_DIRECTORY", no_index().join(port.to_string()))
        .envs(settings.iter().map(|(name, value)| (*name, value)))
        .stdin(Stdio::null());
    Ok(command)
}

/// Keeps workers from computing trust scores: a store whose score a check has set would get another one, and refuse checkouts,
/// whenever a run reaches its slot, or it gets its first products. A check that needs scores records the epochs before them as
/// computed, and its workers compute the rest.
fn without_scores(database_url: &str) -> Result<(), Failure> {
    /// Databases that have had a worker. A worker may be started again while PostgreSQL is down.
    static PREPARED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let prepared = || PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
    if prepared().contains(database_url) {
        return Ok(());
    }
    let record = async || -> sqlx::Result<()> {
        let mut sql = PgConnection::connect(database_url).await?;
        let known = "SELECT EXISTS (SELECT FROM trust_epoch)";
        let is_recorded: bool = sqlx::query_scalar(known).fetch_one(&mut sql).await?;
        if !is_recorded {
            sqlx::raw_sql(COMPUTED).execute(&mut sql).await?;
        }
        sql.close().await
    };
    block_in_place(|| Handle::current().block_on(record()))?;
    prepared().insert(database_url.to_owned());
    Ok(())
}

/// Returns the command `souk work`, which computes no trust scores unless the check asks for them; see [`without_scores`].
fn work_command(
    database_url: &str,
    settings: &[(&'static str, String)],
) -> Result<Command, Failure> {
    without_scores(database_url)?;
    let mut command = Command::new(required_env("SOUK_BIN")?);
    command
        .arg("work")
        .env("DATABASE_URL", database_url)
        .env("SOUK_OPERATOR_LISTEN", format!("{OPERATOR_ADDRESS}:0"))
        .env("SOUK_LOG", "off")
        .envs(settings.iter().map(|(name, value)| (*name, value)))
        .stdin(Stdio::null());
    Ok(command)
}

/// Returns the command `souk index`.
fn index_command(
    database_url: &str,
    operator_port: u16,
    settings: &[(&'static str, String)],
) -> Result<Command, Failure> {
    let mut command = Command::new(required_env("SOUK_BIN")?);
    command
        .arg("index")
        .env("DATABASE_URL", database_url)
        .env("SOUK_OPERATOR_LISTEN", format!("{OPERATOR_ADDRESS}:{operator_port}"))
        .envs(settings.iter().map(|(name, value)| (*name, value)))
        .stdin(Stdio::null());
    Ok(command)
}

impl Souk {
    /// Starts `souk work`. A worker has no port and no readiness check.
    pub(crate) fn work(database_url: &str, lease_seconds: u32) -> Result<Self, Failure> {
        Self::work_with(database_url, &[("SOUK_JOB_LEASE_SECONDS", lease_seconds.to_string())])
    }

    /// Like [`work`](Self::work), with additional environment variables.
    pub(crate) fn work_with(
        database_url: &str,
        settings: &[(&'static str, String)],
    ) -> Result<Self, Failure> {
        Ok(Self { child: work_command(database_url, settings)?.spawn()?, port: 0 })
    }

    /// Like [`work_with`](Self::work_with), by a command which executes its arguments, such as `nsenter`.
    pub(crate) fn work_by(
        command: &[&str],
        database_url: &str,
        settings: &[(&'static str, String)],
    ) -> Result<Self, Failure> {
        let work = work_command(database_url, settings)?;
        let [program, arguments @ ..] = command else { return Err("no command".into()) };
        let mut command = Command::new(program);
        command.args(arguments).arg(work.get_program()).args(work.get_args());
        command.envs(work.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::null());
        Ok(Self { child: command.spawn()?, port: 0 })
    }

    /// Like [`work_with`](Self::work_with), with the log written to a file.
    pub(crate) fn work_logging(
        database_url: &str,
        settings: &[(&'static str, String)],
        log: &std::path::Path,
    ) -> Result<Self, Failure> {
        let mut command = work_command(database_url, settings)?;
        let file = std::fs::File::create(log)?;
        command.stdout(file.try_clone()?).stderr(file);
        Ok(Self { child: command.spawn()?, port: 0 })
    }

    /// Starts `souk index`, the writer of the search index. It has no port and no readiness check.
    pub(crate) fn index(
        database_url: &str,
        settings: &[(&'static str, String)],
    ) -> Result<Self, Failure> {
        let child = index_command(database_url, 0, settings)?.env("SOUK_LOG", "off").spawn()?;
        Ok(Self { child, port: 0 })
    }

    /// Like [`index`](Self::index), with a private listener at its port and the log written to a file.
    pub(crate) fn index_logging(
        database_url: &str,
        settings: &[(&'static str, String)],
        log: &std::path::Path,
    ) -> Result<Self, Failure> {
        let port = free_port()?;
        let mut command = index_command(database_url, port, settings)?;
        let file = std::fs::File::create(log)?;
        command.env("SOUK_LOG", "error").stdout(file.try_clone()?).stderr(file);
        Ok(Self { child: command.spawn()?, port })
    }

    /// Starts `souk serve` on a free port and waits until it is ready.
    pub(crate) async fn serve(database_url: &str, arguments: &[&str]) -> Result<Self, Failure> {
        Self::serve_with(database_url, arguments, &[]).await
    }

    /// Like [`serve`](Self::serve), with additional environment variables.
    pub(crate) async fn serve_with(
        database_url: &str,
        arguments: &[&str],
        settings: &[(&'static str, String)],
    ) -> Result<Self, Failure> {
        let port = free_port()?;
        let child = serve_command(database_url, port, settings)?.args(arguments).spawn()?;
        Self { child, port }.ready().await
    }

    /// Waits until the server is ready.
    pub(crate) async fn ready(self) -> Result<Self, Failure> {
        let since = Instant::now();
        let mut client = Client::new(self.port);
        while since.elapsed() < READY_MAX {
            if matches!(client.get("/health/ready").await, Delivery::Answered { status: 200, .. }) {
                return Ok(self);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err("souk serve was not ready within three minutes".into())
    }

    /// Like [`serve`](Self::serve), with environment variables and the log written to a file.
    pub(crate) async fn serve_logging(
        database_url: &str,
        settings: &[(&'static str, String)],
        log: &std::path::Path,
    ) -> Result<Self, Failure> {
        let port = free_port()?;
        let mut command = serve_command(database_url, port, settings)?;
        let file = std::fs::File::create(log)?;
        command.stdout(file.try_clone()?).stderr(file);
        Self { child: command.spawn()?, port }.ready().await
    }

    /// Starts `souk serve` on a given port and does not wait; see [`ready`](Self::ready).
    pub(crate) fn serve_on(
        database_url: &str,
        port: u16,
        settings: &[(&'static str, String)],
    ) -> Result<Self, Failure> {
        let child = serve_command(database_url, port, settings)?.spawn()?;
        Ok(Self { child, port })
    }

    /// Returns whether the process has exited.
    pub(crate) fn has_ended(&mut self) -> Result<bool, Failure> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Sends a signal, by its name without `SIG`.
    pub(crate) fn signal(&self, name: &str) -> Result<(), Failure> {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-s", name, &pid]).status()?;
        Ok(())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the process exits and returns its exit code; `None` if a signal ended it.
    pub(crate) async fn wait(&mut self, limit: Duration) -> Result<Option<i32>, Failure> {
        let since = Instant::now();
        while since.elapsed() < limit {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status.code());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err(format!("process {} did not exit within {limit:?}", self.child.id()).into())
    }
}

impl Drop for Souk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lets the peak resident memory of a process start again at the memory in use, and returns it.
pub(crate) fn reset_peak_kilobytes(pid: u32) -> Result<u64, Failure> {
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5")?;
    peak_kilobytes(pid)
}

/// Returns the peak resident memory of a process.
pub(crate) fn peak_kilobytes(pid: u32) -> Result<u64, Failure> {
    status_kilobytes(pid, "VmHWM:")
}

/// Returns the resident memory of a process.
pub(crate) fn resident_kilobytes(pid: u32) -> Result<u64, Failure> {
    status_kilobytes(pid, "VmRSS:")
}

fn status_kilobytes(pid: u32, name: &str) -> Result<u64, Failure> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| format!("/proc/pid/status has no {name}").into())
}

/// Returns the CPU time of a process from `/proc`, which counts in hundredths of a second.
pub(crate) fn cpu_micros(pid: u32) -> Result<u64, Failure> {
    let [_, user, system, ..] = process_stat(pid)?;
    Ok((user + system) * 10_000)
}

/// Returns the CPU time of a process and its children, running and exited.
pub(crate) fn process_tree_cpu_micros(pid: u32) -> Result<u64, Failure> {
    let [_, user, system, ended_user, ended_system] = process_stat(pid)?;
    let mut ticks = user + system + ended_user + ended_system;
    for entry in std::fs::read_dir("/proc")? {
        let other = entry?.file_name().to_string_lossy().parse();
        // A process that exits during the scan is counted by its parent the next time.
        let Some(Ok([parent, user, system, ..])) = other.ok().map(process_stat) else { continue };
        if parent == u64::from(pid) {
            ticks += user + system;
        }
    }
    Ok(ticks * 10_000)
}

/// Returns the parent of a process and four times in hundredths of a second: its own user and
/// system time, and those of its exited children.
fn process_stat(pid: u32) -> Result<[u64; 5], Failure> {
    const UNKNOWN: &str = "/proc/pid/stat has an unexpected format";
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, after_name) = stat.rsplit_once(')').ok_or(UNKNOWN)?;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let mut values = [0; 5];
    for (value, index) in values.iter_mut().zip([1, 11, 12, 13, 14]) {
        *value = fields.get(index).ok_or(UNKNOWN)?.parse()?;
    }
    Ok(values)
}

/// Returns a port that a server can bind again after a kill: it lies outside the ephemeral port
/// range, so that no client connection occupies it in the meantime.
pub(crate) fn stable_port() -> Result<u16, Failure> {
    static NEXT: std::sync::atomic::AtomicU16 = std::sync::atomic::AtomicU16::new(0);
    let first = 20_000 + u16::try_from(std::process::id() % 5_000)?;
    let free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let begin = first + NEXT.fetch_add(10, std::sync::atomic::Ordering::Relaxed);
    (begin..begin + 1_000).find(free).ok_or_else(|| "no free port".into())
}

pub(crate) fn free_port() -> Result<u16, Failure> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
