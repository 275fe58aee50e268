//! Configuration, read once from the command line and the environment. `souk --help` documents it,
//! and `.env.example` is generated from the same declarations.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use catalog::UploadGate;
use checkout::PaymentGateway;
use clap::{Args, ValueEnum};
use database::CellName;
use ipnet::{IpNet, Ipv4Net};
use limits::{AdmissionControl, Limiter};
use payments::TestProvider;
use trust::MethodologyVersion;

/// The configuration of a process.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Configuration")]
pub struct Config {
    /// URL of the PostgreSQL database
    #[arg(
        long,
        env = "DATABASE_URL",
        default_value = "postgres://souk@127.0.0.1:25329/souk",
        global = true,
        hide_env_values = true
    )]
    pub database_url: Secret,
    /// URL of the Redis server that counts calls for rate limits; Souk keeps working without it
    #[arg(
        long,
        env = "REDIS_URL",
        default_value = "redis://127.0.0.1:63799",
        global = true,
        hide_env_values = true
    )]
    pub redis_url: Secret,
    /// Address and port to listen on
    #[arg(long, env = "SOUK_LISTEN", default_value = "127.0.0.1:8080", global = true)]
    pub listen: SocketAddr,
    /// Private address and port for operators, which serves /metrics: never expose it to the public
    #[arg(long, env = "SOUK_OPERATOR_LISTEN", default_value = "127.0.0.1:8081", global = true)]
    pub operator_listen: SocketAddr,
    /// Public base URL of the service, without a trailing slash
    #[arg(long, env = "SOUK_SITE_URL", default_value = "http://127.0.0.1:8080", global = true)]
    pub site_url: SiteUrl,
    /// Secret that protects stored credentials, at least 32 characters; optional if the service is reachable only on loopback
    #[arg(long, env = "SOUK_SECRET", global = true, hide_env_values = true)]
    pub secret: Option<Secret>,
    /// Additional accepted Host headers, besides the site URL and loopback; comma-separated
    #[arg(long, env = "SOUK_ALLOWED_HOSTS", value_delimiter = ',', global = true)]
    pub allowed_hosts: Vec<String>,
    /// Additional accepted browser origins, besides the site URL; comma-separated
    #[arg(long, env = "SOUK_ALLOWED_ORIGINS", value_delimiter = ',', global = true)]
    pub allowed_origins: Vec<String>,
    /// Proxies whose X-Forwarded-For header is trusted: addresses or networks such as 10.0.0.0/8; comma-separated
    #[arg(long, env = "SOUK_TRUSTED_PROXIES", value_delimiter = ',', value_parser = network, global = true)]
    pub trusted_proxies: Vec<IpNet>,
    /// Whether rate limits are enforced
    #[arg(long, env = "SOUK_LIMITS", value_enum, default_value_t = LimitsMode::On, global = true)]
    pub limits: LimitsMode,
    /// Whether the test payment provider is accepted for live orders, not only in sandboxes; on with `dev`, otherwise off
    #[arg(long, env = "SOUK_TEST_PAYMENTS", value_enum, global = true)]
    pub test_payments: Option<TestPayments>,
    /// Whether trust scores are those of methodology 4.1.0 instead of 2.0; both are always computed
    #[arg(long, env = "TRUST_SCORE_V41_ENABLED", value_enum, default_value_t = TrustScoreV41::Off, global = true)]
    pub trust_score_v41: TrustScoreV41,
    /// Cell that this process serves; requests for merchants of other cells are refused
    #[arg(long, env = "SOUK_CELL", default_value = "cell-1", global = true)]
    pub cell: CellName,
    /// Maximum number of open connections of clients; one without a request gives way to a new one
    #[arg(long, env = "SOUK_CONNECTIONS_MAX", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(16..), global = true)]
    pub connections_max: u32,
    /// Maximum number of open connections of one IPv4 address or IPv6 network; trusted proxies are not limited
    #[arg(long, env = "SOUK_ADDRESS_CONNECTIONS_MAX", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..), global = true)]
    pub address_connections_max: u32,
    /// Maximum number of PostgreSQL connections of this process
    #[arg(long, env = "SOUK_DATABASE_CONNECTIONS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=1000), global = true)]
    pub database_connections: u32,
    /// Maximum size of a request body, in bytes
    #[arg(long, env = "SOUK_BODY_BYTES_MAX", default_value_t = 1_048_576, global = true)]
    pub body_bytes_max: usize,
    /// Request timeout, in seconds
    #[arg(long, env = "SOUK_REQUEST_SECONDS_MAX", default_value_t = 30, global = true)]
    pub request_seconds_max: u64,
    /// Maximum size of an upload (feeds and catalog replacements), in bytes
    #[arg(long, env = "SOUK_UPLOAD_BYTES_MAX", default_value_t = 4_294_967_296, global = true)]
    pub upload_bytes_max: u64,
    /// Directory on the disk that stores the database; feeds are refused while it has too little free space
    #[arg(long, env = "SOUK_DISK", default_value = ".", global = true)]
    pub disk: PathBuf,
    /// Free disk space below which feeds are refused, in bytes; 0: not checked
    #[arg(long, env = "SOUK_DISK_BYTES_MIN", default_value_t = 2_147_483_648, global = true)]
    pub disk_bytes_min: u64,
    /// Maximum number of concurrent requests per store in this process; further requests are refused with 503
    #[arg(long, env = "SOUK_STORE_CONCURRENCY", default_value_t = 200, global = true)]
    pub store_concurrency: usize,
    /// Time to keep serving after SIGTERM, so that load balancers stop sending requests, in seconds
    #[arg(long, env = "SOUK_DRAIN_SECONDS", default_value_t = 5, global = true)]
    pub drain_seconds: u64,
    /// Maximum number of concurrent jobs in this process
    #[arg(long, env = "SOUK_JOB_CONCURRENCY", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1000), global = true)]
    pub job_concurrency: u16,
    /// Lease of a job: time after which another worker may claim it, in seconds
    #[arg(long, env = "SOUK_JOB_LEASE_SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600), global = true)]
    pub job_lease_seconds: u64,
    /// Maximum number of concurrent webhook requests of this process
    #[arg(long, env = "SOUK_WEBHOOK_SLOTS", default_value_t = 512, value_parser = clap::value_parser!(u16).range(4..=10_000), global = true)]
    pub webhook_slots: u16,
    /// Lease of the webhook dispatcher: time after which another worker takes over its deliveries, in seconds
    #[arg(long, env = "SOUK_WEBHOOK_LEASE_SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(2..=600), global = true)]
    pub webhook_lease_seconds: u64,
    /// Networks that webhooks may be sent to although they are not public: addresses or networks such as 10.1.0.0/16; comma-separated
    #[arg(long, env = "SOUK_OUTBOUND_ALLOW", value_delimiter = ',', value_parser = network, global = true)]
    pub outbound_allow: Vec<IpNet>,
    /// Networks that webhooks may not be sent to although they are public or allowed: addresses or networks such as 198.51.100.0/24; comma-separated
    #[arg(long, env = "SOUK_OUTBOUND_DENY", value_delimiter = ',', value_parser = network, global = true)]
    pub outbound_deny: Vec<IpNet>,
    /// Whether webhooks may be sent to URLs without TLS
    #[arg(long, env = "SOUK_OUTBOUND_HTTP", value_enum, default_value_t = OutboundHttp::Off, global = true)]
    pub outbound_http: OutboundHttp,
    /// Name servers that resolve the receivers of webhooks, such as 10.0.0.2:53, instead of those of the system; comma-separated
    #[arg(long, env = "SOUK_OUTBOUND_NAMESERVERS", value_delimiter = ',', global = true)]
    pub outbound_nameservers: Vec<SocketAddr>,
    /// Object store of the search index: a directory, or `s3://bucket/prefix` with `AWS_…` in the environment
    #[arg(long, env = "SOUK_SEARCH_OBJECTS", default_value = ".souk/objects", global = true)]
    pub search_objects: String,
    /// Local directory for copies of the search index
    #[arg(long, env = "SOUK_SEARCH_DIRECTORY", default_value = ".souk/index", global = true)]
    pub search_directory: PathBuf,
    /// Number of shards of a new search index
    #[arg(long, env = "SOUK_SEARCH_SHARDS", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024), global = true)]
    pub search_shards: u16,
    /// Maximum number of matches that a search collects before its totals become estimates; 0: unlimited
    #[arg(long, env = "SOUK_SEARCH_BUDGET", default_value_t = 50_000, global = true)]
    pub search_budget: u64,
    /// Maximum number of concurrent searches in this process; 0: the number of cores
    #[arg(long, env = "SOUK_SEARCH_CONCURRENCY", default_value_t = 0, global = true)]
    pub search_concurrency: usize,
    /// Lease of a search index shard: time after which another writer may claim it, in seconds
    #[arg(long, env = "SOUK_SEARCH_LEASE_SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600), global = true)]
    pub search_lease_seconds: u64,
    /// Log filter: `info`, `warn,jobs=debug`
    #[arg(long, env = "SOUK_LOG", default_value = "info", global = true)]
    pub log: String,
    /// Log format
    #[arg(long, env = "SOUK_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text, global = true)]
    pub log_format: LogFormat,
}

/// Parses a network, or a single address.
fn network(text: &str) -> Result<IpNet, &'static str> {
    let text = text.trim();
    let one = text.parse::<IpAddr>().map(IpNet::from);
    let network = one.or_else(|_| text.parse()).map_err(|_| "not an IP address or network")?;
    Ok(canonical(network))
}

/// Returns a network of IPv4-mapped addresses as that of their IPv4 addresses, in which form addresses are compared with it.
fn canonical(network: IpNet) -> IpNet {
    let IpNet::V6(six) = network else { return network };
    let four = six.addr().to_ipv4_mapped().zip(six.prefix_len().checked_sub(96));
    let four = four.and_then(|(address, length)| Ipv4Net::new(address, length).ok());
    four.map_or(network, IpNet::V4)
}

/// Whether rate limits are enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LimitsMode {
    /// Enforce rate limits
    On,
    /// Do not enforce rate limits: for tests and measurements; requires a loopback site URL and listen address
    Off,
}

/// Whether the test payment provider is accepted for live orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TestPayments {
    /// Accept it for live orders; requires a loopback site URL and listen address
    On,
    /// Accept it in sandboxes only
    Off,
}

/// Which methodology decides about trust scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TrustScoreV41 {
    /// Methodology 4.1.0
    #[value(aliases = ["true", "1"])]
    On,
    /// Methodology 2.0
    #[value(aliases = ["false", "0"])]
    Off,
}

/// Whether outbound requests may be sent without TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutboundHttp {
    /// Accept http and https: for development and tests
    On,
    /// Accept https only
    Off,
}

/// The log format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Human-readable lines
    Text,
    /// One JSON object per line
    Json,
}

/// A value that is not shown in logs or debug output.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns the value.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the part of a URL after the credentials, without the query, which may have a password.
    #[must_use]
    pub fn public_part(&self) -> &str {
        let url = self.0.split_once('?').map_or(self.0.as_str(), |(url, _)| url);
        url.rsplit_once('@')
            .map_or_else(|| url.split_once("://").map_or("…", |(_, rest)| rest), |(_, rest)| rest)
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

/// The public base URL: scheme and authority, without a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteUrl(String);

impl SiteUrl {
    /// Returns the URL as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns host and port.
    #[must_use]
    pub fn authority(&self) -> &str {
        self.0.split_once("://").map_or("", |(_, rest)| rest)
    }

    /// Whether the host is a loopback address or `localhost`.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let authority = self.authority().parse::<http::uri::Authority>();
        authority.is_ok_and(|authority| {
            let host = authority.host().trim_start_matches('[').trim_end_matches(']');
            let address = host.parse::<IpAddr>();
            host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|it| it.is_loopback())
        })
    }

    /// Whether the scheme is `https`.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.0.starts_with("https://")
    }
}

impl FromStr for SiteUrl {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let uri: http::Uri = text.parse().map_err(|_| "not a URL")?;
        let scheme = uri.scheme_str().ok_or("the URL has no scheme")?;
        let authority = uri.authority().ok_or("the URL has no host")?;
        if !matches!(scheme, "http" | "https") {
            return Err("the scheme must be http or https");
        }
        if text.trim_end_matches('/') != format!("{scheme}://{authority}") {
            return Err("the URL must not have a path");
        }
        Ok(Self(format!("{scheme}://{authority}")))
    }
}

/// Why the secret that protects credentials is missing or unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// None is set, and the service is reachable from other machines.
    #[error(
        "SOUK_SECRET is not set. It is optional only if SOUK_SITE_URL and SOUK_LISTEN are loopback addresses; \
         generate one with `openssl rand -hex 32`"
    )]
    Missing,
    #[error("SOUK_SECRET has fewer than 32 characters; generate one with `openssl rand -hex 32`")]
    TooShort,
}

/// Why rate limits cannot be configured as requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionError {
    /// Limits are off although the service is reachable from other machines.
    #[error(
        "SOUK_LIMITS=off is allowed only if SOUK_SITE_URL and SOUK_LISTEN are loopback addresses"
    )]
    Off,
    #[error("REDIS_URL is not a Redis URL; expected redis://host:port")]
    Redis,
}

/// The secret of a development server. It is public; it only keeps keys valid across restarts.
const DEVELOPMENT_SECRET: &str = "souk-development-secret-that-protects-nothing";

impl Config {
    /// Returns the secret that protects credentials. It must be set unless the service is loopback only.
    pub fn credential_secret(&self) -> Result<identity::Secret, SecretError> {
        let secret = match &self.secret {
            // Compose files pass an unset variable as an empty string.
            Some(secret) if !secret.reveal().is_empty() => secret.reveal(),
            _ if self.is_loopback_only() => DEVELOPMENT_SECRET,
            _ => return Err(SecretError::Missing),
        };
        identity::Secret::new(secret).map_err(|_| SecretError::TooShort)
    }

    /// Whether the service is reachable only from this machine, by site URL and by listen address.
    fn is_loopback_only(&self) -> bool {
        self.site_url.is_loopback() && self.listen.ip().is_loopback()
    }

    /// Returns the admission control: counted in Redis, or unlimited.
    pub fn admission(&self) -> Result<AdmissionControl, AdmissionError> {
        match self.limits {
            LimitsMode::Off if self.is_loopback_only() => Ok(AdmissionControl::unlimited()),
            LimitsMode::Off => Err(AdmissionError::Off),
            LimitsMode::On => {
                let limiter = Limiter::new(self.redis_url.reveal(), "souk");
                limiter.map(AdmissionControl::new).map_err(|_| AdmissionError::Redis)
            }
        }
    }

    /// Returns the payment gateway of the hosted payment page. The test provider pays for live orders only on loopback.
    #[must_use]
    pub fn payment_gateway(&self) -> PaymentGateway {
        let is_allowed = self.test_payments == Some(TestPayments::On) && self.is_loopback_only();
        PaymentGateway::new(Arc::new(TestProvider), is_allowed)
    }

    /// Creates the client of outbound requests.
    pub fn outbound_client(&self) -> Result<outbound::Client, outbound::ClientError> {
        let policy = outbound::Policy {
            allow_http: self.outbound_http == OutboundHttp::On,
            allowed_networks: self.outbound_allow.clone(),
        };
        outbound::Client::new(outbound::Settings {
            policy,
            denied_networks: self.outbound_deny.clone(),
            nameservers: self.outbound_nameservers.clone(),
            ..Default::default()
        })
    }

    /// Returns the methodology whose trust scores are in force.
    #[must_use]
    pub const fn methodology(&self) -> MethodologyVersion {
        match self.trust_score_v41 {
            TrustScoreV41::On => MethodologyVersion::V41,
            TrustScoreV41::Off => MethodologyVersion::V20,
        }
    }

    /// Returns the gate that admits uploads while the disk has enough free space.
    #[must_use]
    pub fn upload_gate(&self) -> UploadGate {
        if self.disk_bytes_min == 0 {
            return UploadGate::without_disk();
        }
        let disk = self.disk.clone();
        let free_space = move || {
            let volume = rustix::fs::statvfs(&disk).inspect_err(|error| {
                tracing::warn!(%error, disk = %disk.display(), "the free disk space is unknown");
            });
            volume.ok().map(|volume| volume.f_bavail.saturating_mul(volume.f_frsize))
        };
        UploadGate::new(Arc::new(free_space), self.disk_bytes_min)
    }

    /// Whether credentials are protected only by the public development secret.
    #[must_use]
    pub fn has_development_secret(&self) -> bool {
        let set = self.secret.as_ref().is_some_and(|secret| !secret.reveal().is_empty());
        !set && self.is_loopback_only()
    }

    /// Returns the accepted `Host` headers: the site, loopback, and the configured ones.
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

    /// Returns the accepted browser origins: the site and the configured ones.
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
        // Both are set, because the environment of a test run sets its own.
        let secrets =
            ["--database-url", "postgres://u:password@db/souk", "--redis-url", "redis://r:1"];
        let config = parse(&[&["souk", "serve"], &secrets[..]].concat());
        assert!(!format!("{config:?}").contains("password"));
        assert_eq!(config.database_url.public_part(), "db/souk");
        assert_eq!(config.redis_url.public_part(), "r:1");
        let in_query: Secret = "postgres://db/souk?user=u&password=p@ss".parse().unwrap();
        assert_eq!(in_query.public_part(), "db/souk");
    }

    #[test]
    fn a_network_is_one_of_ipv4_or_of_ipv6() {
        for (text, expected) in [
            ("10.1.0.0/16", "10.1.0.0/16"),
            (" 10.1.2.3", "10.1.2.3/32"),
            ("2606:4700::/32", "2606:4700::/32"),
            ("::/0", "::/0"),
            ("::ffff:10.1.0.0/112", "10.1.0.0/16"),
            ("::ffff:10.1.2.3", "10.1.2.3/32"),
        ] {
            assert_eq!(network(text), Ok(expected.parse().unwrap()), "{text}");
        }
        assert!(network("10.1.0.0/33").is_err() && network("example.com").is_err());
    }

    #[tokio::test]
    async fn the_client_of_outbound_requests_has_the_networks_of_the_settings() {
        let networks = ["--outbound-allow", "10.0.0.0/8", "--outbound-deny", "1.1.1.1,10.1.0.0/16"];
        let client = parse(&[&["souk", "work"], &networks[..]].concat()).outbound_client().unwrap();
        for (url, is_accepted) in [
            ("https://1.1.1.2/", true),
            ("https://1.1.1.1/", false),
            ("https://10.2.0.1/", true),
            ("https://10.1.0.1/", false),
        ] {
            let destination = outbound::Destination::parse(url, client.policy()).unwrap();
            assert_eq!(client.check(&destination).await.is_ok(), is_accepted, "{url}");
        }
    }

    #[test]
    fn a_site_url_is_a_scheme_and_a_host() {
        assert_eq!(
            "https://souk.example/".parse::<SiteUrl>().unwrap().as_str(),
            "https://souk.example"
        );
        for invalid in
            ["souk.example", "ftp://souk.example", "https://souk.example/api", "https://"]
        {
            assert!(invalid.parse::<SiteUrl>().is_err(), "{invalid} was accepted");
        }
    }

    fn secret(site: &str, secret: Option<&str>) -> Result<(), SecretError> {
        let mut config = parse(&["souk", "serve", "--site-url", site]);
        // The environment of a test run may set one.
        config.secret = secret.map(|text| text.parse().unwrap());
        config.credential_secret().map(|_| ())
    }

    #[test]
    fn a_service_beyond_loopback_requires_a_secret() {
        let good = "x".repeat(32);
        for site in ["http://127.0.0.1:8080", "http://localhost", "http://[::1]:8080"] {
            assert_eq!(secret(site, None), Ok(()), "{site}");
        }
        for site in ["https://souk.example", "http://192.168.0.4", "http://127.0.0.1.example"] {
            assert_eq!(secret(site, None), Err(SecretError::Missing), "{site}");
            assert_eq!(secret(site, Some("")), Err(SecretError::Missing), "{site}");
            assert_eq!(secret(site, Some(&good)), Ok(()), "{site}");
        }
        assert_eq!(secret("http://localhost", Some(&good[1..])), Err(SecretError::TooShort));
    }

    #[test]
    fn limits_are_disabled_only_on_loopback() {
        let admission =
            |site| parse(&["souk", "serve", "--limits", "off", "--site-url", site]).admission();
        assert!(admission("http://127.0.0.1:8080").is_ok());
        assert_eq!(admission("https://souk.example").err(), Some(AdmissionError::Off));
        let open = ["souk", "serve", "--limits", "off", "--listen", "0.0.0.0:8080"];
        let mut open = parse(&open);
        open.secret = None;
        assert_eq!(open.admission().err(), Some(AdmissionError::Off));
        assert_eq!(open.credential_secret().err(), Some(SecretError::Missing));
    }

    #[test]
    fn one_flag_switches_the_methodology_of_trust_scores() {
        let methodology =
            |value| parse(&["souk", "work", "--trust-score-v41", value]).methodology();
        for value in ["on", "true", "1"] {
            assert_eq!(methodology(value), MethodologyVersion::V41, "{value}");
        }
        for value in ["off", "false", "0"] {
            assert_eq!(methodology(value), MethodologyVersion::V20, "{value}");
        }
    }

    #[test]
    fn the_site_is_an_accepted_host_and_origin() {
        let config = parse(&["souk", "serve", "--site-url", "https://souk.example"]);
        assert!(config.hosts().contains(&String::from("souk.example")));
        assert_eq!(config.origins(), ["https://souk.example:443"]);
    }
}
