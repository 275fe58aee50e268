//! Payments of agents in tokens, as they are configured.

use std::time::Duration;

use database::Database;
use outbound::{Client, Settings};
use payments::X402Provider;
use x402::{CHAIN_RESPONSE_MAX_BYTES, ChainReader, Facilitator, Network};

use super::PaymentsError;
use crate::config::{Config, Secret};

/// Time for a facilitator to respond, which waits for a block. A request of an agent waits no longer for the outcome.
const FACILITATOR_TIMEOUT: Duration = Duration::from_secs(15);
/// Time for a node to respond.
const NODE_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the provider of payments in tokens, if it is configured.
pub(super) fn provider(
    config: &Config,
    database: &Database,
) -> Result<Option<X402Provider>, PaymentsError> {
    let clients = clients(config)?;
    Ok(clients.map(|(facilitator, chain)| X402Provider::new(database.clone(), facilitator, chain)))
}

/// Returns the clients of the facilitator and of the node, if they are configured.
pub(super) fn clients(
    config: &Config,
) -> Result<Option<(Facilitator, ChainReader)>, PaymentsError> {
    // Compose files pass an unset variable as an empty string.
    let set = |url: &Option<Secret>| url.clone().filter(|url| !url.reveal().is_empty());
    let (facilitator, node) = match (set(&config.x402_facilitator_url), set(&config.x402_rpc_url)) {
        (None, None) => return Ok(None),
        (Some(facilitator), Some(node)) => (facilitator, node),
        _ => return Err(PaymentsError::IncompleteTokens),
    };
    let settings = config.outbound_settings();
    let client = Client::new(Settings { total_timeout: FACILITATOR_TIMEOUT, ..settings.clone() })?;
    let facilitator = Facilitator::new(client, facilitator.reveal(), None);
    let client = Client::new(Settings {
        total_timeout: NODE_TIMEOUT,
        response_max_bytes: CHAIN_RESPONSE_MAX_BYTES,
        ..settings
    })?;
    let chain = ChainReader::new(client, node.reveal(), None, config.x402_network);
    let of = |variable| move |error| PaymentsError::TokenUrl { variable, error };
    Ok(Some((
        facilitator.map_err(of("SOUK_X402_FACILITATOR_URL"))?,
        chain.map_err(of("SOUK_X402_RPC_URL"))?,
    )))
}

/// Parses a network.
pub(crate) fn network(text: &str) -> Result<Network, String> {
    text.parse::<Network>().map_err(|error| error.to_string())
}
