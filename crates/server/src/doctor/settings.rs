//! Settings that are missing, unsafe or cannot work on this machine.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};

use outbound::ClientError;

use super::Finding;
use crate::Config;
use crate::config::{LimitsMode, OutboundHttp, TestPayments};
use crate::settings::UnknownVariable;
use crate::telemetry;

/// Checks the settings by themselves, without engines and directories. Each finding is about one of them.
pub(crate) fn check(config: &Config) -> Vec<(&'static str, Finding)> {
    let mut findings = vec![("SOUK_SECRET", check_secret(config))];
    if !config.site_url.is_loopback() && !config.site_url.is_secure() {
        let url = config.site_url.as_str();
        let finding = Finding::problem(
            "site URL",
            format!("{url} is not https: keys and tokens travel in clear text"),
            "serve through a proxy with TLS, and set SOUK_SITE_URL to its https address",
        );
        findings.push(("SOUK_SITE_URL", finding));
    }
    if !config.operator_listen.ip().is_loopback() {
        let finding = Finding::warning(
            "operators",
            format!("{} is reachable from other machines", config.operator_listen),
            "allow only your monitoring to connect to SOUK_OPERATOR_LISTEN",
        );
        findings.push(("SOUK_OPERATOR_LISTEN", finding));
    }
    if config.limits == LimitsMode::Off {
        let remedy = "remove SOUK_LIMITS=off";
        let finding = match config.admission() {
            Err(error) => Finding::problem("limits", error.to_string(), remedy),
            Ok(_) => Finding::warning("limits", "rate limits are off", remedy),
        };
        findings.push(("SOUK_LIMITS", finding));
    }
    if config.test_payments == Some(TestPayments::On) {
        let remedy = "remove SOUK_TEST_PAYMENTS=on; no money is taken";
        let finding = Finding::warning("payments", "the test provider pays live orders", remedy);
        findings.push(("SOUK_TEST_PAYMENTS", finding));
    }
    findings.extend(check_outbound(config));
    if let Err(error) = telemetry::log_filter(&config.log) {
        let remedy = "correct SOUK_LOG; until then `info` is used";
        findings.push(("SOUK_LOG", Finding::problem("log", error.to_string(), remedy)));
    }
    findings.extend(check_addresses(config));
    findings
}

/// Checks what is permitted to outbound requests beyond the public internet, and that the client can be created.
fn check_outbound(config: &Config) -> Vec<(&'static str, Finding)> {
    let mut findings = Vec::new();
    if let Err(error) = config.outbound_client() {
        let (setting, remedy) = match &error {
            ClientError::Http(_) => (
                "SOUK_OUTBOUND_HTTP",
                "install CA certificates, or name their file in SSL_CERT_FILE; until then neither `souk serve` nor `souk work` starts",
            ),
            ClientError::Dns(_) => (
                "SOUK_OUTBOUND_NAMESERVERS",
                "correct SOUK_OUTBOUND_NAMESERVERS, or remove it to use the name servers of the system; until then neither `souk serve` nor `souk work` starts",
            ),
        };
        let text = crate::monitor::with_cause(&error);
        findings.push((setting, Finding::problem("outbound", text, remedy)));
    }
    if config.outbound_http == OutboundHttp::On {
        let text = "webhooks may be sent without TLS: events can be read and changed on the way";
        let remedy = "remove SOUK_OUTBOUND_HTTP=on, unless this is a development server";
        findings.push(("SOUK_OUTBOUND_HTTP", Finding::warning("outbound", text, remedy)));
    }
    // Through NAT64 only public IPv4 addresses are reached.
    if config.outbound_allow.iter().any(|network| *network != outbound::NAT64.into()) {
        let text = "merchants can send requests into networks that are not public";
        let remedy = "remove what is not a receiver of webhooks from SOUK_OUTBOUND_ALLOW";
        findings.push(("SOUK_OUTBOUND_ALLOW", Finding::warning("outbound", text, remedy)));
    }
    findings
}

fn check_secret(config: &Config) -> Finding {
    match config.credential_secret() {
        Err(error) => {
            Finding::problem("secret", error.to_string(), "set SOUK_SECRET in every process")
        }
        Ok(_) if config.has_development_secret() => Finding::warning(
            "secret",
            "SOUK_SECRET is not set: the public development secret is used",
            "set SOUK_SECRET before anybody else can reach the service",
        ),
        Ok(_) => Finding::ok("secret", "SOUK_SECRET is set"),
    }
}

/// Checks that this machine can listen on both addresses. One that is in use is no problem: this server may run already.
fn check_addresses(config: &Config) -> Vec<(&'static str, Finding)> {
    let mut findings = Vec::new();
    let (public, private) = (config.listen, config.operator_listen);
    if public == private && public.port() != 0 {
        let text = format!("{private} is also SOUK_LISTEN: metrics cannot be served");
        let finding = Finding::problem("addresses", text, "give SOUK_OPERATOR_LISTEN another port");
        findings.push(("SOUK_OPERATOR_LISTEN", finding));
    }
    for (setting, address) in [("SOUK_LISTEN", public), ("SOUK_OPERATOR_LISTEN", private)] {
        if let Some(finding) = check_address(setting, address) {
            findings.push((setting, finding));
        }
    }
    findings
}

fn check_address(setting: &str, address: SocketAddr) -> Option<Finding> {
    let error = TcpListener::bind(address).err()?;
    if error.kind() == ErrorKind::AddrInUse {
        return None;
    }
    let remedy = format!("set {setting} to an address of this machine and a port that it may use");
    let text = format!("cannot listen on {address}: {error}");
    Some(Finding::problem("addresses", text, remedy))
}

/// Returns a problem for each variable that is no setting: what it was meant to set has its default.
pub(crate) fn check_unknown(unknown: &[UnknownVariable]) -> Vec<Finding> {
    let problem = |UnknownVariable { name, nearest }: &UnknownVariable| {
        let remedy = nearest.as_ref().map_or_else(
            || String::from("remove it; `souk --help` lists the settings"),
            |nearest| format!("did you mean {nearest}?"),
        );
        Finding::problem("settings", format!("{name} is not a setting"), remedy)
    };
    unknown.iter().map(problem).collect()
}
