//! PostgreSQL and Redis.

use std::time::Duration;

use database::{Database, ServerInfo};
use redis::aio::MultiplexedConnection;

use super::Finding;
use crate::Config;
use crate::monitor::with_cause;

/// Oldest supported versions: PostgreSQL by its version number, Redis by its major version.
const POSTGRES_MIN: i32 = 150_000;
const REDIS_MIN: u32 = 6;
/// Longest time to wait for an engine.
/// Longer than the pool waits for a connection, whose error has the cause.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Difference of the clocks from which times of jobs and sessions look wrong, and from which they are.
const CLOCK_WARNING: Duration = Duration::from_secs(1);
const CLOCK_PROBLEM: Duration = Duration::from_secs(30);

/// Checks PostgreSQL and the schema. Returns also whether it can be read with this schema.
pub(crate) async fn check_postgres(config: &Config, database: &Database) -> (Vec<Finding>, bool) {
    let address = config.database_url.public_part();
    let before = database.local_now();
    let info = match tokio::time::timeout(TIMEOUT, database.server_info()).await {
        Ok(Ok(info)) => info,
        Ok(Err(error)) => return (vec![unreachable(address, &with_cause(&error))], false),
        Err(_) => return (vec![unreachable(address, "it does not respond")], false),
    };
    let after = database.local_now();
    // The server read its clock between the two.
    let drift = before.since(info.now).max(info.now.since(after));
    let mut findings = vec![check_version(&info)];
    if info.is_standby {
        let remedy = "point DATABASE_URL at the primary, or promote this server";
        let text = format!("{address} is a standby: every write fails");
        findings.push(Finding::problem("PostgreSQL", text, remedy));
    }
    if !info.is_durable {
        findings.push(Finding::problem(
            "durability",
            "fsync or synchronous_commit is off: a crash loses orders",
            "set both to on in postgresql.conf",
        ));
    }
    findings.push(check_connections(config, &info));
    findings.push(check_clock(drift));
    let is_migrated = database.is_migrated().await.unwrap_or(false);
    findings.push(if is_migrated {
        Finding::ok("schema", "all migrations are applied")
    } else {
        Finding::problem("schema", "migrations are missing", "run `souk migrate` with this version")
    });
    if !info.invalid_indexes.is_empty() {
        findings.push(Finding::problem(
            "schema",
            format!("invalid indexes: {}", info.invalid_indexes.join(", ")),
            "run `souk migrate`; drop what is left with DROP INDEX CONCURRENTLY",
        ));
    }
    (findings, is_migrated)
}

pub(crate) fn unreachable(address: &str, why: &str) -> Finding {
    let remedy = "start PostgreSQL, or correct DATABASE_URL; check host, port, user and password";
    Finding::problem("PostgreSQL", format!("{address} cannot be used: {why}"), remedy)
}

fn check_version(info: &ServerInfo) -> Finding {
    let text = format!("version {}", info.version);
    if info.version_number >= POSTGRES_MIN {
        return Finding::ok("PostgreSQL", text);
    }
    Finding::problem("PostgreSQL", text, "upgrade to PostgreSQL 15 or newer")
}

fn check_connections(config: &Config, info: &ServerInfo) -> Finding {
    let wanted = i64::from(config.database_connections);
    let text =
        format!("{} of {} connections are free", info.connections_free, info.connections_max);
    if info.connections_free >= wanted {
        return Finding::ok("connections", text);
    }
    Finding::warning(
        "connections",
        format!("{text}; each process uses up to {wanted}"),
        "raise max_connections, or lower SOUK_DATABASE_CONNECTIONS",
    )
}

fn check_clock(drift: Duration) -> Finding {
    let text = format!("{:.1} seconds from the clock of PostgreSQL", drift.as_secs_f64());
    let remedy = "synchronize both machines (NTP)";
    match drift {
        drift if drift > CLOCK_PROBLEM => Finding::problem("clock", text, remedy),
        drift if drift > CLOCK_WARNING => Finding::warning("clock", text, remedy),
        _ => Finding::ok("clock", text),
    }
}

/// Checks Redis, without which rate limits are counted per process.
pub(crate) async fn check_redis(url: &str) -> Finding {
    let remedy =
        "start Redis, or correct REDIS_URL; until then rate limits are counted per process";
    let checked = async {
        let client = redis::Client::open(url)?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        redis_version(&mut connection).await
    };
    match tokio::time::timeout(TIMEOUT, checked).await {
        Err(_) => Finding::problem("Redis", "it does not respond", remedy),
        Ok(Err(error)) if error.code() == Some("READONLY") => Finding::problem(
            "Redis",
            "it is a replica and accepts no writes",
            "point REDIS_URL at the primary; until then rate limits are counted per process",
        ),
        Ok(Err(error)) => Finding::problem("Redis", format!("it cannot be used: {error}"), remedy),
        Ok(Ok(version)) => {
            let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
            let text = format!("version {version}");
            if major.is_none_or(|major| major >= REDIS_MIN) {
                Finding::ok("Redis", text)
            } else {
                Finding::problem("Redis", text, "upgrade to Redis 6 or newer")
            }
        }
    }
}

/// Writes a key that expires at once, and returns the version.
async fn redis_version(connection: &mut MultiplexedConnection) -> redis::RedisResult<String> {
    let mut write = redis::cmd("SET");
    write.arg("souk:doctor").arg(1).arg("PX").arg(1).exec_async(connection).await?;
    let info: String = redis::cmd("INFO").arg("server").query_async(connection).await?;
    let version = info.lines().find_map(|line| line.strip_prefix("redis_version:"));
    Ok(version.unwrap_or("unknown").trim().to_owned())
}
