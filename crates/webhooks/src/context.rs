//! What the verbs of webhooks need.

use database::Database;
use outbound::{Client, Destination};

use crate::{EndpointError, EndpointUrl, SealingKey};

/// The database, the key of the secrets, and the client that vets URLs. Its methods are the verbs of endpoints and deliveries.
/// Cheap to clone.
#[derive(Clone)]
pub struct Webhooks {
    pub(crate) database: Database,
    pub(crate) sealing: SealingKey,
    pub(crate) client: Client,
}

impl Webhooks {
    /// Creates the context.
    #[must_use]
    pub fn new(database: Database, sealing: SealingKey, client: Client) -> Self {
        Self { database, sealing, client }
    }

    /// Returns whether a URL is the one that an endpoint has, however it is spelled.
    pub(crate) fn is_same_url(&self, current: &str, url: &str) -> bool {
        let parsed = Destination::parse(url, self.client.policy());
        current == url || parsed.is_ok_and(|parsed| parsed.as_str() == current)
    }

    /// Checks the URL of an endpoint: parses it, resolves its host and refuses addresses that do not belong to the public
    /// internet. Takes up to some seconds; never called while a `Work` is open. `field` is its name in the request.
    pub(crate) async fn check_url(
        &self,
        field: &'static str,
        text: &str,
    ) -> Result<EndpointUrl, EndpointError> {
        let parsed = Destination::parse(text, self.client.policy());
        let destination = parsed.map_err(|error| EndpointError::InvalidUrl { field, error })?;
        let checked = self.client.check(&destination).await;
        checked.map_err(|error| EndpointError::RefusedUrl { field, error })?;
        Ok(EndpointUrl::of(&destination))
    }
}
