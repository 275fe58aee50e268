//! The certificates with which PayPal signs webhooks.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use outbound::{Client, Destination};
use primitives::Timestamp;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, TrustAnchor, UnixTime};
use tokio::time::Instant;
use url::Url;
use webpki::aws_lc_rs::RSA_PKCS1_2048_8192_SHA256;
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage, anchor_from_trusted_cert};

use crate::processors::{InvalidEndpoint, REQUEST_TIMEOUT};
use crate::webhook::WebhookError;

/// The path of all certificates.
const PATH: &str = "/v1/notifications/certs/";
const URL_MAX_BYTES: usize = 500;

/// Certificates that are kept. PayPal has one at a time for each of its systems, two while one replaces the other.
const CERTIFICATES_MAX: usize = 16;
/// Certificates in one response.
const CHAIN_MAX: usize = 10;

/// Anybody can send a webhook with the address of a certificate that does not exist. In that time so many are fetched; those that
/// are known need no request.
const FETCHES_MAX: usize = 10;
const FETCHES_INTERVAL: Duration = Duration::from_mins(1);

/// The authorities that issue the certificates with which PayPal signs webhooks.
#[derive(Debug, Clone)]
pub struct CertificateAuthorities(Arc<[TrustAnchor<'static>]>);

impl CertificateAuthorities {
    /// Returns those of the system. Certificates that cannot be read are left out; without any, no webhook of PayPal is accepted.
    #[must_use]
    pub fn system() -> Self {
        Self::of(&rustls_native_certs::load_native_certs().certs)
    }

    /// Returns those in a text in PEM format. They may also be intermediate ones.
    #[must_use]
    pub fn from_pem(pem: &[u8]) -> Self {
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem).flatten().collect();
        Self::of(&certificates)
    }

    fn of(certificates: &[CertificateDer<'static>]) -> Self {
        let anchors = certificates.iter().filter_map(|it| anchor_from_trusted_cert(it).ok());
        Self(anchors.map(|anchor| anchor.to_owned()).collect())
    }

    /// Returns the number of authorities.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// A certificate and those that lead to its authority, as they were received.
#[derive(Debug)]
struct Chain(Vec<CertificateDer<'static>>);

/// Fetches certificates and keeps those that were valid.
#[derive(Debug, Clone)]
pub(super) struct Certificates {
    client: Client,
    /// Origins of the addresses of certificates.
    origins: Arc<[String]>,
    /// The names of which a certificate must have one.
    names: &'static [&'static str],
    authorities: CertificateAuthorities,
    kept: Arc<Mutex<HashMap<String, Arc<Chain>>>>,
    /// When the last certificates were fetched. The lock is held while one is, so that concurrent webhooks fetch one.
    fetches: Arc<tokio::sync::Mutex<VecDeque<Instant>>>,
}

impl Certificates {
    pub(super) fn new(
        client: Client,
        origins: &[String],
        names: &'static [&'static str],
        authorities: CertificateAuthorities,
    ) -> Result<Self, InvalidEndpoint> {
        let origin = |origin: &String| {
            let destination = Destination::parse(origin, client.policy())?;
            let url = Url::parse(destination.as_str()).map_err(|_| InvalidEndpoint::NotABase)?;
            Ok::<_, InvalidEndpoint>(url.origin().ascii_serialization())
        };
        let origins = origins.iter().map(origin).collect::<Result<Vec<_>, _>>()?.into();
        let (kept, fetches) = (Arc::default(), Arc::default());
        Ok(Self { client, origins, names, authorities, kept, fetches })
    }

    /// Verifies that the message was signed with the certificate at the address, and the certificate.
    pub(super) async fn verify(
        &self,
        url: &str,
        message: &[u8],
        signature: &[u8],
        now: Timestamp,
    ) -> Result<(), WebhookError> {
        let url = self.certificate_url(url)?;
        let chain = match self.kept(&url) {
            Some(chain) => chain,
            None => self.fetch(&url, now).await?,
        };
        // Also a certificate that is kept: it may have expired since.
        let certificate = self.validate(&chain, now)?;
        let verified = certificate.verify_signature(RSA_PKCS1_2048_8192_SHA256, message, signature);
        verified.map_err(|_| WebhookError::SignatureMismatch)
    }

    /// Returns the address in its canonical form if certificates of PayPal can be there.
    fn certificate_url(&self, text: &str) -> Result<String, WebhookError> {
        let refused = WebhookError::CertificateUrlRefused;
        if text.len() > URL_MAX_BYTES {
            return Err(refused);
        }
        let destination = Destination::parse(text, self.client.policy()).map_err(|_| refused)?;
        let url = Url::parse(destination.as_str()).map_err(|_| refused)?;
        let is_known = self.origins.contains(&url.origin().ascii_serialization());
        let name = url.path().strip_prefix(PATH);
        let is_name = |name: &str| crate::api::reference(name).is_ok();
        if !is_known || !name.is_some_and(is_name) || url.query().is_some() {
            return Err(refused);
        }
        Ok(url.into())
    }

    fn kept(&self, url: &str) -> Option<Arc<Chain>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(url).cloned()
    }

    async fn fetch(&self, url: &str, now: Timestamp) -> Result<Arc<Chain>, WebhookError> {
        // Senders of webhooks do not wait for an answer for longer.
        let fetches = tokio::time::timeout(REQUEST_TIMEOUT, self.fetches.lock()).await;
        let mut fetches = fetches.map_err(|_| WebhookError::CertificateUnavailable(None))?;
        if let Some(chain) = self.kept(url) {
            return Ok(chain);
        }
        let started_at = Instant::now();
        while fetches.front().is_some_and(|at| started_at - *at >= FETCHES_INTERVAL) {
            fetches.pop_front();
        }
        if fetches.len() >= FETCHES_MAX {
            return Err(WebhookError::CertificateUnavailable(None));
        }
        fetches.push_back(started_at);
        let refused = WebhookError::CertificateUrlRefused;
        let destination = Destination::parse(url, self.client.policy()).map_err(|_| refused)?;
        let response = self.client.get(&destination, HeaderMap::new()).await;
        let response =
            response.map_err(|error| WebhookError::CertificateUnavailable(Some(error)))?;
        if !response.status.is_success() || response.is_truncated {
            return Err(WebhookError::CertificateUnavailable(None));
        }
        let certificates = CertificateDer::pem_slice_iter(&response.body).take(CHAIN_MAX);
        let chain = certificates.collect::<Result<Vec<_>, _>>();
        let chain = Chain(chain.map_err(|_| WebhookError::CertificateRefused)?);
        self.validate(&chain, now)?;
        let chain = Arc::new(chain);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= CERTIFICATES_MAX {
            kept.clear();
        }
        kept.insert(url.to_owned(), Arc::clone(&chain));
        Ok(chain)
    }

    /// Verifies the chain up to an authority, the period of validity and the name. PayPal signs with certificates for servers.
    fn validate<'chain>(
        &self,
        chain: &'chain Chain,
        now: Timestamp,
    ) -> Result<EndEntityCert<'chain>, WebhookError> {
        let refused = WebhookError::CertificateRefused;
        let (leaf, intermediates) = chain.0.split_first().ok_or(refused)?;
        let certificate = EndEntityCert::try_from(leaf).map_err(|_| refused)?;
        let seconds = u64::try_from(now.unix_seconds()).map_err(|_| refused)?;
        let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let usage = KeyUsage::server_auth();
        let anchors = &self.authorities.0;
        certificate
            .verify_for_usage(
                ALL_VERIFICATION_ALGS,
                anchors,
                intermediates,
                time,
                usage,
                None,
                None,
            )
            .map_err(|_| refused)?;
        let has_name = |name: &&str| {
            let name = ServerName::try_from(*name);
            name.is_ok_and(|name| certificate.verify_is_valid_for_subject_name(&name).is_ok())
        };
        if self.names.iter().any(has_name) { Ok(certificate) } else { Err(refused) }
    }
}

#[cfg(test)]
mod tests {
    use outbound::Settings;

    use super::*;

    fn certificates() -> Certificates {
        let client = Client::new(Settings::default()).unwrap();
        let origins = ["https://api.paypal.com".to_owned()];
        let authorities = CertificateAuthorities::from_pem(b"");
        Certificates::new(client, &origins, &["messageverificationcerts.paypal.com"], authorities)
            .unwrap()
    }

    #[tokio::test]
    async fn a_certificate_is_at_an_address_of_paypal() {
        let certificates = certificates();
        let url = "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594";
        assert_eq!(certificates.certificate_url(url).as_deref(), Ok(url));
        let long = format!("{url}{}", "a".repeat(URL_MAX_BYTES));
        for url in [
            "",
            "http://api.paypal.com/v1/notifications/certs/CERT-1",
            "https://api.paypal.com.evil.example/v1/notifications/certs/CERT-1",
            "https://evil.example/v1/notifications/certs/CERT-1",
            "https://evil.example/https://api.paypal.com/v1/notifications/certs/CERT-1",
            "https://api.paypal.com@evil.example/v1/notifications/certs/CERT-1",
            "https://api.paypal.com:8443/v1/notifications/certs/CERT-1",
            "https://api.paypal.com/v1/notifications/certs/",
            "https://api.paypal.com/v1/notifications/certs/../../oauth2/token",
            "https://api.paypal.com/v1/notifications/certs/a/b",
            "https://api.paypal.com/v1/notifications/certs/a%2Fb",
            "https://api.paypal.com/v1/notifications/certs/CERT-1?a=b",
            "https://api.paypal.com/other/CERT-1",
            "https://127.0.0.1/v1/notifications/certs/CERT-1",
            &long,
        ] {
            let refused = certificates.certificate_url(url);
            assert_eq!(refused, Err(WebhookError::CertificateUrlRefused), "{url}");
        }
    }

    #[test]
    fn the_system_has_authorities() {
        assert!(CertificateAuthorities::system().count() > 0);
        assert_eq!(CertificateAuthorities::from_pem(b"no certificate").count(), 0);
    }
}
