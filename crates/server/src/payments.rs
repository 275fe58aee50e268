//! The payment providers of a process, and the accounts of stores at payment processors.

mod tokens;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use checkout::PaymentGateway;
use database::Database;
use outbound::{Client, ClientError, DestinationError, Policy, Settings};
use payments::{PaymentAccounts, ProcessorProvider, Provider, Providers, TestProvider};
use processors::{
    CertificateAuthorities, Endpoints, InvalidEndpoint, Processors, REQUEST_TIMEOUT,
    RESPONSE_MAX_BYTES,
};

pub(crate) use self::tokens::network;
use crate::config::{Config, SecretError, SiteUrl, TestPayments};

/// Takes payments, and knows the accounts of stores.
#[derive(Debug, Clone)]
pub struct Payments {
    pub gateway: PaymentGateway,
    pub accounts: PaymentAccounts,
}

/// Why payments cannot be configured as requested.
#[derive(Debug, thiserror::Error)]
pub enum PaymentsError {
    /// Payments would go to another server than that of the processor.
    #[error(
        "SOUK_STRIPE_URL, SOUK_PAYPAL_URL and SOUK_PAYPAL_AUTHORITIES are for test doubles: they are allowed only if they, \
         SOUK_SITE_URL and SOUK_LISTEN are loopback addresses"
    )]
    NotLoopback,
    #[error("{0} cannot be read: {1}")]
    Authorities(PathBuf, std::io::Error),
    #[error("the address of a payment processor is not valid: {0}")]
    Endpoint(#[from] InvalidEndpoint),
    #[error("SOUK_X402_FACILITATOR_URL and SOUK_X402_RPC_URL belong together; set both, or none")]
    IncompleteTokens,
    #[error("{variable} cannot be used: {error}")]
    TokenUrl { variable: &'static str, error: DestinationError },
    #[error("{}", crate::monitor::with_cause(.0))]
    Client(#[from] ClientError),
    #[error(transparent)]
    Secret(#[from] SecretError),
}

impl Payments {
    /// Creates the providers: the test provider, which pays for live orders only on loopback, the payment processors, with the
    /// accounts of stores, and payments of agents in tokens if they are configured.
    pub fn new(config: &Config, database: &Database) -> Result<Self, PaymentsError> {
        let secret = config.credential_secret()?;
        let accounts = PaymentAccounts::new(database.clone(), &secret, processors(config)?);
        let allows_test_payments =
            config.test_payments == Some(TestPayments::On) && config.is_loopback_only();
        let payments = Self::with(accounts, allows_test_payments);
        Ok(match tokens::provider(config, database)? {
            Some(provider) => Self { gateway: payments.gateway.with_x402(provider), ..payments },
            None => payments,
        })
    }

    /// Creates the providers with these accounts.
    #[must_use]
    pub fn with(accounts: PaymentAccounts, allows_test_payments: bool) -> Self {
        let test = [Arc::new(TestProvider) as Arc<dyn Provider>];
        let of_processors = ProcessorProvider::all(&accounts).into_iter();
        let of_processors = of_processors.map(|it| Arc::new(it) as Arc<dyn Provider>);
        let providers = Providers::new(test.into_iter().chain(of_processors));
        Self { gateway: PaymentGateway::new(providers, allows_test_payments), accounts }
    }
}

/// Returns an error if the settings of payments cannot be used.
pub(crate) fn check(config: &Config) -> Result<(), PaymentsError> {
    processors(config)?;
    tokens::clients(config).map(drop)
}

/// Returns the clients of the payment processors, or of test doubles on this machine.
fn processors(config: &Config) -> Result<Processors, PaymentsError> {
    let urls = [&config.stripe_url, &config.paypal_url];
    let has_doubles = urls.iter().any(|url| url.is_some()) || config.paypal_authorities.is_some();
    let is_loopback = urls.into_iter().flatten().all(SiteUrl::is_loopback);
    if has_doubles && !(is_loopback && config.is_loopback_only()) {
        return Err(PaymentsError::NotLoopback);
    }
    let authorities = match &config.paypal_authorities {
        Some(path) => {
            let pem = fs::read(path);
            let pem = pem.map_err(|error| PaymentsError::Authorities(path.clone(), error))?;
            CertificateAuthorities::from_pem(&pem)
        }
        None => CertificateAuthorities::system(),
    };
    let client = client(config, has_doubles)?;
    Ok(Processors::new(&client, &endpoints(config), authorities)?)
}

/// Returns the client of requests to payment processors, which take longer and respond with more than receivers of webhooks.
fn client(config: &Config, has_doubles: bool) -> Result<Client, ClientError> {
    let loopback = ["127.0.0.0/8", "::1/128"];
    let loopback = loopback.into_iter().filter_map(|network| network.parse().ok());
    let policy = Policy {
        // Also for the URLs to which processors send buyers back.
        allow_http: config.is_loopback_only(),
        allowed_networks: loopback.filter(|_| has_doubles).collect(),
    };
    Client::new(Settings {
        policy,
        denied_networks: config.outbound_deny.clone(),
        nameservers: config.outbound_nameservers.clone(),
        total_timeout: REQUEST_TIMEOUT,
        response_max_bytes: RESPONSE_MAX_BYTES,
        ..Settings::default()
    })
}

fn endpoints(config: &Config) -> Endpoints {
    let mut endpoints = Endpoints::default();
    if let Some(url) = &config.stripe_url {
        url.as_str().clone_into(&mut endpoints.stripe);
    }
    if let Some(url) = &config.paypal_url {
        let url = url.as_str().to_owned();
        endpoints.paypal_live_certificates = vec![url.clone()];
        endpoints.paypal_sandbox_certificates = vec![url.clone()];
        endpoints.paypal_live = url.clone();
        endpoints.paypal_sandbox = url;
    }
    endpoints
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    fn config(arguments: &[&str]) -> Config {
        Cli::parse_from([&["souk", "serve"], arguments].concat()).config
    }

    #[tokio::test]
    async fn payments_go_to_the_processors_unless_a_double_on_this_machine_is_named() {
        let default = config(&[]);
        assert!(processors(&default).is_ok());
        assert_eq!(endpoints(&default), Endpoints::default());
        let doubles =
            config(&["--stripe-url", "http://127.0.0.1:1", "--paypal-url", "http://localhost:2"]);
        assert!(processors(&doubles).is_ok());
        let endpoints = endpoints(&doubles);
        assert_eq!(endpoints.stripe, "http://127.0.0.1:1");
        assert_eq!(endpoints.paypal_live, "http://localhost:2");
        assert_eq!(endpoints.paypal_sandbox_certificates, ["http://localhost:2"]);
    }

    #[tokio::test]
    async fn a_double_is_on_this_machine_and_so_is_the_service() {
        for arguments in [
            &["--stripe-url", "https://stripe.example"][..],
            &["--paypal-url", "http://10.0.0.1"],
            &["--stripe-url", "http://127.0.0.1:1", "--site-url", "https://souk.example"],
            &["--paypal-authorities", "/etc/ssl/cert.pem", "--listen", "0.0.0.0:8080"],
        ] {
            let refused = processors(&config(arguments));
            assert!(matches!(refused, Err(PaymentsError::NotLoopback)), "{arguments:?}");
        }
        let missing = processors(&config(&["--paypal-authorities", "/nowhere/at/all"]));
        assert!(matches!(missing, Err(PaymentsError::Authorities(..))));
    }
}
