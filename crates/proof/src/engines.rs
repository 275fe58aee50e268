//! Private engines (PostgreSQL and Redis) for one check.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};

use crate::report::{Failure, ensure};
use crate::souk::required_env;

/// Longest time in which a killed process ends.
const END_MAX: Duration = Duration::from_secs(10);

/// A private PostgreSQL and Redis, stopped when dropped.
pub(crate) struct Engines {
    script: String,
    directory: std::path::PathBuf,
    pub(crate) database_url: String,
    pub(crate) redis_url: String,
}

impl Engines {
    pub(crate) fn start() -> Result<Self, Failure> {
        let script = required_env("SOUK_ENGINES")?;
        let directory = std::env::temp_dir().join(format!("souk-proof-{}", std::process::id()));
        let (database_url, redis_url) = (String::new(), String::new());
        let mut engines = Self { script, directory, database_url, redis_url };
        engines.run("start")?;
        let printed = engines.run("env")?;
        let url = |name: &str| {
            let line = printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            line.map(|url| url.trim_matches(['\'', '"']).to_owned())
        };
        let urls = url("export DATABASE_URL").zip(url("export REDIS_URL"));
        (engines.database_url, engines.redis_url) =
            urls.ok_or("dev/engines env printed no DATABASE_URL or REDIS_URL")?;
        Ok(engines)
    }

    /// The log file of PostgreSQL.
    pub(crate) fn log(&self) -> std::path::PathBuf {
        self.directory.join("postgres/log")
    }

    fn run(&self, verb: &str) -> Result<String, Failure> {
        let output = Command::new(&self.script)
            .arg(verb)
            .arg("--dir")
            .arg(&self.directory)
            .stdin(Stdio::null())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(text);
        }
        Err(format!("engines {verb}: {text}{}", String::from_utf8_lossy(&output.stderr)).into())
    }

    /// Restarts PostgreSQL as a standby, which accepts no writes until it is promoted.
    pub(crate) async fn demote(&self) -> Result<(), Failure> {
        std::fs::write(self.directory.join("postgres/data/standby.signal"), "")?;
        self.restart_immediately().await
    }

    /// Restarts PostgreSQL with `pg_ctl stop -m immediate`, which it treats as a crash.
    pub(crate) async fn restart_immediately(&self) -> Result<(), Failure> {
        let mut command = tokio::process::Command::new(&self.script);
        command.arg("restart-immediate").arg("--dir").arg(&self.directory).stdout(Stdio::null());
        let status = command.stdin(Stdio::null()).status().await?;
        ensure(status.success(), || String::from("PostgreSQL could not be restarted"))
    }
}

impl Engines {
    /// Delays the WAL writer of PostgreSQL, so that only committed transactions reach the disk and a
    /// crash loses everything else.
    pub(crate) async fn delay_wal_writes(&self) -> Result<(), Failure> {
        let mut sql = PgConnection::connect(&self.database_url).await?;
        sqlx::query("ALTER SYSTEM SET wal_writer_delay = '10s'").execute(&mut sql).await?;
        sqlx::query("SELECT pg_reload_conf()").execute(&mut sql).await?;
        Ok(())
    }

    /// Returns the CPU time of all PostgreSQL processes so far.
    pub(crate) fn postgres_cpu_micros(&self) -> Result<u64, Failure> {
        crate::souk::process_tree_cpu_micros(self.postmaster()?)
    }

    fn postmaster(&self) -> Result<u32, Failure> {
        let text = std::fs::read_to_string(self.directory.join("postgres/data/postmaster.pid"))?;
        Ok(text.lines().next().ok_or("PostgreSQL is not running")?.trim().parse()?)
    }

    /// Kills PostgreSQL with SIGKILL and does not start it again.
    pub(crate) async fn stop_postgres(&self) -> Result<(), Failure> {
        let pid = self.postmaster()?.to_string();
        tokio::process::Command::new("kill").args(["-s", "KILL", &pid]).status().await?;
        // Until it has ended, it would be found running.
        let (since, process) = (Instant::now(), Path::new("/proc").join(pid));
        while process.exists() {
            ensure(since.elapsed() < END_MAX, || String::from("PostgreSQL was killed and runs"))?;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// Kills PostgreSQL with SIGKILL and starts it again.
    pub(crate) async fn kill_postgres(&self) -> Result<(), Failure> {
        self.stop_postgres().await?;
        let mut command = tokio::process::Command::new(&self.script);
        command.arg("start").arg("--dir").arg(&self.directory).stdout(Stdio::null());
        let status = command.stderr(Stdio::null()).stdin(Stdio::null()).status().await?;
        ensure(status.success(), || String::from("PostgreSQL could not be started again"))
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        let _ = self.run("stop");
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
