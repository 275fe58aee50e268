//! Configuration: read once, from the command line and the environment. `souk --help` is the manual,
//! and `.env.example` is written from the same declarations.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use checkout::Till;
use clap::{Args, ValueEnum};
use database::CellName;
use ipnet::IpNet;
use limits::{Gate, Limiter};
use payments::TestProvider;

/// How to do it.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Configuration")]
pub struct Config {
    /// PostgreSQL: all truth
    #[arg(
        long,
        env = "DATABASE_URL",
        default_value = "postgres://souk@127.0.0.1:25329/souk",
        global = true,
        hide_env_values = true
    )]
    pub database_url: Secret,
    /// Redis: limits; may vanish at any moment
    #[arg(
        long,
        env = "REDIS_URL",
        default_value = "redis://127.0.0.1:63799",
        global = true,
        hide_env_values = true
    )]
    pub redis_url: Secret,
    /// Where to listen
    #[arg(long, env = "SOUK_LISTEN", default_value = "127.0.0.1:8080", global = true)]
    pub listen: SocketAddr,
    /// Where the service is reached from outside, without a slash at the end
    #[arg(long, env = "SOUK_SITE_URL", default_value = "http://127.0.0.1:8080", global = true)]
    pub site_url: SiteUrl,
    /// What credentials are kept under, at least 32 characters; may be left out where the site URL is loopback
    #[arg(long, env = "SOUK_SECRET", global = true, hide_env_values = true)]
    pub secret: Option<Secret>,
    /// Further host names requests may carry, beside that of the site URL and loopback
    #[arg(long, env = "SOUK_ALLOWED_HOSTS", value_delimiter = ',', global = true)]
    pub allowed_hosts: Vec<String>,
    /// Further origins whose browser pages may call, beside the site itself
    #[arg(long, env = "SOUK_ALLOWED_ORIGINS", value_delimiter = ',', global = true)]
    pub allowed_origins: Vec<String>,
    /// Proxies whose X-Forwarded-For is believed: addresses or networks, like 10.0.0.0/8
    #[arg(long, env = "SOUK_TRUSTED_PROXIES", value_delimiter = ',', value_parser = network, global = true)]
    pub trusted_proxies: Vec<IpNet>,
    /// Whether the calls of everybody are counted and limited
    #[arg(long, env = "SOUK_LIMITS", value_enum, default_value_t = Counting::On, global = true)]
    pub limits: Counting,
    /// Whether money that is none pays for real goods on our own payment page: for trying things out
    #[arg(long, env = "SOUK_TEST_PAYMENTS", value_enum, default_value_t = TestPayments::Off, global = true)]
    pub test_payments: TestPayments,
    /// The cell this process serves; it refuses merchants of other cells
    #[arg(long, env = "SOUK_CELL", default_value = "cell-1", global = true)]
    pub cell: CellName,
    /// PostgreSQL connections this process may hold
    #[arg(long, env = "SOUK_DATABASE_CONNECTIONS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=1000), global = true)]
    pub database_connections: u32,
    /// The largest request body, in bytes
    #[arg(long, env = "SOUK_BODY_BYTES_MAX", default_value_t = 1_048_576, global = true)]
    pub body_bytes_max: usize,
    /// The longest a request may take, in seconds
    #[arg(long, env = "SOUK_REQUEST_SECONDS_MAX", default_value_t = 30, global = true)]
    pub request_seconds_max: u64,
    /// The largest upload (feeds and whole catalogs), in bytes
    #[arg(long, env = "SOUK_UPLOAD_BYTES_MAX", default_value_t = 4_294_967_296, global = true)]
    pub upload_bytes_max: u64,
    /// Requests for one store in flight at once in this process; more are put off
    #[arg(long, env = "SOUK_STORE_CONCURRENCY", default_value_t = 200, global = true)]
    pub store_concurrency: usize,
    /// How long to go on serving after SIGTERM, so that load balancers notice, in seconds
    #[arg(long, env = "SOUK_DRAIN_SECONDS", default_value_t = 5, global = true)]
    pub drain_seconds: u64,
    /// Jobs run side by side in this process
    #[arg(long, env = "SOUK_JOB_CONCURRENCY", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1000), global = true)]
    pub job_concurrency: u16,
    /// How long a worker holds a job before another may take it, in seconds
    #[arg(long, env = "SOUK_JOB_LEASE_SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600), global = true)]
    pub job_lease_seconds: u64,
    /// Where the search index is published: a directory, or `s3://bucket/prefix` with `AWS_…` in the environment
    #[arg(long, env = "SOUK_SEARCH_OBJECTS", default_value = ".souk/objects", global = true)]
    pub search_objects: String,
    /// Where this machine keeps its copies of the search index
    #[arg(long, env = "SOUK_SEARCH_DIRECTORY", default_value = ".souk/index", global = true)]
    pub search_directory: PathBuf,
    /// Parts a new search index is cut into
    #[arg(long, env = "SOUK_SEARCH_SHARDS", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024), global = true)]
    pub search_shards: u16,
    /// Matching products one search looks at before its totals become estimates; 0: all of them
    #[arg(long, env = "SOUK_SEARCH_BUDGET", default_value_t = 50_000, global = true)]
    pub search_budget: u64,
    /// Searches at work at once in this process; 0: as many as there are cores
    #[arg(long, env = "SOUK_SEARCH_CONCURRENCY", default_value_t = 0, global = true)]
    pub search_concurrency: usize,
    /// How long a writer of the search index holds its shards before another may take them, in seconds
    #[arg(long, env = "SOUK_SEARCH_LEASE_SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600), global = true)]
    pub search_lease_seconds: u64,
    /// What to log, as a filter: `info`, `warn,jobs=debug`
    #[arg(long, env = "SOUK_LOG", default_value = "info", global = true)]
    pub log: String,
    /// How to log
    #[arg(long, env = "SOUK_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text, global = true)]
    pub log_format: LogFormat,
}

/// A network, or one address.
fn network(text: &str) -> Result<IpNet, &'static str> {
    let text = text.trim();
    let one = text.parse::<IpAddr>().map(IpNet::from);
    one.or_else(|_| text.parse()).map_err(|_| "it is neither an address nor a network")
}

/// Whether calls are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Counting {
    /// As the specification says
    On,
    /// Nobody is ever put off: for tests and measurements, and only where the site URL is loopback
    Off,
}

/// Whether test money pays for real goods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TestPayments {
    /// Everywhere, and only where the site URL is loopback
    On,
    /// In sandboxes only
    Off,
}

/// How to log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people
    Text,
    /// One JSON object a line
    Json,
}

/// A value that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The value, for the one place that needs it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The part behind the credentials, for people.
    #[must_use]
    pub fn public_part(&self) -> &str {
        self.0.rsplit_once('@').map_or_else(
            || self.0.split_once("://").map_or("…", |(_, rest)| rest),
            |(_, rest)| rest,
        )
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

impl FromStr for Secret {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

/// Where the service is reached: scheme and authority, nothing behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteUrl(String);

impl SiteUrl {
    /// The address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Host and port.
    #[must_use]
    pub fn authority(&self) -> &str {
        self.0.split_once("://").map_or("", |(_, rest)| rest)
    }

    /// Whether only this machine can reach it.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let authority = self.authority().parse::<http::uri::Authority>();
        authority.is_ok_and(|authority| {
            let host = authority.host().trim_start_matches('[').trim_end_matches(']');
            let address = host.parse::<IpAddr>();
            host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|it| it.is_loopback())
        })
    }

    /// Whether it is reached over TLS.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.0.starts_with("https://")
    }
}

impl FromStr for SiteUrl {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let uri: http::Uri = text.parse().map_err(|_| "it is not a URL")?;
        let scheme = uri.scheme_str().ok_or("it has no scheme")?;
        let authority = uri.authority().ok_or("it has no host")?;
        if !matches!(scheme, "http" | "https") {
            return Err("it is neither http nor https");
        }
        if text.trim_end_matches('/') != format!("{scheme}://{authority}") {
            return Err("it has something behind the host");
        }
        Ok(Self(format!("{scheme}://{authority}")))
    }
}

/// Why there is no secret to keep credentials under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretFault {
    /// None is set, and others than this machine can reach the service.
    #[error(
        "SOUK_SECRET is not set. It may be left out only where the site URL and SOUK_LISTEN are loopback; \
         `openssl rand -hex 32` makes one"
    )]
    Missing,
    /// It could be guessed.
    #[error("SOUK_SECRET has fewer than 32 characters; `openssl rand -hex 32` makes a good one")]
    TooShort,
}

/// Why calls cannot be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GateFault {
    /// Anybody could call as often as they like.
    #[error(
        "SOUK_LIMITS=off is for tests and measurements: site URL and SOUK_LISTEN must be loopback"
    )]
    Off,
    /// No address of a Redis.
    #[error("REDIS_URL is not the address of a Redis: redis://host:port")]
    Redis,
}

/// What credentials are kept under on a developer's machine: everybody can read it here, and keys
/// that `souk dev` made work again after a restart.
const DEVELOPMENT_SECRET: &str = "souk-development-secret-that-protects-nothing";

impl Config {
    /// What credentials are kept under. On a service that others can reach, it must be set.
    pub fn credential_secret(&self) -> Result<identity::Secret, SecretFault> {
        let secret = match &self.secret {
            // Compose files and the like hand on what is not set as an empty text.
            Some(secret) if !secret.reveal().is_empty() => secret.reveal(),
            _ if self.is_private() => DEVELOPMENT_SECRET,
            _ => return Err(SecretFault::Missing),
        };
        identity::Secret::new(secret).map_err(|_| SecretFault::TooShort)
    }

    /// Whether only this machine can reach the service: by its address, and by where it listens.
    fn is_private(&self) -> bool {
        self.site_url.is_loopback() && self.listen.ip().is_loopback()
    }

    /// What counts calls.
    pub fn gate(&self) -> Result<Gate, GateFault> {
        match self.limits {
            Counting::Off if self.is_private() => Ok(Gate::open_to_all()),
            Counting::Off => Err(GateFault::Off),
            Counting::On => {
                let limiter = Limiter::new(self.redis_url.reveal(), "souk");
                limiter.map(Gate::new).map_err(|_| GateFault::Redis)
            }
        }
    }

    /// Who takes payments on our own page. Test money buys real goods nowhere but on this machine.
    #[must_use]
    pub fn till(&self) -> Till {
        let is_allowed = self.test_payments == TestPayments::On && self.is_private();
        Till::new(Arc::new(TestProvider), is_allowed)
    }

    /// Whether credentials are kept under the secret that everybody can read.
    #[must_use]
    pub fn has_development_secret(&self) -> bool {
        let set = self.secret.as_ref().is_some_and(|secret| !secret.reveal().is_empty());
        !set && self.is_private()
    }

    /// Host names the MCP endpoint answers to: the site's own, loopback, and those named.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        let site = self.site_url.authority();
        let name = site.rsplit_once(':').map_or(site, |(name, _)| name);
        let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "[::1]", site, name]
            .into_iter()
            .map(str::to_owned)
            .collect();
        hosts.extend(self.allowed_hosts.iter().cloned());
        hosts
    }

    /// Origins whose browser pages may call: the site's own and those named.
    #[must_use]
    pub fn origins(&self) -> Vec<String> {
        let with_port = if self.site_url.authority().contains(':') {
            self.site_url.as_str().to_owned()
        } else {
            let port = if self.site_url.is_secure() { 443 } else { 80 };
            format!("{}:{port}", self.site_url.as_str())
        };
        let mut origins = vec![with_port];
        origins.extend(self.allowed_origins.iter().cloned());
        origins
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    fn parse(arguments: &[&str]) -> Config {
        Cli::parse_from(arguments).config
    }

    #[test]
    fn secrets_are_not_shown() {
        // Both are given: the environment of a test run names engines of its own.
        let secrets = ["--database-url", "postgres://u:hush@db/souk", "--redis-url", "redis://r:1"];
        let config = parse(&[&["souk", "serve"], &secrets[..]].concat());
        assert!(!format!("{config:?}").contains("hush"));
        assert_eq!(config.database_url.public_part(), "db/souk");
        assert_eq!(config.redis_url.public_part(), "r:1");
    }

    #[test]
    fn a_site_is_a_scheme_and_a_host() {
        assert_eq!(
            "https://souk.example/".parse::<SiteUrl>().unwrap().as_str(),
            "https://souk.example"
        );
        for wrong in ["souk.example", "ftp://souk.example", "https://souk.example/api", "https://"]
        {
            assert!(wrong.parse::<SiteUrl>().is_err(), "{wrong} was accepted");
        }
    }

    fn secret(site: &str, secret: Option<&str>) -> Result<(), SecretFault> {
        let mut config = parse(&["souk", "serve", "--site-url", site]);
        // The environment of a test run may have one.
        config.secret = secret.map(|text| text.parse().unwrap());
        config.credential_secret().map(|_| ())
    }

    #[test]
    fn a_service_that_others_reach_needs_a_secret() {
        let good = "x".repeat(32);
        for site in ["http://127.0.0.1:8080", "http://localhost", "http://[::1]:8080"] {
            assert_eq!(secret(site, None), Ok(()), "{site}");
        }
        for site in ["https://souk.example", "http://192.168.0.4", "http://127.0.0.1.example"] {
            assert_eq!(secret(site, None), Err(SecretFault::Missing), "{site}");
            assert_eq!(secret(site, Some("")), Err(SecretFault::Missing), "{site}");
            assert_eq!(secret(site, Some(&good)), Ok(()), "{site}");
        }
        assert_eq!(secret("http://localhost", Some(&good[1..])), Err(SecretFault::TooShort));
    }

    #[test]
    fn counting_stops_only_on_ones_own_machine() {
        let gate = |site| parse(&["souk", "serve", "--limits", "off", "--site-url", site]).gate();
        assert!(gate("http://127.0.0.1:8080").is_ok());
        assert_eq!(gate("https://souk.example").err(), Some(GateFault::Off));
        let open = ["souk", "serve", "--limits", "off", "--listen", "0.0.0.0:8080"];
        let mut open = parse(&open);
        open.secret = None;
        assert_eq!(open.gate().err(), Some(GateFault::Off));
        assert_eq!(open.credential_secret().err(), Some(SecretFault::Missing));
    }

    #[test]
    fn the_site_itself_may_call() {
        let config = parse(&["souk", "serve", "--site-url", "https://souk.example"]);
        assert!(config.hosts().contains(&String::from("souk.example")));
        assert_eq!(config.origins(), ["https://souk.example:443"]);
    }
}
